# SPDX-License-Identifier: Apache-2.0
"""Object methods that a conductor runs for others (IND-1, IND-4)."""

import json

import oslo_messaging as messaging
from oslo_versionedobjects import base as ovo_base
from oslo_versionedobjects import exception as ovo_exception

from cyborg import objects
from cyborg.common import exception
from cyborg.objects import base as objects_base
from cyborg.rpcapi import conductor as conductor_rpcapi
from cyborg.tests.functional.conductor import base

NAME = 'compute-1_0000:01:00.0'


class IndirectionTest(base.ConductorTestCase):

    def setUp(self):
        super().setUp()
        self.report(base.device(1), base.device(2))
        self.api = conductor_rpcapi.IndirectionAPI()

    def inventory(self):
        with objects_base.indirection(self.api):
            return objects.HostInventory.get_by_host(self.context, base.HOST)

    def handle(self):
        return self.inventory().attach_handles.objects[0]

    def versions(self, **others):
        return dict(ovo_base.obj_tree_get_versions('HostInventory'),
                    **others)

    def call(self, objname='HostInventory', method='get_by_host',
             versions=None, args=(base.HOST,)):
        return self.conductor.object_class_action_versions(
            self.context, objname, method, self.versions() if versions is None
            else versions, args,
            {})

    def test_inventory_is_what_the_database_holds(self):
        remote = self.inventory()
        local = objects.HostInventory.get_by_host(self.context, base.HOST)
        self.assertEqual(local.obj_to_primitive(), remote.obj_to_primitive())
        self.assertEqual(2, len(remote.devices.objects))

    def test_update(self):
        handle = self.handle()
        info = dict(json.loads(handle.attach_info), managed=False)
        with objects_base.indirection(self.api):
            handle.update_attach_info(json.dumps(info))
        self.assertEqual(info, json.loads(handle.attach_info))
        self.assertEqual(set(), handle.obj_what_changed())
        stored = super().handle(NAME)
        self.assertEqual(handle.attach_info, stored.attach_info)
        self.assertEqual(handle.uuid, stored.uuid)

    def test_error_arrives_as_its_class(self):
        """IND-1"""
        handle = self.handle()
        info = dict(json.loads(handle.attach_info), managed=False)
        arq = self.arq()
        self.bind(arq, name=NAME)
        with objects_base.indirection(self.api):
            error = self.assertRaises(
                exception.AttachHandleChanged, handle.update_attach_info,
                json.dumps(info))
        self.assertIn(arq, error.message)
        self.assertNotIn('Traceback', error.message)

    def test_conductor_does_not_ask_another_one(self):
        """Indirection that is on in the conductor's process is off here."""
        objects_base.enable(self.api)
        self.addCleanup(objects_base.enable, None)
        self.assertEqual(2, len(objects.HostInventory.get_by_host(
            self.context, base.HOST).devices.objects))

    def test_only_four_methods_are_remotable(self):
        """Every one more is reachable for any peer on the bus."""
        found = set()
        for name, classes in (
                objects_base.CyborgObjectRegistry.obj_classes().items()):
            cls = classes[0]
            if not issubclass(cls, objects_base.CyborgObject):
                continue
            for attribute in dir(cls):
                if getattr(getattr(cls, attribute, None), 'remotable',
                           False):
                    found.add('%s.%s' % (name, attribute))
        self.assertEqual({'HostInventory.get_by_host',
                          'HostInventory.get_last_machine',
                          'HostInventory.get_names',
                          'AttachHandle.update_attach_info',
                          'AttachHandleList.update_attach_info'}, found)

    def test_what_is_not_remotable_is_refused(self):
        for objname, method in (
                ('DeviceProfile', 'list'), ('ExtARQ', 'list'),
                ('Device', 'obj_from_primitive'), ('Device', 'VERSION'),
                ('Device', '_from_db_object'), ('Device', 'nothing'),
                ('AttachHandle', 'update_attach_info')):
            error = self.assertRaises(
                exception.RemoteMethodRefused, self.call, objname, method,
                {objname: '1.0'})
            self.assertIn('%s.%s' % (objname, method), error.message)

    def test_what_is_not_remotable_is_refused_on_instances(self):
        handle = self.handle()
        profile = objects.DeviceProfile(self.context, name='p', groups=[])
        for obj, method in ((profile, 'create'), (profile, 'destroy'),
                            (handle, 'obj_reset_changes'),
                            (handle, 'get'), (handle, '__class__'),
                            (self.inventory(), 'get_by_host'),
                            ('text', 'upper')):
            self.assertRaises(
                exception.RemoteMethodRefused, self.conductor.object_action,
                self.context, obj, method, (), {})

    def test_unknown_object(self):
        self.assertRaises(
            ovo_exception.UnsupportedObjectError, self.call, 'Nonsense',
            'get', {'Nonsense': '1.0'})

    def test_other_major_version(self):
        self.assertRaises(
            ovo_exception.IncompatibleObjectVersion, self.call,
            versions=self.versions(HostInventory='2.0'))

    # What damaged or hostile arguments reached the caller as before:
    # KeyError, TypeError, InvalidVersion, DBError with SQL in it.

    def test_versions_that_are_none_raised_what_they_broke(self):
        """IND-1"""
        for versions in (
                {'HostInventory': None}, {'HostInventory': 'x'},
                {'HostInventory': 1}, {'HostInventory': ''},
                {'HostInventory': '1.-1'}, {'HostInventory': '1.0.0'},
                {'Device': '1.5'}, {'HostInventory': '1.0', 'Device': None},
                {'HostInventory': '1.0', 'Device': 'garbage'},
                {'HostInventory': '1.0', 'Device': '2.0'}):
            error = self.assertRaises(
                ovo_exception.IncompatibleObjectVersion, self.call,
                versions=versions)
            self.assertIn('is not supported, supported version is 1.',
                          str(error))
        for versions in ('text', [1], 5):
            error = self.assertRaises(
                exception.RemoteArgumentsRefused, self.call,
                versions=versions)
            self.assertIn('object versions are', error.message)
        for versions in ({}, {'AttachHandle': None}, {'AttachHandle': 'x'},
                         {'AttachHandle': '2.0'}):
            self.assertRaises(
                ovo_exception.IncompatibleObjectVersion,
                self.conductor.object_backport_versions, self.context,
                self.handle(), versions)
        self.assertRaises(
            exception.RemoteArgumentsRefused,
            self.conductor.object_backport_versions, self.context,
            self.handle(), None)

    def test_names_that_are_none_raised_what_they_broke(self):
        """IND-1"""
        for name in (None, 5, ['HostInventory'], {'a': 1}):
            self.assertRaises(exception.RemoteMethodRefused, self.call, name)
            self.assertRaises(exception.RemoteMethodRefused, self.call,
                              method=name)
            self.assertRaises(
                exception.RemoteMethodRefused, self.conductor.object_action,
                self.context, self.handle(), name, ('{}',), {})
        self.assertRaises(ovo_exception.UnsupportedObjectError, self.call,
                          'Nonsense', 'get')

    def test_arguments_that_fit_no_method_raised_what_they_broke(self):
        """IND-1: both methods take one text."""
        handle = self.handle()
        for args, kwargs in (
                ((), {}), ((None,), {}), ((5,), {}), (('a', 'b'), {}),
                ((['x'],), {}), (({'x': 1},), {}), (None, {}), ('a', {}),
                (('a',), None), (('a',), {'other': 1}), (('a\0',), {}),
                (('\ud800',), {})):
            for call, arguments in (
                    (self.conductor.object_class_action_versions,
                     ('HostInventory', 'get_by_host', self.versions())),
                    (self.conductor.object_action,
                     (handle, 'update_attach_info'))):
                error = self.assertRaises(
                    exception.RemoteArgumentsRefused, call, self.context,
                    *arguments, args, kwargs)
                self.assertIn(arguments[1] if arguments[0] is handle
                              else 'HostInventory.get_by_host',
                              error.message)

    def test_objects_that_are_no_row_raised_what_they_broke(self):
        """IND-1, REC-4"""
        text = self.handle().attach_info
        for name in ('id', 'uuid', 'deployable_id', 'cpid_id', 'attach_type',
                     'attach_info', 'in_use'):
            handle = self.handle()
            delattr(handle, '_obj_' + name)
            self.refused(handle, text, 'it has no ' + name)
        for name, value in (('id', 2 ** 70), ('id', -1), ('cpid_id', 2 ** 31),
                            ('uuid', 'a\0'), ('attach_info', '"\ud800"')):
            handle = self.handle()
            setattr(handle, name, value)
            self.refused(handle, text, name + ' is ')

    def refused(self, handle, text, reason):
        error = self.assertRaises(
            exception.RemoteArgumentsRefused, self.conductor.object_action,
            self.context, handle, 'update_attach_info', (text,), {})
        self.assertIn(reason, error.message)

    def test_agent_one_version_behind(self):
        """IND-4: it receives what it understands."""
        result = self.call(versions=self.versions(
            AttachHandle='1.0', AttachHandleList='1.0', Deployable='1.1',
            DeployableList='1.0'))
        handle = result.attach_handles.objects[0]
        self.assertEqual('1.0', handle.VERSION)
        self.assertFalse(handle.obj_attr_is_set('arq_uuids'))
        self.assertEqual('1.1', result.deployables.objects[0].VERSION)

    def test_agent_ahead_of_the_conductor(self):
        """It gets our versions, which it understands."""
        result = self.call(versions=self.versions(
            AttachHandle='1.9', HostInventory='1.7', Unheard='3.0'))
        self.assertEqual(objects.AttachHandle.VERSION,
                         result.attach_handles.objects[0].VERSION)

    def test_backport(self):
        old = self.conductor.object_backport_versions(
            self.context, self.handle(), {'AttachHandle': '1.0'})
        self.assertEqual('1.0', old.VERSION)
        self.assertFalse(old.obj_attr_is_set('arq_uuids'))
        self.assertRaises(
            exception.RemoteMethodRefused,
            self.conductor.object_backport_versions, self.context, 'text',
            {})

    def test_cap(self):
        self.conf.set(group='upgrade_levels', conductor='2026.2')
        capped = conductor_rpcapi.ConductorAPI()
        self.assertFalse(capped.supports_object_indirection())
        self.assertRaises(
            messaging.RPCVersionCapError, capped.object_action, self.context,
            self.handle(), 'update_attach_info', ('{}',), {})
        # What version 1.0 has goes on working.
        capped.report_data(self.context, base.HOST, [base.device(1)])


class EarlierApiTest(base.ConductorTestCase):
    """What the API of 2026.2 sends it gets back in its versions."""

    def test_arq_create(self):
        profile = self.profile()
        arq = objects.ARQ(device_profile_name=profile.name,
                          device_profile_group_id=0, project_id='p')
        sent = objects.ExtARQ(arq=arq).obj_to_primitive(
            '1.2', version_manifest={'ExtARQ': '1.2', 'ARQ': '1.1'})
        client = self.conductor.client.prepare(version='1.0')
        answer = client.call(self.context, 'arq_create', obj_extarq=sent,
                             devprof_id=profile.id)
        self.assertEqual(('1.2', '1.1'), (answer.VERSION, answer.arq.VERSION))
        self.assertEqual(
            ('Initial', '', {}),
            (answer.arq.state, answer.arq.attach_handle_type,
             answer.arq.attach_handle_info))

    def test_profile(self):
        profile = self.profile(name='p1')
        self.assertRaises(exception.DuplicateDeviceProfileName, self.profile,
                          name='p1')
        arq = self.arq(profile)
        self.assertRaises(
            exception.DeviceProfileInUse,
            self.conductor.device_profile_delete, self.context, profile)
        self.conductor.arq_delete_by_uuid(self.context, arq)
        self.conductor.device_profile_delete(self.context, profile)
        self.assertRaises(
            exception.ResourceNotFound,
            self.conductor.device_profile_delete, self.context, profile)
