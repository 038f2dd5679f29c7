# SPDX-License-Identifier: Apache-2.0
"""A physical function and its virtual functions are one piece of hardware.

A guest that has the PF takes the VFs away from whoever has them, and the
other way round a VF stays what it is only as long as nobody resets its PF.
So the two are never both offered, and never both allocated (ID-3). Every
driver asks :func:`withheld` before it offers functions; the planner and the
claim of a bind ask it again, for what reaches them from elsewhere.

Pure, and without regard to what a function is named by: addresses of this
package here, plain tuples in ``cyborg.inventory``.
"""

from collections.abc import Collection
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Mapping
import enum
from typing import Any
from typing import NamedTuple

#: Addresses named in a message; a PF can have hundreds of VFs.
_NAMED = 3


class Why(enum.Enum):
    """What keeps a function from being offered."""

    VFS_OFFERED = 'vfs-offered'
    VFS_ALLOCATED = 'vfs-allocated'
    PF_ALLOCATED = 'pf-allocated'


class Withheld(NamedTuple):
    """Why a function is not offered.

    :ivar relatives: its PF, or those of its VFs that are in the way, sorted.
    """

    why: Why
    relatives: tuple


def withheld(offered: Iterable[Hashable],
             parents: Mapping[Any, Hashable],
             allocated: Collection[Hashable]) -> dict[Hashable, Withheld]:
    """Functions that must not be offered, out of those that would be.

    What is allocated stays what it is, also where an earlier release gave
    away both; VFs go before a PF that is free.

    :param offered: what was selected and could be handed out.
    :param parents: VF -> PF, of all functions given.
    :param allocated: functions that guests have, present or not.
    """
    free = [each for each in offered if each not in allocated]
    result: dict[Hashable, Withheld] = {}
    having: dict[Hashable, list] = {}
    for each in allocated:
        if each in parents:
            having.setdefault(parents[each], []).append(each)
    offering: dict[Hashable, list] = {}
    for each in free:
        parent = parents.get(each)
        if parent in allocated:
            result[each] = Withheld(Why.PF_ALLOCATED, (parent,))
        elif parent is not None:
            offering.setdefault(parent, []).append(each)
    for each in free:
        if each in having:
            result[each] = Withheld(
                Why.VFS_ALLOCATED, tuple(sorted(having[each])))
        elif each in offering and each not in result:
            result[each] = Withheld(
                Why.VFS_OFFERED, tuple(sorted(offering[each])))
    return result


def both_allocated(parents: Mapping[Any, Hashable],
                   allocated: Collection[Hashable]
                   ) -> dict[Hashable, tuple]:
    """PF -> its VFs, where guests have both; an earlier release did that."""
    found: dict[Hashable, list] = {}
    for each in allocated:
        if parents.get(each) in allocated:
            found.setdefault(parents[each], []).append(each)
    return {parent: tuple(sorted(children))
            for parent, children in found.items()}


def few(addresses: Collection) -> str:
    """Addresses for a message, the first ones of many."""
    names = [str(address) for address in addresses]
    if len(names) > _NAMED + 1:
        return '%s and %d more' % (', '.join(names[:_NAMED]),
                                   len(names) - _NAMED)
    return ', '.join(names)


def reason(found: Withheld) -> str:
    """The words for it: a sentence without its subject."""
    names = few(found.relatives)
    if found.why is Why.PF_ALLOCATED:
        return 'its physical function %s is allocated' % names
    what = 'allocated' if found.why is Why.VFS_ALLOCATED else 'offered'
    if len(found.relatives) == 1:
        return 'its virtual function %s is %s' % (names, what)
    return 'its virtual functions %s are %s' % (names, what)
