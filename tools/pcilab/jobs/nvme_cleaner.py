#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cleaner of a host, asked while a guest runs and when it is gone.

Placement is real, the privileged process is one of its own, and guests are
QEMU with VFIO. Nova's part, the provider and the allocations, is played.
"""

import json
import logging
import os
import pathlib
import subprocess
import tempfile
import time
import uuid

import nvme_lab
from oslo_privsep import priv_context

from cyborg.cleaner import service
from cyborg.common import config
from cyborg.common import http
from cyborg.common import sdk
from cyborg.conf import CONF
from cyborg.nvme import facts as nvme_facts
from cyborg.nvme import roots as nvme_roots
from cyborg.placement import client as placement_client
from cyborg.placement import tree
from cyborg.privsep import nvme as privileged
from cyborg.standalone import placement

say, check = nvme_lab.say, nvme_lab.check
HOST, CLASS, SERIAL = 'lab', 'CUSTOM_PCI_1B36_0010', 'LAB-DISK-1'
#: Seconds for a cleaning, and for a provider to change.
PATIENCE = 300


class Provider:
    """Nova's provider of one disk, and those who allocate it."""

    def __init__(self, address):
        self._adapter = sdk.adapter('placement',
                                    placement_client.SERVICE_TYPE)
        root = self._create(HOST)
        self._put('/resource_providers/%s/inventories' % root, {
            'resource_provider_generation': 0, 'inventories': {
                'MEMORY_MB': {'total': 4096}}})
        self.uuid = self._create('%s_%s' % (HOST, address.upper()), root)
        self._put('/resource_classes/' + CLASS)
        self._put('/resource_providers/%s/inventories' % self.uuid, {
            'resource_provider_generation': 0, 'inventories': {
                CLASS: {'total': 1, 'max_unit': 1}}})
        self._put('/resource_providers/%s/traits' % self.uuid, {
            'resource_provider_generation': 1,
            'traits': ['COMPUTE_MANAGED_PCI_DEVICE']})

    def _call(self, method, url, body=None):
        answer = self._adapter.request(
            url, method, json=body, raise_exc=False,
            headers={'OpenStack-API-Version': 'placement 1.36'})
        if answer.status_code >= 300:
            check(False, '%s %s: %d %s' % (
                method, url, answer.status_code, answer.text[:200]))
        return answer

    def _put(self, url, body=None):
        self._call('PUT', url, body)

    def _create(self, name, parent=None):
        found = str(uuid.uuid4())
        self._call('POST', '/resource_providers', {
            'name': name, 'uuid': found, 'parent_provider_uuid': parent})
        return found

    @property
    def reserved(self):
        return self._call('GET', '/resource_providers/%s/inventories'
                          % self.uuid).json()['inventories'][CLASS][
                              'reserved']

    def allocate(self):
        consumer = str(uuid.uuid4())
        self._put('/allocations/' + consumer, {
            'allocations': {self.uuid: {'resources': {CLASS: 1}}},
            'project_id': 'p', 'user_id': 'u', 'consumer_generation': None})
        return consumer

    def free(self, consumer):
        self._call('DELETE', '/allocations/' + consumer)


class Told(logging.Handler):
    """What the cleaner said."""

    def __init__(self):
        super().__init__(logging.INFO)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())
        if record.name.startswith('cyborg.cleaner'):
            say('    %s %s' % (record.levelname, self.lines[-1]))


def address_of(serial):
    roots = nvme_roots.Roots()
    for address in nvme_facts.addresses(roots):
        if nvme_facts.read(roots, address).serial == serial:
            return address
    check(False, 'there is a disk %s' % serial)


def look(cleaner):
    """One look, and what it began."""
    cleaner.look()
    limit = time.monotonic() + PATIENCE
    while cleaner.working:
        if time.monotonic() > limit:
            check(False, 'the work ends')
        time.sleep(0.2)


def prepare(address, state):
    config.parse_args(['nvme_cleaner'], default_config_files=[])
    provider = http.Server(
        'Placement', placement.application(state / 'placement.sqlite'),
        http.listen('Placement', '127.0.0.1', 0, 'port'))
    provider.start()
    for group, values in {
            None: {'host': HOST},
            'agent': {'resource_provider_name': HOST},
            'placement': {'auth_type': 'none',
                          'endpoint_override': provider.url},
            'cleaner': {
                'device_spec': [json.dumps({'address': address})],
                'journal_path': str(state / 'journal'),
                'settle_seconds': 0, 'unknown': 'clean'}}.items():
        for name, value in values.items():
            CONF.set_override(name, value, group=group)


def story(cleaner, provider, address):
    told = Told()
    logging.getLogger().addHandler(told)
    logging.getLogger().setLevel(logging.INFO)
    disk = privileged.Port(address)
    look(cleaner)
    check(provider.reserved == 0, 'an unknown disk was erased and is offered')
    say('=== guest one')
    consumer = provider.allocate()
    nvme_lab.bind(address, 'vfio-pci')
    guest = nvme_lab.Guest(address, 'write', 3600)
    guest.wait_for('guest: wrote')
    look(cleaner)
    check(provider.reserved == 1, 'a disk in use is reserved')
    say('=== its allocation is gone, and it still runs')
    provider.free(consumer)
    began, before = time.monotonic(), disk.facts().binding
    told.lines.clear()
    look(cleaner)
    said = [line for line in told.lines if 'vfio' in line]
    check(len(said) == 1 and '/dev/vfio/' in said[0] and (
        'qemu' in said[0]), 'refused, and the holder is named')
    check(provider.reserved == 1, 'it stays reserved (%.1f s)' % (
        time.monotonic() - began))
    check(guest.alive() and disk.facts().binding == before,
          'the guest runs on, and no driver was changed')
    say('=== the guest ends')
    guest.end()
    nvme_lab.bind(address, 'nvme')
    for _time in range(3):
        look(cleaner)
        if provider.reserved == 0:
            break
        time.sleep(1)
    check(provider.reserved == 0, 'erased, verified and offered')
    say('=== guest two')
    provider.allocate()
    nvme_lab.bind(address, 'vfio-pci')
    guest = nvme_lab.Guest(address, 'read')
    guest.wait_for('guest: done')
    check('guest: secrets 0' in guest.lines
          and 'guest: bytes that are not zero 0' in guest.lines
          and 'guest: bytes 67108864' in guest.lines,
          'the second guest reads 64 MiB of zeros')
    guest.end()
    look(cleaner)
    check(provider.reserved == 1, 'and has it for itself')


def main():
    subprocess.run(['modprobe', '-a', 'vfio-pci', 'nvme'], check=True)
    # Before there are threads: this process forks its privileged half.
    privileged.nvme_pctxt.start(priv_context.Method.FORK)
    state = pathlib.Path(tempfile.mkdtemp())
    address = address_of(SERIAL)
    say('%s is %s' % (SERIAL, address))
    prepare(address, state)
    provider = Provider(address)
    cleaner = service.build(CONF, privileged.Host(), tree.TreeClient())
    cleaner.start()
    story(cleaner, provider, address)
    cleaner.stop()
    say('all of it holds')
    # The privileged half ends with this process.
    os._exit(0)


if __name__ == '__main__':
    main()
