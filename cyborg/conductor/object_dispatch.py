# SPDX-License-Identifier: Apache-2.0
"""Runs methods of versioned objects for processes without a database.

Any peer on the message bus may ask, so only what an object declares as
remotable is run, on objects that are registered, and here: never by asking
another conductor in turn.
"""

from collections.abc import Sequence
import functools
import inspect
from typing import Any

from oslo_utils import versionutils
from oslo_versionedobjects import base as ovo_base

from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.conductor import remote_arguments
from cyborg.objects import base as objects_base


def class_action(context: cyborg_context.RequestContext, objname: str,
                 objmethod: str, object_versions: dict[str, str],
                 args: Sequence, kwargs: dict) -> Any:
    """Call a remotable class method.

    :param object_versions: the caller's version of each object that the
        result may hold.
    :returns: the result; an object is put in the caller's versions.
    :raises exception.RemoteMethodRefused: not a remotable class method.
    :raises oslo_versionedobjects.exception.UnsupportedObjectError: no such
        object.
    :raises oslo_versionedobjects.exception.IncompatibleObjectVersion: a
        version of the caller is missing, none, or another major one.
    :raises exception.RemoteArgumentsRefused: the method takes no such
        arguments.
    """
    remote_arguments.check_names(objname, objmethod)
    remote_arguments.check_versions(objname, objmethod, object_versions)
    cls = objects_base.CyborgObject.obj_class_from_name(
        objname, _known(objname, object_versions[objname]))
    method = _remotable(cls, objmethod)
    if not inspect.ismethod(method):
        # A method of instances would take the context for its instance.
        raise exception.RemoteMethodRefused(objname=objname, method=objmethod)
    remote_arguments.check_arguments(
        objname, objmethod, functools.partial(method, context), args, kwargs)
    with objects_base.local():
        result = method(context, *args, **kwargs)
    return _in_versions(result, object_versions)


def action(context: cyborg_context.RequestContext, objinst: Any,
           objmethod: str, args: Sequence, kwargs: dict
           ) -> tuple[dict[str, Any], Any]:
    """Call a remotable method of an object that the caller sent.

    :returns: the fields that the method changed, as primitives, with the
        list of changed fields under ``obj_what_changed``; and its result.
    :raises exception.RemoteMethodRefused: not a remotable method.
    :raises exception.RemoteArgumentsRefused: the object is incomplete, or the
        method takes no such arguments.
    """
    if not isinstance(objinst, objects_base.CyborgObject):
        raise exception.RemoteMethodRefused(
            objname=type(objinst).__name__, method=objmethod)
    cls = type(objinst)
    remote_arguments.check_names(cls.obj_name(), objmethod)
    method = _remotable(cls, objmethod)
    if inspect.ismethod(method):
        raise exception.RemoteMethodRefused(
            objname=cls.obj_name(), method=objmethod)
    remote_arguments.check_identity(objinst, objmethod)
    remote_arguments.check_arguments(
        cls.obj_name(), objmethod, getattr(objinst, objmethod), args, kwargs)
    before = objinst.obj_clone()
    with objects_base.local():
        result = getattr(objinst, objmethod)(*args, **kwargs)
    return _changes(before, objinst), result


def backport(objinst: Any, object_versions: dict[str, str]) -> Any:
    """Put an object in the versions of the caller.

    :raises exception.RemoteMethodRefused: not one of our objects.
    :raises oslo_versionedobjects.exception.IncompatibleObjectVersion: as
        :func:`class_action`.
    """
    if not isinstance(objinst, objects_base.CyborgObject):
        raise exception.RemoteMethodRefused(
            objname=type(objinst).__name__, method='obj_to_primitive')
    remote_arguments.check_versions(
        objinst.obj_name(), 'obj_to_primitive', object_versions)
    return _in_versions(objinst, object_versions)


def _remotable(cls, name: str):
    method = getattr(cls, name, None)
    if name.startswith('_') or not getattr(method, 'remotable', False):
        raise exception.RemoteMethodRefused(
            objname=cls.obj_name(), method=name)
    return method


def _in_versions(result: Any, versions: dict[str, str]) -> Any:
    if not isinstance(result, objects_base.CyborgObject):
        return result
    ours = ovo_base.obj_tree_get_versions(result.obj_name())
    # What a newer caller asks for in its own version it gets in ours: a
    # receiver understands older objects.
    return objects_base.in_versions(result, {
        name: min(version, ours[name],
                  key=versionutils.convert_version_to_tuple)
        for name, version in versions.items() if name in ours})


def _known(objname: str, version: str) -> str:
    """The version to look up: ours, for a caller that has a newer one."""
    classes = objects_base.CyborgObjectRegistry.obj_classes().get(objname)
    if not classes:
        return version
    newest = classes[0].VERSION
    if versionutils.is_compatible(newest, version, same_major=True):
        return newest
    return version


def _changes(before, after) -> dict[str, Any]:
    changed = {}
    for name, field in after.fields.items():
        if not after.obj_attr_is_set(name):
            continue
        value = getattr(after, name)
        if (not before.obj_attr_is_set(name)
                or getattr(before, name) != value):
            changed[name] = field.to_primitive(after, name, value)
    # An empty set would not survive as a set; the caller makes one of it.
    changed['obj_what_changed'] = sorted(after.obj_what_changed())
    return changed
