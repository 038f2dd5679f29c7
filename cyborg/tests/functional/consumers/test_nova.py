# SPDX-License-Identifier: Apache-2.0
"""CON-1: Nova turns the managed mode of a PCI handle into domain XML."""

from xml.etree import ElementTree

import testscenarios

from cyborg.tests.functional.consumers import base

load_tests = testscenarios.load_tests_apply_scenarios

#: The specification's example, "ARQ information and Nova consumption".
UNMANAGED = """
<hostdev mode='subsystem' type='pci' managed='no'>
  <driver name='vfio'/>
  <source>
    <address domain='0x0000' bus='0x25' slot='0x00' function='0x4'/>
  </source>
</hostdev>"""
MANAGED = """
<hostdev mode='subsystem' type='pci' managed='yes'>
  <source>
    <address domain='0x0000' bus='0x25' slot='0x00' function='0x%d'/>
  </source>
</hostdev>"""


def canonical(text: str) -> str:
    return ElementTree.canonicalize(text, strip_text=True)


def _without_document(application):
    """A service whose version document does not come through a proxy."""
    def answer(environ, start_response):
        if environ['PATH_INFO'].strip('/') in ('', 'v2'):
            start_response('503 Service Unavailable', [])
            return [b'']
        return application(environ, start_response)
    return answer


class NovaTestCase(base.ConsumerTestCase):

    def nova(self, endpoint: base.Front, patched: bool) -> dict:
        """What a Nova saw: ``arqs`` and ``hostdevs`` by handle."""
        python, tree = base.consumer('nova', patched)
        seen = self.probe(
            'nova_probe', python, [tree], endpoint.url,
            base.INSTANCE,
            environment={'OS_NOVA_DISABLE_EVENTLET_PATCHING': 'True'})
        if 'error' not in seen:
            self.assertEqual(seen['arqs'], seen['by_uuid'])
            names = {uuid: name for name, uuid in self.arqs.items()}
            order = [names[arq['uuid']] for arq in seen['arqs']]
            for key in ('arqs', 'hostdevs'):
                seen[key] = dict(zip(order, seen[key], strict=True))
        return seen

    def assertHostdev(self, expected, seen, name):
        self.assertEqual(canonical(expected),
                         canonical(seen['hostdevs'][name]))

    def assertAllManaged(self, seen):
        for function, name in enumerate(('false', 'true', 'absent'), 4):
            self.assertNotIn('managed',
                             seen['arqs'][name]['attach_handle_info'])
            self.assertHostdev(MANAGED % function, seen, name)


class PatchedNovaTest(NovaTestCase):
    """CON-1: the patched Nova."""

    def test_managed_mode(self):
        """CON-1, API-1: false, true and absent become XML by the book."""
        endpoint = self.ours()
        seen = self.nova(endpoint, patched=True)
        for name, managed in (('false', False), ('true', True),
                              ('absent', True)):
            self.assertIs(
                managed,
                seen['arqs'][name]['attach_handle_info']['managed'])
        self.assertHostdev(UNMANAGED, seen, 'false')
        self.assertHostdev(MANAGED % 5, seen, 'true')
        self.assertHostdev(MANAGED % 6, seen, 'absent')
        self.assertEqual(
            {('GET', 'accelerator_requests'): {'2.4'}}, endpoint.versions)

    def test_service_of_2026_2(self):
        """CON-1: nothing is asked of a service that ends with 2.3."""
        self.as_2026_2_stored_them()
        endpoint = self.older()
        self.assertAllManaged(self.nova(endpoint, patched=True))
        self.assertEqual(
            {('GET', 'accelerator_requests'): {None}}, endpoint.versions)

    def test_service_of_2026_2_on_newer_rows(self):
        """CON-1: an API left behind prints the setting as text; the patched
        Nova refuses it, where a guess could crash the host."""
        error = self.nova(self.older(), patched=True).get('error', '')
        self.assertIn('AcceleratorRequestInvalidManagedMode', error)
        self.assertIn("0000:25:00.4 has the managed mode 'False'", error)

    def test_version_document_that_cannot_be_read(self):
        """CON-1: Nova does not go on as with a service that is too old."""
        endpoint = self.useFixture(base.Front(
            _without_document(self.service.application)))
        error = self.nova(endpoint, patched=True).get('error', '')
        self.assertIn('AcceleratorRequestOpFailed', error)
        self.assertIn('Unable to find a version discovery document', error)
        self.assertNotIn(('GET', 'accelerator_requests'), endpoint.versions)

    def test_stored_value_is_no_boolean(self):
        """API-4: the service refuses, so that Nova never guesses."""
        self.store('false', managed='false')
        seen = self.nova(self.ours(), patched=True)
        self.assertIn('AcceleratorRequestOpFailed', seen.get('error', ''))


class ReleasedNovaTest(testscenarios.WithScenarios, NovaTestCase):
    """Nova 34.0.0 as released: sees no marker and manages every device."""

    scenarios = [('this service', {'service_of': 'ours'}),
                 ('2026.2', {'service_of': 'older'})]

    def test_all_managed(self):
        """BASE-1, CON-1: an unpatched consumer works as before."""
        if self.service_of == 'older':
            self.as_2026_2_stored_them()
        endpoint = getattr(self, self.service_of)()
        self.assertAllManaged(self.nova(endpoint, patched=False))
        self.assertEqual(
            {('GET', 'accelerator_requests'): {None}}, endpoint.versions)
