# SPDX-License-Identifier: Apache-2.0

import uuid

from cyborg.common import exception
from cyborg.placement import client
from cyborg.placement import names
from cyborg.placement import updates
from cyborg.tests.functional.placement import base

NOWHERE = str(uuid.uuid4())


class ClientTestCase(base.PlacementTestCase):

    def setUp(self):
        super().setUp()
        self.uuid = self.placement.add_provider('child', self.root)

    def call(self, name, *args):
        return getattr(self.client, name)(self.context, *args)

    def test_providers(self):
        child = client.Provider(self.uuid, 'child', 0, self.root, self.root)
        root = client.Provider(self.root, base.HOST, 0, None, self.root)
        self.assertEqual([child], self.call('find_providers', 'child'))
        self.assertEqual([], self.call('find_providers', 'a&b=c d/é'))
        self.assertEqual(child, self.call('get_provider', self.uuid))
        self.assertIsNone(self.call('get_provider', NOWHERE))
        for anchor in (self.uuid, self.root):
            self.assertEqual({root, child}, set(self.call('get_tree',
                                                          anchor)))
        self.assertEqual([], self.call('get_tree', NOWHERE))

    def test_create_and_delete(self):
        made = self.call('create_provider', NOWHERE, 'new', self.root)
        self.assertEqual(client.Provider(NOWHERE, 'new', 0, self.root,
                                         self.root), made)
        for args in ((NOWHERE, 'other'), (str(uuid.uuid4()), 'new')):
            error = self.assertRaises(
                exception.PlacementAPIConflict, self.call,
                'create_provider', *args, self.root)
            self.assertIn('already exists', error.message)
        error = self.assertRaises(
            exception.ResourceProviderInUse, self.call, 'delete_provider',
            self.root)
        self.assertIn(self.root, error.message)
        self.assertTrue(self.call('delete_provider', NOWHERE))
        self.assertFalse(self.call('delete_provider', NOWHERE))
        self.assertRaises(exception.PlacementRequestRefused, self.call,
                          'create_provider', NOWHERE, 'new', NOWHERE)

    def test_inventories(self):
        first = {'PGPU': client.Inventory(2, 1, 2)}
        self.assertEqual(1, self.call('put_inventories', self.uuid, 0,
                                      first))
        found = self.call('get_inventories', self.uuid)
        self.assertEqual(1, found.generation)
        self.assertEqual({'PGPU': client.Inventory(2, 1, 2, 1, 1, 1.0)},
                         found.by_class)
        # Written back as read, nothing is lost.
        self.assertEqual(2, self.call('put_inventories', self.uuid, 1,
                                      found.by_class))
        self.assertEqual(found.by_class,
                         self.call('get_inventories', self.uuid).by_class)
        self.assertRaises(exception.ResourceProviderUpdateConflict,
                          self.call, 'put_inventories', self.uuid, 0, first)
        self.placement.allocate(self.uuid, 'PGPU')
        self.assertEqual({'PGPU': 1}, self.call('get_usages', self.uuid))
        error = self.assertRaises(
            exception.InventoryInUse, self.call, 'put_inventories',
            self.uuid, 3, {'VGPU': client.Inventory(1)})
        self.assertIn(self.uuid, error.message)
        self.assertRaises(exception.PlacementRequestRefused, self.call,
                          'put_inventories', self.uuid, 3,
                          {'CUSTOM_UNKNOWN': client.Inventory(1),
                           'PGPU': client.Inventory(2)})

    def test_traits(self):
        self.assertEqual(client.Traits(0, frozenset()),
                         self.call('get_traits', self.uuid))
        self.call('ensure_trait', 'CUSTOM_A')
        self.call('ensure_trait', 'CUSTOM_A')
        self.assertEqual(1, self.call('put_traits', self.uuid, 0,
                                      ['CUSTOM_A', 'OWNER_CYBORG']))
        self.assertEqual(
            client.Traits(1, frozenset(['CUSTOM_A', 'OWNER_CYBORG'])),
            self.call('get_traits', self.uuid))
        self.assertRaises(exception.ResourceProviderUpdateConflict,
                          self.call, 'put_traits', self.uuid, 0, [])
        many = ['CUSTOM_N%d' % n for n in range(120)]
        for name in many[:60]:
            self.call('ensure_trait', name)
        self.assertEqual({'CUSTOM_A', *many[:60]}, self.call(
            'existing_traits', ['CUSTOM_A', *many]))

    def test_provider_that_is_gone(self):
        for name, args in (('get_inventories', ()), ('get_usages', ()),
                           ('get_traits', ()), ('put_inventories', (0, {})),
                           ('put_traits', (0, []))):
            error = self.assertRaises(
                exception.PlacementResourceProviderNotFound, self.call,
                name, NOWHERE, *args)
            self.assertIn(NOWHERE, error.message)

    def test_old_placement(self):
        """A microversion that Placement does not know."""
        self.placement.fail('GET', status=406)
        error = self.assertRaises(exception.PlacementRequestRefused,
                                  self.call, 'get_tree', self.root)
        self.assertIn('406', error.message)

    def test_credentials(self):
        """FAULT-26: a refusal is no "there is none"."""
        for status in (401, 403):
            self.placement.fail('GET', status=status)
            error = self.assertRaises(exception.PlacementUnauthorized,
                                      self.call, 'find_providers', 'x')
            self.assertIn('status %d' % status, error.message)
            self.assertIn('[placement]', error.message)

    def test_ping(self):
        """FAULT-19: what a starting service waits for."""
        self.client.ping()
        self.placement.fail('GET', status=401)
        self.assertRaises(exception.PlacementUnauthorized, self.client.ping)
        self.placement.fail('GET')
        self.assertRaises(exception.PlacementServerError, self.client.ping)
        self.client.ping()

    def test_no_credentials_configured(self):
        self.conf.set(group='placement', auth_type=None)
        error = self.assertRaises(
            exception.PlacementUnauthorized,
            client.PlacementClient().get_tree, None, self.root)
        self.assertIn('auth_type', error.message)

    def test_unknown_auth_type(self):
        self.conf.set(group='placement', auth_type='no_such_plugin')
        error = self.assertRaises(
            exception.PlacementUnauthorized,
            client.PlacementClient().get_tree, None, self.root)
        self.assertIn('no_such_plugin', error.message)

    def test_nothing_listens(self):
        self.conf.set(group='placement',
                      endpoint_override='http://127.0.0.1:1')
        error = self.assertRaises(
            exception.PlacementAPIConnectFailure,
            client.PlacementClient().get_tree, None, self.root)
        self.assertIsInstance(error, exception.PlacementServerError)
        self.assertIn('127.0.0.1:1', error.message)

    def test_something_else_answers(self):
        self.placement.fail('GET', status=200)
        error = self.assertRaises(exception.PlacementServerError,
                                  self.call, 'get_tree', self.root)
        self.assertIn('not an answer of Placement', error.message)

    def test_over_a_socket(self):
        """The same through a real connection."""
        served = self.useFixture(base.placement.PlacementFixture(http=True))
        root = served.add_provider('other')
        over_http = client.PlacementClient()
        self.assertEqual(root, over_http.find_providers(
            self.context, 'other')[0].uuid)
        served.fail('GET')
        self.assertRaises(exception.PlacementAPIConnectFailure,
                          over_http.get_tree, self.context, root)


class UpdatesTestCase(base.PlacementTestCase):

    def test_reserve_many_times(self):
        uuid = self.placement.add_provider('child', self.root)
        self.placement.set_inventory(
            uuid, PGPU={'total': 2, 'min_unit': 2, 'max_unit': 2},
            VGPU={'total': 3})
        for everything, expected in ((True, (2, 3)), (True, (2, 3)),
                                     (False, (0, 0)), (False, (0, 0))):
            (updates.disable if everything else updates.enable)(
                self.client, self.context, uuid)
            self.assertEqual(
                {'PGPU': (2, expected[0]), 'VGPU': (3, expected[1])},
                self.placement.amounts(uuid))
        self.assertEqual(2, self.placement.inventory(uuid)[
            'PGPU']['min_unit'])
        # Two changes, each of a number and of a mark.
        self.assertEqual(5, self.placement.generation(uuid))

    def test_reserve_while_allocated(self):
        uuid = self.placement.add_provider('child', self.root)
        self.placement.set_inventory(uuid, PGPU={'total': 1})
        self.placement.allocate(uuid, 'PGPU')
        updates.disable(self.client, self.context, uuid)
        self.assertEqual({'PGPU': (1, 1)}, self.placement.amounts(uuid))

    def test_reserve_with_conflicts(self):
        """B38"""
        uuid = self.placement.add_provider('child', self.root)
        self.placement.set_inventory(uuid, PGPU={'total': 1})
        self.placement.fail('PUT .*inventories', status=409, times=2,
                            code='placement.concurrent_update')
        updates.disable(self.client, self.context, uuid)
        self.assertEqual({'PGPU': (1, 1)}, self.placement.amounts(uuid))
        fault = self.placement.fail('PUT .*inventories', status=409,
                                    times=10,
                                    code='placement.concurrent_update')
        self.assertRaises(exception.ResourceProviderUpdateConflict,
                          updates.enable, self.client, self.context, uuid)
        self.assertEqual(3, fault.hits)

    def test_reserve_what_is_not_there(self):
        self.assertRaises(exception.PlacementResourceProviderNotFound,
                          updates.disable, self.client, self.context,
                          NOWHERE)

    def test_replace_traits(self):
        """FPGA programming: the old function goes, everything else stays."""
        uuid = self.placement.add_provider('child', self.root)
        self.placement.set_traits(uuid, 'OWNER_CYBORG', 'CUSTOM_A',
                                  'CUSTOM_FPGA_FUNCTION_ID_OLD')
        for _again in range(2):
            updates.replace_traits(
                self.client, self.context, uuid, 'CUSTOM_FPGA_FUNCTION_ID',
                ['CUSTOM_FPGA_FUNCTION_ID_INTEL_1'])
            self.assertEqual(
                {'OWNER_CYBORG', 'CUSTOM_A',
                 'CUSTOM_FPGA_FUNCTION_ID_INTEL_1'},
                self.placement.traits(uuid))
        self.assertIn('CUSTOM_FPGA_FUNCTION_ID_OLD',
                      self.placement.all_traits())


class NamesTestCase(base.PlacementTestCase):

    def test_a_trait_and_a_class_of_one_name(self):
        book = names.Names(self.client)
        self.assertEqual({'CUSTOM_GPU'}, book.known_traits(
            self.context, ['CUSTOM_GPU']))
        self.assertEqual({'CUSTOM_GPU'}, book.known_classes(
            self.context, ['CUSTOM_GPU']))
        self.assertIn('CUSTOM_GPU', self.placement.all_traits())
        self.assertIn('CUSTOM_GPU', self.placement.resource_classes())

    def test_asked_once(self):
        book = names.Names(self.client)
        for _again in range(2):
            book.known_traits(self.context, ['CUSTOM_A', 'HW_CPU_X86_AVX'])
            book.known_classes(self.context, ['PGPU', 'CUSTOM_A'])
        self.assertEqual(4, len(self.placement.calls))
