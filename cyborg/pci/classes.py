# SPDX-License-Identifier: Apache-2.0
"""PCI class codes: their names, and the classes that are not handed out.

Codes are from the PCI Code and ID Assignment Specification; a class code has
24 bits: base class, sub class, programming interface.
"""

from collections.abc import Mapping

#: Sub classes (upper 16 bits) whose devices the generic PCI driver refuses,
#: since it can't clean them between users. Not configurable (specification,
#: "Internal device-class exclusions").
EXCLUDED = frozenset({0x0108})
#: PCI-to-PCI bridges and root ports; VFIO leaves them out of a group's
#: viability, so they never count as neighbours of a device.
PCI_BRIDGE = 0x0604
#: Functions whose configuration header is a bridge's, not a device's: PCI,
#: CardBus and semi-transparent bridges. VFIO binds to none of them.
_BRIDGE_HEADERS = frozenset({PCI_BRIDGE, 0x0607, 0x0609})
#: Devices that keep what a guest wrote to them.
STATEFUL = frozenset({0x0108})
NVM_CONTROLLER = 0x0108
#: Processing accelerators: most FPGA and AI cards.
ACCELERATOR = 0x1200

#: For hosts without ``pci.ids``, in its words.
_NAMES = {
    0x0000: 'Non-VGA unclassified device',
    0x0001: 'VGA compatible unclassified device',
    0x0002: 'Unclassified device',
    0x0005: 'Image coprocessor',
    0x00ff: 'Unclassified device',
    0x0100: 'SCSI storage controller',
    0x0101: 'IDE interface',
    0x0102: 'Floppy disk controller',
    0x0103: 'IPI bus controller',
    0x0104: 'RAID bus controller',
    0x0105: 'ATA controller',
    0x0106: 'SATA controller',
    0x0107: 'Serial Attached SCSI controller',
    0x0108: 'Non-Volatile memory controller',
    0x0109: 'Universal Flash Storage controller',
    0x0180: 'Mass storage controller',
    0x0200: 'Ethernet controller',
    0x0201: 'Token ring network controller',
    0x0202: 'FDDI network controller',
    0x0203: 'ATM network controller',
    0x0204: 'ISDN controller',
    0x0205: 'WorldFip controller',
    0x0206: 'PICMG controller',
    0x0207: 'Infiniband controller',
    0x0208: 'Fabric controller',
    0x0280: 'Network controller',
    0x0300: 'VGA compatible controller',
    0x0301: 'XGA compatible controller',
    0x0302: '3D controller',
    0x0380: 'Display controller',
    0x0400: 'Multimedia video controller',
    0x0401: 'Multimedia audio controller',
    0x0402: 'Computer telephony device',
    0x0403: 'Audio device',
    0x0480: 'Multimedia controller',
    0x0500: 'RAM memory',
    0x0501: 'FLASH memory',
    0x0502: 'CXL',
    0x0580: 'Memory controller',
    0x0600: 'Host bridge',
    0x0601: 'ISA bridge',
    0x0602: 'EISA bridge',
    0x0604: 'PCI bridge',
    0x0607: 'CardBus bridge',
    0x0609: 'Semi-transparent PCI-to-PCI bridge',
    0x060a: 'InfiniBand to PCI host bridge',
    0x0680: 'Bridge',
    0x0700: 'Serial controller',
    0x0701: 'Parallel controller',
    0x0702: 'Multiport serial controller',
    0x0703: 'Modem',
    0x0704: 'GPIB controller',
    0x0780: 'Communication controller',
    0x0800: 'PIC',
    0x0801: 'DMA controller',
    0x0802: 'Timer',
    0x0803: 'RTC',
    0x0804: 'PCI Hot-plug controller',
    0x0805: 'SD Host controller',
    0x0806: 'IOMMU',
    0x0880: 'System peripheral',
    0x0b40: 'Co-processor',
    0x0c00: 'FireWire (IEEE 1394)',
    0x0c03: 'USB controller',
    0x0c04: 'Fibre Channel',
    0x0c05: 'SMBus',
    0x0c06: 'InfiniBand',
    0x0c07: 'IPMI Interface',
    0x0c09: 'CANBUS',
    0x0d10: 'RF controller',
    0x0d11: 'Bluetooth',
    0x0d80: 'Wireless controller',
    0x0e00: 'I2O',
    0x1000: 'Network and computing encryption device',
    0x1010: 'Entertainment encryption device',
    0x1080: 'Encryption controller',
    0x1100: 'DPIO module',
    0x1101: 'Performance counters',
    0x1110: 'Communication synchronizer',
    0x1120: 'Signal processing management',
    0x1180: 'Signal processing controller',
    0x1200: 'Processing accelerators',
    0x1300: 'Non-Essential Instrumentation',
}

_BASE_NAMES = {
    0x00: 'Unclassified device',
    0x01: 'Mass storage controller',
    0x02: 'Network controller',
    0x03: 'Display controller',
    0x04: 'Multimedia controller',
    0x05: 'Memory controller',
    0x06: 'Bridge',
    0x07: 'Communication controller',
    0x08: 'Generic system peripheral',
    0x09: 'Input device controller',
    0x0a: 'Docking station',
    0x0b: 'Processor',
    0x0c: 'Serial bus controller',
    0x0d: 'Wireless controller',
    0x0e: 'Intelligent controller',
    0x0f: 'Satellite communications controller',
    0x10: 'Encryption controller',
    0x11: 'Signal processing controller',
    0x12: 'Processing accelerators',
    0x13: 'Non-Essential Instrumentation',
    0x40: 'Coprocessor',
    0xff: 'Unassigned class',
}


def subclass(class_code: int) -> int:
    """Base and sub class (16 bits) of a 24 bit class code."""
    return class_code >> 8


def name(class_code: int, listed: Mapping[str, str] | None = None) -> str:
    """Name of a 24 bit class code, less exact where the code is unknown.

    :param listed: names of the host's own list, which go before ours, by
        base class (``0b``) and by base and sub class (``0b40``).
    """
    sub, base = subclass(class_code), class_code >> 16
    listed = listed or {}
    return (listed.get('%04x' % sub) or _NAMES.get(sub)
            or listed.get('%02x' % base) or _BASE_NAMES.get(base)
            or 'Class %04x' % sub)


def bridge(class_code: int) -> bool:
    return subclass(class_code) in _BRIDGE_HEADERS


def excluded(class_code: int) -> bool:
    return subclass(class_code) in EXCLUDED


def stateful(class_code: int) -> bool:
    return subclass(class_code) in STATEFUL
