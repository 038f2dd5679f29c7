# SPDX-License-Identifier: Apache-2.0
"""The Tempest plugin against a running service, without a cloud.

``tempest_probe.py OUTPUT ENDPOINT INSTANCE [api]`` writes to OUTPUT the ids
of all tests, with ``api`` the outcome of the API tests, and what the PCI
scenario finds wrong with the accelerator request of the instance. Only
credentials, for which there is no Keystone, and the guest are left out;
TEMPEST_CONFIG names the configuration file.
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
from cyborg_tempest_plugin.tests.api import test_accelerator_request
from cyborg_tempest_plugin.tests.scenario import test_pci_driver_lifecycle

OUTPUT, ENDPOINT, INSTANCE = sys.argv[1:4]


class NoKeystone:
    """Sends every request to the one endpoint, with no token."""

    def auth_request(self, method, url, headers=None, body=None,
                     filters=None):
        return ENDPOINT + url, headers, body

    def base_url(self, filters, auth_data=None):
        return ENDPOINT

    def get_token(self):
        return 'token'


def without_accounts(cls):
    """The class of API tests, with its client but without accounts."""
    def set_up_class(self):
        self.os_admin = types.SimpleNamespace(auth_provider=NoKeystone())
        self.client = self.at(None)
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


def api_tests():
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(
        without_accounts(
            test_accelerator_request.TestAcceleratorRequestController))
    result = unittest.TextTestRunner(stream=sys.stderr).run(suite)
    return {'run': result.testsRun, 'skipped': len(result.skipped),
            'bad': [text for _, text in result.failures + result.errors]}


def scenario():
    cls = test_pci_driver_lifecycle.TestPCIDriverLifecycle
    cls.make_client(NoKeystone())
    case = cls('test_create_delete_server_with_pci_driver_device')
    try:
        return {'arqs': case.check({'id': INSTANCE})}
    except AssertionError as error:
        return {'error': str(error)}


def main():
    folder, top = plugin.CyborgTempestPlugin().load_tests()
    seen = {'ids': all_ids(), 'scenario': scenario(),
            'folders': [os.path.isdir(folder), top in sys.path]}
    if 'api' in sys.argv[4:]:
        seen['api'] = api_tests()
    with open(OUTPUT, 'w') as stream:
        json.dump(seen, stream)


if __name__ == '__main__':
    main()
