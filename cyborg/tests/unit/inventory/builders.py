# SPDX-License-Identifier: Apache-2.0
"""Short spellings of inventory values, for tables of cases."""

import dataclasses
import json

from cyborg.inventory import values

HOST = 'compute-1'


def info(address='0000:3b:00.0', **settings):
    """Attach info text as the PCI driver writes it."""
    domain, bus, rest = address.split(':')
    device, function = rest.split('.')
    return json.dumps(dict(settings, domain=domain, bus=bus, device=device,
                           function=function), sort_keys=True)


def found(address='0000:3b:00.0', text=None, *, vendor='10de',
          product='1eb8', attach_type='PCI', attributes=(('rc', 'X'),),
          **settings):
    """A discovered one-function PCI device."""
    return values.DiscoveredDevice(
        'PCI', info(address), 'PCI', vendor, product,
        json.dumps({'product_id': product, 'controller': None}), 'miss',
        deployables=(values.DiscoveredDeployable(
            '%s_%s' % (HOST, address), 1, 'NVIDIA', tuple(attributes),
            (values.DiscoveredHandle(
                attach_type, text or info(address, **settings)),)),))


def stored(discovered, number=1, *, in_use=False, arqs=(), text=None):
    """The rows a report of ``discovered`` leaves, numbered from ``number``."""
    deployables = []
    for offset, item in enumerate(discovered.deployables):
        row = number + 100 * offset
        handles = tuple(values.PersistedHandle(
            row + 10 * n, 'handle-%d' % (row + 10 * n), row, number,
            h.attach_type, text or h.attach_info, in_use, tuple(arqs))
            for n, h in enumerate(item.handles))
        attributes = tuple(values.PersistedAttribute(
            row + n, 'attribute-%d' % (row + n), key, value)
            for n, (key, value) in enumerate(item.attributes))
        deployables.append(values.PersistedDeployable(
            row, 'deployable-%d' % row, number, item.name,
            item.num_accelerators, item.driver_name, 'rp-%d' % row,
            attributes, handles))
    return values.PersistedDevice(
        number, 'device-%d' % number, HOST, discovered.type,
        discovered.vendor, discovered.model, discovered.std_board_info,
        discovered.vendor_board_info,
        controlpath=values.PersistedControlPath(
            number, 'path-%d' % number, number, discovered.cpid_type,
            discovered.cpid_info),
        deployables=tuple(deployables))


def host(*devices):
    return values.PersistedHost(HOST, tuple(devices))


def with_path(device, text):
    """``device`` with another text in its control path."""
    return dataclasses.replace(device, controlpath=dataclasses.replace(
        device.controlpath, cpid_info=text))


def with_handles(device, *handles):
    """A discovered device whose only deployable has these handles."""
    deployable = dataclasses.replace(
        device.deployables[0], num_accelerators=len(handles),
        handles=tuple(handles))
    return dataclasses.replace(device, deployables=(deployable,))
