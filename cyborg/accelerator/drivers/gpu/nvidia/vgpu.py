# SPDX-License-Identifier: Apache-2.0
"""Which GPUs offer which type of virtual GPU: options, traits, handles."""

from collections.abc import Collection
from collections.abc import Mapping
import re

from oslo_config import cfg

from cyborg.common import exception
from cyborg.conf import devices
from cyborg.pci import address as pci_address
from cyborg.pci import mdev
from cyborg.pci import printable

PciAddress = pci_address.PciAddress


def types_by_address(conf: cfg.ConfigOpts) -> dict[PciAddress, str]:
    """GPU -> the type that it offers, from the options.

    :raises exception.VGPUOptionInvalid: a type without GPUs, a GPU with two
        types, or no address.
    """
    kinds = list(dict.fromkeys(conf.gpu_devices.enabled_vgpu_types))
    devices.register_dynamic_opts(conf)
    found: dict[PciAddress, str] = {}
    for kind in kinds:
        group = 'vgpu_' + kind
        entries = conf[group].device_addresses
        if not entries:
            raise _invalid(conf, group, 'it is empty, although [gpu_devices] '
                           'enabled_vgpu_types has %s. Give the addresses of '
                           'the GPUs that offer this type' % kind)
        for entry in entries:
            try:
                address = PciAddress.parse(entry)
            except pci_address.InvalidPciAddress as error:
                raise _invalid(conf, group, str(error)) from None
            if found.setdefault(address, kind) != kind:
                raise _invalid(conf, group, '%s is also in [vgpu_%s], and a '
                               'GPU offers one type' % (
                                   address, found[address]))
    return found


def _invalid(conf, group: str, reason: str) -> exception.VGPUOptionInvalid:
    return exception.VGPUOptionInvalid(
        group=printable.name(group), option='device_addresses',
        host=conf.host, reason=reason)


def trait_words(name: str) -> list[str]:
    """What traits say of a type, from the vendor's name of it.

    The second word, which 2026.2 took and profiles name; where there are
    more, it tells too little, and all words after the first come, too.

    :raises mdev.TypeUnusable: the name has one word.
    """
    words = [re.sub('[^A-Z0-9]', '_', word) for word in name.upper().split()]
    if len(words) < 2:
        raise mdev.TypeUnusable('the type has the name %r, which does not '
                                'tell its size' % name[:40])
    return words[1:2] if len(words) == 2 else [words[1], '_'.join(words[1:])]


def marks(total: int, allocated: Mapping[int, bool]) -> list[int]:
    """Numbers of the handles to report.

    The lowest, but a number that a guest has goes before a free one: what
    others created or the kernel took away is never a guest's.

    :param allocated: number -> whether its mediated device exists.
    """
    first = sorted(allocated, key=lambda n: (not allocated[n], n))[:total]
    free = (n for n in range(total + len(allocated)) if n not in allocated)
    return sorted(first + [next(free) for _ in range(total - len(first))])


def mark_number(mark: object, kind: str) -> int | None:
    """``nvidia-222_3`` -> 3; None for the mark of another type."""
    text = str(mark).removeprefix(kind + '_')
    if mark == '%s_%s' % (kind, text) and text.isascii() and text.isdigit():
        return int(text)
    return None


def total(found: mdev.MdevType, ours: Collection[str] | None) -> int:
    """How many there can be for our guests.

    :param ours: UUIDs of all our handles; None when they are not known, and
        every mediated device counts as ours, as in 2026.2.
    """
    return found.available + len([
        uuid for uuid in found.created if ours is None or uuid in ours])
