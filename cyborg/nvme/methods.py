# SPDX-License-Identifier: Apache-2.0
"""How a disk is to be erased: a pure choice by what it can do.

Sources: NVM Express Base Specification 2.0, "Sanitize command" and "Format
NVM command"; SANICAP, OACS and FNA in Identify Controller.
"""

import enum

from cyborg.nvme import errors
from cyborg.nvme import records

#: Values of ``clear_action`` and ``clear_strategy``.
ACTIONS = ('auto', 'sanitize', 'zero')
STRATEGIES = ('auto', 'crypto', 'block')


class Method(enum.Enum):
    """The ways to erase a disk, the best first."""

    CRYPTO_SANITIZE = 'crypto sanitize'
    BLOCK_SANITIZE = 'block sanitize'
    OVERWRITE_SANITIZE = 'overwrite sanitize'
    CRYPTO_FORMAT = 'format with cryptographic erase'
    BLOCK_FORMAT = 'format with user data erase'

    @property
    def sanitizes(self) -> bool:
        return self in _SANACT

    @property
    def sanact(self) -> int:
        """SANACT of the Sanitize command.

        :raises KeyError: it is a format.
        """
        return _SANACT[self]

    @property
    def ses(self) -> int:
        """SES of the Format NVM command; never 0, which erases nothing.

        :raises KeyError: it is a sanitize.
        """
        return _SES[self]


_SANACT = {Method.CRYPTO_SANITIZE: 4, Method.BLOCK_SANITIZE: 2,
           Method.OVERWRITE_SANITIZE: 3}
_SES = {Method.CRYPTO_FORMAT: 2, Method.BLOCK_FORMAT: 1}
_CRYPTO = {Method.CRYPTO_SANITIZE, Method.CRYPTO_FORMAT}
_BLOCK = {Method.BLOCK_SANITIZE, Method.BLOCK_FORMAT}


class InvalidClearing(ValueError):
    """Values of clear_action and clear_strategy that mean nothing."""

    def __init__(self, text: str):
        super().__init__(text)


def asked_for(action: str = 'auto', strategy: str = 'auto') -> tuple[
        Method, ...]:
    """The methods that an entry of device_spec allows, the best first.

    :raises InvalidClearing: a value is not known, or the two exclude each
        other.
    """
    for name, value, known in (('clear_action', action, ACTIONS),
                               ('clear_strategy', strategy, STRATEGIES)):
        if value not in known:
            raise InvalidClearing('%s must be one of %s, not %r' % (
                name, ', '.join(known), value))
    if action == 'zero':
        if strategy != 'auto':
            raise InvalidClearing(
                'clear_action zero overwrites the disk, which clear_strategy '
                '%s excludes; leave clear_strategy out' % strategy)
        return (Method.OVERWRITE_SANITIZE,)
    allowed = [Method.CRYPTO_SANITIZE, Method.BLOCK_SANITIZE]
    if action == 'auto':
        allowed += [Method.CRYPTO_FORMAT, Method.BLOCK_FORMAT]
    if strategy != 'auto':
        wanted = _CRYPTO if strategy == 'crypto' else _BLOCK
        allowed = [method for method in allowed if method in wanted]
    return tuple(allowed)


def choose(disk: str, identity: records.Identity,
           namespaces: tuple[records.Namespace, ...],
           action: str = 'auto', strategy: str = 'auto') -> Method:
    """The best method that the entry allows and the disk can do.

    :param disk: its name in an error.
    :param namespaces: all allocated ones.
    :raises InvalidClearing: see :func:`asked_for`.
    :raises NoMethod: the disk can do none; with each reason.
    """
    refusals = []
    for method in asked_for(action, strategy):
        why = _why_not(method, identity, namespaces)
        if why is None:
            return method
        refusals.append((method.value, why))
    raise errors.NoMethod(disk, action, strategy, tuple(refusals))


def _why_not(method, identity, namespaces) -> str | None:
    if method.sanitizes:
        bit = {4: 0, 2: 1, 3: 2}[method.sanact]
        if not identity.sanicap >> bit & 1:
            return 'not among its abilities (SANICAP %08x)' % identity.sanicap
        return None
    if not identity.formats:
        return 'it has no Format NVM command (OACS %04x)' % identity.oacs
    if method is Method.CRYPTO_FORMAT and not identity.fna & 0x4:
        return 'not among its abilities (FNA %02x)' % identity.fna
    loose = [str(each.nsid) for each in namespaces if not each.attached]
    if loose:
        return ('a format does not reach namespaces that are not attached '
                '(%s)' % ', '.join(loose))
    if identity.unvmcap:
        return ('a format does not reach the %d bytes that are in no '
                'namespace' % identity.unvmcap)
    return None
