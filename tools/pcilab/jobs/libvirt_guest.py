# SPDX-License-Identifier: Apache-2.0
"""Guests of the lab's machine that libvirt starts, with one device each."""

import contextlib
import os
import pathlib
import subprocess
import time

LOG = pathlib.Path('/tmp/guest.log')
#: Seconds until a guest has used its devices.
PATIENCE = 900


def run(*words, **kwargs):
    return subprocess.run(words, check=True, text=True, timeout=PATIENCE,
                          stdout=subprocess.PIPE, **kwargs).stdout


def until(condition, what, seconds=PATIENCE):
    """Wait for a condition; returns what it returns.

    :raises AssertionError: it does not come
    """
    limit = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > limit:
            raise AssertionError('%s: not within %d s' % (what, seconds))
        time.sleep(0.5)
    return found


def pci(address, managed):
    """The element that patched Nova makes for a PCI function."""
    words = address.replace('.', ':').split(':')
    return '''<hostdev mode='subsystem' type='pci' managed='%s'><source>
<address domain='0x%s' bus='0x%s' slot='0x%s' function='0x%s'/>
</source></hostdev>''' % (managed, *words)


def mediated(uuid):
    """The element that Nova makes for a mediated device."""
    return '''<hostdev mode='subsystem' type='mdev' managed='no'
model='vfio-pci'><source><address uuid='%s'/></source></hostdev>''' % uuid


def _domain(element):
    return '''
<domain type='kvm'><name>guest</name><memory unit='MiB'>192</memory>
<vcpu>1</vcpu><os><type arch='x86_64' machine='q35'>hvm</type>
<kernel>/boot/guest-vmlinuz</kernel><initrd>/boot/guest.gz</initrd>
<cmdline>console=ttyS0 quiet panic=-1 mitigations=off hold</cmdline></os>
<features><acpi/><apic/></features><cpu mode='host-passthrough'/>
<devices><emulator>/usr/bin/qemu-system-x86_64</emulator>
<controller type='usb' model='none'/><memballoon model='none'/>
<serial type='file'><source path='%s'/></serial>
%s</devices></domain>''' % (LOG, element)


def _start():
    for folder in ('/run/dbus', '/run/libvirt', '/var/log/libvirt/qemu'):
        os.makedirs(folder, exist_ok=True)
    subprocess.run(['dbus-daemon', '--system', '--fork'],
                   stderr=subprocess.DEVNULL)
    pathlib.Path('/etc/libvirt/qemu.conf').write_text(''.join(
        line + '\n' for line in (
            'user = "root"', 'group = "root"', 'security_driver = "none"',
            'cgroup_controllers = []', 'namespaces = []',
            'remember_owner = 0', 'stdio_handler = "file"')))
    pathlib.Path('/etc/libvirt/libvirtd.conf').write_text(
        'unix_sock_group = "root"\nauth_unix_rw = "none"\n')
    # Without /dev/vfio/vfio, libvirt says that the host cannot pass devices
    # through, and loads no module by itself.
    run('modprobe', 'vfio-pci')
    run('libvirtd', '-d')
    until(lambda: os.path.exists('/run/libvirt/libvirt-sock'), 'libvirt')


def _stop():
    """It remembers how a device was used: each guest has a fresh one."""
    pid = int(pathlib.Path('/run/libvirtd.pid').read_text())
    os.kill(pid, 15)
    until(lambda: not os.path.exists('/proc/%d' % pid), 'end of libvirt')
    pathlib.Path('/run/libvirt/libvirt-sock').unlink(missing_ok=True)


def said():
    return LOG.read_text(errors='replace') if LOG.exists() else ''


@contextlib.contextmanager
def guest(element):
    """A guest with a device, which it has used; gone at the end.

    :yields: what it said
    """
    LOG.unlink(missing_ok=True)
    pathlib.Path('/tmp/guest.xml').write_text(_domain(element))
    _start()
    try:
        run('virsh', '-q', 'create', '/tmp/guest.xml')
        try:
            until(lambda: 'guest: ready' in said(), 'guest')
            yield said()
        except AssertionError as error:
            raise AssertionError('%s\nThe guest said:\n%s' % (
                error, said())) from None
        finally:
            subprocess.run(['virsh', '-q', 'destroy', 'guest'])
    finally:
        _stop()
