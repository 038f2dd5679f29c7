# SPDX-License-Identifier: Apache-2.0
"""Versions of the objects, and what peers of other releases get (IND-3)."""

import json
import pathlib

from oslo_versionedobjects import base as ovo_base
from oslo_versionedobjects import exception as ovo_exception
from oslo_versionedobjects import fields as ovo_fields
from oslo_versionedobjects import fixture

from cyborg import objects
from cyborg.common import exception
from cyborg.objects import base as objects_base
from cyborg.objects.driver_objects import driver_attach_handle
from cyborg.objects.driver_objects import driver_attribute
from cyborg.objects.driver_objects import driver_controlpath_id
from cyborg.objects.driver_objects import driver_deployable
from cyborg.objects.driver_objects import driver_device
from cyborg.tests import base

objects.register_all()

#: Fingerprints that release 2026.2 recorded; these objects never changed.
UNCHANGED = {
    'Attribute': '1.0-3e042d6370779d8da3d32f99ac8f5951',
    'ControlpathID': '1.1-4c247f18e47490b3d1ac20df38990570',
    'Device': '1.5-29a62fbf137f1317d6d5429ac016a53b',
    'DeviceProfile': '1.1-a7d1ea4646e897ad17765531c96765c1',
    'DriverAttachHandle': '1.0-074827c976ff5a627b77de5618ad61f2',
    'DriverAttribute': '1.0-5b6075e350e0c681bb086c855aa5b1d8',
    'DriverControlPathID': '1.0-8d91ad84194bee41951b433a5af6834a',
    'DriverDeployable': '1.0-a24fa6133b756322a716120ff611f453',
    'DriverDevice': '1.4-f767c6721d6bb30b7cd4200e7e392518',
}

#: A field, a remotable method or a member's version that changes needs a new
#: version of the object, and its new fingerprint here.
FINGERPRINTS = {
    **UNCHANGED,
    'ARQ': '1.2-96cc5bec27fefb74db88261034dc46e3',
    'AttachHandle': '1.1-b84fbdb791313fdbf3b4f829aac5c666',
    'AttachHandleList': '1.1-777c716f9b5df12624ed9a48a4910086',
    'AttributeList': '1.0-15ecf022a68ddbb8c2a6739cfc9f8f5e',
    'ControlpathIDList': '1.0-15ecf022a68ddbb8c2a6739cfc9f8f5e',
    'Deployable': '1.2-e8f77b6ca851c51f4f58ec412acbb7d4',
    'DeployableList': '1.0-15ecf022a68ddbb8c2a6739cfc9f8f5e',
    'DeviceList': '1.0-15ecf022a68ddbb8c2a6739cfc9f8f5e',
    'ExtARQ': '1.3-0064386747c9f7b4d690ca8f63d8dadd',
    'FPGAExtARQ': '1.3-0064386747c9f7b4d690ca8f63d8dadd',
    'HostInventory': '1.3-0a14e607015decf9289e57072558ee60',
}

#: Versions that 2026.2 knows of the objects it exchanges.
RELEASED = {'ARQ': '1.1', 'AttachHandle': '1.0', 'Attribute': '1.0',
            'ControlpathID': '1.1', 'Deployable': '1.1', 'Device': '1.5',
            'DeviceProfile': '1.1', 'DriverAttachHandle': '1.0',
            'DriverAttribute': '1.0', 'DriverControlPathID': '1.0',
            'DriverDeployable': '1.0', 'DriverDevice': '1.4',
            'ExtARQ': '1.2', 'FPGAExtARQ': '1.2'}

EXAMPLES = json.loads(
    pathlib.Path(__file__).with_name('rpc-examples.json').read_text())


def our_classes() -> dict:
    return {name: classes for name, classes in
            ovo_base.VersionedObjectRegistry.obj_classes().items()
            if classes[0].__module__.startswith('cyborg.objects.')}


class TestVersions(base.TestCase):

    def setUp(self):
        super().setUp()
        self.checker = fixture.ObjectVersionChecker(our_classes())

    def test_fingerprints(self):
        expected, actual = self.checker.test_hashes(FINGERPRINTS)
        self.assertEqual(expected, actual)

    def test_no_version_went_back(self):
        for name, version in RELEASED.items():
            self.assertFalse(objects_base.older(
                our_classes()[name][0].VERSION,
                tuple(int(part) for part in version.split('.'))), name)

    def test_names_on_the_wire(self):
        for classes in our_classes().values():
            self.assertEqual('cyborg', classes[0].OBJ_PROJECT_NAMESPACE)
            self.assertEqual('cyborg_object', classes[0].OBJ_SERIAL_NAMESPACE)

    def test_every_older_version_can_be_made(self):
        for manifest in (True, False):
            self.checker.test_compatibility_routines(use_manifest=manifest)

    def test_only_five_methods_are_remotable(self):
        """IND-1: a peer on the bus can run these and no more."""
        found = {(name, method) for name, classes in our_classes().items()
                 for method in dir(classes[0])
                 if getattr(getattr(classes[0], method, None), 'remotable',
                            False)}
        self.assertEqual({('AttachHandle', 'update_attach_info'),
                          ('AttachHandleList', 'update_attach_info'),
                          ('HostInventory', 'get_by_host'),
                          ('HostInventory', 'get_last_machine'),
                          ('HostInventory', 'get_names')}, found)

    def test_member_versions(self):
        """Every version of a list, or rule of a member, names its newest."""
        for name, (cls, *_older) in our_classes().items():
            for field_name, field in cls.fields.items():
                member = _member_class(field)
                if member is None:
                    continue
                rule = cls.obj_relationships[field_name]
                self.assertEqual(member.VERSION, rule[-1][1], name)
                if issubclass(cls, ovo_base.ObjectListBase):
                    self.assertEqual(cls.VERSION, rule[-1][0], name)
                self.assertFalse(getattr(cls, 'child_versions', None), name)


def _member_class(field):
    type_ = field._type
    if isinstance(type_, ovo_fields.List):
        type_ = type_._element_type._type
    if isinstance(type_, ovo_fields.Object):
        return our_classes()[type_._obj_name][0]
    return None


class TestRecordedPrimitives(base.TestCase):
    """What 2026.2 services put on the wire, and understand."""

    def _check(self, expected, obj):
        primitive = obj.obj_to_primitive() if hasattr(
            obj, 'obj_to_primitive') else obj
        self.assertEqual(_sorted_changes(expected), _sorted_changes(
            json.loads(json.dumps(primitive))))

    def test_driver_devices_pass_through(self):
        serializer = objects_base.CyborgObjectSerializer()
        received = serializer.deserialize_entity(
            self.context, EXAMPLES['driver_device_list'])
        for expected, device in zip(EXAMPLES['driver_device_list'], received,
                                    strict=True):
            self.assertIsInstance(device, driver_device.DriverDevice)
            self._check(expected, device)

    def test_a_driver_that_sets_field_by_field(self):
        """Out-of-tree drivers of 2026.2 fill objects in so."""
        data = EXAMPLES['driver_device_list'][1]['cyborg_object.data']
        device = driver_device.DriverDevice()
        for name in ('vendor', 'model', 'type', 'std_board_info',
                     'vendor_board_info', 'stub'):
            setattr(device, name, data[name])
        path = driver_controlpath_id.DriverControlPathID()
        path.cpid_type = 'PCI'
        path.cpid_info = data['controlpath_id']['cyborg_object.data'][
            'cpid_info']
        device.controlpath_id = path
        part = driver_deployable.DriverDeployable()
        given = data['deployable_list'][0]['cyborg_object.data']
        part.name = given['name']
        part.num_accelerators = 1
        part.driver_name = 'NVIDIA'
        part.attribute_list = [
            driver_attribute.DriverAttribute(**each['cyborg_object.data'])
            for each in given['attribute_list']]
        handle = driver_attach_handle.DriverAttachHandle()
        handle.attach_type = 'PCI'
        handle.in_use = False
        handle.attach_info = path.cpid_info
        part.attach_handle_list = [handle]
        device.deployable_list = [part]
        self._check(EXAMPLES['driver_device_list'][1], device)

    def test_requests_and_profiles(self):
        request = objects.ExtARQ(arq=objects.ARQ(
            device_profile_name='dp1', device_profile_group_id=0,
            project_id='2' * 32))
        self._check(EXAMPLES['extarq_create_arg'],
                    request.obj_to_primitive('1.2', RELEASED))
        profile = objects.DeviceProfile(name='dp1', groups=[
            {'resources:FPGA': '1',
             'trait:CUSTOM_FAKE_DEVICE': 'required'}])
        self._check(EXAMPLES['device_profile_create_arg'], profile)

    def test_a_result_for_the_released_api(self):
        """IND-4: without a manifest too, the member follows its owner."""
        result = objects_base.CyborgObjectSerializer().deserialize_entity(
            self.context, EXAMPLES['extarq_create_result'])
        for primitive in (result.obj_to_primitive('1.2'),
                          result.obj_to_primitive('1.2', RELEASED)):
            self._check(EXAMPLES['extarq_create_result'], primitive)


def _sorted_changes(value):
    if isinstance(value, dict):
        return {key: sorted(each) if key.endswith('.changes')
                else _sorted_changes(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_sorted_changes(each) for each in value]
    return value


class TestOlderVersions(base.TestCase):

    def _device(self, cls, **values):
        obj = cls(vendor='v', model='m', **values)
        return obj

    def test_device_state(self):
        for cls, target in ((objects.Device, '1.4'),
                            (objects.DriverDevice, '1.3')):
            data = self._device(
                cls, type='PCI', device_state='available').obj_to_primitive(
                    target)['cyborg_object.data']
            self.assertNotIn('device_state', data)

    def test_device_status(self):
        data = self._device(objects.Device, type='GPU', status='enabled'
                            ).obj_to_primitive('1.1')['cyborg_object.data']
        self.assertNotIn('status', data)

    def test_types_that_an_older_peer_does_not_know(self):
        for cls, kind, last in (
                (objects.Device, 'NVME', '1.3'),
                (objects.Device, 'MDEV', '1.2'),
                (objects.Device, 'PCI', '1.2'),
                (objects.Device, 'AICHIP', '1.0'),
                (objects.DriverDevice, 'NVME', '1.2'),
                (objects.DriverDevice, 'MDEV', '1.1'),
                (objects.DriverDevice, 'PCI', '1.1'),
                (objects.DriverDevice, 'AICHIP', '1.0')):
            device = self._device(cls, type=kind)
            error = self.assertRaises(exception.ObjectActionError,
                                      device.obj_to_primitive, last)
            self.assertEqual(
                'The action obj_make_compatible on the object failed: type '
                '%s is unknown to the older version' % kind, error.message)

    def test_profile_description(self):
        profile = objects.DeviceProfile(name='n', description='d')
        self.assertEqual(
            {'name': 'n'},
            profile.obj_to_primitive('1.0')['cyborg_object.data'])

    def test_arq_uuids(self):
        for cls, target in ((objects.AttachHandle, '1.0'),
                            (objects.Deployable, '1.1')):
            obj = cls(id=1, arq_uuids=['a'])
            self.assertEqual(
                {'id': 1}, obj.obj_to_primitive(target)['cyborg_object.data'])

    def test_request_without_deployable_id(self):
        request = objects.ExtARQ(substate='Initial', deployable_id=3)
        self.assertEqual(
            {'substate': 'Initial'},
            request.obj_to_primitive('1.1')['cyborg_object.data'])

    def test_lists_with_a_manifest(self):
        """Members go back as far as the caller's manifest says."""
        handles = objects.AttachHandleList(objects=[
            objects.AttachHandle(id=1, arq_uuids=['a'])])
        primitive = handles.obj_to_primitive(
            '1.0', {'AttachHandleList': '1.0', 'AttachHandle': '1.0'})
        member, = primitive['cyborg_object.data']['objects']
        self.assertEqual('1.0', member['cyborg_object.version'])
        self.assertEqual({'id': 1}, member['cyborg_object.data'])

    def test_an_object_from_the_future_is_refused(self):
        """Nobody to ask without indirection."""
        primitive = objects.DeviceProfile(name='n').obj_to_primitive()
        primitive['cyborg_object.version'] = '1.9'
        serializer = objects_base.CyborgObjectSerializer()
        self.assertRaises(ovo_exception.IncompatibleObjectVersion,
                          serializer.deserialize_entity, self.context,
                          primitive)

    def test_an_object_from_the_future_is_put_in_our_version(self):
        newer = objects.DeviceProfile(name='n').obj_to_primitive()
        newer['cyborg_object.version'] = '1.9'
        asked = []

        class Conductor(ovo_base.VersionedObjectIndirectionAPI):
            def object_action(self, *args):
                raise AssertionError(args)

            def object_backport_versions(self, context, primitive, versions):
                asked.append(versions)
                return objects.DeviceProfile(name='older')

        serializer = objects_base.CyborgObjectSerializer()
        with objects_base.indirection(Conductor()):
            received = serializer.deserialize_entity(self.context, newer)
        self.assertEqual('older', received.name)
        self.assertEqual([{'DeviceProfile': '1.1'}], asked)
