# SPDX-License-Identifier: Apache-2.0
"""Which product a device profile asks for, and whether a device is that.

Drivers give a deployable traits such as ``CUSTOM_PCI_PRODUCT_ID_1EB8``. Nova
chooses a device by them, and the device may be replaced by another one before
it is bound. Pure: values in, values out.
"""

from collections.abc import Iterable
from collections.abc import Mapping

#: What is between the kind of a device and its product.
MARK = '_PRODUCT_ID_'
_TRAIT = 'trait:'


def required(group: Mapping[str, str]) -> frozenset[str]:
    """Traits of products that a group of a device profile requires."""
    return frozenset(
        key.removeprefix(_TRAIT) for key, value in group.items()
        if key.startswith(_TRAIT) and value == 'required' and MARK in key)


def contradicted(wanted: Iterable[str], found: Iterable[str]) -> set[str]:
    """What is wanted and cannot be: the device has others of the kind.

    A trait of a kind of which the device has none may be an operator's own.
    """
    found = set(found)
    kinds = {_kind(trait) for trait in found}
    return {trait for trait in wanted
            if trait not in found and _kind(trait) in kinds}


def _kind(trait: str) -> str:
    return trait.partition(MARK)[0]
