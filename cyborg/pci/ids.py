# SPDX-License-Identifier: Apache-2.0
"""Names of vendors, devices and classes from the host's own ``pci.ids``.

The file is the one ``lspci`` reads (pci.ids(5)), so the names are those an
operator sees there. A host without it has no names of vendors and devices, in
``lspci`` as here; the names of classes are then our own.
"""

from collections.abc import Collection
from collections.abc import Sequence
import functools
import gzip
import os

from cyborg.pci import classes

#: Where distributions keep the list.
PATHS = ('/usr/share/hwdata/pci.ids', '/usr/share/misc/pci.ids',
         '/usr/share/misc/pci.ids.gz', '/usr/share/pci.ids',
         '/var/lib/pciutils/pci.ids')
#: What ``lspci`` prints for a device of which it has no name.
UNNAMED = 'Device'


def describe(wanted: Collection[tuple[str, str]],
             paths: Sequence[str] | None = None
             ) -> dict[tuple[str, str], str]:
    """Vendor and device name of each (vendor id, product id), as one text.

    :param wanted: ids in four lower case digits.
    :param paths: where to look for the list; None takes :data:`PATHS`.
    :returns: for every pair the text that ``lspci`` prints, ``Device`` in
        place of a device name that is unknown, without a vendor name that is.
    """
    vendors: dict[str, str] = {}
    products: dict[tuple[str, str], str] = {}
    asked = {vendor for vendor, _product in wanted}
    current = None
    for line in _lines(PATHS if paths is None else paths) if wanted else ():
        if line.startswith('C '):
            break  # device classes follow
        if not line.startswith('\t'):
            current, _gap, name = line.partition('  ')
            if current in asked:
                vendors[current] = name.strip()
        elif current in asked and not line.startswith('\t\t'):
            product, _gap, name = line.strip().partition('  ')
            products[current, product] = name.strip()
    return {pair: ' '.join(filter(None, (
        vendors.get(pair[0]), products.get(pair, UNNAMED))))
        for pair in wanted}


def class_name(class_code: int, paths: Sequence[str] | None = None) -> str:
    """What ``lspci`` calls a class.

    :param class_code: 24 bits.
    :param paths: as for :func:`describe`.
    """
    return classes.name(
        class_code, _class_names(tuple(PATHS if paths is None else paths)))


@functools.lru_cache(maxsize=4)
def _class_names(paths: tuple[str, ...]) -> dict[str, str]:
    """Base class (``0b``), or base and sub class (``0b40``) -> name.

    Read once a process: every line of a preview asks for one of a few.
    """
    found: dict[str, str] = {}
    base = None
    for line in _lines(paths):
        if not line.startswith('\t'):
            kind, _blank, rest = line.partition(' ')
            code, _gap, name = rest.partition('  ')
            base = code.strip() if kind == 'C' else None
            if base is not None:
                found[base] = name.strip()
        elif base is not None and not line.startswith('\t\t'):
            code, _gap, name = line.strip().partition('  ')
            found[base + code] = name.strip()
    return found


def _lines(paths: Sequence[str]):
    """Lines of the first list that can be read, without comments."""
    for path in paths:
        if not os.path.exists(path):
            continue
        opener = gzip.open if path.endswith('.gz') else open
        try:
            with opener(path, 'rt', encoding='utf-8',
                        errors='replace') as stream:
                return [line.rstrip('\n') for line in stream
                        if line.strip() and not line.startswith('#')]
        except (OSError, EOFError):
            continue
    return []
