# SPDX-License-Identifier: Apache-2.0
"""The commands of a clone count what they ran, and fail on nothing."""

import importlib.machinery
import importlib.util
import os
import pathlib
import sys

import testtools

from cyborg.conf import default
from cyborg.tests import base

TOOLS = pathlib.Path(default.PACKAGE_PARENT) / 'tools'

STESTR = '''
Ran: 12 tests in 3.4 sec.
 - Passed: 9
 - Skipped: 2
 - Expected Fail: 0
 - Unexpected Success: 0
 - Failed: 1
'''.splitlines()


@testtools.skipUnless(TOOLS.is_dir(), 'only in a clone')
class ToolsTest(base.TestCase):

    def load(self, name):
        """A tool as a module, without its bytecode in the clone."""
        loader = importlib.machinery.SourceFileLoader(
            name.replace('-', '_'), str(TOOLS / name))
        spec = importlib.util.spec_from_loader(loader.name, loader)
        module = importlib.util.module_from_spec(spec)
        sys.path.insert(0, str(TOOLS))
        self.addCleanup(sys.path.remove, str(TOOLS))
        self.addCleanup(sys.modules.pop, 'clone_venv', None)
        loader.exec_module(module)
        return module

    def count(self, counted, status, lines):
        tool = self.load('run-tests')
        return tool.count(tool.Step('s', [], counted), status, lines)

    def test_counts_of_stestr(self):
        self.assertEqual((9, 1, 2), self.count('stestr', 1, STESTR))

    def test_counts_of_a_closing_line(self):
        self.assertEqual((5, 0, 3), self.count(
            'line', 0, ['4 passed, 9 failed', 'x',
                        '5 passed, 0 failed, 3 skipped']))

    def test_a_suite_that_ran_nothing_has_failed(self):
        self.assertEqual((0, 1, 0), self.count('stestr', 0, []))
        self.assertEqual((0, 1, 4), self.count(
            'line', 0, ['0 passed, 0 failed, 4 skipped']))

    def test_a_suite_that_broke_down_has_failed(self):
        self.assertEqual((5, 1, 0), self.count(
            'line', 2, ['5 passed, 0 failed']))

    def test_a_step_without_counts(self):
        self.assertEqual((1, 0, 0), self.count(None, 0, []))
        self.assertEqual((0, 1, 0), self.count(None, 1, []))

    def test_every_step_has_its_command(self):
        for step in self.load('run-tests').STEPS:
            if '/' in step.command[0]:
                path = TOOLS.parent / step.command[0]
                self.assertTrue(os.access(path, os.X_OK), path)

    def test_the_gate_leaves_out_what_takes_long(self):
        tool = self.load('run-tests')
        gate = {step.name for step in tool.chosen([], False)}
        whole = [step.name for step in tool.chosen([], True)]
        self.assertIn('functional', gate)
        self.assertNotIn('races', gate)
        self.assertEqual([step.name for step in tool.STEPS], whole)
        self.assertEqual(
            ['races'], [step.name for step in tool.chosen(['races'], False)])

    def test_what_does_not_fit_the_time_is_left_out_by_name(self):
        tool = self.load('run-tests')
        done = []
        tool.run = lambda step, environment: (
            done.append(step.name) or (1, 0, 0))
        steps = [tool.Step('gate', [], None), tool.Step('long', [], None, 30),
                 tool.Step('short', [], None, 5)]
        results, left_out = tool.run_all(steps, {}, 20)
        self.assertEqual((['gate', 'short'], ['long']), (done, left_out))
        self.assertEqual([(1, 0, 0)] * 2, results)
        self.assertEqual([], tool.run_all(steps, {}, None)[1])

    def test_a_part_runs_where_the_whole_does_not_fit(self):
        tool = self.load('run-tests')
        done = []
        tool.run = lambda step, environment: (
            done.append(step.name) or (1, 0, 0))
        part = tool.Step('part', [], None, 5, part_of='whole')
        steps = [tool.Step('whole', [], None, 30), part]
        self.assertEqual(['whole'], tool.run_all(steps, {}, 20)[1])
        self.assertEqual(['part'], done)
        tool.run_all(steps, {}, 40)
        tool.run_all([part], {}, None)
        self.assertEqual(['part', 'whole', 'part'], done)
        names = [step.name for step in tool.STEPS]
        for step in tool.STEPS:
            if step.part_of:
                self.assertIn(step.part_of, names[:names.index(step.name)])

    def test_what_the_gate_leaves_out_some_step_runs(self):
        """No test is out of sight altogether."""
        lists = {path.stem: [
            line.split('#')[0].strip() for line in path.read_text(
            ).splitlines() if line.split('#')[0].strip()]
            for path in (TOOLS / 'config').glob('tests-*.txt')}
        without = set(lists.pop('tests-not-in-the-gate'))
        self.assertEqual(set(), without - {
            pattern for patterns in lists.values() for pattern in patterns})

    def test_every_requirement_has_a_lower_bound(self):
        tool = self.load('test-lower-bounds')
        for name in tool.FILES:
            text = (TOOLS.parent / name).read_text()
            self.assertEqual(
                len([line for line in text.splitlines()
                     if line and not line.startswith('#')]),
                len(list(tool.lower_bounds(text))))
        self.assertRaises(SystemExit, list, tool.lower_bounds('pecan\n'))
