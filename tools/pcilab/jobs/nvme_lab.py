# SPDX-License-Identifier: Apache-2.0
"""What the jobs that clean NVMe disks share: words, drivers, guests."""

import os
import re
import subprocess
import sys
import threading
import time

SECRET = b'the secret of the first guest\n'
GUEST_SECONDS = 600


def say(text):
    with open('/proc/uptime') as stream:
        print('[%s] %s' % (stream.read().split()[0], text), flush=True)


def check(condition, text):
    say(('ok: ' if condition else 'FAILED: ') + text)
    if not condition:
        sys.exit(1)


def write(path, text):
    with open(path, 'w') as stream:
        stream.write(text)


def bind(address, driver):
    """As an operator does, for what the library must then find."""
    place = '/sys/bus/pci/devices/' + address
    write(place + '/driver_override', driver + '\n')
    if os.path.exists(place + '/driver'):
        write(place + '/driver/unbind', address)
    write('/sys/bus/pci/drivers_probe', address)
    if driver == 'nvme':
        write(place + '/driver_override', '\n')


class Guest:
    """A guest of this machine that has one disk through VFIO."""

    def __init__(self, address, job, hold=0):
        self.lines = []
        self._process = subprocess.Popen(
            ['qemu-system-x86_64', '-accel', 'kvm', '-cpu', 'host', '-M',
             'q35', '-m', '192', '-nodefaults', '-display', 'none',
             '-no-reboot', '-serial', 'stdio', '-kernel',
             '/boot/guest-vmlinuz', '-initrd', '/tmp/guest.gz',
             '-append', 'console=ttyS0 quiet panic=-1 mitigations=off '
             'no_timer_check tsc=reliable guestjob=%s guesthold=%d' % (
                 job, hold), '-device', 'vfio-pci,host=' + address],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors='replace')
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            found = re.search(r'guest: .*', line)
            self.lines.append(found.group(0) if found else line.rstrip())
            say('    | ' + self.lines[-1][:100])

    def wait_for(self, text):
        limit = time.monotonic() + GUEST_SECONDS
        while not any(text in line for line in self.lines):
            if time.monotonic() > limit or not self._reader.is_alive():
                check(any(text in line for line in self.lines),
                      'the guest says %r' % text)
            time.sleep(0.2)

    def alive(self):
        return self._process.poll() is None

    def end(self):
        """As Nova does when an instance is deleted."""
        self._process.terminate()
        self._process.wait()
