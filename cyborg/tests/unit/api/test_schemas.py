# SPDX-License-Identifier: Apache-2.0
"""What bodies and filters are accepted, and as what."""

import json

import testscenarios
import wsme.types

from cyborg.api import microversions
from cyborg.api import schemas
from cyborg.api.schemas import accelerator_requests
from cyborg.api.schemas import attributes
from cyborg.api.schemas import deployables
from cyborg.api.schemas import device_profiles
from cyborg.api.schemas import filters
from cyborg.common import exception
from cyborg.tests import base

load_tests = testscenarios.load_tests_apply_scenarios

UUID = '10000000-0000-4000-8000-000000000001'
OTHER = '20000000-0000-4000-8000-000000000002'
LATEST = microversions.MAXIMUM


def table(*rows):
    return [('%d %s' % (number, json.dumps(value)[:60]),
             {'value': value, 'wanted': wanted})
            for number, (value, wanted) in enumerate(rows)]


class TestText(base.TestCase):

    def test_nul_and_surrogates_are_refused_at_any_depth(self):
        for bad in ('a\x00', '\ud800', ['x', {'y': ['\x00']}],
                    {'\x00': 1}, ({'a': {'b': '\udfff'}},)):
            self.assertRaises(exception.InvalidParameterValue,
                              schemas.check_text, bad)
        schemas.check_text(['é', {'😀': None}, 1, True, 1.5])

    def test_depth(self):
        for depth in (schemas.MAX_DEPTH, schemas.MAX_DEPTH + 1, 5000):
            body = []
            for _level in range(depth - 1):
                body = [body] if depth % 2 else {'x': body}
            if depth <= schemas.MAX_DEPTH:
                schemas.check_text([body])
            else:
                error = self.assertRaises(exception.InvalidParameterValue,
                                          schemas.check_text, [body])
                self.assertIn('more than 32 levels', str(error))

    def test_a_list_in_a_url(self):
        self.assertEqual(1000, len(schemas.split_list('a' + ',a' * 999)))
        self.assertRaises(exception.InvalidParameterValue,
                          schemas.split_list, 'a' + ',a' * 1000)

    def test_uuids(self):
        for good in (UUID, UUID.upper(), UUID.replace('-', '')):
            self.assertEqual(UUID, schemas.canonical_uuid(good))
        for bad in ('', 'x', 5, None, [], UUID + '0', True):
            self.assertFalse(schemas.is_uuid(bad))

    def test_scalars_as_text(self):
        self.assertEqual(['5', 'True', '1.5', 'x', None],
                         [schemas.as_text(v) for v in (5, True, 1.5, 'x',
                                                       None)])


class TestProfileGroups(base.TestCase):
    """Groups of a new profile -> as stored, or refused (contract 10)."""

    scenarios = table(
        ({'resources:FPGA': '1'}, {'resources:FPGA': '1'}),
        ({'resources:FPGA': 3}, {'resources:FPGA': '3'}),
        ({'resources:FPGA': 1.5}, {'resources:FPGA': '1.5'}),
        ({'resources:FPGA': True}, {'resources:FPGA': 'True'}),
        ({'resources:PGPU': ' 1 '}, {'resources:PGPU': ' 1 '}),
        ({'resources: CUSTOM_PCI ': '1', 'trait: CUSTOM_A ': 'required'},
         {'resources:CUSTOM_PCI': '1', 'trait:CUSTOM_A': 'required'}),
        ({'resources:FPGA ': '1', 'resources:FPGA': '2'},
         {'resources:FPGA': '1'}),
        ({'accel:anything goes': 'x', 'accel: a ': 5, 'accel:n': None},
         {'accel:anything goes': 'x', 'accel: a ': '5', 'accel:n': None}),
        ({}, {}),
        ({'resources:FPGA': '0'}, {'resources:FPGA': '0'}),
        ({'resources:FPGA': '-1'}, None),
        ({'resources:FPGA': -1}, None),
        ({'resources:FPGA': '1.5'}, None),
        ({'resources:FPGA': 'one'}, None),
        ({'resources:FPGA': ''}, None),
        ({'resources:FPGA': None}, None),
        ({'resources:FPGA': [1]}, None),
        ({'resources:FPGA': 1e30}, None),
        ({'resources:FPGA': float('inf')}, None),
        ({'resources:FPGA': float('nan')}, None),
        ({'resources:FPGA': 2 ** 31}, None),
        ({'resources:FPGA': '+1'}, {'resources:FPGA': '+1'}),
        ({'resources:FPGA': '1_0'}, None),
        ({'resources:FPGA': '\u0663'}, None),
        ({'resources:FPGA': '1 0'}, None),
        ({'resources:CUSTOM_lower': '1'}, None),
        ({'resources:CUSTOM_': '1'}, None),
        ({'resources:CUSTOM_A-B': '1'}, None),
        ({'resources:CUSTOM_' + 'A' * 248: '1'},
         {'resources:CUSTOM_' + 'A' * 248: '1'}),
        ({'resources:CUSTOM_' + 'A' * 249: '1'}, None),
        ({'trait:CUSTOM_lower': 'required'}, None),
        ({'resources:VCPU': '1'}, None),
        ({'resources:': '1'}, None),
        ({'Resources:FPGA': '1'}, None),
        ({'FPGA': '1'}, None),
        ({'': 'x'}, None),
        ({'trait:HW_CPU': 'required'}, None),
        ({'trait:': 'required'}, None),
        ({'trait:CUSTOM_A': 'optional'}, None),
        ({'trait:CUSTOM_A': 1}, None),
        ({'accel:x': ['a']}, None),
    )

    def test_parse(self):
        body = [{'name': 'p', 'groups': [self.value]}]
        if self.wanted is None:
            self.assertRaises(exception.Invalid,
                              device_profiles.parse_create, body)
        else:
            parsed = device_profiles.parse_create(body)
            self.assertEqual((self.wanted,), parsed.groups)


class TestProfile(base.TestCase):

    GROUPS = [{'resources:FPGA': '1'}]

    def refuse(self, body, kind=exception.InvalidParameterValue):
        return self.assertRaises(kind, device_profiles.parse_create, body)

    def test_whole(self):
        parsed = device_profiles.parse_create([{
            'name': 'A_b-9', 'description': 5, 'uuid': UUID.upper(),
            'groups': self.GROUPS, 'foo': 'bar', 'id': 9999,
            'created_at': '2020-01-01'}])
        self.assertEqual(device_profiles.NewProfile(
            'A_b-9', ({'resources:FPGA': '1'},), '5', UUID), parsed)

    def test_least(self):
        parsed = device_profiles.parse_create(
            [{'name': 'a', 'groups': [{}], 'uuid': ''}])
        self.assertEqual(device_profiles.NewProfile('a', ({},), None, None),
                         parsed)

    def test_names(self):
        for name in ('a b', 'a/b', 'é', 'a\n', 'a.b', 'n' * 256, UUID, ' '):
            self.refuse([{'name': name, 'groups': self.GROUPS}])
        device_profiles.parse_create(
            [{'name': 'n' * 255, 'groups': self.GROUPS}])

    def test_name_and_groups_are_needed(self):
        for name in (None, ''):
            self.refuse([{'name': name, 'groups': self.GROUPS}],
                        exception.DeviceProfileNameNeeded)
        self.refuse([{'groups': self.GROUPS}],
                    exception.DeviceProfileNameNeeded)
        for groups in (None, [], ''):
            self.refuse([{'name': 'a', 'groups': groups}],
                        exception.DeviceProfileGroupsExpected)

    def test_wrong_types(self):
        for body in ([], {}, None, 5, 'x', [5], [None], [[]], {'a': 1},
                     [{'name': ['x'], 'groups': self.GROUPS}],
                     [{'name': 5, 'groups': self.GROUPS}],
                     [{'name': 'a', 'groups': {'resources:FPGA': '1'}}],
                     [{'name': 'a', 'groups': 7}],
                     [{'name': 'a', 'groups': ['x']}],
                     [{'name': 'a', 'groups': [None]}],
                     [{'name': 'a', 'groups': self.GROUPS,
                       'description': {}}],
                     [{'name': 'a', 'groups': self.GROUPS, 'uuid': 'xyz'}],
                     [{'name': 'a', 'groups': self.GROUPS, 'uuid': 5}],
                     [{'name': 'a', 'groups': self.GROUPS, 'id': 'x'}],
                     [{'name': 'a', 'groups': self.GROUPS,
                       'created_at': 'banana'}],
                     [{'name': 'a', 'groups': self.GROUPS}] * 2):
            self.refuse(body)

    def test_sizes(self):
        self.refuse([{'name': 'a', 'groups': self.GROUPS,
                      'description': 'é' * 40000}])
        self.refuse([{'name': 'a', 'groups': self.GROUPS * 65}])
        self.refuse([{'name': 'a', 'groups': [
            {'resources:CUSTOM_%d' % n: '1' for n in range(65)}]}])
        self.refuse([{'name': 'a', 'groups': [{'accel:x': 'y' * 70000}]}])

    def test_the_error_shows_where(self):
        error = self.refuse([{'name': 'a', 'groups': [{}, ['x']]}])
        self.assertIn("[0].groups[1]: ['x'] is not of type 'object'",
                      str(error))


class TestArqGroups(base.TestCase):
    """Groups of a stored profile -> group of each request."""

    scenarios = table(
        ([{'resources:FPGA': '2'}, {'resources:FPGA': '1'}], [0, 0, 1]),
        ([{'resources:FPGA': '1', 'resources:CUSTOM_PCI': '1'}], [0, 0]),
        ([{'resources:FPGA': '0'}], []),
        ([{'trait:CUSTOM_X': 'required'}], []),
        ([{}], []),
        ([{'resources:FPGA': '1', 'accel:resources': '5'}], [0]),
        ([{'trait:CUSTOM_FPGA_XILINX': 'required', 'resources:FPGA': '1',
           'resources:CUSTOM_PCI': '2'}], [0, 0]),
        ([{'trait:CUSTOM_FPGA_XILINX': 'forbidden',
           'resources:FPGA': '1'}], [0]),
        ([{'resources:FPGA': '1.5'}], None),
        ([{'resources:FPGA': 'True'}], None),
        ([{'resources:FPGA': '-1'}], None),
        ([{'resources:FPGA': '1_0'}], None),
        ([{'resources:FPGA': None}], None),
        ([{'trait:CUSTOM_FPGA_XILINX': 'required'}], None),
        ([{'resources:FPGA': '1001'}], None),
        ([{'resources:FPGA': '501'}] * 2, None),
    )

    def test_groups(self):
        if self.wanted is None:
            self.assertRaises(exception.Invalid, device_profiles.arq_groups,
                              self.value)
        else:
            self.assertEqual(self.wanted,
                             device_profiles.arq_groups(self.value))


def operations(**values):
    return [{'path': '/' + name, 'op': 'add', 'value': value}
            for name, value in values.items()]


def bind(**values):
    return operations(**{'hostname': 'h', 'device_rp_uuid': UUID,
                         'instance_uuid': OTHER, **values})


class TestArqPatch(base.TestCase):
    """Contract 5, 8, 13: every request of a patch is looked at."""

    def refuse(self, body, kind=exception.PatchError, version=LATEST):
        return self.assertRaises(
            kind, accelerator_requests.parse_patch, body, version)

    def test_bind(self):
        patch, = accelerator_requests.parse_patch(
            {UUID: bind(device_rp_uuid=UUID.upper())},
            microversions.MINIMUM)
        self.assertTrue(patch.bind)
        self.assertFalse(patch.names_owner)
        self.assertEqual({'hostname': 'h', 'device_rp_uuid': UUID,
                          'instance_uuid': OTHER}, patch.fields())

    def test_bind_for_a_project(self):
        body = {UUID: bind(project_id=OTHER)}
        patch, = accelerator_requests.parse_patch(
            body, microversions.PROJECT_IN_PATCH)
        self.assertEqual(OTHER, patch.fields()['project_id'])
        error = self.refuse(body, exception.NotAcceptable,
                            microversions.MINIMUM)
        self.assertIn('2.1', str(error))

    def test_unbind(self):
        body = {UUID: [{'path': '/hostname', 'op': 'remove'}]}
        patch, = accelerator_requests.parse_patch(body, LATEST)
        self.assertFalse(patch.bind)
        self.assertEqual(dict.fromkeys(
            ('hostname', 'device_rp_uuid', 'instance_uuid')), patch.fields())

    def test_the_first_slash_of_a_path_is_optional(self):
        body = {UUID: bind()}
        body[UUID][0]['path'] = 'hostname'
        body[UUID][1]['path'] = '//device_rp_uuid'
        self.assertEqual(
            'h', accelerator_requests.parse_patch(body, LATEST)[0].hostname)

    def test_values(self):
        for values in ({'hostname': None}, {'instance_uuid': None},
                       {'hostname': 5}, {'hostname': ''},
                       {'hostname': 'x' * 256}, {'instance_uuid': 'xyz'},
                       {'instance_uuid': 5}, {'device_rp_uuid': []},
                       {'project_id': None}, {'project_id': 'x'},
                       {'foo': 'x'}, {'hostname/x': 'x'},
                       {'state': 'Bound'},
                       # API-5: nobody sets what a host reported.
                       {'managed': False}, {'attach_handle_info': {}}):
            self.refuse({UUID: bind(**values)})

    def test_a_provider_that_is_no_uuid_cannot_be_there(self):
        self.refuse({UUID: bind(device_rp_uuid='xyz')},
                    exception.ResourceNotFound)

    def test_operations(self):
        mixed = bind()
        mixed[0] = {'path': '/hostname', 'op': 'remove'}
        self.refuse({UUID: mixed})
        for op in ('replace', 'move', 'test', ''):
            self.refuse({UUID: [{'path': '/hostname', 'op': op,
                                 'value': 'h'}]})
        self.refuse({UUID: bind()[:2]})

    def test_shapes(self):
        for body in ({}, [], None, 'x', 5, {UUID: []}, {UUID: 'x'},
                     {UUID: None}, {UUID: [None]}, {UUID: ['x']},
                     {UUID: [{}]}, {UUID: [{'path': '/hostname'}]},
                     {UUID: [{'op': 'add', 'value': 'x'}]},
                     {UUID: [{'path': 5, 'op': 'add'}]},
                     {UUID: [{'path': '/hostname', 'op': ['add']}]}):
            self.refuse(body, exception.InvalidParameterValue)

    def test_the_second_request_is_checked_like_the_first(self):
        for second in (bind(hostname=None), bind(foo='x'), bind()[:1],
                       bind(instance_uuid=UUID)):
            self.refuse({UUID: bind(), OTHER: second})


class TestArqArguments(base.TestCase):

    def test_bind_state(self):
        for good in (None, '', 'resolved'):
            accelerator_requests.check_bind_state(good)
        error = self.assertRaises(
            exception.InvalidParameterValue,
            accelerator_requests.check_bind_state, 'bound')
        self.assertEqual(400, error.code)

    def test_depth(self):
        for depth in (schemas.MAX_DEPTH, schemas.MAX_DEPTH + 1, 5000):
            body = []
            for _level in range(depth - 1):
                body = [body] if depth % 2 else {'x': body}
            if depth <= schemas.MAX_DEPTH:
                schemas.check_text([body])
            else:
                error = self.assertRaises(exception.InvalidParameterValue,
                                          schemas.check_text, [body])
                self.assertIn('more than 32 levels', str(error))

    def test_a_list_in_a_url(self):
        self.assertEqual(1000, len(schemas.split_list('a' + ',a' * 999)))
        self.assertRaises(exception.InvalidParameterValue,
                          schemas.split_list, 'a' + ',a' * 1000)

    def test_uuids(self):
        self.assertEqual(
            (UUID, OTHER), accelerator_requests.parse_uuids(
                ','.join((UUID, OTHER, UUID))))
        for bad in ('', 'xyz', UUID + ',', ' ' + 'x'):
            self.assertRaises(exception.ResourceNotFound,
                              accelerator_requests.parse_uuids, bad)

    def test_profile_name(self):
        for body, name in (({'device_profile_name': 'a'}, 'a'),
                           ({'device_profile_name': 5, 'foo': 1}, '5'),
                           ({'device_profile_name': ''}, '')):
            self.assertEqual(name, accelerator_requests.parse_create(body))
        for body in ({}, {'device_profile_name': None}, {'x': 1}):
            self.assertRaises(exception.DeviceProfileNameNeeded,
                              accelerator_requests.parse_create, body)
        for body in (None, [], 'x', 5, {'device_profile_name': ['x']},
                     {'device_profile_name': {}}):
            self.assertRaises(exception.InvalidParameterValue,
                              accelerator_requests.parse_create, body)


class TestAttribute(base.TestCase):

    scenarios = table(
        ({'deployable_id': 6, 'key': 'k', 'value': 'v'}, (6, 'k', 'v', None)),
        ({'deployable_id': '6', 'key': 5, 'value': True, 'foo': 1},
         (6, '5', 'True', None)),
        ({'deployable_id': 6, 'key': 'k', 'value': 'v', 'uuid': UUID},
         (6, 'k', 'v', UUID)),
        ({'deployable_id': 6, 'key': '', 'value': '', 'uuid': ''},
         (6, '', '', None)),
        ({'deployable_id': 6, 'key': 'k'}, None),
        ({'deployable_id': 6, 'value': 'v'}, None),
        ({'key': 'k', 'value': 'v'}, None),
        ({'deployable_id': None, 'key': 'k', 'value': 'v'}, None),
        ({'deployable_id': 'x', 'key': 'k', 'value': 'v'}, None),
        ({'deployable_id': -1, 'key': 'k', 'value': 'v'}, None),
        ({'deployable_id': 2 ** 31, 'key': 'k', 'value': 'v'}, None),
        ({'deployable_id': float('inf'), 'key': 'k', 'value': 'v'}, None),
        ({'deployable_id': 6, 'key': 'k', 'value': None}, None),
        ({'deployable_id': 6, 'key': 'k', 'value': {'a': 1}}, None),
        ({'deployable_id': 6, 'key': ['k'], 'value': 'v'}, None),
        ({'deployable_id': 6, 'key': 'k', 'value': 'é' * 40000}, None),
        ({'deployable_id': 6, 'key': 'k', 'value': 'v', 'uuid': 'x'}, None),
        ({'deployable_id': 6, 'key': 'k', 'value': 'v', 'uuid': None}, None),
        ({'deployable_id': 6, 'key': 'k', 'value': 'v', 'created_at': 'x'},
         None),
        ([], None), ('x', None), (5, None), (None, None), ({}, None),
    )

    def test_parse(self):
        if self.wanted is None:
            self.assertRaises(exception.InvalidParameterValue,
                              attributes.parse_create, self.value)
        else:
            self.assertEqual(attributes.NewAttribute(*self.wanted),
                             attributes.parse_create(self.value))


class TestProgram(base.TestCase):

    scenarios = table(
        ([{'path': '/program', 'op': 'replace',
           'value': [{'image_uuid': UUID}]}], UUID),
        ([{'path': '/bitstream_id', 'op': 'remove',
           'value': [{'image_uuid': UUID.upper()}]}], UUID),
        ([{'path': '/whatever/x', 'op': 'add',
           'value': [{'image_uuid': UUID, 'x': 1}]}], UUID),
        ([{'path': '/program', 'op': 'test',
           'value': [{'image_uuid': UUID}]}], None),
        ([{'path': '/name', 'op': 'add',
           'value': [{'image_uuid': UUID}]}], None),
        ([{'path': '/created_at/x', 'op': 'add',
           'value': [{'image_uuid': UUID}]}], None),
        ([{'path': 'program', 'op': 'add',
           'value': [{'image_uuid': UUID}]}], None),
        ([{'path': '/program\n', 'op': 'add',
           'value': [{'image_uuid': UUID}]}], None),
        ([{'path': '/program', 'op': 'add', 'extra': 1,
           'value': [{'image_uuid': UUID}]}], None),
        ([{'path': '/program', 'op': 'remove'}], None),
        ([{'path': '/program', 'op': 'add', 'value': []}], None),
        ([{'path': '/program', 'op': 'add', 'value': [{}]}], None),
        ([{'path': '/program', 'op': 'add', 'value': ['x']}], None),
        ([{'path': '/program', 'op': 'add',
           'value': [{'image_uuid': 'xyz'}]}], None),
        ([{'path': '/program', 'op': 'add',
           'value': [{'image_uuid': 5}]}], None),
        ([{'op': 'add', 'value': [{'image_uuid': UUID}]}], None),
        ([], None), ({'a': 1}, None), ('x', None), (None, None),
        ([None], None), ([[]], None),
    )

    def test_parse(self):
        if self.wanted is None:
            self.assertRaises(exception.InvalidParameterValue,
                              deployables.parse_program, self.value)
        else:
            self.assertEqual(self.wanted,
                             deployables.parse_program(self.value))


class TestFilters(base.TestCase):

    SORTABLE = ('name', 'id')

    def parse(self, *pairs):
        listed = []
        for field, value in pairs:
            item = filters.Filter()
            if field is not wsme.types.Unset:
                item.field = field
            if value is not wsme.types.Unset:
                item.value = value
            listed.append(item)
        return filters.parse(listed, self.SORTABLE)

    def test_nothing(self):
        self.assertEqual(filters.Listing(), filters.parse(None, ()))
        self.assertFalse(filters.parse([], ()).given)

    def test_all(self):
        self.assertEqual(
            filters.Listing(True, 2, 'name', 'asc', 'x'),
            self.parse(('limit', '2'), ('sort_key', 'name'),
                       ('sort_dir', 'asc'), ('name', 'y'), ('name', 'x'),
                       ('board', 'nothing')))

    def test_a_negative_limit_is_none(self):
        self.assertIsNone(self.parse(('limit', '-1')).limit)
        self.assertEqual(0, self.parse(('limit', '0')).limit)

    def test_without_effect(self):
        self.assertEqual(filters.Listing(True),
                         self.parse(('marker', 'x'),
                                    (wsme.types.Unset, 'x')))

    def test_refused(self):
        for pair in (('limit', 'x'), ('limit', str(2 ** 31)),
                     ('sort_key', 'vendor'), ('sort_dir', 'up'),
                     ('name', wsme.types.Unset),
                     ('limit', wsme.types.Unset)):
            self.assertRaises(exception.InvalidParameterValue, self.parse,
                              pair)
        self.assertRaises(exception.InvalidParameterValue, filters.parse,
                          ['x'], ())
