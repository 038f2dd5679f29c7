#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cleans emulated NVMe disks with real ioctls, and shows what is refused.

Runs as root in the lab's machine, which nvme_cleaning.qemu gives its disks.
"""

import os
import secrets
import subprocess
import time

import nvme_lab

from cyborg.nvme import baseline
from cyborg.nvme import canaries
from cyborg.nvme import controller
from cyborg.nvme import erase
from cyborg.nvme import errors
from cyborg.nvme import linux
from cyborg.nvme import local
from cyborg.nvme import methods
from cyborg.nvme import port as nvme_port
from cyborg.nvme import records
from cyborg.nvme import structures

SECRET = nvme_lab.SECRET
say, check, write = nvme_lab.say, nvme_lab.check, nvme_lab.write
bind, Guest = nvme_lab.bind, nvme_lab.Guest


class WatchedKernel(linux.Kernel):
    """Notes every opcode, and every write to sysfs."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def admin(self, handle, command, data):
        self.seen.append(structures.Command.unpack(command).name)
        return super().admin(handle, command, data)

    def write_file(self, path, text):
        self.seen.append('%s <- %s' % (path, text.strip()))
        super().write_file(path, text)

    def write(self, handle, offset, data):
        self.seen.append('write')
        return super().write(handle, offset, data)

    def changes(self):
        return [each for each in self.seen
                if each not in ('Identify', 'Get Log Page')]


class SanitizingKernel(WatchedKernel):
    """Answers for a sanitize, which QEMU's disks do not have.

    Progress takes some seconds, and its end is a format; all else reaches
    the disk.
    """

    SECONDS = 3

    def __init__(self):
        super().__init__()
        self._began = None
        self._scdw10 = 0

    def admin(self, handle, command, data):
        parts = structures.Command.unpack(command)
        if parts.opcode == structures.SANITIZE:
            self.seen.append(parts.name)
            self._began, self._scdw10 = time.monotonic(), parts.cdw10
            return nvme_port.Completion(0)
        if parts.opcode == structures.GET_LOG_PAGE and (
                parts.cdw10 & 0xff == structures.LOG_SANITIZE):
            return nvme_port.Completion(0, 0, self._log(handle))
        found = super().admin(handle, command, data)
        if parts.opcode == structures.IDENTIFY and (
                parts.cdw10 == structures.CNS_CONTROLLER):
            answer = bytearray(found.data)
            structures.put(answer, structures.CONTROLLER, SANICAP=0x2)
            return nvme_port.Completion(0, 0, bytes(answer))
        return found

    def _log(self, handle):
        answer = bytearray(structures.LOG_SIZE)
        passed = 0 if self._began is None else (
            time.monotonic() - self._began)
        if self._began is not None and passed >= self.SECONDS:
            self._erase(handle)
            self._began = None
            structures.put(answer, structures.SANITIZE_STATUS, SPROG=0xffff,
                           SSTAT=0x101, SCDW10=self._scdw10)
        elif self._began is not None:
            structures.put(
                answer, structures.SANITIZE_STATUS, SSTAT=0x2,
                SPROG=int(passed / self.SECONDS * 0xffff),
                SCDW10=self._scdw10)
        return bytes(answer)

    def _erase(self, handle):
        """What the disk would do by itself: here a format by QEMU."""
        active = super().admin(handle, structures.identify(
            structures.CNS_ACTIVE_NAMESPACES).pack(), b'')
        for nsid in structures.namespace_list(active.data):
            namespace = structures.namespace(super().admin(
                handle, structures.identify(0, nsid).pack(), b'').data,
                nsid, True)
            super().admin(handle, structures.format_nvm(
                nsid, namespace, 1, namespace.lbaf, 60000).pack(), b'')


KERNEL = WatchedKernel()
HOST = local.Host(KERNEL)


def refused(port, cls, *texts):
    """Holding is refused; nothing was sent or written meanwhile."""
    before = len(KERNEL.changes())
    began = time.monotonic()
    try:
        port.hold()
    except cls as error:
        for text in texts:
            check(text in str(error), 'refused: %s' % error)
    else:
        check(False, 'the disk was held, not refused as %s' % cls.__name__)
    check(KERNEL.changes()[before:] == [],
          'no destructive opcode, no write and no unbind (%.1f s)' % (
              time.monotonic() - began))


def find(serial):
    """Ports of the controllers with a serial number."""
    found = [HOST.port(address) for address in HOST.addresses()
             if HOST.port(address).facts().serial == serial]
    check(found != [], 'there is a disk %s' % serial)
    return found


def clean(port, recorded):
    """All of a cleaning, as the service does it between its journal's lines.
    """
    port.hold()
    disk = controller.Controller(port)
    erase.interlocks(disk, recorded.identity)
    erase.check_alone(disk, disk.identify())
    ask = erase.guard(disk, recorded.identity)
    found = erase.prepare(disk, recorded, erase.Limits(), ask)
    method = methods.choose(disk.disk, found.identity, found.namespaces)
    say('method: %s' % method.value)
    plan = canaries.plan(disk.disk, secrets.token_hex(16), found.namespaces,
                         64)
    canaries.write(disk.disk, port, plan)
    check(True, '%d canaries written and read back' % len(plan.places))
    scdw10 = erase.begin(disk, method, found.namespaces, ask)
    while scdw10 is not None:
        progress = erase.follow(disk, scdw10)
        say('sanitize: %s' % ('succeeded' if progress is None
                              else '%d %%' % (progress * 100)))
        if progress is None:
            break
        time.sleep(1)
    canaries.verify(disk.disk, port, plan)
    check(True, 'every canary is gone')
    erase.finish(disk, recorded, erase.Limits(), ask)
    port.check_hold()
    check(True, 'as recorded, and held all the while')


def holds_secret(port, nsid=1):
    size = next(each.size for each in port.hold() if each.nsid == nsid)
    return any(SECRET in port.read(nsid, offset, 1 << 20)
               for offset in range(0, min(size, 16 << 20), 1 << 20))


def between_guests():
    say('=== a disk between two guests')
    [port] = find('CLEANA')
    disk = controller.Controller(port)
    inventory = disk.inventory()
    say(repr(inventory))
    recorded = baseline.record(inventory)
    bind(port.address, 'vfio-pci')
    before = port.facts().binding
    say(repr(port.facts()))
    guest = Guest(port.address, 'write', 3600)
    guest.wait_for('guest: wrote')
    refused(port, errors.InUse, 'vfio: qemu-system', '/dev/vfio/')
    check(guest.alive() and port.facts().binding == before,
          'the guest runs on, and the disk has its driver %s' %
          before.driver)
    guest.end()
    check(holds_secret(port), 'the host can read the secret')
    check(port.facts().binding == records.Binding('nvme', 'vfio-pci'),
          'held at the nvme driver, the override as it was')
    clean(port, recorded)
    check(not holds_secret(port), 'the host cannot read the secret')
    port.restore_binding(before)
    check(port.facts().binding == before, 'driver and override are back')
    Guest(port.address, 'read').wait_for('busy')
    check(True, 'a guest cannot start while the group is held')
    port.release()
    guest = Guest(port.address, 'read')
    guest.wait_for('guest: done')
    check('guest: secrets 0' in guest.lines
          and 'guest: bytes that are not zero 0' in guest.lines
          and 'guest: bytes 67108864' in guest.lines,
          'the second guest reads 64 MiB of zeros')
    guest.end()


def group_of_somebody():
    say('=== a disk whose group is open, by a process without a name')
    [port] = find('CLEANA')
    bind(port.address, 'vfio-pci')
    group = port.facts().iommu_group
    with open('/dev/vfio/' + group, 'r+b', buffering=0):
        # The descriptor is our own, so the names do not show it: only the
        # kernel's EBUSY protects.
        refused(port, errors.InUse, 'vfio: /dev/vfio/%s is open' % group)
    bind(port.address, 'nvme')


def detached_namespace():
    say('=== a namespace that is not attached')
    [port] = find('CLEANB')
    disk = controller.Controller(port)
    recorded = baseline.record(disk.inventory())
    say(repr(recorded))
    check([each.attached for each in recorded.namespaces] == [True, False],
          'namespace 2 is not attached')
    port.hold()
    ask = erase.guard(disk, recorded.identity)
    disk.attach_namespace(2, recorded.identity.cntlid, ask)
    baseline.settle(disk)
    for nsid in (1, 2):
        port.write(nsid, 0, (SECRET * 200)[:4096])
    disk.detach_namespace(2, recorded.identity.cntlid, ask)
    baseline.settle(disk)
    try:
        methods.choose(disk.disk, recorded.identity,
                       disk.namespaces(recorded.identity))
        check(False, 'a format is refused')
    except errors.NoMethod as error:
        check('not attached (2)' in str(error), 'refused: %s' % error)
    disk.format(disk.namespaces()[0], methods.Method.BLOCK_FORMAT, ask)
    baseline.settle(disk)
    check(not holds_secret(port, 1), 'a format erased namespace 1')
    disk.attach_namespace(2, recorded.identity.cntlid, ask)
    baseline.settle(disk)
    check(holds_secret(port, 2), 'and left the secret in namespace 2')
    disk.detach_namespace(2, recorded.identity.cntlid, ask)
    baseline.settle(disk)
    clean(port, recorded)
    disk.attach_namespace(2, recorded.identity.cntlid, ask)
    baseline.settle(disk)
    check(not holds_secret(port, 2), 'cleaning erased namespace 2 as well')
    port.release()


def shared_subsystem():
    say('=== two controllers of one subsystem')
    port, other = find('CLEANC')
    refused(port, errors.SharedSubsystem, 'cleanC', other.address)
    bind(other.address, 'vfio-pci')
    check(port.facts().neighbours == (), 'the other one is out of sight')
    disk = controller.Controller(port)
    before = len(KERNEL.changes())
    try:
        erase.check_alone(disk, disk.identify())
        check(False, 'refused')
    except errors.SharedSubsystem as error:
        check('controller 1' in str(error), 'refused: %s' % error)
    check(KERNEL.changes()[before:] == [], 'nothing was sent or written')
    bind(other.address, 'nvme')


def mounted():
    say('=== a disk that the host uses')
    [port] = find('CLEANE')
    node = '/dev/' + port.facts().blocks[0].name
    subprocess.run(['mkfs.ext4', '-qF', node], check=True)
    os.makedirs('/run/clean', exist_ok=True)
    subprocess.run(['mount', node, '/run/clean'], check=True)
    write('/run/clean/file', 'kept')
    refused(port, errors.InUse, 'mount: /run/clean on')
    subprocess.run(['umount', '/run/clean'], check=True)
    subprocess.run(['mkswap', node], check=True, capture_output=True)
    subprocess.run(['swapon', node], check=True)
    refused(port, errors.InUse, 'swap: ' + node)
    subprocess.run(['swapoff', node], check=True)
    descriptor = os.open(node, os.O_RDWR | os.O_EXCL)
    with subprocess.Popen(['sleep', '600'], stdin=descriptor) as process:
        os.close(descriptor)
        refused(port, errors.InUse, 'opener: sleep', node)
        process.kill()


def sanitized():
    say('=== a disk that sanitizes')
    [found] = find('CLEANE')
    port = local.Host(SanitizingKernel()).port(found.address)
    recorded = baseline.record(controller.Controller(port).inventory())
    port.hold()
    port.write(1, 0, (SECRET * 200)[:4096])
    clean(port, recorded)
    check(not holds_secret(port), 'the secret is gone')
    port.release()


def main():
    subprocess.run(['modprobe', '-a', 'vfio-pci', 'nvme', 'ext4'],
                   check=True)
    for address in HOST.addresses():
        say('%s %s' % (address, HOST.port(address).facts().serial))
    shared_subsystem()
    mounted()
    sanitized()
    detached_namespace()
    group_of_somebody()
    between_guests()
    say('all of it holds')


if __name__ == '__main__':
    main()
