# SPDX-License-Identifier: Apache-2.0
"""One NVMe controller in typed methods, over whichever port it has."""

from collections.abc import Callable
import dataclasses
from typing import TypeVar

from cyborg.nvme import errors
from cyborg.nvme import methods
from cyborg.nvme import port as nvme_port
from cyborg.nvme import records
from cyborg.nvme import structures

Value = TypeVar('Value')
#: Asked directly before a command that destroys; raises to prevent it.
Guard = Callable[[], None]

#: A format answers when it is done, which may take as long as this.
FORMAT_TIMEOUT = 4 * 3600


class Nonsense(errors.NvmeError):
    """The controller's answer cannot be what was asked for."""

    reason = 'nonsense'

    def __init__(self, disk: str, error: structures.Malformed):
        super().__init__(disk, 'its answer makes no sense: %s.' % error)


@dataclasses.dataclass(frozen=True)
class Inventory:
    """All that is read of a disk in one go."""

    identity: records.Identity
    namespaces: tuple[records.Namespace, ...]
    controllers: tuple[int, ...]
    sanitize: records.SanitizeLog | None
    health: records.Health
    firmware: records.Firmware


class Controller:
    """Reads, and changes only what a method's name says.

    Each method raises the classes of :mod:`cyborg.nvme.errors`, above all
    CommandFailed for an error status, and :class:`Nonsense`.

    :param port: where the commands go.
    """

    def __init__(self, port: nvme_port.Port):
        self.port = port
        self.disk = port.address

    # What only reads.

    def identify(self) -> records.Identity:
        """Who it is. Its serial becomes part of the text of later errors."""
        found = self._identify(structures.CNS_CONTROLLER,
                               structures.identity)
        self.disk = '%s (serial %s)' % (self.port.address, found.serial)
        return found

    def namespaces(self, identity: records.Identity | None = None) -> tuple[
            records.Namespace, ...]:
        """All allocated namespaces, also those that nothing is attached to.

        A disk without namespace management can only have attached ones.
        """
        identity = identity or self.identify()
        active = self.active()
        if not identity.manages_namespaces:
            return tuple(self._namespace(nsid, True, ()) for nsid in active)
        allocated = self._namespace_ids(structures.CNS_ALLOCATED_NAMESPACES)
        return tuple(
            self._namespace(nsid, nsid in active, self._identify(
                structures.CNS_ATTACHED_CONTROLLERS,
                structures.controller_list, nsid))
            for nsid in sorted({*active, *allocated}))

    def active(self) -> tuple[int, ...]:
        """Ids of the namespaces that are attached to this controller."""
        return self._namespace_ids(structures.CNS_ACTIVE_NAMESPACES)

    def controllers(self, identity: records.Identity) -> tuple[int, ...]:
        """Ids of the subsystem's controllers.

        :returns: the own one alone where there can be no other; empty where
            the disk may have others and cannot tell.
        """
        if identity.manages_namespaces:
            return self._identify(structures.CNS_CONTROLLERS,
                                  structures.controller_list)
        return () if identity.several_controllers else (identity.cntlid,)

    def sanitize_log(self) -> records.SanitizeLog:
        return self._log(structures.LOG_SANITIZE, structures.sanitize_log)

    def health(self) -> records.Health:
        return self._log(structures.LOG_HEALTH, structures.health)

    def firmware(self) -> records.Firmware:
        return self._log(structures.LOG_FIRMWARE, structures.firmware)

    def inventory(self) -> Inventory:
        """Everything above; sends only commands that read."""
        identity = self.identify()
        return Inventory(
            identity, self.namespaces(identity), self.controllers(identity),
            self.sanitize_log() if identity.sanicap & 0x7 else None,
            self.health(), self.firmware())

    # What destroys or changes. The port refuses these without a hold.

    def sanitize(self, method: methods.Method, guard: Guard) -> int:
        """Begin a sanitize of the whole subsystem; the disk goes on alone.

        :returns: command dword 10, by which the log is known as ours.
        :raises ValueError: the method is a format.
        """
        if not method.sanitizes:
            raise ValueError('%s is no sanitize' % method)
        command = structures.sanitize(method.sanact)
        self._change(command, guard)
        return command.cdw10

    def format(self, namespace: records.Namespace, method: methods.Method,
               guard: Guard, *, lbaf: int | None = None) -> None:
        """Erase one namespace, and all others where the disk does so (FNA).

        Returns when it is done.

        :param lbaf: the block format it gets; the present one by default.
        :raises ValueError: the method is a sanitize.
        """
        if method.sanitizes:
            raise ValueError('%s is no format' % method)
        self._change(structures.format_nvm(
            namespace.nsid, namespace, method.ses,
            namespace.lbaf if lbaf is None else lbaf,
            FORMAT_TIMEOUT * 1000), guard)

    def create_namespace(self, wanted: records.Namespace,
                         guard: Guard) -> int:
        """:returns: the id that the controller gave it."""
        command, data = structures.create_namespace(wanted)
        return self._change(command, guard, data).result

    def delete_namespace(self, nsid: int, guard: Guard) -> None:
        self._change(structures.delete_namespace(nsid), guard,
                     bytes(structures.IDENTIFY_SIZE))

    def attach_namespace(self, nsid: int, cntlid: int, guard: Guard) -> None:
        command, data = structures.attach_namespace(nsid, cntlid)
        self._change(command, guard, data)

    def detach_namespace(self, nsid: int, cntlid: int, guard: Guard) -> None:
        command, data = structures.attach_namespace(nsid, cntlid,
                                                    attach=False)
        self._change(command, guard, data)

    def protect(self, nsid: int, protected: bool, guard: Guard) -> None:
        """Set or lift the write protection of a namespace."""
        self._change(structures.write_protection(nsid, protected), guard)

    # How.

    def _change(self, command, guard, data=b''):
        guard()
        return self._admin(command, data)

    def _admin(self, command, data=b''):
        completion = self.port.admin(command.pack(), data)
        if completion.status:
            raise errors.CommandFailed(self.disk, command.name,
                                       completion.status)
        return completion

    def _identify(self, cns: int, decode: Callable[[bytes], Value],
                  nsid: int = 0) -> Value:
        return self._decoded(structures.identify(cns, nsid), decode)

    def _log(self, lid: int, decode: Callable[[bytes], Value]) -> Value:
        return self._decoded(structures.get_log_page(lid), decode)

    def _decoded(self, command, decode):
        data = self._admin(command).data
        try:
            return decode(data)
        except structures.Malformed as error:
            raise Nonsense(self.disk, error) from None

    def _namespace_ids(self, cns):
        found: list[int] = []
        while True:
            page = self._identify(cns, structures.namespace_list,
                                  found[-1] if found else 0)
            new = [nsid for nsid in page if not found or nsid > found[-1]]
            found += new
            # A page without anything new would be asked for for ever.
            if len(page) < 1024 or not new:
                return tuple(found)

    def _namespace(self, nsid, attached, controllers):
        cns = (structures.CNS_NAMESPACE if attached
               else structures.CNS_ALLOCATED_NAMESPACE)
        return self._identify(cns, lambda data: structures.namespace(
            data, nsid, attached, controllers), nsid)
