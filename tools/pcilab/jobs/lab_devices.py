# SPDX-License-Identifier: Apache-2.0
"""Devices of the lab's machine, and what an operator does with them."""

import os
import pathlib

from lab_cases import equal
from libvirt_guest import run

DEVICES = pathlib.Path('/sys/bus/pci/devices')
IGB, VIRTIO = '0000:21:00.0', '0000:41:00.0'
DISKS = ('0000:23:00.0', '0000:43:00.0')


def write(path, text):
    pathlib.Path(path).write_text(text)


def driver(address):
    link = DEVICES / address / 'driver'
    return os.path.basename(os.readlink(link)) if link.exists() else None


def vfs(pf):
    return [os.path.basename(os.readlink(link)) for link in sorted(
        (DEVICES / pf).glob('virtfn*'), key=lambda path: int(path.name[6:]))]


def make_vfs(pf, number):
    write(DEVICES / pf / 'sriov_numvfs', '0')
    write(DEVICES / pf / 'sriov_numvfs', str(number))
    run('udevadm', 'settle', '-t', '60')
    return vfs(pf)


def bind(address, name):
    """Give a device to a driver, or to the one that comes by itself."""
    folder = DEVICES / address
    if driver(address):
        write(folder / 'driver' / 'unbind', address)
    write(folder / 'driver_override', (name or '') + '\n')
    write('/sys/bus/pci/drivers_probe', address)
    if name:
        equal(name, driver(address))
