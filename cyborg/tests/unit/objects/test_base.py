# SPDX-License-Identifier: Apache-2.0
"""Where methods of objects run: the switch, and threads (IND-1)."""

import threading

import fixtures
import futurist
from oslo_service import loopingcall

from cyborg import objects
from cyborg.common import exception
from cyborg.objects import base as objects_base
from cyborg.tests import base

objects.register_all()


def current():
    return objects_base.CyborgObject.indirection_api


def in_thread(function):
    """What a new thread gets from ``function``."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


class TestSwitch(base.TestCase):

    def setUp(self):
        super().setUp()
        self.addCleanup(objects_base.enable, None)

    def test_off(self):
        self.assertIsNone(current())

    def test_a_block(self):
        with objects_base.indirection('api'):
            self.assertEqual('api', current())
            self.assertEqual('api', objects.AttachHandle().indirection_api)
            with objects_base.local():
                self.assertIsNone(current())
            self.assertEqual('api', current())
        self.assertIsNone(current())

    def test_a_block_ends_with_an_error_too(self):
        try:
            with objects_base.indirection('api'):
                raise RuntimeError
        except RuntimeError:
            pass
        self.assertIsNone(current())

    def test_enable_holds_in_every_thread(self):
        objects_base.enable('agent')
        self.assertEqual('agent', current())
        self.assertEqual('agent', in_thread(current))
        with futurist.ThreadPoolExecutor() as pool:
            self.assertEqual('agent', pool.submit(current).result())
        self.assertEqual('agent', self._in_looping_call(current))

    def test_a_block_outranks_enable(self):
        objects_base.enable('agent')
        with objects_base.local():
            self.assertIsNone(current())

    def test_threads_start_outside_the_block(self):
        """A conductor's worker in the same process is not sent anywhere."""
        with objects_base.indirection('agent'):
            self.assertIsNone(in_thread(current))
            with futurist.ThreadPoolExecutor() as pool:
                self.assertIsNone(pool.submit(current).result())

    def test_running_in_takes_it_to_any_thread(self):
        wrapped = objects_base.running_in('agent', current)
        self.assertEqual('agent', in_thread(wrapped))
        with futurist.ThreadPoolExecutor() as pool:
            self.assertEqual('agent', pool.submit(wrapped).result())
        self.assertEqual('agent', self._in_looping_call(wrapped))
        self.assertIsNone(current())

    def test_two_threads_do_not_share_a_block(self):
        entered, seen = threading.Event(), threading.Event()

        def other():
            with objects_base.indirection('other'):
                entered.set()
                seen.wait(10)

        thread = threading.Thread(target=other)
        thread.start()
        entered.wait(10)
        self.assertIsNone(current())
        seen.set()
        thread.join()

    @staticmethod
    def _in_looping_call(function):
        """What an oslo.service timer gets from ``function``."""
        results = []

        def once():
            results.append(function())
            raise loopingcall.LoopingCallDone()

        loopingcall.FixedIntervalLoopingCall(once).start(0.01).wait()
        return results[0]


class TestLocalOnly(base.TestCase):

    def test_an_agent_opens_no_database(self):
        """BASE-4: refused at once, and nothing of the database is loaded."""
        self.useFixture(fixtures.MonkeyPatch(
            'cyborg.db.api._manager', None))
        device = objects.Device(self.context, uuid='u')
        for method in (
                lambda: objects.Device.list(self.context),
                lambda: objects.Device.get(self.context, 'u'),
                device.save,
                lambda: objects.ExtARQ.list(self.context),
                lambda: objects.Deployable.list(self.context),
                lambda: objects.Attribute.list(self.context),
                lambda: objects.DeviceProfile.list(self.context),
                lambda: objects.AttachHandle.get(self.context, 'u')):
            with objects_base.indirection('api'):
                self.assertRaises(exception.RemoteMethodRefused, method)

    def test_the_message(self):
        with objects_base.indirection('api'):
            error = self.assertRaises(
                exception.RemoteMethodRefused, objects.Device.list,
                self.context)
        self.assertEqual(
            'Device.list may not be called from another process.',
            error.message)


class TestVersionsOfPeers(base.TestCase):

    def _request(self):
        return objects.ExtARQ(substate='Initial', arq=objects.ARQ(
            uuid='10000000-0000-4000-8000-000000000001',
            attach_handle_info={'managed': False, 'bus': '0c'}))

    def test_what_a_peer_sent_is_what_it_understands(self):
        received = objects.ExtARQ.obj_from_primitive(
            self._request().obj_to_primitive(
                '1.2', {'ExtARQ': '1.2', 'ARQ': '1.1'}))
        versions = objects_base.versions_in(received)
        self.assertEqual({'ExtARQ': '1.2', 'ARQ': '1.1'}, versions)
        answer = objects_base.in_versions(self._request(), versions)
        self.assertEqual('1.2', answer['cyborg_object.version'])
        member = answer['cyborg_object.data']['arq']
        self.assertEqual('1.1', member['cyborg_object.version'])
        self.assertEqual({'bus': '0c'},
                         member['cyborg_object.data']['attach_handle_info'])

    def test_a_peer_of_our_release_gets_the_object(self):
        request = self._request()
        self.assertIs(request, objects_base.in_versions(
            request, objects_base.versions_in(self._request())))

    def test_members_in_lists_count(self):
        device = objects.DriverDevice(deployable_list=[
            objects.DriverDeployable(attribute_list=[
                objects.DriverAttribute(key='k', value='v')])])
        self.assertEqual(
            {'DriverDevice': '1.4', 'DriverDeployable': '1.0',
             'DriverAttribute': '1.0'}, objects_base.versions_in(device))
