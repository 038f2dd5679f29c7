# SPDX-License-Identifier: Apache-2.0
"""What all versioned objects share, and where their methods run.

A method marked ``remotable`` runs on a conductor while indirection is on, and
in this process otherwise. Who turns it on:

* ``enable(api)``: an agent's process, once, at its entry point. It holds in
  every thread of the process.
* ``with indirection(api):`` a part of the code, where agent and conductor
  live in one process. It holds in the thread that runs the block; threads
  start without it (a new thread has an empty ``contextvars`` context), so
  what a service hands to a timer or a pool is wrapped by ``running_in``.
* ``with local():`` a conductor that runs a method on behalf of an agent.

The innermost block wins, then ``enable``.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import contextvars
import functools
from typing import Any

from oslo_utils import versionutils
from oslo_versionedobjects import base as ovo_base
from oslo_versionedobjects import exception as ovo_exception

from cyborg import objects
from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.objects import fields

remotable = ovo_base.remotable

_NOT_SAID = object()
_scoped: contextvars.ContextVar[Any] = contextvars.ContextVar(
    'cyborg_object_indirection', default=_NOT_SAID)


class _Switch:
    """The indirection API of the caller; a descriptor, read at each use."""

    def __init__(self):
        self.everywhere = None

    def __get__(self, instance, owner=None):
        scoped = _scoped.get()
        return self.everywhere if scoped is _NOT_SAID else scoped


_switch = _Switch()


def enable(api: Any) -> None:
    """Send remotable methods of this whole process through ``api``.

    :param api: a ``VersionedObjectIndirectionAPI``; None turns it off.
    """
    _switch.everywhere = api


@contextlib.contextmanager
def indirection(api: Any) -> Iterator[None]:
    """Send the remotable methods of a block through ``api``.

    :param api: a ``VersionedObjectIndirectionAPI``; None runs them here.
    """
    token = _scoped.set(api)
    try:
        yield
    finally:
        _scoped.reset(token)


def local() -> contextlib.AbstractContextManager:
    """Run the remotable methods of a block in this process."""
    return indirection(None)


def running_in(api: Any, function: Callable) -> Callable:
    """``function`` with indirection through ``api``, in whatever thread."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with indirection(api):
            return function(*args, **kwargs)

    return wrapper


def local_only(method: Callable) -> Callable:
    """Refuse a method that needs the database while indirection is on.

    Without this, an agent would quietly open a database of its own.

    :raises exception.RemoteMethodRefused: indirection is on.
    """

    @functools.wraps(method)
    def wrapper(first, *args, **kwargs):
        if first.indirection_api is not None:
            raise exception.RemoteMethodRefused(
                objname=first.obj_name(), method=method.__name__)
        return method(first, *args, **kwargs)

    return wrapper


class CyborgObjectRegistry(ovo_base.VersionedObjectRegistry):

    def registration_hook(self, cls: type, index: int) -> None:
        # objects.Device is the newest registered Device.
        newest = getattr(objects, cls.obj_name(), None)
        if newest is None or (versionutils.convert_version_to_tuple(
                cls.VERSION) >= versionutils.convert_version_to_tuple(
                    newest.VERSION)):
            setattr(objects, cls.obj_name(), cls)


class CyborgObject(ovo_base.VersionedObject):
    """Base of the versioned objects.

    ``obj_relationships`` must name a version of each member object for every
    change, so that an object can be put in an older version without the
    receiver's manifest, too.
    """

    OBJ_SERIAL_NAMESPACE = 'cyborg_object'
    OBJ_PROJECT_NAMESPACE = 'cyborg'
    indirection_api = _switch
    #: Without these fields a remotable method of an object can't run.
    needed_remotely: tuple[str, ...] = ()

    @classmethod
    def _from_db_object(cls, context, obj, row):
        """Fill ``obj`` from a row that has an attribute for each field."""
        for name in obj.fields:
            setattr(obj, name, getattr(row, name))
        obj._context = context
        obj.obj_reset_changes()
        return obj

    def as_dict(self) -> dict[str, Any]:
        """The fields that are set, by name."""
        return {name: getattr(self, name) for name in self.fields
                if self.obj_attr_is_set(name)}

    def _refuse_new_values(self, name: str, values: tuple[str, ...],
                           primitive: dict) -> None:
        """Fail to make an older version when it lacks a value.

        :raises exception.ObjectActionError: the field has one of ``values``.
        """
        if primitive.get(name) in values:
            raise exception.ObjectActionError(
                action='obj_make_compatible',
                reason='%s %s is unknown to the older version'
                       % (name, primitive[name]))


class PersistentObject(CyborgObject, ovo_base.VersionedObjectDictCompat):
    """An object with the two timestamps that every table has."""

    fields = {
        'created_at': fields.DateTimeField(nullable=True),
        'updated_at': fields.DateTimeField(nullable=True),
    }


class ObjectListBase(ovo_base.ObjectListBase, CyborgObject):
    """A list as an object, so that it can be versioned as a whole.

    Its ``obj_relationships`` say the version of the members for each version
    of the list. ``child_versions`` would outrank what a peer says it knows.
    """

    @classmethod
    def from_rows(cls, context: cyborg_context.RequestContext, rows: Iterable
                  ) -> 'ObjectListBase':
        return ovo_base.obj_make_list(context, cls(context), rows)


class CyborgObjectSerializer(ovo_base.VersionedObjectSerializer):
    """For RPC arguments and results.

    An object in a version newer than ours is sent to a conductor to be put in
    ours, if indirection is on; else it is refused.
    """

    OBJ_BASE_CLASS = CyborgObject


def older(version: str, than: tuple[int, int]) -> bool:
    """Whether ``MAJOR.MINOR`` text names a version before ``than``."""
    return versionutils.convert_version_to_tuple(version) < than


def in_versions(obj: CyborgObject, versions: dict[str, str]) -> Any:
    """``obj`` for a peer that knows its objects in ``versions`` only.

    :param versions: object name -> newest version that the peer knows.
    :returns: ``obj`` itself if the peer knows its versions, else the
        primitive to send in its place.
    """
    ours = ovo_base.obj_tree_get_versions(obj.obj_name())
    if all(versions.get(name, ours[name]) == ours[name] for name in ours):
        return obj
    return obj.obj_to_primitive(
        target_version=versions.get(obj.obj_name(), obj.VERSION),
        version_manifest={**ours, **versions})


def versions_in(obj: CyborgObject) -> dict[str, str]:
    """The versions in which a peer sent ``obj`` and its members.

    The 2026.2 API sends no manifest with its calls; what it sends is what it
    understands.
    """
    versions = {obj.obj_name(): obj.VERSION}
    for name in obj.fields:
        if not obj.obj_attr_is_set(name):
            continue
        value = getattr(obj, name)
        for member in value if isinstance(value, list) else [value]:
            if isinstance(member, CyborgObject):
                versions.update(versions_in(member))
    return versions


IncompatibleObjectVersion = ovo_exception.IncompatibleObjectVersion
