# SPDX-License-Identifier: Apache-2.0
"""The scheduler of the races: what a seed promises."""

import random

from cyborg.tests import base
from cyborg.tests.functional.chaos import turns


class TestTurns(base.TestCase):

    def course(self, seed, *works):
        """Who did what, in order; each work gets a function to note it."""
        steps = []
        scheduler = turns.Turns(random.Random(seed), 0.5)

        def actor(number, work):
            def note(what):
                scheduler.point()
                steps.append((number, what))
            return turns.Actor(str(number),
                               lambda _actor: work(scheduler, note))

        self.actors = [actor(*item) for item in enumerate(works)]
        scheduler.run(self.actors)
        return steps

    @staticmethod
    def three(_scheduler, note):
        for what in range(3):
            note(what)

    def test_same_dice_same_course(self):
        works = [self.three] * 3
        self.assertEqual(self.course(7, *works), self.course(7, *works))

    def test_other_dice_other_course(self):
        works = [self.three] * 3
        courses = {tuple(self.course(seed, *works)) for seed in range(20)}
        self.assertGreater(len(courses), 15)

    def test_who_holds_is_alone(self):
        def work(scheduler, note):
            scheduler.hold('lock')
            note('in')
            note('out')
            scheduler.let_go('lock')
        for seed in range(20):
            course = self.course(seed, work, work, self.three)
            held = [step for step in course if step[1] in ('in', 'out')]
            self.assertEqual(['in', 'out'] * 2, [what for _, what in held])
            self.assertEqual(held[0][0], held[1][0])

    def test_waiting_for_each_other_is_told(self):
        def work(first, second):
            def do(scheduler, note):
                scheduler.hold(first)
                note(first)
                note(first)
                scheduler.hold(second)
                scheduler.let_go(second)
                scheduler.let_go(first)
            return do

        def run():
            for seed in range(20):
                self.course(seed, work('a', 'b'), work('b', 'a'))
                for actor in self.actors:
                    if actor.outcome is not None:
                        raise actor.outcome
        self.assertRaises(turns.Stuck, run)

    def test_error_is_the_outcome(self):
        def work(_scheduler, _note):
            raise ValueError('mine')
        self.course(1, work, self.three)
        self.assertIsInstance(self.actors[0].outcome, ValueError)
        self.assertIsNone(self.actors[1].outcome)
