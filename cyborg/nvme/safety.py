# SPDX-License-Identifier: Apache-2.0
"""Which admin commands are ever sent: asked by every port, before it sends.

What runs with privilege trusts nobody, and a mistake of ours must not become
an erase that erases nothing, or one that reaches too far.
"""

from cyborg.nvme import errors
from cyborg.nvme import structures

#: Largest transfer of a command that we send, in bytes.
_LARGEST = 4096
_SANACTS = {2, 3, 4}
_SESES = {1, 2}
_SELECTS = {0, 1}


def check(disk: str, command: bytes, data: bytes) -> structures.Command:
    """Decode a command and see that it is one of ours.

    :raises UnsafeCommand: it is not.
    """
    try:
        found = structures.Command.unpack(command)
    except structures.Malformed as error:
        raise errors.UnsafeCommand(disk, 'a malformed command (%s)' %
                                   error) from None
    why = _why_not(found, data)
    if why is not None:
        raise errors.UnsafeCommand(disk, '%s %s' % (found.name, why))
    return found


def _why_not(command, data) -> str | None:
    if command.opcode not in structures.OPCODES:
        return '(not one of ours)'
    if command.data_len > _LARGEST:
        return 'with %d bytes of data' % command.data_len
    if command.to_controller and len(data) != command.data_len:
        return 'with %d bytes of data where %d are said' % (
            len(data), command.data_len)
    special = _SPECIAL.get(command.opcode)
    return special(command) if special else None


def _sanitize(command):
    sanact = command.cdw10 & 0x7
    if sanact not in _SANACTS:
        return 'with SANACT %d, which erases nothing' % sanact
    if command.cdw10 & 0x8:
        return 'unrestricted, after which a failed one can be left'
    return None


def _format(command):
    ses = command.cdw10 >> 9 & 0x7
    if ses not in _SESES:
        return 'with SES %d, which erases nothing' % ses
    return _one_namespace(command)


def _namespace_management(command):
    select = command.cdw10 & 0xf
    if select not in _SELECTS:
        return 'with SEL %d' % select
    return _one_namespace(command) if select == 1 else None


def _namespace_attachment(command):
    select = command.cdw10 & 0xf
    return ('with SEL %d' % select if select not in _SELECTS
            else _one_namespace(command))


def _set_features(command):
    feature = command.cdw10 & 0xff
    if feature != structures.FEATURE_WRITE_PROTECTION:
        return 'of feature %02x' % feature
    if command.cdw11 > 1:
        # 2 and 3 last until power is cycled, or for ever.
        return 'with a protection that cannot be lifted'
    return _one_namespace(command)


def _one_namespace(command):
    if not 0 < command.nsid < structures.ALL_NAMESPACES:
        return 'of namespace %x' % command.nsid
    return None


_SPECIAL = {structures.SANITIZE: _sanitize, structures.FORMAT_NVM: _format,
            structures.NAMESPACE_MANAGEMENT: _namespace_management,
            structures.NAMESPACE_ATTACHMENT: _namespace_attachment,
            structures.SET_FEATURES: _set_features}
