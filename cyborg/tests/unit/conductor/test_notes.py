# SPDX-License-Identifier: Apache-2.0
"""What is said of a report, and how often."""

import logging

from cyborg.conductor.report import notes
from cyborg.inventory import plan as planner
from cyborg.inventory import values
from cyborg.tests import base
from cyborg.tests.unit.conductor import test_wanted as make


class NotebookTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.book = notes.Notebook()

    def say(self, *texts, host='h', endings=()):
        self.logs.clear()
        self.book.say(host, {('missing', text[0]): notes.Note(
            logging.WARNING, text, 'over ' + text[0]) for text in texts},
            dict(endings))
        return [record.getMessage() for record in self.logs.records]

    def test_once_per_state(self):
        self.assertEqual(['a1'], self.say('a1'))
        self.assertEqual([], self.say('a1'))
        self.assertEqual(['a2', 'b1'], self.say('a2', 'b1'))
        self.assertEqual(['over a'], self.say('b1'))
        self.assertEqual(['a2'], self.say('b1', 'a2'))

    def test_ending_of_its_own(self):
        self.say('a1')
        self.assertEqual(['back'], self.say(
            endings=[(('missing', 'a'), 'back')]))

    def test_hosts_are_apart(self):
        self.say('a1')
        self.assertEqual(['a1'], self.say('a1', host='other'))
        self.assertEqual({'a'}, self.book.missing('other'))
        self.assertEqual(set(), self.book.missing('third'))


class NotesTest(base.TestCase):
    """The texts name host, address, handle and ARQ."""

    def notes(self, discovered, persisted):
        plan = planner.plan(discovered,
                            values.PersistedHost('h', tuple(persisted)))
        return list(notes.of_plan(plan).values())

    def assertSays(self, note, *words, level=logging.WARNING):
        self.assertEqual(level, note.level)
        for word in words:
            self.assertIn(word, note.text)

    def test_missing(self):
        """MIS-2"""
        note, = self.notes([], [make.stored(arqs=(0,))])
        self.assertSays(note, 'h_1', 'host h', '0000:01:00.0', 'h0', 'arq0')
        self.assertIn('released', note.over)

    def test_replaced(self):
        """MIS-6"""
        note, = self.notes([make.found(vendor='8086')],
                           [make.stored(arqs=(0,))])
        self.assertSays(note, '8086:1eb8', 'not offered')

    def ending(self, discovered, persisted):
        plan = planner.plan([discovered], values.PersistedHost(
            'h', (persisted,)), held=['p1'])
        return notes.endings(plan).get(('missing', 'p1'))

    def test_return(self):
        """MIS-3"""
        text = self.ending(make.found(), make.stored(arqs=(0,)))
        self.assertEqual(
            'Device h_1 on host h is back. Attach handles: h0 '
            '(0000:01:00.0, accelerator request arq0).', text)

    def test_successor(self):
        """MIS-6: it is not the missing device that is back."""
        self.assertIsNone(self.ending(make.found(vendor='8086'),
                                      make.stored()))
        note, = self.notes([make.found(vendor='8086')],
                           [make.stored(arqs=(0,))])
        self.assertEqual(
            'Device h_1 on host h was missing and has been released; the '
            'device that stands in its place (8086:1eb8) is offered now. '
            'Attach handles were: h0 (0000:01:00.0, accelerator request '
            'arq0).', note.over)

    def test_managed(self):
        """REC-9"""
        device = make.found()
        handle = values.DiscoveredHandle(
            'PCI', make.info(1)[:-1] + ', "managed": false}')
        device = values.DiscoveredDevice(
            'PCI', make.info(1), 'PCI', '10de', '1eb8', deployables=(
                values.DiscoveredDeployable(
                    'h_1', 1, 'x', device.deployables[0].attributes,
                    (handle,)),))
        for arqs in ((), (0,)):
            note, = self.notes([device], [make.stored(arqs=arqs)])
            self.assertSays(note, 'h0', '0000:01:00.0', 'host h',
                            'managed=true', 'managed=false',
                            '[upgrade_levels] conductor')

    def test_fault(self):
        note, = self.notes([make.found(), make.found()], [])
        self.assertSays(note, '0000:01:00.0', 'host h', 'more than once')

    def test_damage(self):
        device = make.stored()
        handle = values.PersistedHandle(10, 'h0', 1, 1, 'PCI', 'broken')
        device = values.PersistedDevice(
            1, 'd1', 'h', 'PCI', '10de', '1eb8',
            controlpath=device.controlpath, deployables=(
                values.PersistedDeployable(1, 'p1', 1, 'h_1', 1, 'x', 'rp',
                                           device.deployables[0].attributes,
                                           (handle,)),))
        note, = self.notes([make.found()], [device])
        self.assertSays(note, 'h0', 'd1', 'host h', 'Repair',
                        level=logging.ERROR)
