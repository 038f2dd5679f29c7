# SPDX-License-Identifier: Apache-2.0
"""What is made of the libraries' words about a lost connection."""

import logging
import sys

from amqp import exceptions as amqp_exc
from oslo_db import exception as db_exc
from oslo_db import options as db_options
import oslo_messaging as messaging
from oslo_messaging import conffixture

from cyborg.common import outages
from cyborg.conf import CONF
from cyborg.tests import base
from cyborg.tests.fixtures import rpc as rpc_fixture

RABBIT = 'oslo.messaging._drivers.impl_rabbit'
WHERE = {'hostname': 'mq', 'port': 5672, 'sleep_time': 1}


def raised(error: BaseException, cause: BaseException | None = None):
    """``exc_info`` of an error that was raised."""
    try:
        raise error from cause
    except type(error):
        return sys.exc_info()


class OutagesTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(rpc_fixture.RPCFixture('fake:/'))
        self.conf.set(transport_url='rabbit://me:secret@mq:5672/vh')
        db_options.set_defaults(CONF)
        self.conf.set(group='database',
                      connection='mysql+pymysql://me:secret@db/cyborg')
        self.now = 0.0
        self.filter = outages.Outages(CONF, lambda: self.now)

    def shown(self, name, message, *args, exc_info=None,
              level=logging.ERROR):
        """What is written of a record; None when it is not shown."""
        record = logging.LogRecord(name, level, __file__, 1, message, args,
                                   exc_info)
        let_through = [self.filter.filter(record) for _handler in range(2)]
        self.assertEqual(let_through[0], let_through[1])
        return logging.Formatter().format(record) if let_through[0] else None

    def test_the_broker_is_unreachable(self):
        text = self.shown(
            RABBIT, 'AMQP server on %(hostname)s:%(port)s: %(err_str)s',
            {**WHERE, 'err_str': ConnectionRefusedError(
                111, 'Connection refused')})
        self.assertEqual(
            '[DEFAULT] transport_url = rabbit://me:***@mq:5672/vh of host '
            'compute-1: the connection is lost. mq:5672 cannot be used: '
            'Connection refused. Start the broker, or correct host and port '
            'in the URL. It is tried again by itself.', text)

    def lost(self, hostname, port=5672):
        return self.shown(
            RABBIT, 'AMQP server on %(hostname)s:%(port)s: %(err_str)s',
            {'hostname': hostname, 'port': port,
             'err_str': ConnectionResetError(104, 'Connection reset')})

    def test_a_broker_of_notifications(self):
        """It is another one, and another option names it."""
        conffixture.ConfFixture(CONF)
        self.conf.set(group='oslo_messaging_notifications',
                      transport_url='rabbit://you:secret@notes/vh')
        self.assertIn('[oslo_messaging_notifications] transport_url = '
                      'rabbit://you:***@notes:5672/vh of host compute-1: the '
                      'connection is lost. notes:5672 ', self.lost('notes'))
        self.assertIn('[DEFAULT] transport_url = rabbit://me:***@mq:5672/vh '
                      'of host compute-1: the connection is lost. mq:5672 ',
                      self.lost('mq'))

    def test_nobody_says_which_broker(self):
        self.assertEqual(
            'A connection of host compute-1 to the message broker '
            'elsewhere:5671 is lost: [Errno 104] Connection reset. It is '
            'tried again by itself.', self.lost('elsewhere', 5671))
        conffixture.ConfFixture(CONF)
        self.conf.set(group='oslo_messaging_notifications',
                      transport_url='rabbit://you:secret@notes/vh')
        text = self.shown(RABBIT, 'Lost: %s', ConnectionResetError(
            104, 'Connection reset'))
        self.assertEqual(
            'A connection of host compute-1 to the message broker is lost: '
            '[Errno 104] Connection reset. It is tried again by itself.',
            text)

    def test_the_virtual_host_is_away(self):
        """Its error is what another one was raised for, deep below."""
        gone = amqp_exc.NotAllowed('vhost vh not found', (10, 40), '')
        text = self.shown('oslo_utils.excutils', 'Unexpected exception',
                          exc_info=raised(messaging.MessageDeliveryFailure(),
                                          gone))
        self.assertIn('mq:5672 has no virtual host vh, or the user me may '
                      'not use it. Correct the end of the URL, or run '
                      '"rabbitmqctl add_vhost vh"', text)
        self.assertNotIn('\n', text)
        try:
            raise gone
        except amqp_exc.NotAllowed:
            # A message that was filled in before; the error is at hand.
            self.assertIsNone(self.shown(
                RABBIT, 'Unable to connect to AMQP server on mq'))

    def test_the_database(self):
        error = db_exc.DBConnectionError(
            OSError(2013, 'Lost connection to server'))
        text = self.shown('oslo_messaging.rpc.server',
                          'Exception during message handling',
                          exc_info=raised(error))
        self.assertIn('[database] connection = mysql+pymysql://me:***@db/'
                      'cyborg of host compute-1: the connection is lost (',
                      text)
        self.assertIn('Lost connection to server', text)
        self.assertIn('Start the server, or correct user, password', text)
        self.assertNotIn('\n', text)
        self.assertNotIn('secret', text)

    def test_a_password_that_is_written_wrong(self):
        for where, host in (('me:one/two@db/cyborg', 'db'),
                            ('db/cyborg?user=me&password=onetwo', 'db'),
                            ('me:one@two@db/cyborg', 'two@db')):
            self.conf.set(group='database',
                          connection='mysql+pymysql://' + where)
            text = self.shown('oslo_db.sqlalchemy.engines', 'Failed',
                              exc_info=raised(db_exc.DBConnectionError(
                                  OSError(2003, 'Nobody at %s' % host))))
            self.assertIn('[database] connection = mysql+pymysql://', text)
            self.assertIn('Nobody at ', text)
            for part in 'one', 'two':
                self.assertNotIn(part, text)
            self.now += outages.PAUSE + 1

    def test_not_again_at_once(self):
        def say(number):
            return self.shown(RABBIT, '%(err_str)s', {
                **WHERE, 'err_str': amqp_exc.ConsumerCancelled(str(number))})
        self.assertIsNotNone(say(1))
        self.assertIsNone(say(2))
        self.now = outages.PAUSE + 1
        self.assertIsNotNone(say(3))

    def test_own_words_stay(self):
        """They name the work that is not done: each time, and whole."""
        lost = raised(db_exc.DBConnectionError(OSError(2013, 'Lost it')))
        away = amqp_exc.ConnectionForced('it stops', (0, 0), '')
        for uuid in 'aaaa', 'bbbb', 'aaaa':
            text = self.shown(
                'cyborg.conductor.binding', 'Accelerator requests %s stay as '
                'they are until they are bound again.', uuid, exc_info=lost)
            self.assertEqual(
                'Accelerator requests %s stay as they are until they are '
                'bound again. [database] connection = mysql+pymysql://me:***@'
                'db/cyborg of host compute-1: the connection is lost ([Errno '
                '2013] Lost it). Start the server, or correct user, password, '
                'host and name of the database in the URL; until then '
                'requests that need it fail.' % uuid, text)
            text = self.shown('cyborg.common.service', '%s: %s of 100%%',
                              uuid, away)
            self.assertIn('%s: %s of 100%% [DEFAULT] transport_url = rabbit:'
                          '//me:***@mq' % (uuid, away), text)
            self.assertNotIn('\n', text)

    def test_all_else_is_left_alone(self):
        error = raised(KeyError('x'))
        for name, exc_info, level in (
                ('oslo_messaging.rpc.server', error, logging.ERROR),
                ('oslo.messaging.rpc.server', raised(OSError(28, 'Full')),
                 logging.ERROR),
                ('cyborg.agent', raised(OSError(2, 'No file')),
                 logging.ERROR),
                (RABBIT, raised(amqp_exc.NotAllowed()), logging.DEBUG),
                ('keystoneauth', raised(OSError(2, 'x')), logging.ERROR)):
            for _ in range(2):
                text = self.shown(name, 'A %s', 'b', exc_info=exc_info,
                                  level=level)
                self.assertTrue(text.startswith('A b\nTraceback'), text)
