# SPDX-License-Identifier: Apache-2.0
"""What must hold at every moment, whoever was interrupted where.

Read by SQL of their own, past all code of the service.
"""

import collections
import json

import sqlalchemy as sa

_HANDLES = """
SELECT h.id, h.uuid, h.in_use, h.attach_type, h.attach_info, d.name,
       d.rp_uuid, a.uuid, a.state
FROM attach_handles h
JOIN deployables d ON d.id = h.deployable_id
LEFT JOIN extended_accelerator_requests a ON a.attach_handle_id = h.id
"""
_WITHOUT = """
SELECT a.uuid, a.state FROM extended_accelerator_requests a
LEFT JOIN attach_handles h ON h.id = a.attach_handle_id
WHERE h.id IS NULL
"""
_ROWS = """
SELECT d.uuid, p.cpid_info FROM devices d
LEFT JOIN controlpath_ids p ON p.device_id = d.id
"""
_ATTRIBUTES = """
SELECT deployable_id, "key" FROM attributes
"""


class Broken(AssertionError):
    """An invariant does not hold."""


class Watch:
    """Looks at the database after each commit.

    :param url: of the database; the look is none of the steps that count.
    :ivar bound: ARQ UUID -> deployable's name, as of the last look.
    """

    def __init__(self, url: str):
        self._engine = sa.create_engine(url, poolclass=sa.NullPool)
        self._modes: dict[tuple[str, str], bool] = {}
        self.bound: dict[str, str] = {}

    def __call__(self) -> None:
        """:raises Broken: with all that does not hold."""
        with self._engine.connect() as connection:
            handles = self._read(connection, _HANDLES)
            without = self._read(connection, _WITHOUT)
            devices = self._read(connection, _ROWS)
            attributes = self._read(connection, _ATTRIBUTES)
        problems = [
            *self._of_handles(handles), *self._of_requests(without),
            *_doubled('device at', [_address(info)
                                    for _, info in devices if info]),
            *_doubled('row of device', [uuid for uuid, _ in devices]),
            *_doubled('attribute', attributes)]
        problems += ['device %s has no control path' % uuid
                     for uuid, info in devices if info is None]
        if problems:
            raise Broken('; '.join(problems))

    def _read(self, connection, text):
        if connection.dialect.name in ('mysql', 'mariadb'):
            text = text.replace('"', '`')
        return [tuple(row) for row in connection.execute(sa.text(text))]

    def _of_handles(self, rows):
        yield from _doubled('request for handle', [row[0] for row in rows])
        yield from _doubled('handle for', [
            (row[3] == 'MDEV', _address(row[4])) for row in rows])
        modes, self.bound = {}, {}
        for (_, uuid, in_use, _, info, name, _, arq, state) in rows:
            if bool(in_use) != (arq is not None):
                yield 'handle %s: in_use is %s, its request is %s' % (
                    uuid, in_use, arq)
            if arq is None:
                continue
            if state not in ('Bound', 'BindStarted', 'BindFailed'):
                yield 'request %s is %s and has handle %s' % (
                    arq, state, uuid)
            if state == 'Bound':
                self.bound[arq] = name
            mode = json.loads(info).get('managed', True)
            modes[uuid, arq] = mode
            if self._modes.get((uuid, arq), mode) != mode:
                yield 'handle %s has become managed=%s under request %s' % (
                    uuid, mode, arq)
        self._modes = modes

    @staticmethod
    def _of_requests(rows):
        for arq, state in rows:
            if state in ('Bound', 'BindStarted'):
                yield 'request %s is %s without a handle' % (arq, state)


def _address(text: str) -> tuple:
    info = json.loads(text)
    return tuple(info.get(key) for key in (
        'domain', 'bus', 'device', 'function', 'vgpu_mark'))


def _doubled(what: str, items) -> list[str]:
    return ['%d times %s %s' % (count, what, item)
            for item, count in collections.Counter(items).items()
            if count > 1]
