# SPDX-License-Identifier: Apache-2.0
"""How a request picks its microversion (API-6, B56)."""

import pathlib
import re

import testscenarios

from cyborg.api import microversions
from cyborg.tests import base

load_tests = testscenarios.load_tests_apply_scenarios

NEWEST = str(microversions.MAXIMUM)
NEXT = microversions.Version(2, microversions.MAXIMUM.minor + 1)
UNPARSABLE = microversions.Unparsable
UNSUPPORTED = microversions.Unsupported


class TestNegotiate(base.TestCase):
    """B56: the header is read as the API-WG guideline has it."""

    scenarios = [(repr(header)[:60], {'header': header, 'wanted': wanted})
                 for header, wanted in (
        (None, '2.0'),
        ('accelerator 2.0', '2.0'),
        ('accelerator 2.4', '2.4'),
        ('ACCELERATOR 2.1', '2.1'),
        ('  accelerator   2.1 ', '2.1'),
        ('accelerator 2.01', '2.1'),
        ('accelerator latest', NEWEST),
        ('accelerator LATEST', NEWEST),
        # Without a service type.
        ('2.4', '2.4'),
        ('latest', NEWEST),
        # Together with other services.
        ('compute 2.90, accelerator 2.4', '2.4'),
        ('accelerator 2.2,compute latest', '2.2'),
        ('accelerator 2.1,accelerator 2.3', '2.3'),
        ('accelerator x, accelerator 2.1', '2.1'),
        ('accelerator 2.1,', '2.1'),
        # For others alone.
        ('compute 2.90', '2.0'),
        ('compute latest', '2.0'),
        ('baremetal 1.1, compute 2.90', '2.0'),
        ('acceleratorx 2.4', '2.0'),
        # None of ours.
        ('accelerator %s' % NEXT, UNSUPPORTED),
        ('accelerator 2.99', UNSUPPORTED),
        ('accelerator 1.9', UNSUPPORTED),
        ('accelerator 3.0', UNSUPPORTED),
        ('accelerator 2.-1', UNSUPPORTED),
        ('1.0', UNSUPPORTED),
        # Not to be read.
        ('', UNPARSABLE),
        (',', UNPARSABLE),
        ('abc', UNPARSABLE),
        ('accelerator', UNPARSABLE),
        ('accelerator x', UNPARSABLE),
        ('accelerator 2', UNPARSABLE),
        ('accelerator 2.1.1', UNPARSABLE),
        ('accelerator 2.1 2.2', UNPARSABLE),
        ('accelerator=2.1', UNPARSABLE),
        ('accelerator 2.1, accelerator x', UNPARSABLE),
        ('2.1,2.2', UNPARSABLE),
        ('compute x', UNPARSABLE),
        ('compute 2.90, x', UNPARSABLE),
        ('accelerator ٢.١', UNPARSABLE),
        ('accelerator 2.' + '9' * 5000, UNPARSABLE),
    )]

    def test_negotiate(self):
        if isinstance(self.wanted, str):
            self.assertEqual(self.wanted,
                             str(microversions.negotiate(self.header)))
        else:
            self.assertRaises(self.wanted, microversions.negotiate,
                              self.header)


class TestHeaders(base.TestCase):

    def test_of_a_version(self):
        self.assertEqual({
            'OpenStack-API-Version': 'accelerator 2.2',
            'OpenStack-API-Minimum-Version': '2.0',
            'OpenStack-API-Maximum-Version': NEWEST,
            'Vary': 'OpenStack-API-Version',
        }, microversions.headers(microversions.Version(2, 2)))

    def test_texts_name_what_was_asked_and_what_there_is(self):
        error = self.assertRaises(UNSUPPORTED, microversions.negotiate,
                                  'accelerator 2.99')
        self.assertEqual('Version 2.99 is not supported. This service '
                         'supports 2.0 to %s.' % NEWEST, str(error))
        error = self.assertRaises(UNPARSABLE, microversions.negotiate, 'abc')
        self.assertIn("'abc'", str(error))
        self.assertIn('accelerator ' + NEWEST, str(error))

    def test_bare(self):
        self.assertTrue(microversions.is_bare('2.4'))
        self.assertTrue(microversions.is_bare('latest'))
        self.assertFalse(microversions.is_bare('accelerator 2.4'))
        self.assertFalse(microversions.is_bare(None))


class TestHistory(base.TestCase):

    def test_every_version_is_described(self):
        path = (pathlib.Path(microversions.__file__).parent
                / 'rest_api_version_history.rst')
        described = re.findall(r'^(2\.\d+)\n-+$', path.read_text(), re.M)
        self.assertEqual(['2.%d' % minor for minor in
                          range(microversions.MAXIMUM.minor + 1)], described)
