# SPDX-License-Identifier: Apache-2.0
"""A simulated host with NVMe disks, and those who use them."""

from collections.abc import Callable
import contextlib
import dataclasses
import json
import os
import re
import shutil
import threading
import time
from typing import Any
from typing import TypeAlias
import uuid

from cyborg.nvme import facts as nvme_facts
from cyborg.nvme import local
from cyborg.nvme import records
from cyborg.nvme import roots as nvme_roots
from cyborg.nvme import structures
from cyborg.nvme.simulate import device as sim_device
from cyborg.nvme.simulate import kernel as sim_kernel
from cyborg.nvme.simulate import media as sim_media
from cyborg.pci import simulate as pci_simulate

Media: TypeAlias = sim_media.Media
Device: TypeAlias = sim_device.Device
State: TypeAlias = sim_media.State

_NVME, _VFIO = 'nvme', 'vfio-pci'
#: Crypto and block erase, format, namespaces, write protection.
ABLE = {'sanicap': 0x3, 'oacs': 0xa, 'fna': 0x4, 'nwpc': 0x1, 'nn': 8}


class BlocksForEver(BaseException):
    """A write to ``unbind`` of a disk that a guest has: it never returns."""


@dataclasses.dataclass(frozen=True)
class _Function:
    """A PCI function: which subsystem, and what Linux calls it."""

    subsystem: str
    cntlid: int
    instance: int
    group: str


class World:
    """A directory with ``sys``, ``proc``, ``dev`` and the disks' media.

    Another ``World`` on the same directory, in this process or a later one,
    is the same host.

    :param clock: seconds; what a sanitize goes by.
    """

    def __init__(self, path: str, clock: Callable[[], float] = time.time):
        self.path = os.path.abspath(path)
        self.clock = clock
        self.unblocked = threading.Event()
        self._media: dict[str, Media] = {}
        self._tree = pci_simulate.SysfsTree(self.at('sys'))
        for name in ('proc', 'dev/vfio', 'disks', 'functions', 'locks',
                     'claims', 'sys/class/nvme', 'sys/block'):
            os.makedirs(self.at(name), exist_ok=True)

    def at(self, *names: str) -> str:
        return os.path.join(self.path, *names)

    def kernel(self, on_call: Callable[[str, str], None] | None = None
               ) -> 'sim_kernel.Kernel':
        """The kernel as a new process has it."""
        return sim_kernel.Kernel(self, on_call)

    def host(self,
             on_call: Callable[[str, str], None] | None = None) -> local.Host:
        """The disks as a new process has them."""
        return local.Host(self.kernel(on_call))

    # Disks.

    def add(self, address: str, serial: str, *, model: str = 'SIMULATED NVME',
            size: int = sim_media.DEFAULT_SIZE, namespaces: int = 1,
            shares_with: str | None = None, driver: str | None = _NVME,
            totalvfs: int | None = None, **abilities: Any) -> Media:
        """Plug a disk in.

        :param namespaces: of equal size, all attached; together the whole.
        :param shares_with: the address of a disk, of whose subsystem this
            becomes another controller.
        :param abilities: fields of records.Identity and of media.State.
        """
        instance = len(os.listdir(self.at('functions')))
        if shares_with is None:
            state = _new_state(serial, model, size, namespaces, abilities)
            media = Media.create(self.at('disks', serial), state)
            function = _Function(serial, 0, instance, str(100 + instance))
        else:
            subsystem = self._function(shares_with).subsystem
            media = Media(self.at('disks', subsystem))
            function = _Function(subsystem, _join(media), instance,
                                 str(100 + instance))
        self._tree.add(address, media.state().identity.vid, 0xa808, 0x010802,
                       totalvfs=totalvfs, iommu_group=int(function.group))
        self._pci(address, 'driver_override', '(null)\n')
        self._put(address, function)
        if driver is not None:
            self._bind(address, driver)
        return media

    def media(self, address: str) -> Media:
        name = self._function(address).subsystem
        if name not in self._media:
            self._media[name] = Media(self.at('disks', name))
        return self._media[name]

    def device(self, address: str) -> Device:
        """The controller itself, as whoever has it can talk to it."""
        function = self._function(address)
        return Device(self.media(address), function.cntlid, self.clock)

    def break_(self, address: str, **faults: Any) -> None:
        """Give a disk faults of media.Faults; the others it has are gone."""
        self.media(address).set(faults=sim_media.Faults(**faults))

    def remove(self, address: str) -> None:
        """Pull the disk; its media stay."""
        self._unpublish(address)
        place = os.path.realpath(self.at('sys/bus/pci/devices', address))
        os.unlink(self.at('sys/bus/pci/devices', address))
        shutil.rmtree(place)
        os.rename(self.at('functions', address),
                  self.at('functions', address + '.pulled-%d' % len(
                      os.listdir(self.at('functions')))))

    def renumber(self, one: str, other: str) -> None:
        """Let two disks at the nvme driver swap their names.

        As when both get the driver anew: what had them open has nothing.
        """
        functions = [self._function(each) for each in (one, other)]
        for address, before, after in zip((one, other), functions,
                                          reversed(functions), strict=True):
            self._unpublish(address)
            self._put(address, dataclasses.replace(
                before, instance=after.instance))
        for address in (one, other):
            self.publish(address)

    def lose_power(self, address: str) -> None:
        """A sanitize begins anew when power is back, as disks do."""
        media = self.media(address)
        with media.changing() as state:
            if state.running is not None:
                media.put(dataclasses.replace(
                    state, running=dataclasses.replace(
                        state.running, began=self.clock())))

    def opcodes(self, address: str) -> list[str]:
        """Names of all commands that a disk got, from anybody."""
        return [structures.OPCODES.get(each['opcode'], hex(each['opcode']))
                for each in self.media(address).logged() if 'opcode' in each]

    def touched(self, address: str) -> list[dict]:
        """Of that log all that changed or could change something."""
        return [each for each in self.media(address).logged()
                if each.get('opcode', -1) not in structures.READING]

    def wait_while_blocked(self, address: str) -> None:
        if self.media(address).state().faults.blocks:
            self.unblocked.wait()

    def protected(self, address: str, nsid: int) -> bool:
        found = self.media(address).state().extent(nsid)
        return found is not None and found.namespace.write_protected

    # Those who use them.

    def guest(self, address: str, pid: int = 4711) -> 'Guest':
        """Start a guest with the disk, as libvirt does with managed=yes.

        :raises OSError: EBUSY, when somebody holds the group.
        """
        return Guest(self, address, pid)

    def claim(self, name: str) -> None:
        """Let every exclusive open of a device node fail from now on."""
        with open(self.at('claims', name.replace('/', '-')), 'w'):
            pass

    def unclaim(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.at('claims', name.replace('/', '-')))

    def claimed(self, name: str) -> bool:
        return os.path.exists(self.at('claims', name.replace('/', '-')))

    def mount(self, block: str, where: str) -> None:
        """Mount ``nvme0n1`` and keep exclusive openers away."""
        with open(self.at('sys/class/block', block, 'dev')) as stream:
            number = stream.read().strip()
        self._proc('self/mountinfo', '25 1 %s / %s rw - ext4 /dev/%s rw\n' % (
            number, where, block))
        self.claim(block)

    def unmount(self, block: str) -> None:
        self._proc('self/mountinfo', '')
        self.unclaim(block)

    def swap_on(self, block: str) -> None:
        self._proc('swaps', 'Filename Type Size Used Priority\n'
                   '/dev/%s partition 1 0 -2\n' % block)
        self.claim(block)

    def put_on_top(self, block: str, name: str = 'dm-0',
                   label: str = 'vg-lv') -> None:
        """Let device mapper hold a disk."""
        os.makedirs(self.at('sys/class/block', block, 'holders', name))
        os.makedirs(self.at('sys/class/block', name, 'dm'), exist_ok=True)
        for path, text in (('dm/name', label), ('dev', '254:0')):
            with open(self.at('sys/class/block', name, path), 'w') as stream:
                stream.write(text + '\n')
        self.claim(block)

    def open_by(self, pid: int, comm: str, node: str) -> None:
        """Show a process that has a node open."""
        os.makedirs(self.at('proc', str(pid), 'fd'), exist_ok=True)
        self._proc('%d/comm' % pid, comm + '\n')
        os.symlink('/dev/' + node, self.at('proc', str(pid), 'fd', '9'))

    def end_process(self, pid: int) -> None:
        shutil.rmtree(self.at('proc', str(pid)))

    def _proc(self, name, text):
        os.makedirs(os.path.dirname(self.at('proc', name)), exist_ok=True)
        with open(self.at('proc', name), 'w') as stream:
            stream.write(text)

    # Drivers.

    def override(self, address: str, driver: str | None) -> None:
        self._pci(address, 'driver_override', (driver or '(null)') + '\n')

    def unbind(self, address: str) -> None:
        """:raises BlocksForEver: a guest has it."""
        group = self._function(address).group
        if self.claimed('vfio/' + group):
            raise BlocksForEver(address)
        self._unpublish(address)
        link = self.at('sys/bus/pci/devices', address, 'driver')
        if os.path.islink(link):
            os.unlink(link)

    def probe(self, address: str) -> None:
        """Bind the driver that the override names, or nvme."""
        if nvme_facts.binding(self._roots(), address).driver is None:
            override = nvme_facts.binding(self._roots(), address).override
            self._bind(address, override or _NVME)

    def _bind(self, address, driver):
        home = self.at('sys/bus/pci/drivers', driver)
        os.makedirs(home, exist_ok=True)
        place = os.path.realpath(self.at('sys/bus/pci/devices', address))
        os.symlink(os.path.relpath(home, place),
                   os.path.join(place, 'driver'))
        if driver == _NVME:
            self.publish(address)
        elif driver == _VFIO:
            function = self._function(address)
            os.makedirs(os.path.join(
                place, 'vfio-dev', 'vfio%d' % function.instance))
            self._dev('vfio/' + function.group, '511:' + function.group)

    def _unpublish(self, address):
        function = self._function(address)
        place = os.path.realpath(self.at('sys/bus/pci/devices', address))
        name = 'nvme%d' % function.instance
        for each in os.listdir(self.at('dev')):
            if re.fullmatch(name + r'(n\d+)?', each):
                os.unlink(self.at('dev', each))
        for kind in ('class/nvme', 'class/block'):
            for each in os.listdir(self.at('sys', kind)):
                if re.fullmatch(name + r'(n\d+)?', each):
                    os.unlink(self.at('sys', kind, each))
        for each in ('nvme', 'vfio-dev'):
            shutil.rmtree(os.path.join(place, each), ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.at('dev/vfio', function.group))

    def publish(self, address: str) -> None:
        """Show a controller and its namespaces as the driver finds them."""
        if address is None or not os.path.exists(
                self.at('sys/bus/pci/devices', address)):
            return
        function = self._function(address)
        name = 'nvme%d' % function.instance
        facts = self.media(address).state().identity
        place = os.path.join(os.path.realpath(self.at(
            'sys/bus/pci/devices', address)), 'nvme', name)
        number = '240:%d' % function.instance
        _files(place, serial=facts.serial, model=facts.model,
               firmware_rev=facts.firmware, state='live',
               subsysnqn=facts.subnqn, dev=number)
        self._link('class/nvme', name, place)
        self._dev(name, number)
        wanted = {name + 'n%d' % each.nsid: each
                  for each in self.device(address).namespaces()}
        for each in os.listdir(place):
            if each.startswith(name + 'n') and each not in wanted:
                shutil.rmtree(os.path.join(place, each))
                os.unlink(self.at('sys/class/block', each))
                os.unlink(self.at('dev', each))
        for each, namespace in wanted.items():
            number = '259:%d' % (function.instance * 64 + namespace.nsid)
            _files(os.path.join(place, each), dev=number,
                   nsid=str(namespace.nsid), size=str(namespace.size // 512))
            self._link('class/block', each, os.path.join(place, each))
            self._dev(each, number)

    def _link(self, kind, name, place):
        path = self.at('sys', kind, name)
        if not os.path.islink(path):
            os.symlink(os.path.relpath(place, os.path.dirname(path)), path)

    def _dev(self, name, number):
        """A node: its number, and what tells it from one before it."""
        if not os.path.exists(self.at('dev', name)):
            with open(self.at('dev', name), 'w') as stream:
                stream.write('%s %s' % (number, uuid.uuid4()))

    def _pci(self, address, name, text):
        with open(self.at('sys/bus/pci/devices', address, name),
                  'w') as stream:
            stream.write(text)

    def _roots(self):
        return nvme_roots.Roots(self.at('sys'), self.at('proc'),
                                self.at('dev'))

    def _put(self, address: str, function: _Function) -> None:
        with open(self.at('functions', address), 'w') as stream:
            json.dump(dataclasses.asdict(function), stream)

    def _function(self, address: str) -> _Function:
        with open(self.at('functions', address)) as stream:
            return _Function(**json.load(stream))

    def address_of(self, controller: str) -> str | None:
        """PCI address of ``nvme0``."""
        for name in os.listdir(self.at('functions')):
            if '.pulled' not in name and (
                    'nvme%d' % self._function(name).instance == controller):
                return name
        return None


class Guest:
    """A guest that owns a disk: it may send whatever it likes."""

    def __init__(self, world: World, address: str, pid: int):
        self._world, self.address, self.pid = world, address, pid
        self._group = 'vfio/' + world._function(address).group
        kernel = world.kernel()
        world.unbind(address)
        world._bind(address, _VFIO)
        handle = kernel.open_group(self._group)
        world.claim(self._group)
        kernel.close(handle)
        world.open_by(pid, 'qemu-system-x86', self._group)
        self.device = world.device(address)

    def read(self, nsid: int, offset: int, length: int) -> bytes:
        return self.device.read(nsid, offset, length)

    def write(self, nsid: int, offset: int, data: bytes) -> None:
        self.device.write(nsid, offset, data)

    def admin(self, command: structures.Command, data: bytes = b'') -> Any:
        """:returns: the completion; nothing is checked."""
        return self.device.admin(command.pack(), data)

    def leave(self, driver: str = _NVME) -> None:
        """The guest ends, and libvirt gives the disk back to the host."""
        self._world.unclaim(self._group)
        self._world.end_process(self.pid)
        if driver != _VFIO:
            self._world.unbind(self.address)
            self._world._bind(self.address, driver)


def _new_state(serial, model, size, count, abilities) -> State:
    own = {name: abilities.pop(name) for name in tuple(abilities)
           if name in {field.name for field in dataclasses.fields(State)}}
    facts = {'vid': 0x144d, 'ssvid': 0x144d, 'serial': serial,
             'model': model, 'firmware': 'SIM1.0', 'cntrltype': 1,
             'ver': 0x20000, 'tnvmcap': size,
             'subnqn': 'nqn.2014-08.org.nvmexpress:uuid:sim-' + serial,
             **ABLE, **abilities}
    formats = (sim_media.BLOCK, records.BlockFormat(4096))
    blocks = size // count // 512
    extents = tuple(sim_media.Extent(records.Namespace(
        nsid=number + 1, blocks=blocks, capacity=blocks, lbaf=0,
        block=formats[0], controllers=(0,), formats=formats,
        guid='%032x' % (number + 1)), number * blocks * 512)
        for number in range(count))
    state = State(records.Identity(**facts), extents,
                  firmware=records.Firmware(1, 0, (facts['firmware'],)))
    return dataclasses.replace(state, **own)


def _join(media: Media) -> int:
    """Add a controller to a subsystem; all its namespaces get attached."""
    with media.changing() as state:
        cntlid = len(state.controllers)
        media.put(dataclasses.replace(
            state, controllers=(*state.controllers, cntlid),
            identity=dataclasses.replace(state.identity,
                                         cmic=state.identity.cmic | 0x2),
            extents=tuple(dataclasses.replace(
                each, namespace=dataclasses.replace(
                    each.namespace, nmic=1, controllers=(
                        *each.namespace.controllers, cntlid)))
                for each in state.extents)))
        return cntlid


def _files(place, **texts):
    os.makedirs(place, exist_ok=True)
    for name, text in texts.items():
        with open(os.path.join(place, name), 'w') as stream:
            stream.write(text + '\n')
