# SPDX-License-Identifier: Apache-2.0

from cyborg.agent import loading
from cyborg.common import constants
from cyborg.common import exception
from cyborg.pci import device_spec
from cyborg.tests import base
from cyborg.tests.fixtures import drivers

SOURCE = """
    from cyborg.common import exception


    class Plain:
        def discover(self):
            return []


    class Second(Plain):
        def init_host(self):
            self.prepared = True


    class Unbuildable(Plain):
        def __init__(self):
            raise OSError('the control node is gone')


    class Misconfigured(Plain):
        def __init__(self):
            raise exception.ConfigInvalid(error_msg='one clear reason')


    class Unprepared(Plain):
        def init_host(self):
            raise RuntimeError('no firmware\\nsecond line')


    class Refused(Plain):
        def init_host(self):
            raise exception.ManagedModeUnsupported(
                host='compute-1', needed='1.1', cap='1.0')
"""


class TestLoad(base.TestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(drivers.DriverPackage('vendor_drivers', SOURCE, {
            'plain': 'Plain', 'second': 'Second',
            'unbuildable': 'Unbuildable', 'misconfigured': 'Misconfigured',
            'unprepared': 'Unprepared', 'refused': 'Refused',
            'unimportable': 'NoSuchClass', 'nvmf_spdk_driver': 'Plain'}))

    def names(self, *names):
        return [(loaded.name, type(loaded.driver).__name__)
                for loaded in loading.load(names)]

    def test_order_is_the_configured_one(self):
        self.assertEqual([('second', 'Second'), ('plain', 'Plain')],
                         self.names('second', 'plain'))

    def test_option_is_the_default(self):
        self.conf.set('agent', enabled_drivers=['plain'])
        self.assertEqual(['plain'], [x.name for x in loading.load()])

    def test_repeated_name_is_loaded_once(self):
        self.assertEqual([('plain', 'Plain')],
                         self.names('plain', ' plain', ''))
        self.assertLogged('WARNING', 'repeated entries; used: plain')

    def test_no_driver_is_said(self):
        self.assertEqual([], self.names())
        self.assertLogged('WARNING', 'host compute-1 offers no device')

    def test_unknown_name(self):
        error = self.assertRaises(exception.InvalidDriver, loading.load,
                                  ['plain', 'zz', 'nosuch'])
        self.assertNotIsInstance(error, exception.DriverNotShipped)
        self.assertTrue(error.message.startswith(
            'nosuch in [agent] enabled_drivers of host compute-1 is not a '
            'driver'))
        self.assertIn('plain', error.message)
        self.assertIn('pci_driver', error.message)

    def test_every_dropped_driver_says_so(self):
        self.assertEqual({'huawei_ascend_driver', 'nvmf_spdk_driver'},
                         set(constants.DROPPED_DRIVERS))
        error = self.assertRaises(
            exception.DriverNotShipped, loading.load,
            ['huawei_ascend_driver'])
        self.assertIn('The driver huawei_ascend_driver in [agent] '
                      'enabled_drivers of host compute-1 came with the '
                      '2026.2 release', error.message)

    def test_way_that_a_dropped_driver_names(self):
        """The rule in the text is a good one."""
        text = constants.DROPPED_DRIVERS['huawei_ascend_driver']
        rule, = device_spec.load([text[text.index('{'):text.index('}') + 1]]
                                 ).rules
        self.assertEqual(('19e5', 'd100'), (rule.vendor_id, rule.product_id))

    def test_dropped_driver_from_another_package_loads(self):
        self.assertEqual([('nvmf_spdk_driver', 'Plain')],
                         self.names('nvmf_spdk_driver'))

    def test_failing_constructor(self):
        error = self.assertRaises(exception.DriverLoadFailed, loading.load,
                                  ['unbuildable'])
        self.assertEqual('The driver unbuildable of host compute-1 cannot be '
                         'loaded: OSError: the control node is gone',
                         error.message)

    def test_failing_import(self):
        error = self.assertRaises(exception.DriverLoadFailed, loading.load,
                                  ['unimportable'])
        self.assertIn('NoSuchClass', error.message)

    def test_configuration_error_of_a_constructor_is_kept(self):
        error = self.assertRaises(exception.ConfigInvalid, loading.load,
                                  ['misconfigured'])
        self.assertIn('one clear reason', error.message)

    def test_init_host_of_every_driver_that_has_one(self):
        """RPC-1; drivers of 2026.2 have none."""
        loaded = loading.load(['plain', 'second'])
        loading.init_host(loaded)
        self.assertTrue(loaded[1].driver.prepared)

    def test_refusal_of_init_host_is_kept(self):
        self.assertRaises(exception.ManagedModeUnsupported,
                          loading.init_host, loading.load(['refused']))

    def test_failure_of_init_host_names_the_driver(self):
        error = self.assertRaises(
            exception.DriverLoadFailed, loading.init_host,
            loading.load(['unprepared']))
        self.assertEqual('The driver unprepared of host compute-1 cannot be '
                         'loaded: RuntimeError: no firmware', error.message)
