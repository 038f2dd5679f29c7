# SPDX-License-Identifier: Apache-2.0
"""Programming a deployable while the image service is of no use."""

from cyborg.agent import loading
from cyborg.agent import programming
from cyborg.tests.fixtures import glance as glance_fixture
from cyborg.tests.functional.api import base


class Programmer:
    VENDOR = 'acme'

    def program(self, controlpath, image_file):
        return True


class TestImageService(base.ApiTestCase):

    def setUp(self):
        super().setUp()
        self.glance = self.useFixture(glance_fixture.GlanceFixture())
        self.conf.set('glance', auth_type='none', num_retries=0,
                      endpoint_override=self.glance.endpoint)
        drivers = [loading.LoadedDriver('acme_driver', Programmer())]

        # What the agent of the host does with the call.
        def fpga_program(context, controlpath_id, bitstream_uuid,
                         driver_name):
            return programming.program(drivers, context, controlpath_id,
                                       bitstream_uuid, 'acme')

        self.service.agent.fpga_program = fpga_program
        self.path = '/v2/deployables/%s/program' % (
            self.device().deployable.uuid)

    def program(self):
        return self.admin.patch(self.path, [
            {'path': '/program', 'op': 'replace', 'value': [
                {'image_uuid': base.UNKNOWN}]}])

    def test_it_does_not_answer(self):
        """503 without the address of another service."""
        for status, reason in ((None, 'it does not answer'),
                               (502, 'it failed with status 502')):
            self.glance.heal()
            self.glance.fail('images', status=status, times=None)
            answer = self.program()
            self.assertFault(503, answer)
            self.assertEqual(
                'The image service cannot be used on host compute-1: %s. '
                'Repeat the request when it works; the log of that host has '
                'the details.' % reason, answer.fault['faultstring'])
            self.assertLogged('WARNING', base.UNKNOWN)

    def test_an_image_that_is_not_there(self):
        self.assertFault(400, self.program(), 'there is no such image')
