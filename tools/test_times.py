# SPDX-License-Identifier: Apache-2.0
"""How long the slow tests take, so that workers get equal parts of them.

    python tools/test_times.py load                 before the first run
    stestr list | python tools/test_times.py print  after some

stestr shares tests out by the times of earlier runs; without any it gives each
worker the same number, and one of two may wait for the other a fifth of the
whole time. ``tools/config/test-times.txt`` has what ``print`` printed on some
machine: only how the times compare matters, and a test that is not there is
shared out by number.
"""

import datetime
import pathlib
import sys

from stestr.repository import abstract
from stestr.repository import file as repository

ROOT = pathlib.Path(__file__).resolve().parents[1]
TIMES = ROOT / 'tools' / 'config' / 'test-times.txt'
# Seconds; all the others together are shared out well by number.
SLOW = 2


def load(root: pathlib.Path, times: pathlib.Path) -> None:
    """Tell stestr the times, unless it has some of its own.

    :param root: where ``.stestr`` is or will be
    :param times: a line a test, seconds and id
    """
    factory = repository.RepositoryFactory()
    try:
        factory.open(str(root))
        return
    except abstract.RepositoryNotFound:
        inserter = factory.initialise(str(root)).get_inserter()
    now = datetime.datetime.now(datetime.UTC)
    inserter.startTestRun()
    for line in times.read_text().splitlines():
        seconds, name = line.split(' ', 1)
        inserter.status(name, 'inprogress', timestamp=now)
        # Nobody shall take it for a test that passed.
        inserter.status(name, 'skip', timestamp=now + datetime.timedelta(
            seconds=float(seconds)))
    inserter.stopTestRun()


def slow(root: pathlib.Path, names: list[str]) -> list[str]:
    """Lines as ``load`` reads them, of what stestr knows of these tests."""
    known = repository.RepositoryFactory().open(str(root)).get_test_times(
        names)['known']
    return ['%.0f %s' % (known[name], name) for name in sorted(known)
            if known[name] >= SLOW]


if __name__ == '__main__':
    if sys.argv[1:] == ['load']:
        load(ROOT, TIMES)
    elif sys.argv[1:] == ['print']:
        print('\n'.join(slow(ROOT, sys.stdin.read().split('\n'))))
    else:
        sys.exit(__doc__)
