# SPDX-License-Identifier: Apache-2.0
"""How other processes call a conductor.

===== =====================================================================
1.0   what the 2026.2 release knows
1.1   object indirection: ``object_class_action_versions``,
      ``object_action``, ``object_backport_versions``;
      ``report_data`` whose attach info has settings, ``arq_create`` with
      ``ExtARQ`` 1.3
1.2   ``report_digest``, ``arq_create_many``
===== =====================================================================

What a conductor of 2026.2 would misunderstand goes out as 1.1, which it
refuses; a cap below that makes the caller send what it knows.
"""

import functools
from typing import Any

import oslo_messaging as messaging
from oslo_utils import versionutils
from oslo_versionedobjects import base as ovo_base

from cyborg.common import constants
from cyborg.common import context as cyborg_context
from cyborg.common import rpc
from cyborg.objects import base as objects_base

#: The versions in which 2026.2 knows what is sent as 1.0.
_OBJECTS_OF_2026_2 = {'ExtARQ': '1.2', 'ARQ': '1.1'}
_UNKNOWN = (messaging.UnsupportedVersion, messaging.NoSuchMethod)
#: Release names usable as ``[upgrade_levels] conductor``.
VERSION_ALIASES = {
    '2026.1': '1.0',
    '2026.2': '1.0',
    '2027.1': '1.2',
}
#: Methods that agents call. What they write is in the order of the reports of
#: a host, by the clock of that host alone, and a report may take longer than
#: an agent waits. All others are not carried out once nobody waits.
IN_ORDER = frozenset({
    'report_data', 'report_digest', 'object_action',
    'object_class_action_versions', 'object_backport_versions'})


class ConductorAPI:
    """Client of the conductors' topic; any conductor may answer.

    Every call waits for the answer and raises what the conductor raised, or
    ``oslo_messaging.MessagingTimeout``. After that nothing of it is done,
    except for the calls of ``IN_ORDER``.

    :param timeout: seconds to wait for an answer where a call names none;
        None takes ``[DEFAULT] rpc_response_timeout``.
    :raises exception.UpgradeLevelInvalid: ``[upgrade_levels] conductor``
        is no usable cap.
    """

    RPC_API_VERSION = '1.2'
    INDIRECTION_VERSION = '1.1'
    DIGEST_VERSION = MANY_VERSION = '1.2'

    def __init__(self, topic: str | None = None,
                 timeout: float | None = None):
        self.topic = topic or constants.CONDUCTOR_TOPIC
        self.timeout = timeout
        self.version_cap = rpc.version_cap(
            'conductor', self.RPC_API_VERSION, VERSION_ALIASES)

    @functools.cached_property
    def client(self) -> messaging.RPCClient:
        # Made at the first call: looking at the cap needs no transport.
        target = messaging.Target(topic=self.topic, version='1.0')
        return rpc.get_client(
            target, version_cap=self.version_cap,
            serializer=objects_base.CyborgObjectSerializer())

    def supports_object_indirection(self) -> bool:
        """Whether the configured cap permits the calls of version 1.1.

        Looks at the local configuration alone; no message is sent, and
        nothing is learnt about the conductors that run (RPC-1).
        """
        return self._can_send(self.INDIRECTION_VERSION)

    def supports_digests(self) -> bool:
        """As :meth:`supports_object_indirection`, for ``report_digest``."""
        return self._can_send(self.DIGEST_VERSION)

    def supports_creating_many(self) -> bool:
        """As :meth:`supports_object_indirection`, for ``arq_create_many``."""
        return self._can_send(self.MANY_VERSION)

    def _can_send(self, version: str) -> bool:
        return versionutils.is_compatible(version, self.version_cap)

    @property
    def _newest(self) -> str:
        """The version of a call whose text 2026.2 would misunderstand."""
        return (self.INDIRECTION_VERSION
                if self.supports_object_indirection() else '1.0')

    def _call(self, context, method: str, version: str = '1.0',
              timeout: float | None = None, **kwargs) -> Any:
        timeout = self.timeout if timeout is None else timeout
        if method not in IN_ORDER:
            context = rpc.waited_for(context, timeout)
        options = {} if timeout is None else {'timeout': timeout}
        client = self.client.prepare(version=version, **options)
        return client.call(context, method, **kwargs)

    # Version 1.0

    def report_data(self, context: cyborg_context.RequestContext,
                    hostname: str, driver_device_list: list,
                    timeout: float | None = None) -> None:
        """Hand over all devices that the drivers of a host found.

        Under a cap below 1.1 the caller has to leave out of their attach
        info what 2026.2 does not know.

        :param driver_device_list: ``DriverDevice`` objects, all of them: what
            is not in the list counts as missing (MIS-7).
        :raises exception.PlacementResourceProviderNotFound: Placement does
            not know the host; nothing was changed.
        """
        self._call(context, 'report_data', self._newest, timeout,
                   hostname=hostname, driver_device_list=driver_device_list)

    def device_profile_create(self, context: cyborg_context.RequestContext,
                              obj_devprof: ovo_base.VersionedObject) -> Any:
        """Store a ``DeviceProfile``; returns it as stored.

        :raises exception.DuplicateDeviceProfileName: the name is taken.
        """
        return self._call(context, 'device_profile_create',
                          obj_devprof=obj_devprof)

    def device_profile_delete(self, context: cyborg_context.RequestContext,
                              obj_devprof: ovo_base.VersionedObject) -> None:
        """:raises exception.DeviceProfileInUse: ARQs still refer to it."""
        self._call(context, 'device_profile_delete', obj_devprof=obj_devprof)

    def arq_create(self, context: cyborg_context.RequestContext,
                   obj_extarq: objects_base.CyborgObject,
                   devprof_id: int) -> Any:
        """Store an ``ExtARQ``; returns it as stored, in state Initial."""
        if not self.supports_object_indirection():
            # A request that is not bound yet has nothing that is lost.
            obj_extarq = objects_base.in_versions(
                obj_extarq, _OBJECTS_OF_2026_2)
        return self._call(context, 'arq_create', self._newest,
                          obj_extarq=obj_extarq, devprof_id=devprof_id)

    def arq_apply_patch(self, context: cyborg_context.RequestContext,
                        patch_list: dict[str, list],
                        valid_fields: dict[str, dict]) -> None:
        """Bind or unbind ARQs.

        :param patch_list: JSON patch operations by ARQ UUID; all ``add`` or
            all ``remove``.
        :param valid_fields: by ARQ UUID the checked values: hostname,
            device_rp_uuid, instance_uuid and, if it is to be set,
            project_id.
        """
        self._call(context, 'arq_apply_patch', patch_list=patch_list,
                   valid_fields=valid_fields)

    def arq_delete_by_uuid(self, context: cyborg_context.RequestContext,
                           arqs: str) -> None:
        """Unbind and delete; ``arqs`` holds UUIDs with commas between."""
        self._call(context, 'arq_delete_by_uuid', arqs=arqs)

    def arq_delete_by_instance_uuid(self,
                                    context: cyborg_context.RequestContext,
                                    instance: str) -> None:
        """Unbind and delete all ARQs of an instance."""
        self._call(context, 'arq_delete_by_instance_uuid', instance=instance)

    # Version 1.1

    def object_class_action_versions(self,
                                     context: cyborg_context.RequestContext,
                                     objname: str, objmethod: str,
                                     object_versions: dict[str, str],
                                     args: tuple, kwargs: dict) -> Any:
        """Run a remotable class method of an object on a conductor.

        :param object_versions: the caller's version of each object that the
            result may hold.
        """
        return self._call(
            context, 'object_class_action_versions',
            version=self.INDIRECTION_VERSION, objname=objname,
            objmethod=objmethod, object_versions=object_versions, args=args,
            kwargs=kwargs)

    def object_action(self, context: cyborg_context.RequestContext,
                      objinst: ovo_base.VersionedObject, objmethod: str,
                      args: tuple, kwargs: dict) -> tuple[dict, Any]:
        """Run a remotable method of ``objinst`` on a conductor.

        :returns: changed fields as primitives, with ``obj_what_changed``
            among them, and the method's own result.
        """
        return self._call(
            context, 'object_action', version=self.INDIRECTION_VERSION,
            objinst=objinst, objmethod=objmethod, args=args, kwargs=kwargs)

    def object_backport_versions(self, context: cyborg_context.RequestContext,
                                 objinst: ovo_base.VersionedObject,
                                 object_versions: dict[str, str]) -> Any:
        """Have an object that is too new for us put in our versions."""
        return self._call(
            context, 'object_backport_versions',
            version=self.INDIRECTION_VERSION, objinst=objinst,
            object_versions=object_versions)

    # Version 1.2

    def report_digest(self, context: cyborg_context.RequestContext,
                      hostname: str, found: str, stored: str) -> bool:
        """Whether a report of these devices would change nothing.

        :param found: ``cyborg.inventory.digest.of_found`` of all devices.
        :param stored: ``of_stored`` what the caller believes is stored.
        :returns: False when the whole report is wanted.
        :raises oslo_messaging.UnsupportedVersion: or a ``RemoteError`` of
            that type: the conductor is of an older release.
        """
        return self._call(context, 'report_digest',
                          version=self.DIGEST_VERSION, hostname=hostname,
                          found=found, stored=stored)

    def arq_create_many(self, context: cyborg_context.RequestContext,
                        requests: list[dict], devprof_id: int) -> None:
        """Store accelerator requests in state Initial, all or none.

        :param requests: of each ``uuid``, ``device_profile_group_id`` and
            ``project_id``.
        :param devprof_id: row id of their device profile.
        :raises exception.ExtArqAlreadyExists: one of the UUIDs is taken.
        :raises exception.ResourceNotFound: the profile is gone.
        :raises oslo_messaging.UnsupportedVersion: as :meth:`report_digest`.
        """
        self._call(context, 'arq_create_many', version=self.MANY_VERSION,
                   requests=requests, devprof_id=devprof_id)


def is_unknown_call(error: Exception) -> bool:
    """Whether a call failed because the conductor is of an older release."""
    return isinstance(error, _UNKNOWN) or (
        isinstance(error, messaging.RemoteError)
        and error.exc_type in [each.__name__ for each in _UNKNOWN])


class IndirectionAPI(ovo_base.VersionedObjectIndirectionAPI):
    """Sends remotable object methods to a conductor."""

    def __init__(self, conductor: ConductorAPI | None = None):
        self._conductor = conductor or ConductorAPI()

    def object_class_action_versions(self,
                                     context: cyborg_context.RequestContext,
                                     objname: str, objmethod: str,
                                     object_versions: dict[str, str],
                                     args: tuple, kwargs: dict) -> Any:
        return self._conductor.object_class_action_versions(
            context, objname, objmethod, object_versions, args, kwargs)

    def object_action(self, context: cyborg_context.RequestContext,
                      objinst: ovo_base.VersionedObject, objmethod: str,
                      args: tuple, kwargs: dict) -> tuple[dict, Any]:
        return self._conductor.object_action(
            context, objinst, objmethod, args, kwargs)

    def object_backport_versions(self, context: cyborg_context.RequestContext,
                                 objinst: ovo_base.VersionedObject,
                                 object_versions: dict[str, str]) -> Any:
        return self._conductor.object_backport_versions(
            context, objinst, object_versions)
