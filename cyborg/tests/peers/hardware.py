# SPDX-License-Identifier: Apache-2.0
"""The same few devices as ``lspci`` prints them and as sysfs shows them."""

from cyborg.pci import simulate

#: address, class, vendor, product, text behind the class
DEVICES = (
    ('0000:00:00.0', 0x0600, 0x8086, 0x2020, 'Host bridge',
     'Intel Corporation Sky Lake-E DMI3 Registers'),
    ('0000:17:00.0', 0x0200, 0x8086, 0x1572, 'Ethernet controller',
     'Intel Corporation Ethernet Controller X710 for 10GbE SFP+'),
    ('0000:3b:00.0', 0x0302, 0x10de, 0x1eb8, '3D controller',
     'NVIDIA Corporation TU104GL [Tesla T4]'),
    ('0000:3c:00.0', 0x0302, 0x10de, 0x1eb8, '3D controller',
     'NVIDIA Corporation TU104GL [Tesla T4]'),
    ('0000:af:00.0', 0x1200, 0x10ee, 0x5000, 'Processing accelerators',
     'Xilinx Corporation Device'),
)
#: Selects both GPUs and the Xilinx card, in words of either release.
RULES = ('{"vendor_id": "10de", "product_id": "1eb8"}',
         '{"address": "0000:af:00.*"}')


def lspci(devices=DEVICES) -> str:
    return ''.join('%s %s [%04x]: %s [%04x:%04x]\n' % (
        address, kind, class_, name, vendor, product)
        for address, class_, vendor, product, kind, name in devices)


def sysfs(path, devices=DEVICES, **attributes) -> simulate.SysfsTree:
    """:param attributes: as ``SysfsTree.add`` takes them, for all."""
    tree = simulate.SysfsTree(str(path))
    for address, class_, vendor, product, _, _ in devices:
        tree.add(address, vendor, product, class_ << 8, **attributes)
    return tree
