# SPDX-License-Identifier: Apache-2.0
"""CLEAN-33: every example of the guide to cleaning is run."""

import configparser
import io
import os
import re
import shlex

from cyborg.cleaning import states
from cyborg.cmd import nvme
from cyborg.conf import opts
from cyborg.tests.fixtures import pages
from cyborg.tests.functional.cleaner import base

PAGE = 'admin/nvme-cleaning.rst'


class GuideTest(base.CleanerTestCase):

    def setUp(self):
        super().setUp()
        self.text = (pages.SOURCE / PAGE).read_text()

    def settings(self, having: str) -> str:
        found, = [block.text for block in pages.blocks(PAGE, language='ini')
                  if having in block.text]
        return found

    def test_commands(self):
        """The page's own settings, with this host's places in them."""
        text = self.settings('[cleaner]')
        text = text.replace('/var/lib/cyborg/cleaner',
                            self.host.journal_path)
        text = re.sub(r'\[placement\].*?\n\n', '', text, flags=re.S)
        text = text.replace('/var/lib/node_exporter', self.host.path)
        path = os.path.join(self.host.path, 'cyborg.conf')
        with open(path, 'w') as file:
            file.write(text + '\n[pci]\nsysfs_path = %s\n'
                       % self.host.world.at('sys'))
        self.host.start()
        self.host.look()
        ran = set()
        for block in pages.blocks(PAGE, language='console'):
            for line in block.text.splitlines():
                words = shlex.split(line.removeprefix('$ '))
                if words[0] != nvme.NAME:
                    continue
                ran.add(words[1])
                out, err = io.StringIO(), io.StringIO()
                self.assertEqual(0, nvme.main(
                    [nvme.NAME, '--config-file', path, *words[1:]],
                    host=self.host.world.host(), stdin=io.StringIO(),
                    stdout=out, stderr=err), err.getvalue())
                self.host.look(2)
        self.assertEqual({'list', 'show', 'check', 'clean', 'retry', 'hold',
                          'release'}, ran)

    def test_options_exist(self):
        known = {(getattr(group, 'name', group), option.dest)
                 for group, options in opts.list_opts() for option in options}
        parser = configparser.ConfigParser(default_section='-')
        parser.read_string(self.settings('[cleaner]'))
        for group in ('cleaner', 'nvme'):
            for name in parser[group]:
                self.assertIn((group, name), known)

    def test_every_reason_has_its_way_out(self):
        text = ' '.join(self.text.split())
        for reason, meaning in states.MEANINGS.items():
            self.assertIn('* - %s - %s - %s' % (
                reason, meaning.text, meaning.way_out), text)

    def test_every_state_is_in_the_picture(self):
        for state in states.State:
            self.assertIn(state.value, self.text)

    def test_metrics_exist(self):
        self.host.start()
        self.host.look()
        shown = self.host.cleaner.metrics.text(
            self.host.cleaner.entries.values(), self.host.clock())
        for name in re.findall(r'``(cyborg_cleaner_[^`]+)``', self.text):
            self.assertIn('\n%s ' % name, shown)

    def test_the_settings_of_nova_stand_in_the_right_groups(self):
        """Those that it warns about when nothing is ever heard."""
        parser = configparser.ConfigParser()
        parser.read_string(self.settings('notification_format'))
        self.assertEqual('versioned',
                         parser['notifications']['notification_format'])
        self.assertEqual('messagingv2', parser[
            'oslo_messaging_notifications']['driver'])
