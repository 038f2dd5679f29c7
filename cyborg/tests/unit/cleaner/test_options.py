# SPDX-License-Identifier: Apache-2.0
"""Every value of [cleaner] and [nvme] that cannot be used, with its text."""

import os

from oslo_config import cfg

from cyborg.cleaner import service
from cyborg.common import exception
from cyborg.conf import cleaner
from cyborg.conf import default
from cyborg.conf import nvme
from cyborg.tests import base

_CHOICE = "Valid values are [%s], but found '%s'"
#: (group, option, value, what is said of it)
WRONG = [
    *(('cleaner', name, value, expected) for name, expected in (
        ('poll_interval', 'a whole number from 1 on is expected'),
        ('settle_seconds', 'a whole number from 0 on is expected'),
        ('concurrency', 'a whole number from 1 on is expected'),
        ('verify_samples', 'a whole number from 1 to 65536 is expected'),
        ('max_percentage_used', 'a whole number from 0 to 255 is expected'))
      for value in ('soon', '-1', '1.5', '')),
    ('cleaner', 'poll_interval', '0', 'a whole number from 1 on is expected'),
    ('cleaner', 'concurrency', '0', 'a whole number from 1 on is expected'),
    ('cleaner', 'verify_samples', '0',
     'a whole number from 1 to 65536 is expected'),
    ('cleaner', 'verify_samples', '65537',
     'a whole number from 1 to 65536 is expected'),
    ('cleaner', 'max_percentage_used', '256',
     'a whole number from 0 to 255 is expected'),
    ('cleaner', 'unknown', 'ignore', _CHOICE % ('hold, clean', 'ignore')),
    ('cleaner', 'namespaces', 'ignore', _CHOICE % ('restore, fail',
                                                   'ignore')),
    ('cleaner', 'firmware', 'restore', _CHOICE % ('pin, ignore', 'restore')),
    ('cleaner', 'journal_path', '', 'an absolute path is expected'),
    ('cleaner', 'journal_path', 'cleaner', 'an absolute path is expected'),
    ('cleaner', 'metrics_file', '', 'an absolute path is expected'),
    ('cleaner', 'metrics_file', 'a.prom', 'an absolute path is expected'),
    ('cleaner', 'notification_exchange', '', 'a name is expected'),
    ('cleaner', 'notification_pool', '', 'a name is expected'),
    ('cleaner', 'notification_topics', '', 'at least one name is expected'),
    ('cleaner', 'notification_topics', 'a,,b',
     'at least one name is expected'),
    *(('nvme', 'cleanup_timeout', value,
       'a whole number from 60 on is expected')
      for value in ('soon', '59', '0', '')),
]


class OptionsTest(base.TestCase):

    def configuration(self, group, text):
        """:returns: (the options, the file)"""
        path = os.path.join(self.temp_dir(), 'cyborg.conf')
        with open(path, 'w') as stream:
            stream.write('[%s]\n%s\n' % (group, text))
        conf = cfg.ConfigOpts()
        for each in (cleaner, default, nvme):
            each.register_opts(conf)
        conf(['--config-file', path], project='cyborg',
             default_config_dirs=[])
        return conf, path

    def test_every_wrong_value(self):
        """CLEAN-4, with the whole text."""
        for group, name, value, said in WRONG:
            conf, path = self.configuration(group, '%s = %s' % (name, value))
            error = self.assertRaises(exception.OptionInvalid,
                                      service.check_options, conf)
            self.assertEqual('[%s] %s = "%s" in %s is not valid: %s.' % (
                group, name, value, path, said), error.message)

    def test_every_option_has_a_wrong_value_here(self):
        """Texts that may be anything, and rules, which have their own."""
        known = {(group, name) for group, name, _value, _said in WRONG}
        for group, module in (('cleaner', cleaner), ('nvme', nvme)):
            for option in module.OPTS:
                if option.dest != 'device_spec':
                    self.assertIn((group, option.dest), known)

    def test_the_examples_of_the_help_are_good(self):
        for group, module in (('cleaner', cleaner), ('nvme', nvme)):
            for option in module.OPTS:
                if option.dest == 'device_spec':
                    continue
                valid = option.help.split('Valid: ')[1].split('.\n')[0]
                value = valid.split('``')[1]
                conf, _path = self.configuration(group, '%s = %s' % (
                    option.dest, value))
                service.check_options(conf)
