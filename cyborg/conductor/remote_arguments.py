# SPDX-License-Identifier: Apache-2.0
"""Judges what a peer on the message bus sends along with a remote call.

Whatever it is, the peer is told what is wrong with it in words of ours,
never by how Python or a database stumbles over it.
"""

import inspect
import itertools
import re
from typing import Any

from oslo_versionedobjects import base as ovo_base
from oslo_versionedobjects import exception as ovo_exception

from cyborg.common import exception
from cyborg.objects import base as objects_base

_VERSION = re.compile(r'[0-9]{1,6}\.[0-9]{1,6}', re.ASCII)
#: Texts in a list; a machine has few names.
_MOST_TEXTS = 50
#: Texts by name; a host has few handles more.
_MOST_PAIRS = 2 ** 16
#: Told of one call.
_MOST_REASONS = 10
#: What an id column holds.
_IDS = range(2 ** 31)


def check_names(objname: Any, method: Any) -> None:
    """:raises exception.RemoteMethodRefused: they are no texts.
    :raises oslo_versionedobjects.exception.UnsupportedObjectError: no such
        object.
    """
    if not isinstance(objname, str) or not isinstance(method, str):
        raise exception.RemoteMethodRefused(
            objname=_shown(objname), method=_shown(method))
    if objname not in objects_base.CyborgObjectRegistry.obj_classes():
        raise ovo_exception.UnsupportedObjectError(objtype=_shown(objname))


def check_versions(objname: str, method: str, versions: Any, *,
                   own: bool = True) -> None:
    """Each version that counts is one that we can convert to or from.

    :param own: whether the version of the object itself must be there.
    :raises exception.RemoteArgumentsRefused: no versions at all.
    :raises oslo_versionedobjects.exception.IncompatibleObjectVersion: one is
        missing, no version, or has another major version than ours.
    """
    if not isinstance(versions, dict):
        raise exception.RemoteArgumentsRefused(
            objname=objname, method=method,
            reason='object versions are %s' % _shown(versions))
    for name, ours in ovo_base.obj_tree_get_versions(objname).items():
        if name not in versions and not (own and name == objname):
            continue
        theirs = versions.get(name)
        if (not isinstance(theirs, str) or not _VERSION.fullmatch(theirs)
                or theirs.split('.')[0] != ours.split('.')[0]):
            raise ovo_exception.IncompatibleObjectVersion(
                objname=name, objver=_shown(theirs), supported=ours)


def check_arguments(objname: str, name: str, method: Any, args: Any,
                    kwargs: Any) -> None:
    """The arguments fit the signature; texts are texts, and storable.

    :param args: all but the object, whose place in ``method`` is taken.
    :raises exception.RemoteArgumentsRefused: they do not.
    """
    def refused(reason: str) -> exception.RemoteArgumentsRefused:
        return exception.RemoteArgumentsRefused(
            objname=objname, method=name, reason=reason)

    if not isinstance(args, (list, tuple)) or not isinstance(kwargs, dict):
        raise refused('arguments are %s and %s'
                      % (_shown(args), _shown(kwargs)))
    signature = inspect.signature(method)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise refused(str(error)) from error
    for key, value in bound.arguments.items():
        kind = signature.parameters[key].annotation
        if kind is str and not _is_text(value):
            raise refused('%s is %s, not a text' % (key, _shown(value)))
        if kind == list[str] and not (
                isinstance(value, (list, tuple))
                and len(value) <= _MOST_TEXTS and all(map(_is_text, value))):
            raise refused('%s is %s, not a list of at most %d texts' % (
                key, _shown(value), _MOST_TEXTS))
        if kind == dict[str, str] and not (
                isinstance(value, dict) and len(value) <= _MOST_PAIRS
                and all(map(_is_text, itertools.chain(*value.items())))):
            raise refused('%s is %s, not texts by name' % (
                key, _shown(value)))


def check_identity(objinst: objects_base.CyborgObject, method: str) -> None:
    """The object has what makes it a row, with values a row can have.

    :param objinst: one object, or a list whose members have to be so.
    :raises exception.RemoteArgumentsRefused: it has not.
    """
    reasons = _faults(objinst)
    if isinstance(objinst, objects_base.ObjectListBase) and not reasons:
        for number, member in enumerate(objinst.objects):
            reasons += ['number %d: %s' % (number, reason)
                        for reason in _faults(member)]
    if reasons:
        raise exception.RemoteArgumentsRefused(
            objname=objinst.obj_name(), method=method,
            reason=', '.join(reasons[:_MOST_REASONS]))


def _faults(objinst: objects_base.CyborgObject) -> list[str]:
    found = objinst.as_dict()
    reasons = ['it has no %s' % name for name in objinst.needed_remotely
               if name not in found]
    for name, value in found.items():
        if type(value) is int and value not in _IDS:
            reasons.append('%s is %s, which no row has' % (
                name, _shown(value)))
        elif isinstance(value, str) and not _is_text(value):
            reasons.append('%s is %s, not a text' % (name, _shown(value)))
    return reasons


def _is_text(value: Any) -> bool:
    """Whether each database could compare it: no NUL, no half characters."""
    return (isinstance(value, str) and '\0' not in value
            and not re.search('[\ud800-\udfff]', value))


def _shown(value: Any) -> str:
    """For a message; a peer does not choose its length."""
    return ascii(value)[:100] if not isinstance(value, str) else (
        value.encode('ascii', 'backslashreplace').decode()[:100])
