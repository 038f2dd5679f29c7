# SPDX-License-Identifier: Apache-2.0
"""What the API shows, by microversion (API-1 to API-4)."""

import copy
import datetime

import testscenarios

from cyborg import objects
from cyborg.api import microversions
from cyborg.api import views
from cyborg.api.views import accelerator_requests
from cyborg.api.views import deployables
from cyborg.api.views import devices
from cyborg.api.views import versions
from cyborg.common import exception
from cyborg.tests import base

load_tests = testscenarios.load_tests_apply_scenarios

BASE = 'http://host/accelerator'
UUID = '10000000-0000-4000-8000-000000000001'
HANDLE = '30000000-0000-4000-8000-000000000003'
ADDRESS = {'domain': '0000', 'bus': '3b', 'device': '00', 'function': '1'}
V23, V24 = microversions.Version(2, 3), microversions.Version(2, 4)
UTC = datetime.UTC


def arq(info=None, handle_type='PCI', state='Bound'):
    objects.register_all()
    bound = state == 'Bound'
    return objects.ARQ(
        id=1, uuid=UUID, state=state, device_profile_name='p',
        device_profile_group_id=0, hostname='h' if bound else None,
        device_rp_uuid=None, instance_uuid=None, project_id='x',
        attach_handle_type=handle_type if bound else '',
        attach_handle_uuid=HANDLE if bound else None,
        attach_handle_info=info if bound else {},
        created_at=datetime.datetime(2027, 4, 1, tzinfo=UTC),
        updated_at=None)


class TestHandleInfo(base.TestCase):
    """API-1, API-2: defaults from 2.4 on, nothing below."""

    DEFAULTS = {'managed': True, 'stateful': False, 'numa_node': None}
    scenarios = [
        ('%s with %s' % (kind, stored),
         {'kind': kind, 'stored': stored, 'wanted': wanted})
        for kind in ('PCI', 'MDEV', 'TEST_PCI')
        for stored, wanted in (
            ({}, {}),
            ({'managed': True}, {'managed': True}),
            ({'managed': False}, {'managed': False}),
            ({'stateful': True}, {'stateful': True}),
            ({'numa_node': 0}, {'numa_node': 0}),
            ({'numa_node': 3, 'managed': False, 'stateful': False},
             {'numa_node': 3, 'managed': False}),
            ({'numa_node': None}, {}),
        )]

    def test_from_2_4_on(self):
        shown = accelerator_requests.handle_info(
            arq({**ADDRESS, **self.stored}, self.kind), V24)
        wanted = {**ADDRESS, **self.DEFAULTS, **self.wanted}
        if self.kind != 'PCI':
            del wanted['managed']
        self.assertEqual(wanted, shown)
        for name, value in wanted.items():
            self.assertIs(type(value), type(shown[name]))

    def test_below_2_4(self):
        for minor in range(4):
            self.assertEqual(ADDRESS, accelerator_requests.handle_info(
                arq({**ADDRESS, **self.stored}, self.kind),
                microversions.Version(2, minor)))

    def test_nothing_is_changed(self):
        """API-3"""
        request = arq({**ADDRESS, **self.stored}, self.kind)
        before = copy.deepcopy(request.attach_handle_info)
        request.obj_reset_changes()
        accelerator_requests.single(request, V24, BASE)
        accelerator_requests.single(request, V23, BASE)
        self.assertEqual(before, request.attach_handle_info)
        self.assertEqual(set(), request.obj_what_changed())


class TestWrongTypes(base.TestCase):
    """API-4: a stored value of another type is an error, never a default."""

    scenarios = [('%s is %r' % item, {'key': item[0], 'bad': item[1]})
                 for item in (
        ('managed', 'true'), ('managed', 1), ('managed', None),
        ('stateful', 'no'), ('stateful', 0), ('stateful', None),
        ('numa_node', '0'), ('numa_node', -1), ('numa_node', True),
        ('numa_node', 1.5))]

    def test_2_4_names_handle_and_key(self):
        error = self.assertRaises(
            exception.AttachInfoInvalid, accelerator_requests.single,
            arq({**ADDRESS, self.key: self.bad}), V24, BASE)
        self.assertEqual(500, error.code)
        self.assertIn(HANDLE, str(error))
        self.assertIn(self.key, str(error))

    def test_below_2_4_it_does_not_matter(self):
        shown = accelerator_requests.single(
            arq({**ADDRESS, self.key: self.bad}), V23, BASE)
        self.assertEqual(ADDRESS, shown['attach_handle_info'])


class TestArq(base.TestCase):

    def test_managed_of_a_handle_that_does_not_show_it(self):
        shown = accelerator_requests.handle_info(
            arq({**ADDRESS, 'managed': 'junk'}, 'MDEV'), V24)
        self.assertNotIn('managed', shown)

    def test_without_a_handle_nothing_is_gained(self):
        """API-2"""
        for state in ('Initial', 'Unbound', 'BindFailed', 'BindStarted'):
            self.assertEqual({}, accelerator_requests.single(
                arq(state=state), V24, BASE)['attach_handle_info'])

    def test_other_keys_keep_value_and_type(self):
        info = {**ADDRESS, 'physical_network': 'p', 'asked_type': 'nvidia-1',
                'vgpu_mark': 'x_0'}
        for version in (V23, V24):
            shown = accelerator_requests.handle_info(arq(info), version)
            self.assertEqual(info, {key: shown[key] for key in info})

    def test_order_of_keys(self):
        self.assertEqual(
            ['uuid', 'state', 'device_profile_name',
             'device_profile_group_id', 'hostname', 'device_rp_uuid',
             'instance_uuid', 'project_id', 'attach_handle_type',
             'attach_handle_uuid', 'attach_handle_info', 'links',
             'created_at', 'updated_at'],
            list(accelerator_requests.single(arq(), V24, BASE)))

    def test_damaged_info_is_an_error(self):
        request = arq(ADDRESS)
        delattr(request, '_obj_attach_handle_info')
        self.assertRaises(exception.AttachInfoInvalid,
                          accelerator_requests.single, request, V23, BASE)


class TestOthers(base.TestCase):

    def test_timestamps(self):
        naive = datetime.datetime(2027, 4, 1, 8, 0, 0, 5)
        self.assertEqual('2027-04-01T08:00:00.000005+00:00',
                         views.timestamp(naive))
        self.assertEqual('2027-04-01T08:00:00.000005+00:00',
                         views.timestamp(naive.replace(tzinfo=UTC)))
        self.assertIsNone(views.timestamp(None))
        self.assertEqual('2027-04-01 08:00:00.000005+00:00',
                         views.spaced_timestamp(naive))
        self.assertEqual('None', views.spaced_timestamp(None))

    def test_device_status_from_2_3_on(self):
        objects.register_all()
        device = objects.Device(
            id=1, uuid=UUID, type='PCI', vendor='v', model='m',
            std_board_info=None, vendor_board_info=None, hostname='h',
            status='maintaining', created_at=None, updated_at=None)
        self.assertEqual('maintaining',
                         devices.single(device, V23, BASE)['status'])
        self.assertNotIn('status', devices.single(
            device, microversions.Version(2, 2), BASE))

    def test_attributes_go_to_their_deployables(self):
        objects.register_all()
        parts = [objects.Deployable(
            id=number, uuid=UUID, parent_id=None, root_id=None, name='n',
            num_accelerators=1, device_id=1, rp_uuid=None, driver_name=None,
            bitstream_id=None, created_at=None, updated_at=None)
            for number in (1, 2, 3)]
        found = [objects.Attribute(deployable_id=number, key=key, value='v')
                 for number, key in ((2, 'b'), (1, 'a'), (2, 'c'), (9, 'x'))]
        shown = deployables.listing(parts, found, BASE)['deployables']
        self.assertEqual(
            ['[{"a": "v"}]', '[{"b": "v"}, {"c": "v"}]', '[]'],
            [item['attributes_list'] for item in shown])

    def test_version_documents_show_the_newest(self):
        """API-6"""
        root = versions.root(BASE)
        newest = str(microversions.MAXIMUM)
        self.assertEqual(newest, root['default_version']['max_version'])
        self.assertEqual('http://host/accelerator/v2',
                         root['versions'][0]['links'][0]['href'])
        self.assertEqual(newest, versions.v2(BASE)['max_version'])
