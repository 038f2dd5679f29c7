# SPDX-License-Identifier: Apache-2.0
"""Which report of a host is the newest.

An older report must not undo what a newer one did, however long the conductor
that carries it out was paused, or a message was on its way. Two numbers say
which one is older:

* an agent numbers its reports, and sends the number with every call that
  belongs to one (``RequestContext.report``). They come from the clock of the
  one host that they are about, and are compared with each other only, so
  that no two clocks have to agree;
* whoever begins to carry out a report, numbered or not (2026.2 sends no
  numbers), takes the host's next turn. Every transaction of a report holds
  the row of the host until it ends, and fails when the turn has passed on.

Beside the turn stands a note of what its report found to be in order
(``cyborg.conductor.report.unchanged``); whoever takes the next turn wipes it
out. The row also keeps which machines reported as the host lately and when,
whatever conductors they reported to.

The row is one of ``quota_usages``. No release has ever used that table for
anything, every database has it, and this release adds none: databases of
2026.2 are used as they are, and given back as they are.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import zlib

from oslo_db import exception as db_exc
from oslo_utils import timeutils
import sqlalchemy as sa
from sqlalchemy import orm

from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.db import api
from cyborg.db import query
from cyborg.db.sqlalchemy import models

#: ``quota_usages.resource`` of our rows.
RESOURCE = 'cyborg-reports'
_LONGEST = 255
# Row ids to try for a host whose number is taken by another one.
_PROBES = 64
_MOST = 2 ** 31 - 1
# Of a report's number in ``quota_usages.user_id``; behind it a note.
_DIGITS = 20
# The number of a report is a time in microseconds.
_SECOND = 10 ** 6
# Seconds after which it is noted anew that the same machine reports.
_FRESH = 600
# Seconds by which the clocks of two machines may differ.
_SKEW = 300


@dataclasses.dataclass(frozen=True)
class Heard:
    """A machine that reported.

    :ivar at: when it made the report, in seconds since 1970 by the slower of
        its clock and the conductor's; None of one that numbers no reports.
    """

    mark: str
    at: int | None = None

    def follows(self, heard: Sequence['Heard']) -> bool:
        """Whether all this says is known of those that were heard before."""
        last = heard[-1] if heard else None
        if last is None or last.mark != self.mark:
            return False
        return self.at is None or (
            last.at is not None and 0 <= self.at - last.at < _FRESH)

    def __str__(self) -> str:
        return self.mark if self.at is None else '%s@%d' % (self.mark,
                                                            self.at)


@dataclasses.dataclass(frozen=True)
class Turn:
    """The right to write what follows from a report, until the next begins.

    :ivar row_id: the host's row.
    :ivar machines: marks of those that reported as this host before, the
        last one at the end; see ``cyborg.conductor.report.reporters``.
    :ivar noted: handles of the host may be noted as absent, see
        ``cyborg.db.absences``.
    """

    hostname: str
    row_id: int
    number: int
    machines: tuple[str, ...] = ()
    noted: bool = True

    def still(self, session: orm.Session) -> None:
        """Return while no other report of the host has begun.

        Until the transaction ends none can begin.

        :raises exception.ReportOutdated: one has.
        """
        usage = models.QuotaUsage
        if not query.changed(session, sa.update(usage).where(
                usage.id == self.row_id, usage.in_use == self.number)
                .values(_touched())):
            raise exception.ReportOutdated(host=self.hostname, newest=_newest(
                session, self.row_id))

    def note(self, context: cyborg_context.RequestContext, text: str) -> None:
        """Remember a text until the next report of the host begins.

        Nothing is done where one has begun already.

        :param text: at most 200 characters, see :func:`noted`.
        """
        _note(context, self, text)

    def check(self, context: cyborg_context.RequestContext) -> None:
        """As :meth:`still`, for what is no transaction of the database."""
        usage = models.QuotaUsage
        with api.reader(context) as session:
            if session.scalar(sa.select(usage.in_use).where(
                    usage.id == self.row_id)) != self.number:
                raise exception.ReportOutdated(
                    host=self.hostname, newest=_newest(session, self.row_id))


def _touched() -> dict:
    """Values that lock a host's row.

    One of them must change: a cluster of databases does not certify a row
    that stays the same.
    """
    usage = models.QuotaUsage
    return {'reserved': (usage.reserved + 1) % 1000,
            'updated_at': usage.updated_at}


def hold(session: orm.Session, hostnames: Iterable[str]) -> None:
    """Keep what is known of hosts as it is until the transaction ends.

    Reports of these hosts, and others that hold them, wait. To be done first:
    what a transaction has read before may have changed when this returns, and
    MariaDB would go on showing it as it was.
    """
    usage = models.QuotaUsage
    for name in sorted({each.casefold() for each in hostnames}):
        for row_id in _places(name):
            if query.changed(session, sa.update(usage).where(
                    usage.id == row_id, usage.project_id == name)
                    .values(_touched())):
                break
            if _inserted(session, row_id, name, 0, turn=0):
                break


@api.retry_on_deadlock
def _note(context, turn: Turn, text: str) -> None:
    usage = models.QuotaUsage
    with api.writer(context) as session:
        query.changed(session, sa.update(usage).where(
            usage.id == turn.row_id, usage.in_use == turn.number)
            .values(user_id=_number_in(usage.user_id) + ' ' + text,
                    updated_at=usage.updated_at))


def noted(context: cyborg_context.RequestContext, hostname: str) -> str | None:
    """What the last report of a host noted; None once another has begun."""
    name = hostname.casefold()
    places = list(_places(name))
    usage = models.QuotaUsage
    with api.reader(context) as session:
        found: dict[int, str | None] = dict(session.execute(
            sa.select(usage.id, usage.user_id).where(
                usage.id.in_(places), usage.project_id == name)
        ).tuples().all())
    # Several would be two orders, of which the first counts.
    text = next((found[place] for place in places if place in found), None)
    return (text or '').partition(' ')[2] or None


def _places(hostname: str) -> Iterator[int]:
    """Row ids for a host, the usual one first."""
    # Two rows for one host would be two orders, and only the primary key is
    # unique here. Ids in the upper half: a sequence never comes there.
    start = zlib.crc32(hostname.encode()) % (_MOST // 2)
    for probe in range(_PROBES):
        yield _MOST // 2 + (start + probe) % (_MOST // 2)


def _text(number: int) -> str:
    return '%0*d' % (_DIGITS, number)


def _number_in(column):
    """The newest number, as text, without the note that may follow it."""
    return sa.func.substr(column, 1, _DIGITS)


def _newest(session, row_id: int) -> int:
    text = session.scalar(sa.select(
        _number_in(models.QuotaUsage.user_id)).where(
            models.QuotaUsage.id == row_id))
    return int(text or 0)


@api.retry_on_deadlock
def begin(context: cyborg_context.RequestContext, hostname: str,
          machine: str | None = None) -> Turn:
    """Take the host's next turn, for the report of ``context`` if it has one.

    :param machine: mark of the machine that reports, without white space.
    :raises exception.ReportOutdated: a newer report of the host has begun.
    """
    # Host names are compared without letter case by some databases.
    name = hostname.casefold()
    number = context.report.number if context.report else 0
    usage = models.QuotaUsage
    with api.writer(context) as session:
        for row_id in _places(name):
            taken = _advanced(session, row_id, name, number)
            if taken is None:
                if not _inserted(session, row_id, name, number):
                    continue
                # Notes of a host whose row was lost may be left.
                taken = 1, _text(number), 1, RESOURCE
            turn, newest, noted, resource = taken
            if number and int(newest) > number:
                raise exception.ReportOutdated(host=hostname,
                                               newest=int(newest))
            heard = _heard(resource)
            if machine is not None:
                now = Heard(machine, _time_of(number))
                if not now.follows(heard):
                    query.changed(
                        session, sa.update(usage).where(usage.id == row_id)
                        .values(resource=_with_machine(heard, now)))
            return Turn(hostname, row_id, turn,
                        tuple(each.mark for each in heard), bool(noted))
    raise exception.CyborgException(
        'No row of quota_usages is left for host %s.' % hostname)


def _advanced(session, row_id: int, name: str, number: int
              ) -> tuple[int, str, int | None, str] | None:
    """Take the next turn of a host whose row that is; None if it is not.

    :returns: the turn, the newest number of all, and the columns
        ``until_refresh`` and ``resource``.
    """
    usage = models.QuotaUsage
    update = sa.update(usage).where(
        usage.id == row_id, usage.project_id == name).values(
        in_use=usage.in_use + 1, user_id=sa.case(
            (usage.user_id < _text(number), _text(number)),
            else_=_number_in(usage.user_id)))
    columns = (usage.in_use, usage.user_id, usage.until_refresh,
               usage.resource)
    if session.get_bind().dialect.update_returning:
        row = session.execute(
            update.returning(*columns),
            execution_options=query.UNSYNCHRONIZED).one_or_none()
        return row and tuple(row)
    if not query.changed(session, update):
        return None
    return tuple(session.execute(
        sa.select(*columns).where(usage.id == row_id)).one())


def _time_of(number: int) -> int | None:
    """When a report was made, in seconds since 1970; None without a number.

    Neither the time at which a message that waited is carried out, nor that
    of a clock which is ahead.
    """
    return min(number // _SECOND, int(timeutils.utcnow_ts())) or None


def _heard(resource: str) -> list[Heard]:
    """Who reported, the last one at the end; noted as ``MARK@SECONDS``."""
    found = []
    for word in resource.split()[1:]:
        mark, _, when = word.rpartition('@')
        found.append(Heard(mark, int(when)) if mark and when.isdecimal()
                     else Heard(word))
    return found


def _with_machine(heard: list[Heard], machine: Heard) -> str:
    """``resource`` with the marks of the latest machines that fit in."""
    kept = [each for each in heard if each.mark != machine.mark]
    kept.append(machine)
    while len(' '.join([RESOURCE, *map(str, kept)])) > _LONGEST:
        del kept[0]
    return ' '.join([RESOURCE, *map(str, kept)])


def last_machine(context: cyborg_context.RequestContext, hostname: str
                 ) -> tuple[str, int] | None:
    """The machine that reported last as a host.

    :returns: its mark, and at least how many seconds ago that was, up to ten
        minutes more; None where nothing is known of it, or what is known
        cannot be, as clocks differ.
    """
    name = hostname.casefold()
    places = list(_places(name))
    usage = models.QuotaUsage
    with api.reader(context) as session:
        found: dict[int, str] = dict(session.execute(
            sa.select(usage.id, usage.resource).where(
                usage.id.in_(places), usage.project_id == name)
        ).tuples().all())
    heard = _heard(next((found[place] for place in places
                         if place in found), ''))
    if not heard or heard[-1].at is None:
        return None
    ago = int(timeutils.utcnow_ts()) - heard[-1].at
    return None if ago < -_SKEW else (heard[-1].mark, max(0, ago))


def _inserted(session, row_id: int, name: str, number: int,
              turn: int = 1) -> bool:
    """Make the row; False when it is another host's."""
    # As it is now: MariaDB would else go on showing the transaction all that
    # it reads later as it is at this moment.
    taken = session.scalar(sa.select(models.QuotaUsage.project_id).where(
        models.QuotaUsage.id == row_id).with_for_update())
    if taken == name:
        # It came between the UPDATE and this look.
        raise db_exc.DBDeadlock()
    if taken is not None:
        return False
    try:
        session.execute(sa.insert(models.QuotaUsage).values(
            id=row_id, project_id=name, user_id=_text(number),
            resource=RESOURCE, in_use=turn, reserved=0))
    except db_exc.DBDuplicateEntry as error:
        # Its first report came twice: start again, and find the row.
        raise db_exc.DBDeadlock(error) from error
    return True


def of_agent(context: cyborg_context.RequestContext
             ) -> cyborg_context.RequestContext:
    """A context whose writes fail once a newer report of the host has begun.

    For the single changes that an agent makes before its report.
    """
    report = context.report
    if report is None:
        return context
    name = report.host.casefold()

    def still(session) -> None:
        usage = models.QuotaUsage
        for row_id in _places(name):
            # The lock keeps others from beginning until this is committed.
            if query.changed(session, sa.update(usage).where(
                    usage.id == row_id, usage.project_id == name)
                    .values(_touched())):
                newest = _newest(session, row_id)
                if newest > report.number:
                    raise exception.ReportOutdated(host=report.host,
                                                   newest=newest)
                return
            if session.scalar(sa.select(usage.id).where(
                    usage.id == row_id)) is None:
                return

    return on_condition(context, still)


def on_condition(context: cyborg_context.RequestContext,
                 still: Callable[[orm.Session], None]
                 ) -> cyborg_context.RequestContext:
    """A context whose write transactions begin with ``still(session)``.

    A condition that the context has already has to hold as well.
    """
    earlier: Callable[[orm.Session], None] | None = context.write_condition

    def both(session: orm.Session) -> None:
        if earlier is not None:
            earlier(session)
        still(session)

    return context.changed(write_condition=both)
