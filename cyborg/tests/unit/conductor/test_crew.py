# SPDX-License-Identifier: Apache-2.0
"""Threads that help each other, and end before their caller goes on."""

import threading

import testtools

from cyborg.conductor.providers import crew

LIMIT = 60


class CrewTest(testtools.TestCase):

    def crew(self, size: int) -> crew.Crew:
        made = crew.Crew(size)
        self.addCleanup(made.stop)
        return made

    def test_so_many_at_once(self):
        """Each waits for the others; every item is done once."""
        for size in (1, 2, 8):
            together = threading.Barrier(size, timeout=LIMIT)
            done, began = [], []

            def work(item, done=done, together=together):
                together.wait()
                done.append(item)

            self.crew(size).each(work, range(4 * size),
                                 lambda began=began: began.append(1))
            self.assertEqual(list(range(4 * size)), sorted(done))
            self.assertEqual(size - 1, len(began))

    def test_nothing_to_do(self):
        self.crew(8).each(self.fail, [])

    def test_alone_where_all_others_are_busy(self):
        one, done, let_go = self.crew(2), [], threading.Event()
        begun = threading.Barrier(3, timeout=LIMIT)

        def busy(_item):
            begun.wait()
            let_go.wait(LIMIT)

        other = threading.Thread(target=one.each, args=(busy, range(2)))
        other.start()
        begun.wait()
        one.each(done.append, range(8))
        self.assertEqual(list(range(8)), done)
        let_go.set()
        other.join(LIMIT)

    def test_an_error_ends_it(self):
        """Nothing runs any more when it arrives, and the rest is not done."""
        many = 1000000
        for by_helper in (False, True):
            together = threading.Barrier(2, timeout=LIMIT)
            done = []

            def work(item, by_helper=by_helper, done=done,
                     together=together):
                if item < 2:
                    together.wait()
                    helps = threading.current_thread() is not caller
                    if helps == by_helper:
                        raise KeyError(item)
                done.append(item)

            caller = threading.current_thread()
            error = self.assertRaises(KeyError, self.crew(2).each, work,
                                      range(many))
            self.assertIn(error.args[0], (0, 1))
            self.assertLess(len(done), many - 1)
            self.assertEqual(len(set(done)), len(done))
