# SPDX-License-Identifier: Apache-2.0
"""Bytes of commands and of what controllers answer.

Names and places are those of the NVM Express Base Specification 2.0 and the
NVM Command Set Specification 1.0; ``struct nvme_passthru_cmd`` is the
kernel's (include/uapi/linux/nvme_ioctl.h).
"""

from collections.abc import Mapping
import dataclasses
import struct
from typing import Any

from cyborg.nvme import records

#: Opcodes of admin commands.
DELETE_QUEUE = 0x00
GET_LOG_PAGE = 0x02
IDENTIFY = 0x06
SET_FEATURES = 0x09
GET_FEATURES = 0x0a
NAMESPACE_MANAGEMENT = 0x0d
NAMESPACE_ATTACHMENT = 0x15
FORMAT_NVM = 0x80
SANITIZE = 0x84

#: Opcodes that change nothing on the disk.
READING = frozenset({GET_LOG_PAGE, IDENTIFY, GET_FEATURES})
OPCODES = {GET_LOG_PAGE: 'Get Log Page', IDENTIFY: 'Identify',
           SET_FEATURES: 'Set Features', GET_FEATURES: 'Get Features',
           NAMESPACE_MANAGEMENT: 'Namespace Management',
           NAMESPACE_ATTACHMENT: 'Namespace Attachment',
           FORMAT_NVM: 'Format NVM', SANITIZE: 'Sanitize'}

#: CNS of Identify.
CNS_NAMESPACE = 0x00
CNS_CONTROLLER = 0x01
CNS_ACTIVE_NAMESPACES = 0x02
CNS_ALLOCATED_NAMESPACES = 0x10
CNS_ALLOCATED_NAMESPACE = 0x11
CNS_ATTACHED_CONTROLLERS = 0x12
CNS_CONTROLLERS = 0x13

#: LID of Get Log Page.
LOG_HEALTH = 0x02
LOG_FIRMWARE = 0x03
LOG_SANITIZE = 0x81

#: FID of Set Features.
FEATURE_WRITE_PROTECTION = 0x84

ALL_NAMESPACES = 0xffffffff
#: Bytes of an Identify data structure.
IDENTIFY_SIZE = 4096
#: Bytes of a log page that we ask for.
LOG_SIZE = 512

_COMMAND = struct.Struct('<BBHIIIQQIIIIIIIIII')
COMMAND_SIZE = _COMMAND.size

#: Field of Identify Controller -> (format, byte).
CONTROLLER = {
    'VID': ('<H', 0), 'SSVID': ('<H', 2), 'SN': ('20s', 4), 'MN': ('40s', 24),
    'FR': ('8s', 64), 'CMIC': ('B', 76), 'MDTS': ('B', 77),
    'CNTLID': ('<H', 78), 'VER': ('<I', 80), 'CNTRLTYPE': ('B', 111),
    'OACS': ('<H', 256), 'TNVMCAP': ('<QQ', 280), 'UNVMCAP': ('<QQ', 296),
    'SANICAP': ('<I', 328), 'NN': ('<I', 516), 'FNA': ('B', 524),
    'NWPC': ('B', 531), 'SUBNQN': ('256s', 768)}
#: Field of Identify Namespace -> (format, byte).
NAMESPACE = {
    'NSZE': ('<Q', 0), 'NCAP': ('<Q', 8), 'NUSE': ('<Q', 16),
    'NLBAF': ('B', 25), 'FLBAS': ('B', 26), 'DPS': ('B', 29),
    'NMIC': ('B', 30), 'NSATTR': ('B', 99), 'NGUID': ('16s', 104)}
#: Where the LBA formats begin, and how many there can be.
_LBAF = 128
_LBAFS = 64
#: Field of the SMART / Health log -> (format, byte).
HEALTH = {'CRITICAL_WARNING': ('B', 0), 'AVAILABLE_SPARE': ('B', 3),
          'PERCENTAGE_USED': ('B', 5), 'MEDIA_ERRORS': ('<QQ', 160)}
#: Field of the Sanitize Status log -> (format, byte).
SANITIZE_STATUS = {'SPROG': ('<H', 0), 'SSTAT': ('<H', 2),
                   'SCDW10': ('<I', 4), 'ETO': ('<I', 8),
                   'ETBE': ('<I', 12), 'ETCE': ('<I', 16)}
#: Estimate that belongs to each SANACT.
_ESTIMATES = {2: 'ETBE', 3: 'ETO', 4: 'ETCE'}
NO_ESTIMATE = 0xffffffff


class Malformed(ValueError):
    """Bytes that cannot be what they should be."""


@dataclasses.dataclass(frozen=True)
class Command:
    """``struct nvme_passthru_cmd`` without its pointers.

    :ivar data_len: bytes that are transferred, in either direction.
    :ivar timeout_ms: 0 is the kernel's admin timeout of 60 s.
    """

    opcode: int
    nsid: int = 0
    data_len: int = 0
    cdw10: int = 0
    cdw11: int = 0
    cdw12: int = 0
    cdw13: int = 0
    cdw14: int = 0
    cdw15: int = 0
    timeout_ms: int = 0

    def pack(self) -> bytes:
        """72 bytes; ``addr`` and ``metadata`` are zero."""
        return _COMMAND.pack(
            self.opcode, 0, 0, self.nsid, 0, 0, 0, 0, 0, self.data_len,
            self.cdw10, self.cdw11, self.cdw12, self.cdw13, self.cdw14,
            self.cdw15, self.timeout_ms, 0)

    @classmethod
    def unpack(cls, data: bytes) -> 'Command':
        """:raises Malformed: wrong length, or a field that we never use."""
        if len(data) != COMMAND_SIZE:
            raise Malformed('a command has %d bytes, not %d' % (
                COMMAND_SIZE, len(data)))
        (opcode, flags, rsvd1, nsid, cdw2, cdw3, metadata, addr, metadata_len,
         data_len, *cdws, timeout_ms, result) = _COMMAND.unpack(data)
        if any((flags, rsvd1, cdw2, cdw3, metadata, addr, metadata_len,
                result)):
            raise Malformed('a command has a field set that must be zero')
        return cls(*[opcode, nsid, data_len, *cdws, timeout_ms])

    @property
    def to_controller(self) -> bool:
        """Whether data goes to the controller (bit 0 of the opcode)."""
        return bool(self.opcode & 1)

    @property
    def from_controller(self) -> bool:
        return bool(self.opcode & 2) and not self.to_controller

    @property
    def reads_only(self) -> bool:
        return self.opcode in READING

    @property
    def name(self) -> str:
        return OPCODES.get(self.opcode, 'admin command %02x' % self.opcode)


def identify(cns: int, nsid: int = 0, cntid: int = 0) -> Command:
    return Command(IDENTIFY, nsid, IDENTIFY_SIZE, cdw10=cns | cntid << 16)


def get_log_page(lid: int, nsid: int = ALL_NAMESPACES,
                 size: int = LOG_SIZE) -> Command:
    return Command(GET_LOG_PAGE, nsid, size,
                   cdw10=lid | (size // 4 - 1) << 16)


def sanitize(sanact: int, pattern: int = 0) -> Command:
    """Sanitize, restricted: after a failure the disk refuses its data.

    :param sanact: 2 block erase, 3 overwrite (one pass), 4 crypto erase.
    :param pattern: what an overwrite writes.
    """
    passes = 1 << 4 if sanact == 3 else 0
    return Command(SANITIZE, cdw10=sanact | passes, cdw11=pattern)


def format_nvm(nsid: int, namespace: records.Namespace, ses: int,
               lbaf: int, timeout_ms: int) -> Command:
    """Format NVM that keeps what is not asked to change.

    :raises ValueError: ``ses`` is 0, which would erase nothing.
    """
    if ses not in (1, 2):
        raise ValueError('ses %r erases nothing' % ses)
    return Command(
        FORMAT_NVM, nsid, timeout_ms=timeout_ms,
        cdw10=(lbaf & 0xf | namespace.extended << 4
               | (namespace.dps & 0x7) << 5 | (namespace.dps >> 3 & 1) << 8
               | ses << 9 | (lbaf >> 4 & 3) << 12))


def create_namespace(wanted: records.Namespace) -> tuple[Command, bytes]:
    data = bytearray(IDENTIFY_SIZE)
    flbas = (wanted.lbaf & 0xf | wanted.extended << 4
             | (wanted.lbaf >> 4 & 3) << 5)
    put(data, NAMESPACE, NSZE=wanted.blocks, NCAP=wanted.capacity,
        FLBAS=flbas, DPS=wanted.dps, NMIC=wanted.nmic)
    return (Command(NAMESPACE_MANAGEMENT, 0, len(data), cdw10=0),
            bytes(data))


def delete_namespace(nsid: int) -> Command:
    return Command(NAMESPACE_MANAGEMENT, nsid, IDENTIFY_SIZE, cdw10=1)


def attach_namespace(nsid: int, cntlid: int,
                     attach: bool = True) -> tuple[Command, bytes]:
    data = struct.pack('<HH', 1, cntlid).ljust(IDENTIFY_SIZE, b'\0')
    return (Command(NAMESPACE_ATTACHMENT, nsid, len(data),
                    cdw10=0 if attach else 1), data)


def write_protection(nsid: int, protect: bool) -> Command:
    return Command(SET_FEATURES, nsid, cdw10=FEATURE_WRITE_PROTECTION,
                   cdw11=int(protect))


def put(data: bytearray, fields: Mapping, **values: Any) -> None:
    """Write fields into a structure; numbers of 128 bits take one value."""
    for name, value in values.items():
        form, place = fields[name]
        if form == '<QQ':
            struct.pack_into(form, data, place, value & (1 << 64) - 1,
                             value >> 64)
        else:
            struct.pack_into(form, data, place, value)


def get(data: bytes, fields: Mapping, name: str) -> Any:
    form, place = fields[name]
    values = struct.unpack_from(form, data, place)
    return values[0] | values[1] << 64 if form == '<QQ' else values[0]


def _text(data: bytes) -> str:
    # ASCII by the specification; what is not must not get lost.
    return data.rstrip(b'\0 ').decode('ascii', 'backslashreplace').strip()


def identity(data: bytes) -> records.Identity:
    """Decode Identify Controller.

    :raises Malformed: too short, or without serial and model, as a disk that
        answers with zeros.
    """
    _length(data, IDENTIFY_SIZE, 'Identify Controller')
    at = {name: get(data, CONTROLLER, name) for name in CONTROLLER}
    serial, model = _text(at['SN']), _text(at['MN'])
    if not serial or not model:
        raise Malformed('Identify Controller has no %s' % (
            'serial number' if not serial else 'model number'))
    return records.Identity(
        vid=at['VID'], ssvid=at['SSVID'], serial=serial, model=model,
        firmware=_text(at['FR']), cmic=at['CMIC'],
        mdts=4096 << at['MDTS'] if at['MDTS'] else None,
        cntlid=at['CNTLID'], ver=at['VER'], cntrltype=at['CNTRLTYPE'],
        oacs=at['OACS'], fna=at['FNA'], sanicap=at['SANICAP'],
        nwpc=at['NWPC'], tnvmcap=at['TNVMCAP'], unvmcap=at['UNVMCAP'],
        nn=at['NN'], subnqn=_text(at['SUBNQN'].split(b'\0')[0]))


def namespace(data: bytes, nsid: int, attached: bool,
              controllers: tuple[int, ...] = ()) -> records.Namespace:
    """Decode Identify Namespace.

    :raises Malformed: it has no size, or a block format that is none.
    """
    _length(data, IDENTIFY_SIZE, 'Identify Namespace')
    at = {name: get(data, NAMESPACE, name) for name in NAMESPACE}
    formats = tuple(_lba_format(data, number) for number in range(
        min(at['NLBAF'] + 1, _LBAFS)))
    lbaf = at['FLBAS'] & 0xf
    if len(formats) > 16:
        lbaf |= (at['FLBAS'] >> 5 & 3) << 4
    if lbaf >= len(formats) or formats[lbaf].data_size < 512:
        raise Malformed('namespace %d has no LBA format %d' % (nsid, lbaf))
    if not at['NSZE']:
        raise Malformed('namespace %d has no size' % nsid)
    return records.Namespace(
        nsid=nsid, blocks=at['NSZE'], capacity=at['NCAP'], lbaf=lbaf,
        block=formats[lbaf], extended=bool(at['FLBAS'] & 0x10),
        dps=at['DPS'], nmic=at['NMIC'], attached=attached,
        controllers=controllers, write_protected=bool(at['NSATTR'] & 1),
        guid=at['NGUID'].hex(), formats=formats)


def _lba_format(data, number):
    metadata, exponent = struct.unpack_from('<HB', data, _LBAF + 4 * number)
    return records.BlockFormat(1 << exponent if exponent < 32 else 0,
                               metadata)


def put_lba_format(data: bytearray, number: int,
                   block: records.BlockFormat) -> None:
    struct.pack_into('<HB', data, _LBAF + 4 * number, block.metadata_size,
                     block.data_size.bit_length() - 1)


def namespace_list(data: bytes) -> tuple[int, ...]:
    """Ids up to the first zero (CNS 02h and 10h)."""
    _length(data, IDENTIFY_SIZE, 'the namespace list')
    found = []
    for value in struct.unpack('<1024I', data[:IDENTIFY_SIZE]):
        if not value:
            break
        found.append(value)
    return tuple(found)


def controller_list(data: bytes) -> tuple[int, ...]:
    """Ids of controllers (CNS 12h and 13h).

    :raises Malformed: it says that it holds more than it can.
    """
    _length(data, IDENTIFY_SIZE, 'the controller list')
    count = struct.unpack_from('<H', data)[0]
    if count > 2047:
        raise Malformed('the controller list claims %d entries' % count)
    return struct.unpack_from('<%dH' % count, data, 2)


def sanitize_log(data: bytes) -> records.SanitizeLog:
    """:raises Malformed: a status that the specification does not know."""
    _length(data, 32, 'the sanitize status log')
    at = {name: get(data, SANITIZE_STATUS, name) for name in SANITIZE_STATUS}
    # Bit 8 is set together with success, so 0x101 is a good end.
    try:
        status = records.SanitizeStatus(at['SSTAT'] & 0x7)
    except ValueError:
        raise Malformed('the sanitize status log has the status %d' % (
            at['SSTAT'] & 0x7)) from None
    action = at['SCDW10'] & 0x7
    estimate = at.get(_ESTIMATES.get(action, ''), NO_ESTIMATE)
    running = status is records.SanitizeStatus.RUNNING
    return records.SanitizeLog(
        status=status, progress=at['SPROG'] / 65536 if running else None,
        global_erased=bool(at['SSTAT'] & 0x100), action=action,
        scdw10=at['SCDW10'],
        estimate=None if estimate == NO_ESTIMATE else estimate)


def health(data: bytes) -> records.Health:
    _length(data, LOG_SIZE, 'the health log')
    return records.Health(
        critical_warning=get(data, HEALTH, 'CRITICAL_WARNING'),
        percentage_used=get(data, HEALTH, 'PERCENTAGE_USED'),
        media_errors=get(data, HEALTH, 'MEDIA_ERRORS'),
        available_spare=get(data, HEALTH, 'AVAILABLE_SPARE'))


def firmware(data: bytes) -> records.Firmware:
    _length(data, LOG_SIZE, 'the firmware slot log')
    slots = [_text(data[8 + 8 * slot:16 + 8 * slot]) for slot in range(7)]
    while slots and not slots[-1]:
        slots.pop()
    return records.Firmware(data[0] & 0x7, data[0] >> 4 & 0x7, tuple(slots))


def _length(data, wanted, what):
    if len(data) < wanted:
        raise Malformed('%s has %d bytes, not %d' % (what, len(data), wanted))
