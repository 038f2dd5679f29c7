# SPDX-License-Identifier: Apache-2.0
"""Helpers for drivers, in the tree and out of it.

Names and results are those of the 2026.2 release, so that a driver written
for it finds what it imports.
"""

import json
import os
import re

from cyborg.common import exception
from cyborg.common.i18n import _
from cyborg.conf import CONF
from cyborg.pci import classes
from cyborg.pci import ids
from cyborg.pci import links
from cyborg.pci import sysfs

_VENDORS = {'10de': 'nvidia', '102b': 'matrox', '1bd4': 'inspur',
            '8086': 'intel', '1099': 'samsung', '1cf2': 'zte'}

_LINE = re.compile(
    r'(?P<address>[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}'
    r'\.[0-9a-fA-F]) (?P<class_name>[^\[]*?) \[(?P<class_id>[0-9a-fA-F]{4})'
    r'\]: (?P<device_name>.*?) \[(?P<vendor_id>[0-9a-fA-F]{4}):'
    r'(?P<device_id>[0-9a-fA-F]{4})\](?: \(rev (?P<revision>[0-9a-fA-F]+)'
    r'\))?')


def get_vendor_maps() -> dict[str, str]:
    """Vendor id to the word that stands for the vendor in traits."""
    return dict(_VENDORS)


def parse_address(address: str) -> tuple[str, str, str, str]:
    """``0000:3b:00.0`` -> ``('0000', '3b', '00', '0')``, case kept.

    :raises exception.PciDeviceWrongAddressFormat: no complete address.
    """
    head, _dot, function = address.partition('.')
    parts = (*head.split(':'), function)
    wanted = (4, 2, 2, 1)
    if (tuple(len(part) for part in parts) != wanted
            or not all(c in '0123456789abcdefABCDEF'
                       for part in parts for c in part)):
        raise exception.PciDeviceWrongAddressFormat(address=address)
    return parts


def pci_str_to_json(pci_address: str, physnet: str | None = None) -> str:
    """Control path and attach info of a PCI function, as JSON text.

    :raises exception.PciDeviceWrongAddressFormat: no complete address.
    """
    info = _address_info(pci_address)
    if physnet:
        info['physical_network'] = physnet
    return json.dumps(info, sort_keys=True)


def mdev_str_to_json(pci_address: str, asked_type: str,
                     vgpu_mark: str) -> str:
    """Attach info of a mediated device, as JSON text."""
    info = _address_info(pci_address)
    info.update(asked_type=asked_type, vgpu_mark=vgpu_mark)
    return json.dumps(info, sort_keys=True)


def parse_mappings(mapping_list: list[str]) -> dict[str, set[str]]:
    """``['net1:eth0|eth1']`` -> ``{'net1': {'eth0', 'eth1'}}``.

    :raises ValueError: an entry without key or colon, or a key that comes
        twice.
    """
    result: dict[str, set[str]] = {}
    for entry in mapping_list:
        key, colon, values = (part.strip() for part in entry.partition(':'))
        if not key or not colon:
            raise ValueError(_('Not a mapping of the form key:value: %r')
                             % entry)
        if key in result:
            raise ValueError(_('The key %r is given twice') % key)
        result[key] = {name.strip() for name in values.split('|')
                       if name.strip()}
    return result


def get_pci_devices() -> list[dict[str, str | None]]:
    """All PCI functions of this host, a mapping each.

    Keys: ``address``, ``class_name``, ``class_id``, ``device_name``,
    ``vendor_id``, ``device_id``, ``revision``, ``raw_line``; ids in lower
    case digits. ``revision`` is None for 00, as ``lspci`` leaves it out.

    :raises cyborg.pci.sysfs.SysfsUnreadable: they can't be listed.
    """
    devices = sysfs.scan(CONF.pci.sysfs_path).devices
    names = ids.describe({(d.vendor_id, d.product_id) for d in devices})
    return [_as_lspci_shows(each, names[each.vendor_id, each.product_id])
            for each in devices]


def lspci_privileged() -> str:
    """What ``lspci -nn -D`` would print; made from sysfs, without privilege.

    Deprecated since 2027.1: call :func:`get_pci_devices`.

    :raises cyborg.pci.sysfs.SysfsUnreadable: the devices can't be listed.
    """
    return ''.join('%s\n' % each['raw_line'] for each in get_pci_devices())


def parse_lspci_line(line: str) -> dict[str, str | None] | None:
    """A line of ``lspci -nn -D`` as :func:`get_pci_devices` has devices.

    None for a line of another form. Deprecated since 2027.1.
    """
    match = _LINE.match(line)
    if match is None:
        return None
    found = match.groupdict()
    for key in ('class_id', 'vendor_id', 'device_id', 'revision'):
        found[key] = found[key] and found[key].lower()
    return {**found, 'raw_line': line}


def get_ifname_by_pci_address(pci_addr: str,
                              vf_interface: bool = False) -> str:
    """Name of the network interface on a function.

    :param vf_interface: ``pci_addr`` is a VF and its PF's interface is
        wanted.
    :raises exception.PciDeviceNotFoundById: there is none.
    """
    base = os.path.join(CONF.pci.sysfs_path, 'bus/pci/devices', pci_addr)
    names = links.list_names(
        os.path.join(base, 'physfn/net' if vf_interface else 'net'))
    if not names:
        raise exception.PciDeviceNotFoundById(id=pci_addr)
    return names[0]


def _as_lspci_shows(device: sysfs.PciDevice, name: str
                    ) -> dict[str, str | None]:
    found = {'address': str(device.address), 'class_name': device.class_name,
             'class_id': '%04x' % classes.subclass(device.class_code),
             'device_name': name, 'vendor_id': device.vendor_id,
             'device_id': device.product_id}
    line = ('%(address)s %(class_name)s [%(class_id)s]: %(device_name)s '
            '[%(vendor_id)s:%(device_id)s]' % found)
    revision = _revision(found['address'])
    if revision:
        line += ' (rev %s)' % revision
    return {**found, 'revision': revision, 'raw_line': line}


def _revision(address: str) -> str | None:
    """Two digits; None for 00 and when there is no telling."""
    path = os.path.join(CONF.pci.sysfs_path, 'bus/pci/devices', address,
                        'revision')
    try:
        with open(path, errors='backslashreplace') as file:
            text = file.read().strip().removeprefix('0x').lower()
    except OSError:
        return None
    return text if re.fullmatch('[0-9a-f]{2}', text) and text != '00' else (
        None)


def _address_info(pci_address: str) -> dict[str, str]:
    domain, bus, device, function = parse_address(pci_address)
    return {'bus': bus, 'device': device, 'domain': domain,
            'function': function}
