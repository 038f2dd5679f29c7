# SPDX-License-Identifier: Apache-2.0
"""The states of a disk, and the reasons why it is in one."""

import dataclasses
import enum


class State(enum.Enum):
    """Where a disk is between two users.

    Only a disk in SEALED is offered; every other is reserved.
    """

    SEALED = 'sealed'
    IN_USE = 'in_use'
    DIRTY = 'dirty'
    CLEANING = 'cleaning'
    VERIFYING = 'verifying'
    RELEASING = 'releasing'
    ERROR = 'error'
    HELD = 'held'
    ABSENT = 'absent'


@dataclasses.dataclass(frozen=True)
class Meaning:
    """What a reason means, and how an operator gets out of it."""

    text: str
    way_out: str


UNKNOWN_DISK = 'unknown disk'
OTHERS = 'reserved by others'
OPERATOR = 'held by an operator'
ANOTHER_DISK = 'another disk'
FREED = 'freed'
SEAL_BROKEN = 'seal broken'
RESERVATION_LOST = 'reservation lost'
INTERRUPTED = 'interrupted'
USED_WHILE_DIRTY = 'used while dirty'
JOURNAL_DAMAGED = 'journal damaged'
GONE = 'gone'
ALLOCATED = 'allocated'
VERIFIED = 'verified'
UNCLEANED = 'released uncleaned'
RETRY = 'asked for'
OVERDUE = 'overdue'

#: Reasons of the cleaner itself; those of a failed erase are the ``reason``
#: of the classes in :mod:`cyborg.nvme.errors`.
MEANINGS = {
    UNKNOWN_DISK: Meaning(
        'The journal does not know the disk, so nobody can tell whose data '
        'is on it.',
        'cyborg-nvme clean DEVICE erases and offers it; [cleaner] unknown = '
        'clean does so by itself.'),
    OTHERS: Meaning(
        'Somebody else has reserved the disk in Placement.',
        'Whoever did takes it away: openstack resource provider inventory '
        'set.'),
    OPERATOR: Meaning(
        'An operator asked for it.', 'cyborg-nvme clean DEVICE, or release.'),
    ANOTHER_DISK: Meaning(
        'Another disk than the one of the journal stands at the address.',
        'cyborg-nvme clean DEVICE takes the new disk in.'),
    FREED: Meaning('Its user is gone.', 'It is cleaned by itself.'),
    SEAL_BROKEN: Meaning(
        'The provider was changed since the disk was offered: somebody may '
        'have used it unseen.', 'It is cleaned by itself.'),
    RESERVATION_LOST: Meaning(
        'The reservation went away while the disk was not clean, as when '
        'Nova makes the provider anew.',
        'It was reserved again and is cleaned by itself.'),
    INTERRUPTED: Meaning(
        'The process ended while it cleaned the disk.',
        'It is cleaned again by itself.'),
    USED_WHILE_DIRTY: Meaning(
        'The disk was allocated before it was clean: its user may read the '
        'data of the one before.',
        'Tell the user, let the instance be deleted, then: cyborg-nvme retry '
        'DEVICE.'),
    JOURNAL_DAMAGED: Meaning(
        'The journal file of the disk cannot be read.',
        'cyborg-nvme retry DEVICE cleans the disk and writes it anew.'),
    GONE: Meaning('The host does not have the disk any more.',
                  'It is taken up again when it returns.'),
    ALLOCATED: Meaning('A guest has it.', 'Nothing is to be done.'),
    VERIFIED: Meaning('It was erased, and the erase was verified.',
                      'Nothing is to be done.'),
    UNCLEANED: Meaning('An operator gave it back without cleaning.',
                       'Nothing is to be done.'),
    RETRY: Meaning('An operator asked to clean it.',
                   'It is cleaned by itself.'),
    OVERDUE: Meaning(
        'The erase takes longer than [nvme] cleanup_timeout.',
        'It is followed on and stays reserved. A drive that hangs has to be '
        'replaced.'),
}
