# SPDX-License-Identifier: Apache-2.0
"""What errors say, and which status they have."""

import re

import testscenarios

from cyborg.common import constants
from cyborg.common import exception
from cyborg.tests import base

# Classes whose text an operator has to act on: what they are given, and the
# whole text, so that host, device, values and remedy are seen to be there.
TEXTS = {
    'ControlPathInvalid': (
        {'host': 'c1', 'info': {'bus': '3b'}},
        "The control path {'bus': '3b'} of a device of host c1 is no PCI "
        'address: it needs domain, bus, device and function as hexadecimal '
        'text. Nothing was programmed.'),
    'DriverOptionInvalid': (
        {'group': 'x710_static', 'option': 'physical_device_mappings',
         'host': 'c1', 'reason': 'so and so'},
        '[x710_static] physical_device_mappings of host c1 is not valid: so '
        'and so.'),
    'DriverNotShipped': (
        {'name': 'nvmf_spdk_driver', 'host': 'c1', 'instead': 'Use another',
         'installed': 'fake_driver, pci_driver'},
        'The driver nvmf_spdk_driver in [agent] enabled_drivers of host c1 '
        'came with the 2026.2 release and was dropped in 2027.1: it never '
        'reported a device that could be used, and kept the devices of the '
        'other drivers from being reported. Remove it from the list. Use '
        'another. Installed: fake_driver, pci_driver.'),
    'ProgrammingToolFailed': (
        {'host': 'c1', 'tool': '/usr/bin/fpgaconf',
         'reason': 'No such file or directory'},
        '/usr/bin/fpgaconf cannot be started on host c1: No such file or '
        "directory. Install the vendor's tools there."),
    'InvalidDriver': (
        {'name': 'pci_drvier', 'host': 'c1',
         'installed': 'fake_driver, pci_driver'},
        'pci_drvier in [agent] enabled_drivers of host c1 is not a driver '
        'that is installed there. Correct the name, or install the package '
        'that provides it. Installed: fake_driver, pci_driver.'),
    'DatabaseUrlInvalid': (
        {'host': 'c1'},
        '[database] connection of host c1 cannot be used: what it has in the '
        'place of the port is no number. Write '
        'DIALECT+DRIVER://USER:PASSWORD@HOST:PORT/NAME, and in the password '
        '%2F for "/", %3A for ":" and %40 for "@".'),
    'TransportInvalid': (
        {'option': '[DEFAULT] transport_url', 'host': 'c1',
         'reason': 'No scheme specified'},
        '[DEFAULT] transport_url of host c1 cannot be used: No scheme '
        'specified. Write TRANSPORT://USER:PASSWORD@HOST:PORT/, for example '
        'rabbit://openstack:PASSWORD@controller:5672/.'),
    'UnsafeDriverRefused': (
        {'name': 'inspur_nvme_ssd_driver', 'host': 'c1'},
        'The driver inspur_nvme_ssd_driver of host c1 is deprecated and does '
        'not clean devices between users, so it is refused. Remove it from '
        '[agent] enabled_drivers or, when all users of the devices trust '
        'each other, set [workarounds] allow_unsafe_devices = true.'),
    'ManagedModeUnsupported': (
        {'host': 'c1', 'needed': '1.1', 'cap': '1.0'},
        '[pci] device_spec of host c1 sets "managed", and managed-mode '
        'support needs conductor RPC version 1.1, but [upgrade_levels] '
        'conductor caps it at 1.0. Upgrade every conductor, then remove the '
        'cap.'),
    'ManagedModeConflict': (
        {'address': '0000:3b:00.1', 'host': 'c1', 'old': 'true',
         'new': 'false', 'handle': 'H', 'arq': 'A'},
        'Device 0000:3b:00.1 of host c1 is allocated with managed=true '
        '(attach handle H, accelerator request A), so the configured '
        'managed=false is refused. Put true back into [pci] device_spec, or '
        'delete the instance first.'),
    'BindHostMismatch': (
        {'uuid': 'A', 'host': 'c1', 'rp_uuid': 'RP', 'actual_host': 'c2'},
        'Accelerator request A asks for host c1, but resource provider RP '
        'belongs to host c2. Give the provider of a device of that host.'),
    'HostNameChanged': (
        {'host': 'c1.example.org', 'other': 'c1', 'devices': 3,
         'allocated': 1},
        'Host c1.example.org has devices stored under c1, another name of '
        'this machine: 3 devices, 1 of their attach handles allocated. To '
        'offer them once more as c1.example.org could give one device to two '
        'guests, so this is refused. Either go back to the former name: '
        '[agent] resource_provider_name = c1. Or delete the instances that '
        'have these devices, start the agent once under the former name with '
        '[agent] enabled_drivers empty, which removes what is stored, and '
        'then as c1.example.org.'),
    'BindFunctionShared': (
        {'uuid': 'A', 'host': 'c1', 'address': '0000:0e:00.0',
         'other': 'its virtual function 0000:0e:00.2'},
        'Accelerator request A was not bound: PCI function 0000:0e:00.0 of '
        'host c1 cannot be used while a guest has its virtual function '
        '0000:0e:00.2, which is the same piece of hardware. Bind to another '
        'device, or release that one first.'),
    'DeviceNotDisabled': (
        {'device': 'D', 'host': 'c1', 'status': 'enabled',
         'reason': 'Placement does not answer'},
        'Device D of host c1 was not disabled, its status stays enabled: '
        'Placement does not answer. Some of its units may be reserved '
        'already. Repeat the request when Placement works; the log of the '
        'API service has the details.'),
    'DeviceNotOffered': (
        {'device': 'D', 'host': 'c1', 'status': 'enabled',
         'reason': 'Placement does not answer'},
        'Device D of host c1 has the status enabled, but some of its units '
        'may still be reserved, so that nothing new is placed on them: '
        'Placement does not answer. Repeat the request when Placement works; '
        'the log of the API service has the details.'),
    'TextNotStorable': (
        {}, 'A text holds a character that the database cannot store or '
        'compare. Leave out emoji and other characters beyond U+FFFF.'),
    'PlacementResourceProviderNotFound': (
        {'resource_provider': 'c1'},
        'Placement has no resource provider c1. On a compute host the name '
        'must be that of the compute node: see [agent] '
        'resource_provider_name.'),
    'ARQBadState': (
        {'uuid': 'A', 'state': 'Bound', 'expected': 'Initial, Unbound'},
        'Accelerator request A is in state Bound; this needs one of the '
        'states Initial, Unbound.'),
    'DeviceProfileInUse': (
        {'name': 'dp1', 'count': 2},
        'Device profile dp1 is used by 2 accelerator request(s): delete '
        'those first.'),
}

CODES = {
    'Invalid': 400, 'NotAuthorized': 403, 'Forbidden': 403, 'NotFound': 404,
    'NotAcceptable': 406, 'Conflict': 409, 'ServiceUnavailable': 503,
    'CyborgException': 500, 'ARQBadState': 409, 'ResourceNotFound': 404,
    'DuplicateDeviceProfileName': 409, 'ObjectActionError': 400,
    'PatchError': 400, 'InvalidAPIResponse': 400, 'PolicyNotAuthorized': 403,
    'DeviceProfileNameNeeded': 400, 'FPGAProgramError': 500,
    'AttributeAlreadyExists': 409, 'PlacementServerError': 500,
    'ResourceProviderInUse': 409,
}


def classes():
    return {name: cls for name, cls in vars(exception).items()
            if isinstance(cls, type) and
            issubclass(cls, exception.CyborgException)}


class TextTest(testscenarios.WithScenarios, base.TestCase):

    scenarios = [(name, {'name': name, 'values': values, 'text': text})
                 for name, (values, text) in TEXTS.items()]

    def test_text(self):
        error = getattr(exception, self.name)(**self.values)
        self.assertEqual(self.text, error.message)
        self.assertEqual(self.text, str(error))


class ClassTest(base.TestCase):

    def test_codes(self):
        for name, code in CODES.items():
            self.assertEqual(code, getattr(exception, name).code, name)

    def test_every_template_can_be_filled(self):
        self.conf.set(fatal_exception_format_errors=True)
        for name, cls in classes().items():
            names = re.findall(r'%\((\w+)\)s', cls._msg_fmt)
            error = cls(**dict.fromkeys(names, 'value'))
            self.assertNotIn('%(', error.message, name)

    def test_code_can_be_given(self):
        self.assertEqual(503, exception.Invalid('x', code=503).code)
        self.assertEqual(400, exception.Invalid.code)

    def test_missing_value_does_not_hide_the_error(self):
        error = exception.PatchError()
        self.assertIn('The patch cannot be applied', error.message)
        self.assertLogged('ERROR', 'PatchError lacks values')

    def test_missing_value_is_raised_on_request(self):
        self.conf.set(fatal_exception_format_errors=True)
        self.assertRaises(KeyError, exception.PatchError)

    def test_given_text_is_never_formatted(self):
        text = '100 % of %(nothing)s'
        self.assertEqual(text, exception.Invalid(text, nothing=1).message)

    def test_plain_text_of_other_errors_is_their_first_line(self):
        self.assertEqual('one', exception.plain_text(
            ValueError('one\ntwo')))
        self.assertEqual('KeyError', exception.plain_text(KeyError()))

    def test_a_driver_may_derive_its_own(self):
        """Out-of-tree drivers of 2026.2 define errors this way."""
        class MyError(exception.CyborgException):
            _msg_fmt = 'Board %(board)s burns.'
        self.assertEqual('Board 7 burns.', str(MyError(board=7)))


class DroppedDriversTest(base.TestCase):

    def test_shipped_ones_are_not_called_dropped(self):
        """BASE-1: names of 2026.2 less those that are still here."""
        self.assertEqual(2, len(constants.DROPPED_DRIVERS))
        for name in ('fake_driver', 'pci_driver', 'inspur_nvme_ssd_driver',
                     'nvidia_gpu_driver', 'intel_fpga_driver'):
            self.assertNotIn(name, constants.DROPPED_DRIVERS)
