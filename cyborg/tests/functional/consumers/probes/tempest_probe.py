# SPDX-License-Identifier: Apache-2.0
"""The Tempest plugin against a running service, without a cloud.

``tempest_probe.py OUTPUT ENDPOINT INSTANCE [MODULE...]`` writes to OUTPUT the
ids of all tests, the outcome of the API tests of the modules, and what the
PCI scenario finds wrong with the accelerator request of the instance. Only
credentials, for which there is no Keystone, and the guest are left out; who
is asking is the text of the token. TEMPEST_CONFIG names the configuration
file.
"""

import importlib
import json
import os
import pkgutil
import sys
import types
import unittest

from cyborg_tempest_plugin import plugin
from cyborg_tempest_plugin import tests
from cyborg_tempest_plugin.services import cyborg_rest_client
from cyborg_tempest_plugin.tests.api import base
from cyborg_tempest_plugin.tests.scenario import test_pci_driver_lifecycle

OUTPUT, ENDPOINT, INSTANCE = sys.argv[1:4]


class NoKeystone:
    """Sends every request to the one endpoint, with a token that says who
    is asking."""

    def __init__(self, person='admin'):
        self.person = person

    def auth_request(self, method, url, headers=None, body=None,
                     filters=None):
        return (ENDPOINT + url, dict(headers or {},
                                     **{'X-Auth-Token': self.person}), body)

    def base_url(self, filters, auth_data=None):
        return ENDPOINT

    def get_token(self):
        return self.person


def without_accounts(cls):
    """The class of API tests, with its clients but without accounts."""
    def set_up_class(self):
        self.skip_checks()
        for person in self.credentials:
            name = person if isinstance(person, str) else person[0]
            setattr(self, 'os_' + name, types.SimpleNamespace(
                auth_provider=NoKeystone(name)))
        self.setup_clients()
        self._class_cleanups = []
        self.resource_setup()
    made = type(cls.__name__, (cls,), {
        'setUpClass': classmethod(set_up_class),
        'tearDownClass': classmethod(lambda self: None)})
    made._BaseTestCase__setupclass_called = True
    return made


def all_ids():
    found = []
    for module in pkgutil.walk_packages(tests.__path__,
                                        tests.__name__ + '.'):
        suite = unittest.defaultTestLoader.loadTestsFromModule(
            importlib.import_module(module.name))
        for group in suite:
            found += [case.id() for case in group]
    return sorted(found)


def api_tests(modules):
    suite = unittest.TestSuite()
    for name in modules:
        module = importlib.import_module(
            'cyborg_tempest_plugin.tests.api.' + name)
        for cls in vars(module).values():
            if isinstance(cls, type) and issubclass(cls, base.BaseAPITest):
                suite.addTests(unittest.defaultTestLoader.
                               loadTestsFromTestCase(without_accounts(cls)))
    result = unittest.TextTestRunner(stream=sys.stderr).run(suite)
    return {'run': result.testsRun,
            'skipped': sorted(test.id().split('.')[-1].split('[')[0]
                              for test, _ in result.skipped),
            'bad': [text for _, text in result.failures + result.errors]}


def scenario():
    """What the PCI scenario says of the requests of the instance.

    The published plugin has the same parts under other names.
    """
    cls = test_pci_driver_lifecycle.TestPCIDriverLifecycle
    case = cls('test_create_delete_server_with_pci_driver_device')
    try:
        if not hasattr(cls, 'make_client'):
            cls.os_admin = types.SimpleNamespace(
                cyborg_client=cyborg_rest_client.CyborgRestClient(
                    NoKeystone(), 'accelerator', 'RegionOne'))
            arqs = case._list_instance_arqs(INSTANCE)
            for arq in arqs:
                case._assert_device_arq(arq, INSTANCE)
            return {'arqs': [arq['uuid'] for arq in arqs]}
        cls.make_client(NoKeystone())
        return {'arqs': case.check({'id': INSTANCE})}
    except AssertionError as error:
        return {'error': str(error)}


def main():
    folder, top = plugin.CyborgTempestPlugin().load_tests()
    seen = {'ids': all_ids(), 'scenario': scenario(),
            'folders': [os.path.isdir(folder), top in sys.path]}
    seen['api'] = api_tests(sys.argv[4:])
    with open(OUTPUT, 'w') as stream:
        json.dump(seen, stream)


if __name__ == '__main__':
    main()
