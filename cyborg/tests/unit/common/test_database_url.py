# SPDX-License-Identifier: Apache-2.0
"""No part of the database's password is shown."""

from oslo_config import cfg
from oslo_db import options as db_options

from cyborg.common import database_url
from cyborg.common import exception
from cyborg.conf import CONF
from cyborg.tests import base

HEAD = 'mysql+pymysql://'
#: (value of the option, what is shown)
URLS = (
    (HEAD + 'cyborg:secret@db:3306/cyborg',
     HEAD + 'cyborg:***@db:3306/cyborg'),
    (HEAD + 'cyborg:sec/ret@db/cyborg', HEAD + 'cyborg:***@db/cyborg'),
    (HEAD + 'cyborg:s?e#c:ret@db/cyborg', HEAD + 'cyborg:***@db/cyborg'),
    (HEAD + 'cyborg:sec%40ret@db/cyborg', HEAD + 'cyborg:***@db/cyborg'),
    (HEAD + 'cyborg@site:secret@db/cyborg',
     HEAD + 'cyborg%40site:***@db/cyborg'),
    (HEAD + 'db/cyborg?charset=utf8&user=c&password=secret',
     HEAD + 'db/cyborg'),
    # An "@" that is not written as %40, and what may follow it.
    (HEAD + 'cyborg:sec@ret@db/cyborg', HEAD + '***'),
    (HEAD + 'cyborg:sec@re/t@db/cyborg', HEAD + '***'),
    (HEAD + 'cyborg:sec@re?t@db/cyborg', HEAD + '***'),
    (HEAD + 'cyborg:sec@re:t@db/cyborg', HEAD + '***'),
    # What is no URL.
    (HEAD + 'cyborg:secret@db:port/cyborg', HEAD + '***'),
    ('mysql+pymysql:/cyborg:secret@db/cyborg', HEAD + '***'),
    ('secret', '***'),
    ('', '***'),
    (None, '***'),
    # Neither host nor password.
    ('sqlite:////srv/cyborg.sqlite', 'sqlite:////srv/cyborg.sqlite'),
)


class TestShown(base.TestCase):

    def test_each(self):
        for url, shown in URLS:
            self.assertEqual(shown, database_url.shown(url), url)


class TestWithoutPassword(base.TestCase):

    def test_the_host_is_the_end_of_a_password(self):
        self.assertEqual(
            "Can't connect to MySQL server on '***' (unknown)",
            database_url.without_password(
                "Can't connect to MySQL server on 'ret@db' (unknown)",
                HEAD + 'cyborg:sec@ret@db/cyborg'))

    def test_the_whole_url(self):
        url = 'mysql+pymysql:/cyborg:secret@db/cyborg'
        self.assertEqual(
            "No URL is in 'mysql+pymysql://***'",
            database_url.without_password("No URL is in '%s'" % url, url))

    def test_what_is_no_secret_stays(self):
        for url in (HEAD + 'cyborg:secret@db/cyborg', '', None):
            self.assertEqual('No route to db', database_url.without_password(
                'No route to db', url))


class TestCheck(base.TestCase):

    def test_what_is_no_port_is_not_repeated(self):
        db_options.set_defaults(CONF)
        for url in (HEAD + 'cyborg:sec@re:t@db/cyborg',
                    HEAD + 'cyborg:secret@db:port/cyborg'):
            self.conf.set(group='database', connection=url)
            error = self.assertRaises(exception.DatabaseUrlInvalid,
                                      database_url.check, CONF)
            self.assertIsNone(error.__cause__)
            self.assertTrue(error.__suppress_context__)
            for part in 'sec', 're:t', 'port/':
                self.assertNotIn(part, error.message)

    def test_all_else_is_for_others_to_refuse(self):
        db_options.set_defaults(CONF)
        for url in ('secret', HEAD + 'cyborg:secret@db:3306/cyborg',
                    'sqlite://'):
            self.conf.set(group='database', connection=url)
            self.assertIsNone(database_url.check(CONF))

    def test_api_that_a_web_server_loads(self):
        """It did not start: no such option connection in group [database]."""
        conf = cfg.ConfigOpts()
        conf([], default_config_files=[])
        database_url.check(conf)
        self.assertIsNone(conf.database.connection)
