# SPDX-License-Identifier: Apache-2.0
"""fpga_program over RPC, with bitstreams over HTTP."""

import os
import uuid

from cyborg.agent import loading
from cyborg.agent import manager
from cyborg.common import constants
from cyborg.common import context
from cyborg.common import exception
from cyborg.rpcapi import agent as agent_rpcapi
from cyborg.tests import base
from cyborg.tests.fixtures import glance as glance_fixture
from cyborg.tests.fixtures import rpc as rpc_fixture

PATH = {'cpid_type': 'PCI', 'cpid_info': {'domain': '0000', 'bus': '5e'}}


class Programmer:
    """A driver as written for 2026.2."""

    VENDOR = 'acme'

    def __init__(self):
        self.programmed = []

    def program(self, controlpath, image_file):
        with open(image_file, 'rb') as stream:
            self.programmed.append((controlpath, stream.read()))
        self.path = image_file
        return True


class TestProgram(base.TestCase):

    def setUp(self):
        super().setUp()
        self.driver = Programmer()
        self.glance = self.useFixture(glance_fixture.GlanceFixture())
        self.conf.set('glance', auth_type='none',
                      endpoint_override=self.glance.endpoint)
        self.image = str(uuid.uuid4())
        self.glance.images[self.image] = b'bits' * 100000
        self.useFixture(rpc_fixture.RPCFixture()).serve(
            constants.AGENT_TOPIC, manager.AgentManager([
                loading.LoadedDriver('nothing', object()),
                loading.LoadedDriver('acme_driver', self.driver)]))

    def program(self, image=None, driver='ACME', ctx=None):
        return agent_rpcapi.AgentAPI().fpga_program(
            ctx or self.context, 'compute-1', PATH, image or self.image,
            driver)

    def test_program(self):
        self.assertIs(True, self.program())
        self.assertEqual([(PATH, b'bits' * 100000)], self.driver.programmed)
        self.assertFalse(os.path.exists(self.driver.path))

    def test_driver_by_entry_point(self):
        self.assertIs(True, self.program(driver='acme_driver'))

    def test_no_such_driver(self):
        error = self.assertRaises(exception.DriverCannotProgram,
                                  self.program, driver='intel')
        self.assertIn('No driver of host compute-1 programs devices of intel. '
                      '[agent] enabled_drivers has: nothing, acme_driver.',
                      error.message)

    def test_driver_that_cannot_program(self):
        self.assertRaises(exception.DriverCannotProgram, self.program,
                          driver='nothing')

    def test_no_such_image(self):
        error = self.assertRaises(exception.ImageUnacceptable, self.program,
                                  image=str(uuid.uuid4()))
        self.assertIn('there is no such image', error.message)
        self.assertEqual([], self.driver.programmed)

    def test_damaged_data_never_reaches_the_device(self):
        self.glance.damaged.add(self.image)
        error = self.assertRaises(exception.ImageUnacceptable, self.program)
        self.assertIn('checksum', error.message)
        self.assertEqual([], self.driver.programmed)

    def test_image_without_data(self):
        self.glance.images[self.image] = b''
        self.assertRaises(exception.ImageUnacceptable, self.program)
        self.assertEqual([], self.driver.programmed)

    def test_refusals(self):
        for status, error in ((401, exception.ImageNotAuthorized),
                              (403, exception.ImageNotAuthorized),
                              (400, exception.ImageBadRequest),
                              (500, exception.GlanceConnectionFailed)):
            self.glance.heal()
            self.glance.fail('GET /v2/images', status=status, times=None)
            self.assertRaises(error, self.program)
        self.assertEqual([], self.driver.programmed)

    def test_retries(self):
        self.conf.set('glance', num_retries=1)
        self.glance.fail('GET /v2/images', status=503)
        self.assertIs(True, self.program())

    def test_token_of_the_caller(self):
        """Without credentials of our own, as 2026.2 did."""
        self.conf.set('glance', auth_type=None, endpoint_override=None)
        ctx = context.RequestContext(
            auth_token='of-the-user', service_catalog=[
                {'type': 'image', 'name': 'glance', 'endpoints': [
                    {'interface': 'public', 'url': self.glance.endpoint}]}])
        self.assertIs(True, self.program(ctx=ctx))
        self.assertEqual({'of-the-user'}, set(self.glance.tokens))

    def test_no_endpoint(self):
        self.conf.set('glance', auth_type=None, endpoint_override=None)
        error = self.assertRaises(exception.GlanceConnectionFailed,
                                  self.program)
        self.assertIn('names an endpoint', error.message)
