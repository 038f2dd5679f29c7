# SPDX-License-Identifier: Apache-2.0
"""Cases of a job: each says how it went, and the last line counts them."""

import subprocess
import time


def equal(expected, seen):
    if expected != seen:
        raise AssertionError('expected %s\n     saw %s' % (expected, seen))


class Cases:
    """A decorator for them, which keeps their order.

    :ivar failed: names of those that failed.
    """

    def __init__(self):
        self._cases = {}
        self.passed, self.failed = 0, []

    def __call__(self, function):
        self._cases[function.__name__.replace('_', '-')] = function
        return function

    def run(self, names=()):
        """Run them all, or those of the names, in their order."""
        unknown = set(names) - set(self._cases)
        if unknown:
            raise SystemExit('no such case: ' + ', '.join(sorted(unknown)))
        for name, function in self._cases.items():
            if names and name not in names:
                continue
            began = time.monotonic()
            try:
                function()
                said = 'ok'
                self.passed += 1
            except (AssertionError, OSError, KeyError, ValueError,
                    subprocess.SubprocessError) as error:
                self.failed.append(name)
                said = 'FAILED\n%s: %s' % (type(error).__name__, error)
            print('%-36s %4d s  %s' % (name, time.monotonic() - began, said),
                  flush=True)

    def conclude(self):
        """The line that counts them; returns the status of the job."""
        print('%d passed, %d failed' % (self.passed, len(self.failed)),
              flush=True)
        return 1 if self.failed else 0
