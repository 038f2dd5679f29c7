# SPDX-License-Identifier: Apache-2.0
"""The summary of a PCI function that the kernel keeps in one file.

``uevent`` repeats what ``class``, ``vendor``, ``device`` and the link
``driver`` say (``pci_uevent()`` and ``dev_uevent()`` of the Linux kernel), so
one read takes the place of four. Where the file is absent or different the
attributes themselves have to be read.
"""

import functools
import re
from typing import NamedTuple

from cyborg.pci import printable

_IDS = re.compile(rb'^PCI_CLASS=([0-9A-F]{1,6})\n'
                  rb'PCI_ID=([0-9A-F]{4}):([0-9A-F]{4})\n', re.M)
_DRIVER = re.compile(rb'^DRIVER=([^\n/]+)\n', re.M)


class Summary(NamedTuple):
    """As the fields of ``PciDevice`` with these names."""

    vendor_id: str
    product_id: str
    class_code: int
    driver: str | None


def parse(data: bytes) -> Summary | None:
    """What a ``uevent`` file says; None when it isn't a PCI function's."""
    # Thousands of functions differ in the line with the address alone.
    before, mark, rest = data.partition(b'\nPCI_SLOT_NAME=')
    if mark:
        data = before + b'\n\n' + rest.partition(b'\n')[2]
    return _summary(data)


@functools.lru_cache(maxsize=1024)
def _summary(data: bytes) -> Summary | None:
    ids = _IDS.search(data)
    if ids is None:
        return None
    class_code, vendor, product = (text.decode('ascii').lower()
                                   for text in ids.groups())
    driver = _DRIVER.search(data)
    return Summary(vendor, product, int(class_code, 16),
                   driver and printable.printable(
                       driver.group(1).decode('utf-8', 'backslashreplace')))
