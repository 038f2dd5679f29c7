# SPDX-License-Identifier: Apache-2.0
"""What clients are told about errors, and what they are not."""

from oslo_db import exception as db_exc
from oslo_db import options as db_options
import oslo_messaging
import wsme.exc

from cyborg.api import faults
from cyborg.common import exception
from cyborg.conf import CONF
from cyborg.tests import base

TRACEBACK = ('Attribute not found\nTraceback (most recent call last):\n'
             '  File "/opt/x.py", line 1\n[SQL: SELECT 1]')


class TestFault(base.TestCase):

    def check(self, error, status, text=None):
        found = faults.fault(error, 'req-1')
        self.assertEqual(status, found.status)
        self.assertEqual('Client' if status < 500 else 'Server',
                         found.document()['faultcode'])
        self.assertIsNone(found.document()['debuginfo'])
        self.assertNotIn('Traceback', found.text)
        self.assertNotIn('SQL', found.text)
        if text is not None:
            self.assertEqual(text, found.text)
        return found

    def test_errors_of_wsme(self):
        self.check(wsme.exc.UnknownArgument('x'), 400,
                   'Unknown argument: "x"')
        self.check(wsme.exc.ClientSideError('y', 415), 415, 'y')

    def test_our_own_errors_have_their_status(self):
        self.check(exception.Conflict('taken'), 409, 'taken')
        self.check(exception.FPGAProgramError(ret=False), 500)

    def test_fault_1_a_remote_traceback_is_cut_off(self):
        # oslo.messaging appends the traceback to str() of what it rebuilds.
        class NotFound_Remote(exception.NotFound):
            def __str__(self):
                return TRACEBACK

        self.check(NotFound_Remote('Attribute not found'), 404,
                   'Attribute not found')

    def test_unexpected_errors_say_nothing_but_the_request_id(self):
        for error in (KeyError('secret'), RuntimeError(TRACEBACK),
                      db_exc.DBError(TRACEBACK),
                      oslo_messaging.RemoteError('DBError', TRACEBACK, [])):
            found = self.check(error, 500)
            self.assertIn('req-1', found.text)
            self.assertNotIn('secret', found.text)
            self.assertTrue(found.unexpected)

    def test_services_that_do_not_answer(self):
        for error in (oslo_messaging.MessagingTimeout(),
                      oslo_messaging.MessageDeliveryFailure(),
                      db_exc.DBConnectionError(), db_exc.DBDeadlock()):
            self.assertFalse(self.check(error, 503).unexpected)
            # What a conductor met arrives under its name alone.
            remote = oslo_messaging.RemoteError(
                type(error).__name__, TRACEBACK, [])
            self.assertFalse(self.check(remote, 503).unexpected)

    def test_the_log_says_which_database(self):
        """Option, value and remedy, and no password."""
        db_options.set_defaults(CONF)
        self.conf.set(group='database',
                      connection='mysql+pymysql://me:secret@db/cyborg')
        error = db_exc.DBConnectionError(OSError(2013, 'Lost connection'))
        found = faults.fault(error)
        faults.report(error, found)
        self.assertLogged('WARNING', '[database] connection = mysql+pymysql:'
                          '//me:***@db/cyborg of host compute-1: Lost '
                          'connection. Start the server, or correct user')
        self.assertNotIn('[database]', found.text)

    def test_a_conductor_of_an_older_release(self):
        """ID-7: what to upgrade, and no fault of this service."""
        text = ('A conductor of an older release answered. The conductors '
                'have to be upgraded before the API services; until they are, '
                '[upgrade_levels] conductor of the API services has to name '
                'the older release.')
        for error in (
                oslo_messaging.UnsupportedVersion('1.1', 'arq_create'),
                oslo_messaging.RemoteError('UnsupportedVersion', 'text')):
            self.check(error, 503, text)

    def test_what_the_database_cannot_hold_is_the_clients_mistake(self):
        self.check(db_exc.DBDataError(TRACEBACK), 400)
        self.check(oslo_messaging.RemoteError(
            'DBDataError', TRACEBACK, []), 400)


class TestReport(base.TestCase):

    def report(self, error):
        faults.report(error, faults.fault(error))
        return [record for record in self.logs.records
                if record.name == 'cyborg.api.faults']

    def test_a_clients_mistake_leaves_no_traceback(self):
        record, = self.report(exception.NotFound('gone'))
        self.assertEqual('DEBUG', record.levelname)
        self.assertIsNone(record.exc_info)

    def test_a_fault_of_ours_does(self):
        record, = self.report(KeyError('secret'))
        self.assertEqual('ERROR', record.levelname)
        self.assertIs(KeyError, record.exc_info[0])

    def test_an_unavailable_host_is_a_warning(self):
        """Named and expected: a traceback would tell nothing more."""
        record, = self.report(exception.AgentUnreachable(
            host='compute-1', reason='no answer'))
        self.assertEqual('WARNING', record.levelname)
        self.assertIn('compute-1', record.getMessage())
        self.assertIsNone(record.exc_info)

    def test_a_silent_service_is_a_warning(self):
        record, = self.report(oslo_messaging.MessagingTimeout())
        self.assertEqual('WARNING', record.levelname)
        self.assertIsNone(record.exc_info)
