# SPDX-License-Identifier: Apache-2.0
"""Messaging: context, errors, caps, over the in-process transport."""

import subprocess
import sys

import oslo_messaging as messaging
from oslo_messaging._drivers import common as driver_common

from cyborg.common import context
from cyborg.common import exception
from cyborg.common import rpc
from cyborg.tests import base
from cyborg.tests.fixtures import rpc as rpc_fixture


class Endpoint:

    def who(self, context):
        return [type(context).__name__, context.user_id, context.is_admin,
                context.service_roles]

    def refuse(self, context):
        raise exception.DuplicateDeviceProfileName(name='50 % "x"')


class CallTest(base.TestCase):

    def setUp(self):
        super().setUp()
        fixture = self.useFixture(rpc_fixture.RPCFixture())
        fixture.serve('topic-1', Endpoint())
        self.client = rpc.get_client(
            messaging.Target(topic='topic-1', version='1.0'))
        self.caller = context.RequestContext(
            user_id='u1', project_id='p1', roles=['admin'],
            service_roles=['service'])

    def test_context_arrives_without_service_roles(self):
        self.assertEqual(['RequestContext', 'u1', True, []],
                         self.client.call(self.caller, 'who'))

    def test_own_error_is_raised_again_with_its_code_and_text(self):
        error = self.assertRaises(exception.DuplicateDeviceProfileName,
                                  self.client.call, self.caller, 'refuse')
        self.assertEqual(409, error.code)
        self.assertEqual('A device profile named 50 % "x" exists already.',
                         exception.plain_text(error))

    def test_cap_refuses_a_newer_version_locally(self):
        capped = rpc.get_client(
            messaging.Target(topic='topic-1', version='1.0'),
            version_cap='1.0')
        self.assertTrue(capped.can_send_version('1.0'))
        self.assertFalse(capped.can_send_version('1.1'))


class WireErrorTest(base.TestCase):
    """What a driver with a network does to an error, in both directions."""

    def travel(self, error):
        try:
            raise error
        except Exception:
            sent = driver_common.serialize_remote_exception(sys.exc_info())
        return driver_common.deserialize_remote_exception(
            sent, list(rpc.ALLOWED_EXMODS))

    def test_remote_traceback_is_not_in_the_plain_text(self):
        """Contract, upstream fault 1: the API must not leak tracebacks."""
        error = self.travel(
            exception.DuplicateDeviceProfileName(name='50 % "x"'))
        self.assertIsInstance(error, exception.DuplicateDeviceProfileName)
        self.assertEqual(409, error.code)
        self.assertIn('Traceback', str(error))
        self.assertEqual('A device profile named 50 % "x" exists already.',
                         exception.plain_text(error))

    def test_every_error_class_survives(self):
        for name, cls in vars(exception).items():
            if not (isinstance(cls, type) and
                    issubclass(cls, exception.CyborgException)):
                continue
            error = self.travel(cls('some text', host='h', uuid='u'))
            self.assertIsInstance(error, cls, name)
            self.assertEqual('some text', exception.plain_text(error), name)
            self.assertEqual(int(cls.code), error.code, name)

    def test_errors_of_others_are_not_rebuilt(self):
        self.assertIsInstance(self.travel(KeyError('x')), KeyError)
        error = self.travel(subprocess.SubprocessError('boom'))
        self.assertIsInstance(error, messaging.RemoteError)


class TransportTest(base.TestCase):

    def test_clients_need_a_transport(self):
        rpc.cleanup()
        self.assertRaises(RuntimeError, rpc.get_transport)

    def test_cleanup_allows_another_init(self):
        rpc.init()
        first = rpc.get_transport()
        rpc.cleanup()
        rpc.init()
        self.addCleanup(rpc.cleanup)
        self.assertIsNot(first, rpc.get_transport())

    def test_control_exchange_is_cyborg(self):
        """BASE-1: queues of 2026.2 are found again."""
        rpc.init()
        self.addCleanup(rpc.cleanup)
        self.assertEqual('cyborg',
                         rpc.get_transport().conf.control_exchange)


class VersionCapTest(base.TestCase):
    """CFG-6"""

    RELEASES = {'2026.2': '1.0', '2027.1': '1.1'}

    def cap(self, value):
        self.conf.set(group='upgrade_levels', conductor=value)
        return rpc.version_cap('conductor', '1.1', self.RELEASES)

    def test_unset_means_the_newest(self):
        self.assertEqual('1.1', self.cap(None))

    def test_version(self):
        self.assertEqual('1.0', self.cap('1.0'))
        self.assertEqual('1.1', self.cap(' 1.1 '))

    def test_release(self):
        self.assertEqual('1.0', self.cap('2026.2'))

    def test_unusable_values_are_refused(self):
        for value in ('', 'auto', '1', '1.0.0', '1.2', '2.0', '-1.0', '0.9',
                      '1.1x', 'newton', '1.00'):
            error = self.assertRaises(exception.UpgradeLevelInvalid,
                                      self.cap, value)
            self.assertEqual(
                '[upgrade_levels] conductor = %s is neither a version of the '
                'form MAJOR.MINOR nor a known release (2026.2, 2027.1). '
                'Remove the option when every conductor is of this release.'
                % value, error.message)
