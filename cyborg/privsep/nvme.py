# SPDX-License-Identifier: Apache-2.0
"""Holds, reads and erases NVMe disks, with privilege.

The privileged process keeps the exclusive handles; they end with it, and it
ends with the service. What comes across is checked here once more: addresses
and names by form, commands by :mod:`cyborg.nvme.safety`, and nothing that
destroys is sent for a disk that is not held here.
"""

from collections.abc import Iterable
import functools
import re
import threading

from oslo_config import cfg
from oslo_log import log as logging
from oslo_privsep import capabilities
from oslo_privsep import priv_context

from cyborg import privsep
from cyborg.common import exception
from cyborg.nvme import errors
from cyborg.nvme import linux
from cyborg.nvme import local
from cyborg.nvme import plain
from cyborg.nvme import port as nvme_port
from cyborg.nvme import records
from cyborg.nvme import roots as nvme_roots
from cyborg.nvme import structures
from cyborg.pci import address as pci_address

LOG = logging.getLogger(__name__)

_SECTION = 'cyborg_nvme'

nvme_pctxt = priv_context.PrivContext(
    'cyborg', cfg_section=_SECTION, pypath=__name__ + '.nvme_pctxt',
    capabilities=[
        # Device nodes of root, and sysfs.
        capabilities.CAP_DAC_OVERRIDE,
        capabilities.CAP_DAC_READ_SEARCH,
        # Admin commands that are not only looks.
        capabilities.CAP_SYS_ADMIN,
        # The names of those who have a disk open (/proc/<pid>/fd).
        capabilities.CAP_SYS_PTRACE,
    ])
# As many disks can hang in the kernel as are erased at once, and the others
# must still be answered.
cfg.CONF.set_default('thread_pool_size', 32, group=_SECTION)

_ADDRESS = re.compile(pci_address.EXPRESSION)
_DRIVER = re.compile(r'[A-Za-z0-9][A-Za-z0-9_-]{0,63}')
_LARGEST = 1 << 20
_SECTOR = 512


class _Keeper:
    """The ports of the privileged process, one for each address."""

    def __init__(self, host: nvme_port.Host):
        self.host = host
        self._lock = threading.Lock()
        self._ports: dict[str, nvme_port.Port] = {}

    def port(self, address: str) -> nvme_port.Port:
        with self._lock:
            if address not in self._ports:
                self._ports[address] = self.host.port(address)
            return self._ports[address]


@functools.cache
def _keeper() -> _Keeper:
    return _Keeper(local.Host(linux.Kernel()))


def _port(address: str) -> nvme_port.Port:
    return _keeper().port(_checked(address))


def _checked(address: str) -> str:
    """:raises ValueError: it is no address in the form of Linux."""
    if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        raise ValueError('%r is no PCI address' % (address,))
    return address


def _number(value: int, largest: int, step: int = 1) -> int:
    if (not isinstance(value, int) or isinstance(value, bool)
            or not 0 <= value <= largest or value % step):
        raise ValueError('%r is not acceptable here' % (value,))
    return value


def _bytes(value: bytes, largest: int, step: int = 1) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError('%s are not bytes' % type(value).__name__)
    _number(len(value), largest, step)
    return value


def _answered(function):
    """Errors of a disk go back as plain values, with all that they know."""
    @functools.wraps(function)
    def call(*args):
        try:
            return {'value': function(*args)}
        except errors.NvmeError as error:
            return {'error': plain.error_to_plain(error)}

    return call


@nvme_pctxt.entrypoint
@_answered
def facts(addresses: list) -> list:
    """records.Facts of each, as plain values. Every function here:

    :raises ValueError: an argument is not acceptable.
    """
    found = _keeper().host.facts([_checked(each) for each in addresses])
    return [plain.to_plain(each) for each in found.values()]


@nvme_pctxt.entrypoint
@_answered
def admin(address: str, command: bytes, data: bytes) -> list:
    """Status, result and data of an admin command."""
    found = _port(address).admin(
        _bytes(command, structures.COMMAND_SIZE),
        _bytes(data, structures.IDENTIFY_SIZE))
    return [found.status, found.result, found.data]


@nvme_pctxt.entrypoint
@_answered
def hold(address: str) -> list:
    return plain.to_plain(_port(address).hold())


@nvme_pctxt.entrypoint
@_answered
def check_hold(address: str) -> None:
    _port(address).check_hold()


@nvme_pctxt.entrypoint
@_answered
def release(address: str) -> None:
    _port(address).release()


@nvme_pctxt.entrypoint
@_answered
def read(address: str, nsid: int, offset: int, length: int) -> bytes:
    return _port(address).read(
        _number(nsid, structures.ALL_NAMESPACES - 1),
        _number(offset, 1 << 63, _SECTOR), _number(length, _LARGEST, _SECTOR))


@nvme_pctxt.entrypoint
@_answered
def write(address: str, nsid: int, offset: int, data: bytes) -> None:
    """Only a namespace that is held is written to."""
    _port(address).write(
        _number(nsid, structures.ALL_NAMESPACES - 1),
        _number(offset, 1 << 63, _SECTOR), _bytes(data, _LARGEST, _SECTOR))


@nvme_pctxt.entrypoint
@_answered
def rescan(address: str, nsids: list) -> None:
    _port(address).rescan(tuple(
        _number(each, structures.ALL_NAMESPACES - 1) for each in nsids))


@nvme_pctxt.entrypoint
@_answered
def restore_binding(address: str, driver: str | None,
                    override: str | None) -> None:
    for name in (driver, override):
        if name is not None and not _DRIVER.fullmatch(name):
            raise ValueError('%r is no name of a driver' % (name,))
    _port(address).restore_binding(records.Binding(driver, override))


class Host:
    """The disks of this host, for a process without privilege.

    :param sysfs_path: where this process itself reads sysfs.
    """

    def __init__(self, sysfs_path: str = nvme_roots.Roots.sys):
        self._unprivileged = local.Host(linux.Kernel(
            nvme_roots.Roots(sys=sysfs_path)))
        self._trouble = ''

    def addresses(self) -> tuple[str, ...]:
        return self._unprivileged.addresses()

    def facts(self, addresses: Iterable[str]) -> dict[str, records.Facts]:
        """Where the helper does not work, what anybody may read.

        That is enough to reserve what is used; nothing can be held, and so
        nothing be erased, without it.
        """
        try:
            found = _value(facts, list(addresses))
        except exception.PrivilegedHelperFailed as error:
            if self._trouble != error.message:
                LOG.error('%s Disks are reserved, and none is cleaned.',
                          error.message)
            self._trouble = error.message
            return self._unprivileged.facts(addresses)
        self._trouble = ''
        return {each['address']: plain.from_plain(records.Facts, each)
                for each in found}

    def port(self, address: str) -> 'Port':
        return Port(address)


class Port:
    """Keeps the contract of :class:`cyborg.nvme.port.Port` over privsep."""

    def __init__(self, address: str):
        self.address = address

    def facts(self) -> records.Facts:
        [found] = _value(facts, [self.address])
        return plain.from_plain(records.Facts, found)

    def admin(self, command: bytes,
              data: bytes = b'') -> nvme_port.Completion:
        status, result, answer = _value(
            admin, self.address, command, data)
        return nvme_port.Completion(status, result, bytes(answer))

    def hold(self) -> tuple[nvme_port.Held, ...]:
        return tuple(plain.from_plain(nvme_port.Held, each)
                     for each in _value(hold, self.address))

    def check_hold(self) -> None:
        _value(check_hold, self.address)

    def release(self) -> None:
        _value(release, self.address)

    def read(self, nsid: int, offset: int, length: int) -> bytes:
        return bytes(_value(read, self.address, nsid, offset, length))

    def write(self, nsid: int, offset: int, data: bytes) -> None:
        _value(write, self.address, nsid, offset, data)

    def rescan(self, nsids: tuple[int, ...]) -> None:
        _value(rescan, self.address, list(nsids))

    def restore_binding(self, binding: records.Binding) -> None:
        _value(restore_binding, self.address, binding.driver,
               binding.override)


def _value(function, *args):
    """What a privileged function answers.

    :raises errors.NvmeError: what it found.
    :raises PrivilegedHelperFailed: it can't be asked; the helper is started
        anew by the next call, and holds nothing then.
    """
    try:
        answer = function(*args)
    except (OSError, *privsep.HELPER_ERRORS) as error:
        raise privsep.helper_failed(nvme_pctxt, error) from error
    if 'error' in answer:
        raise plain.error_from_plain(answer['error'])
    return answer['value']
