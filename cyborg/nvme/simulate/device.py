# SPDX-License-Identifier: Apache-2.0
"""A simulated controller: what it answers to the bytes of a command.

Behaves as the NVM Express Base Specification 2.0 wants it, where a cleaner
could be wrong about it: a format leaves alone what is detached or in no
namespace, a sanitize goes on over resets, and a success is 101h.
"""

from collections.abc import Callable
import dataclasses
import errno
import os

from cyborg.nvme import port as nvme_port
from cyborg.nvme import records
from cyborg.nvme import structures
from cyborg.nvme.simulate import media as sim_media

_INVALID_OPCODE, _INVALID_FIELD, _INVALID_NAMESPACE = 0x001, 0x002, 0x00b
_SANITIZE_FAILED, _SANITIZING, _PROTECTED = 0x01c, 0x01d, 0x020
_NO_CAPACITY, _ATTACHED, _NOT_ATTACHED = 0x115, 0x118, 0x11a
#: Commands that run while a sanitize does.
_ALWAYS = frozenset({structures.GET_LOG_PAGE, structures.IDENTIFY})
_SUCCEEDED, _RUNNING, _FAILED = 0x101, 0x2, 0x3
_GLOBAL_ERASED = 0x100
_FULL = 0xffff


class _Refused(Exception):
    def __init__(self, status: int):
        super().__init__('status %03x' % status)
        self.status = status


class Device:
    """One controller of a subsystem.

    :param media: the subsystem.
    :param cntlid: which of its controllers this is.
    :param clock: seconds, from anywhere; a sanitize goes by it.
    """

    def __init__(self, media: sim_media.Media, cntlid: int,
                 clock: Callable[[], float]):
        self._media = media
        self._cntlid = cntlid
        self._clock = clock

    # Commands.

    def admin(self, packed: bytes, data: bytes) -> nvme_port.Completion:
        """Obey one command.

        :raises OSError: ENODEV of a dead disk.
        """
        command = structures.Command.unpack(packed)
        self._media.log({
            'opcode': command.opcode, 'nsid': command.nsid,
            'cdw10': command.cdw10, 'cdw11': command.cdw11,
            'cntlid': self._cntlid})
        with self._media.changing() as state:
            state = self._now(state)
            if state.faults.dead:
                raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
            try:
                return self._obey(state, command, data)
            except _Refused as refused:
                return nvme_port.Completion(
                    refused.status, data=bytes(
                        command.data_len if command.from_controller else 0))

    def _obey(self, state, command, data):
        if state.running is not None and command.opcode not in _ALWAYS:
            raise _Refused(_SANITIZING)
        if state.failed and command.opcode not in (
                *_ALWAYS, structures.SANITIZE):
            raise _Refused(_SANITIZE_FAILED)
        method = {structures.IDENTIFY: self._identify,
                  structures.GET_LOG_PAGE: self._log_page,
                  structures.SANITIZE: self._sanitize,
                  structures.FORMAT_NVM: self._format,
                  structures.NAMESPACE_MANAGEMENT: self._manage,
                  structures.NAMESPACE_ATTACHMENT: self._attachment,
                  structures.SET_FEATURES: self._set_features,
                  }.get(command.opcode)
        if method is None:
            raise _Refused(_INVALID_OPCODE)
        answer = method(state, command, data)
        if isinstance(answer, int):
            return nvme_port.Completion(0, answer)
        return nvme_port.Completion(0, 0, bytes(answer or b'').ljust(
            command.data_len, b'\0')[:command.data_len]
            if command.from_controller else b'')

    def _identify(self, state, command, _data):
        cns = command.cdw10 & 0xff
        if cns == structures.CNS_CONTROLLER:
            return self._identify_controller(state)
        if cns in (structures.CNS_NAMESPACE,
                   structures.CNS_ALLOCATED_NAMESPACE):
            found = self._extent(state, command.nsid)
            if (cns == structures.CNS_NAMESPACE
                    and self._cntlid not in found.namespace.controllers):
                return b''
            return _identify_namespace(found.namespace)
        if cns in (structures.CNS_ACTIVE_NAMESPACES,
                   structures.CNS_ALLOCATED_NAMESPACES):
            return b''.join(
                each.namespace.nsid.to_bytes(4, 'little')
                for each in state.extents
                if each.namespace.nsid > command.nsid
                and (cns == structures.CNS_ALLOCATED_NAMESPACES
                     or self._cntlid in each.namespace.controllers))
        if not state.identity.manages_namespaces:
            raise _Refused(_INVALID_FIELD)
        if cns == structures.CNS_ATTACHED_CONTROLLERS:
            return _ids(self._extent(state,
                                     command.nsid).namespace.controllers)
        if cns == structures.CNS_CONTROLLERS:
            return _ids(state.controllers)
        raise _Refused(_INVALID_FIELD)

    def _identify_controller(self, state):
        facts = state.identity
        data = bytearray(structures.IDENTIFY_SIZE)
        structures.put(
            data, structures.CONTROLLER, VID=facts.vid, SSVID=facts.ssvid,
            SN=facts.serial.encode().ljust(20),
            MN=facts.model.encode().ljust(40),
            FR=facts.firmware.encode().ljust(8),
            CMIC=facts.cmic, MDTS=(facts.mdts // 4096).bit_length() - 1
            if facts.mdts else 0, CNTLID=self._cntlid, VER=facts.ver,
            CNTRLTYPE=facts.cntrltype, OACS=facts.oacs,
            TNVMCAP=facts.tnvmcap, UNVMCAP=state.free,
            SANICAP=facts.sanicap, NN=facts.nn, FNA=facts.fna,
            NWPC=facts.nwpc, SUBNQN=facts.subnqn.encode())
        return data

    def _log_page(self, state, command, _data):
        lid = command.cdw10 & 0xff
        data = bytearray(structures.LOG_SIZE)
        if lid == structures.LOG_SANITIZE:
            structures.put(
                data, structures.SANITIZE_STATUS,
                SPROG=self._progress(state), SSTAT=state.sstat,
                SCDW10=state.scdw10, ETO=structures.NO_ESTIMATE,
                ETBE=structures.NO_ESTIMATE, ETCE=structures.NO_ESTIMATE)
        elif lid == structures.LOG_HEALTH:
            found = state.health
            structures.put(
                data, structures.HEALTH,
                CRITICAL_WARNING=found.critical_warning,
                AVAILABLE_SPARE=found.available_spare,
                PERCENTAGE_USED=found.percentage_used,
                MEDIA_ERRORS=found.media_errors)
        elif lid == structures.LOG_FIRMWARE:
            data[0] = state.firmware.active | state.firmware.next << 4
            for number, slot in enumerate(state.firmware.slots):
                data[8 + 8 * number:16 + 8 * number] = (
                    slot.encode().ljust(8))
        else:
            raise _Refused(0x109)
        return data

    # Sanitize.

    def _sanitize(self, state, command, _data):
        sanact = command.cdw10 & 0x7
        if sanact not in (2, 3, 4) or not (
                state.identity.sanicap >> {4: 0, 2: 1, 3: 2}[sanact] & 1):
            raise _Refused(_INVALID_FIELD)
        self._media.put(dataclasses.replace(
            state, sstat=_RUNNING, scdw10=command.cdw10,
            running=sim_media.Running(command.cdw10, self._clock(),
                                      state.sanitize_seconds)))
        return None

    def _progress(self, state) -> int:
        if state.running is None:
            return _FULL
        passed = self._clock() - state.running.began
        progress = int(min(1, passed / (state.running.seconds or 1)) * _FULL)
        hangs = state.faults.sanitize_hangs_at
        return progress if hangs < 0 else min(progress, hangs)

    def _now(self, state: sim_media.State) -> sim_media.State:
        """The state after what the disk did by itself meanwhile."""
        running = state.running
        if running is None or state.faults.sanitize_hangs_at >= 0:
            return state
        if self._clock() - running.began < running.seconds:
            return state
        failed = state.faults.sanitize_fails
        if not failed and not state.faults.lies:
            self._media.erase(0, state.identity.tnvmcap)
        state = dataclasses.replace(
            state, running=None, failed=failed,
            sstat=_FAILED if failed else _SUCCEEDED)
        self._media.put(state)
        return state

    # Format and namespaces.

    def _format(self, state, command, _data):
        if not state.identity.formats:
            raise _Refused(_INVALID_OPCODE)
        if state.faults.format_status:
            raise _Refused(state.faults.format_status)
        ses = command.cdw10 >> 9 & 0x7
        if ses == 2 and not state.identity.fna & 0x4:
            raise _Refused(_INVALID_FIELD)
        asked = self._extent(state, command.nsid).namespace
        lbaf = command.cdw10 & 0xf
        if lbaf >= len(asked.formats or (asked.block,)):
            raise _Refused(0x10a)
        # FNA bit 0: a format reaches all; bit 1: a secure erase does.
        every = state.identity.fna & (0x2 if ses else 0x1)
        for each in state.extents:
            found = each.namespace
            if found.nsid != asked.nsid and not (
                    every and self._cntlid in found.controllers):
                continue
            if found.write_protected:
                raise _Refused(_PROTECTED)
            if ses and not state.faults.lies:
                self._media.erase(each.start, found.size)
            block = (asked.formats or (asked.block,))[lbaf]
            blocks = found.size // block.data_size
            state = state.replace_extent(
                found.nsid, lbaf=lbaf, block=block, blocks=blocks,
                capacity=blocks, extended=bool(command.cdw10 & 0x10),
                dps=command.cdw10 >> 5 & 7 | (command.cdw10 >> 8 & 1) << 3)
        self._media.put(state)

    def _manage(self, state, command, data):
        if not state.identity.manages_namespaces:
            raise _Refused(_INVALID_OPCODE)
        if command.cdw10 & 0xf:
            self._extent(state, command.nsid)
            self._media.put(dataclasses.replace(state, extents=tuple(
                each for each in state.extents
                if each.namespace.nsid != command.nsid)))
            return None
        return self._create(state, data)

    def _create(self, state, data):
        value = {name: structures.get(data, structures.NAMESPACE, name)
                 for name in ('NSZE', 'NCAP', 'FLBAS', 'DPS', 'NMIC')}
        formats = (sim_media.BLOCK, records.BlockFormat(4096))
        lbaf = value['FLBAS'] & 0xf
        if lbaf >= len(formats):
            raise _Refused(0x10a)
        taken = {each.namespace.nsid for each in state.extents}
        nsid = next(number for number in range(1, state.identity.nn + 2)
                    if number not in taken)
        if nsid > state.identity.nn:
            raise _Refused(0x116)
        size = value['NSZE'] * formats[lbaf].data_size
        start = _room(state, size)
        if start is None:
            raise _Refused(_NO_CAPACITY)
        made = records.Namespace(
            nsid=nsid, blocks=value['NSZE'], capacity=value['NCAP'],
            lbaf=lbaf, block=formats[lbaf], dps=value['DPS'],
            extended=bool(value['FLBAS'] & 0x10), nmic=value['NMIC'],
            attached=False, controllers=(), formats=formats)
        self._media.put(dataclasses.replace(state, extents=tuple(sorted(
            (*state.extents, sim_media.Extent(made, start)),
            key=lambda each: each.namespace.nsid))))
        return nsid

    def _attachment(self, state, command, data):
        if not state.identity.manages_namespaces:
            raise _Refused(_INVALID_OPCODE)
        found = self._extent(state, command.nsid).namespace
        ids = set(found.controllers)
        for cntlid in structures.controller_list(data):
            if cntlid not in state.controllers:
                raise _Refused(0x11f)
            if command.cdw10 & 0xf:
                if cntlid not in ids:
                    raise _Refused(_NOT_ATTACHED)
                ids.remove(cntlid)
            else:
                if cntlid in ids:
                    raise _Refused(_ATTACHED)
                ids.add(cntlid)
        self._media.put(state.replace_extent(
            command.nsid, controllers=tuple(sorted(ids)),
            attached=bool(ids)))

    def _set_features(self, state, command, _data):
        if command.cdw10 & 0xff != structures.FEATURE_WRITE_PROTECTION or (
                not state.identity.nwpc & 1):
            raise _Refused(_INVALID_FIELD)
        self._extent(state, command.nsid)
        self._media.put(state.replace_extent(
            command.nsid, write_protected=bool(command.cdw11)))
        return 0

    def _extent(self, state, nsid) -> sim_media.Extent:
        found = state.extent(nsid)
        if found is None:
            raise _Refused(_INVALID_NAMESPACE)
        return found

    # Blocks.

    def namespaces(self) -> tuple[records.Namespace, ...]:
        """The attached ones, as a host finds them."""
        return tuple(each.namespace for each in self._media.state().extents
                     if self._cntlid in each.namespace.controllers)

    def read(self, nsid: int, offset: int, length: int) -> bytes:
        """:raises OSError: EIO, as Linux makes of most failures."""
        with self._media.changing() as state:
            state = self._now(state)
            found = self._reach(state, nsid)
            if found is None:
                return b''
            faults = state.faults
            if 0 <= faults.read_errors < offset + length:
                raise _eio()
            length = min(length, found.namespace.size - offset)
            return self._media.read(found.start + offset, max(
                0, length - faults.short_reads))

    def write(self, nsid: int, offset: int, data: bytes) -> int:
        self._media.log({'write': nsid, 'offset': offset,
                         'length': len(data)})
        with self._media.changing() as state:
            state = self._now(state)
            found = self._reach(state, nsid)
            if found is None or found.namespace.write_protected:
                raise _eio()
            if not state.faults.loses_writes:
                self._media.write(found.start + offset, data)
            if state.sstat & _GLOBAL_ERASED:
                self._media.put(dataclasses.replace(
                    state, sstat=state.sstat & ~_GLOBAL_ERASED))
            return len(data)

    def _reach(self, state, nsid):
        if state.faults.dead:
            return None
        if state.running is not None or state.failed:
            raise _eio()
        found = state.extent(nsid)
        if found is None or self._cntlid not in found.namespace.controllers:
            return None
        return found


def _eio():
    return OSError(errno.EIO, os.strerror(errno.EIO))


def _identify_namespace(found: records.Namespace) -> bytearray:
    data = bytearray(structures.IDENTIFY_SIZE)
    formats = found.formats or (found.block,)
    structures.put(
        data, structures.NAMESPACE, NSZE=found.blocks, NCAP=found.capacity,
        NUSE=found.capacity, NLBAF=len(formats) - 1,
        FLBAS=found.lbaf | found.extended << 4, DPS=found.dps,
        NMIC=found.nmic, NSATTR=int(found.write_protected),
        NGUID=bytes.fromhex(found.guid))
    for number, block in enumerate(formats):
        structures.put_lba_format(data, number, block)
    return data


def _ids(numbers) -> bytes:
    return len(numbers).to_bytes(2, 'little') + b''.join(
        each.to_bytes(2, 'little') for each in numbers)


def _room(state: sim_media.State, size: int) -> int | None:
    """Where the first gap that is large enough begins."""
    start = 0
    for each in sorted(state.extents, key=lambda each: each.start):
        if each.start - start >= size:
            return start
        start = each.start + each.namespace.size
    return start if state.identity.tnvmcap - start >= size else None
