# SPDX-License-Identifier: Apache-2.0
"""CON-3: the published Tempest plugin against this service."""

import re

import testscenarios

from cyborg.tests.functional.consumers import base
from cyborg.tests.functional.consumers import test_tempest

load_tests = testscenarios.load_tests_apply_scenarios

#: Tests of 2.8.0 that insist on 500 for a mistake of the client. The notes
#: for the upgrade name them.
INSIST_ON_500 = ['test_create_device_profile_name_is_null',
                 'test_create_device_profile_name_to_long',
                 'test_create_device_profile_server_fault']


class PublishedTempestTest(testscenarios.WithScenarios,
                           test_tempest.PluginTestCase):
    """Release 2.8.0, with and without the series in ``client_patches``."""

    scenarios = [
        ('released', {'patched': False, 'expected': None,
                      'service_of': 'ours', 'failures': INSIST_ON_500,
                      'error': None}),
        ('released, expects a mode', {
            'patched': False, 'expected': 'False', 'service_of': 'ours',
            'failures': None, 'error': "'false' != None"}),
        ('patched', {'patched': True, 'expected': 'False',
                     'service_of': 'ours', 'failures': [], 'error': None}),
        ('patched, other mode', {
            'patched': True, 'expected': 'True', 'service_of': 'ours',
            'failures': None, 'error': 'False is not True'}),
        ('patched, 2026.2', {'patched': True, 'expected': None,
                             'service_of': 'older', 'failures': None,
                             'error': None}),
    ]

    def test_plugin(self):
        if self.service_of == 'older':
            self.as_2026_2_stored_them()
        self.conf.set(group='oslo_policy', enforce_new_defaults=True)
        endpoint = self.front(self.service_of)
        python, tree = base.consumer('tempest', patched=self.patched)
        modules = () if self.failures is None else (
            test_tempest.WITHOUT_CONDUCTOR + test_tempest.WITH_CONDUCTOR)
        seen = self.tempest(
            python, tree, endpoint, modules,
            '[cyborg_policy]\nenforce_new_defaults = True\n[cyborg_pci]\n%s'
            % ('expected_managed = %s\n' % self.expected
               if self.expected else ''))
        if modules:
            self.assertEqual((42, []),
                             (seen['api']['run'], seen['api']['skipped']))
            self.assertEqual(self.failures, sorted(
                re.search(r'in (test_\w+)', text)[1]
                for text in seen['api']['bad']))
        if self.error:
            self.assertIn(self.error, seen['scenario']['error'])
        else:
            self.assertEqual({'arqs': [self.arqs['false']]},
                             seen['scenario'])
