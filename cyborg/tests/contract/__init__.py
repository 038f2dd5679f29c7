# SPDX-License-Identifier: Apache-2.0
"""Recorded HTTP of the 2026.2 release, and what replays it.

``README.md`` beside this file explains the records. ``exceptions.json`` names
each record that this release answers differently on purpose, with the reason
and the status it answers instead; :class:`Exceptions` reads it.
"""

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import json
import pathlib
import re

from cyborg.api import microversions
from cyborg.tests.contract import replay

FOLDER = pathlib.Path(__file__).resolve().parent
RECORDS = FOLDER / 'api'


@dataclasses.dataclass(frozen=True)
class Rule:
    """One way in which our answers differ from the recorded ones.

    All conditions that are given have to hold.

    :ivar reason: which fault of 2026.2 is not repeated
    :ivar status: statuses that we answer with
    :ivar ids: regular expression that a record's id matches as a whole
    :ivar personas: who asks
    :ivar path: regular expression at the start of the path
    :ivar recorded: statuses that 2026.2 answered with
    :ivar text: regular expression somewhere in the recorded error
    """

    reason: str
    status: tuple[int, ...]
    ids: str | None = None
    personas: tuple[str, ...] | None = None
    path: str | None = None
    recorded: tuple[int, ...] | None = None
    text: str | None = None

    def covers(self, record: dict, status: int) -> bool:
        """Whether our answering ``record`` with ``status`` is this case."""
        return status in self.status and self.speaks_of(record)

    def speaks_of(self, record: dict) -> bool:
        answer = record['response']
        return (
            (self.ids is None
             or bool(re.fullmatch(self.ids, record['id'])))
            and (self.personas is None or record['persona'] in self.personas)
            and (self.path is None
                 or bool(re.match(self.path, record['request']['path'])))
            and (self.recorded is None or answer['status'] in self.recorded)
            and (self.text is None
                 or bool(re.search(self.text, json.dumps(answer['body'])))))


def load_rules() -> tuple[Rule, ...]:
    """The rules of ``exceptions.json``."""
    listed = json.loads((FOLDER / 'exceptions.json').read_text())
    return tuple(
        Rule(**{key: tuple(value) if isinstance(value, list) else value
                for key, value in rule.items()})
        for rule in listed['rules'])


def on_mariadb(records: list[dict]) -> list[dict]:
    """The records with what 2026.2 answered on MariaDB, where it differs."""
    listed = json.loads((RECORDS / 'mariadb-differences.json').read_text())
    answers = {difference['id']: difference['mariadb_response']
               for difference in listed['records']}
    return [{**record, 'response': answers.get(record['id'],
                                               record['response'])}
            for record in records]


@dataclasses.dataclass(frozen=True)
class Result:
    """What one record gave.

    :ivar outcome: what ``replay`` says
    :ivar status: status of our answer, None when the record was not sent
    :ivar rule: the rule that explains a difference
    """

    record: dict
    outcome: replay.Outcome
    status: int | None
    rule: Rule | None = None

    @property
    def failed(self) -> bool:
        return self.outcome.ok is False and self.rule is None

    def __str__(self):
        return '%s: %s' % (self.record['id'], self.outcome.detail)


def run(records: list[dict], send: Callable, *, base_url: str,
        before: Callable | None = None, inventory: bool = True,
        maximum: str = str(microversions.MAXIMUM)) -> Iterator[Result]:
    """Replay records, in order.

    :param send: ``send(method, path, headers, body)`` -> (status, headers
        with lower-case names, text)
    :param before: called with each record before it is sent
    :param inventory: learn the names dev1, dep1, rp1 … first
    """
    rules = load_rules()
    statuses: list[int] = []

    def sending(*request):
        answer = send(*request)
        statuses.append(answer[0])
        return answer

    replayer = replay.Replayer(records, sending, base_url, before=before,
                               maximum=maximum)
    if inventory:
        replayer.bind_inventory()
    for record in records:
        statuses.clear()
        outcome = replayer._replay(record)
        status = statuses[-1] if statuses else None
        rule = None
        if outcome.ok is False:
            rule = next((rule for rule in rules
                         if rule.covers(record, status)), None)
        yield Result(record, outcome, status, rule)
