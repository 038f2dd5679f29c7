# SPDX-License-Identifier: Apache-2.0
"""A conductor that kills itself around an update of a handle's settings.

Run as ``python -m <this module> FOLDER --config-file ...``. Everything is the
real command's; SQLAlchemy's events only tell when it is time. The points are
those of the transaction that changes ``attach_info``:

=======  ====================================================================
before   about to send the UPDATE, nothing of the transaction was sent
inside   the UPDATE was executed, COMMIT was not sent
after    COMMIT was executed; whoever asked has no reply yet
=======  ====================================================================

A file named after a point in the folder means that the first to come there
shall die, and only that one; a process id in it names another process that is
killed in its place. It takes the file away, and leaves one named
``killed`` with what the transaction had sent until then: a JSON list of pairs
of a statement's first two words and the number of rows that it changed. What
holds the turn of the report (``cyborg.db.report_order``) is left out.
"""

import json
import os
import pathlib
import re
import signal
import sys
import threading

import sqlalchemy as sa
from sqlalchemy import orm

from cyborg.cmd import conductor
from cyborg.db.sqlalchemy import models

POINTS = ('before', 'inside', 'after')
_UPDATE = re.compile('UPDATE attach_handles SET .*attach_info=')


class _Transaction(threading.local):
    """What goes on in this thread; each request has one of its own."""

    def __init__(self):
        self.sent: list[tuple[str, int]] = []
        self.updates = False


class _Fate:
    """Listens to whatever engine the service makes."""

    def __init__(self, folder: pathlib.Path):
        self._folder = folder
        self._mine = _Transaction()
        for where, name in ((sa.Engine, 'begin'),
                            (sa.Engine, 'before_cursor_execute'),
                            (sa.Engine, 'after_cursor_execute'),
                            (orm.Session, 'after_commit')):
            sa.event.listen(where, name, getattr(self, name))

    def begin(self, _connection):
        self._mine.sent, self._mine.updates = [], False

    def before_cursor_execute(self, _connection, _cursor, statement, *_args):
        if _UPDATE.match(statement):
            self._at('before')

    def after_cursor_execute(self, _connection, cursor, statement, *_args):
        if models.QuotaUsage.__tablename__ not in statement:
            self._mine.sent.append((' '.join(statement.split()[:2]),
                                    cursor.rowcount))
        if _UPDATE.match(statement):
            self._mine.updates = True
            self._at('inside')

    def after_commit(self, _session):
        if self._mine.updates:
            self._at('after')

    def _at(self, point: str) -> None:
        killed = self._folder / 'killed'
        try:
            (self._folder / point).rename(killed)
        except FileNotFoundError:
            return
        victim = int(killed.read_text() or os.getpid())
        killed.write_text(json.dumps(self._mine.sent))
        os.kill(victim, signal.SIGKILL)


def main() -> int:
    folder, *arguments = sys.argv[1:]
    _Fate(pathlib.Path(folder))
    return conductor.main(['cyborg-conductor', *arguments])


if __name__ == '__main__':
    sys.exit(main())
