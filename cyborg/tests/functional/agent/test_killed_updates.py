# SPDX-License-Identifier: Apache-2.0
"""Conductor or agent is killed while managed modes of a host change.

REC-4, REC-8: the process is gone before, inside and after the transaction that
changes the modes of all free handles. The invariants hold then, all of them
have changed or none, and the next report converges.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import itertools
import json
import os
import signal
import sys

from cyborg.tests.fixtures import processes
from cyborg.tests.fixtures import servers
from cyborg.tests.fixtures import services
from cyborg.tests.functional.agent import base
from cyborg.tests.functional.agent import dying_conductor
from cyborg.tests.functional.chaos import invariants

# The invariants know one host, so each test has addresses of its own.
_buses = itertools.count(0x20)
#: Seconds the agent waits for the answer that does not come.
PATIENCE = 4
#: What a transaction had sent: one UPDATE that matched both free handles.
UPDATE = ['UPDATE attach_handles', 2]


class _Servers(servers.RealServers):
    """Its conductors die where a test says."""

    def process(self, name, options):
        process = super().process(name, options)
        if name == 'conductor':
            process.command[:1] = [
                sys.executable, '-m', dying_conductor.__name__,
                str(self.folder)]
        return process


class _Case(base.ServersTestCase):
    """One host with three devices, of which the first is bound.

    :ivar one, two, three: their addresses.
    """

    timeout = 600
    real_servers = _Servers

    def setUp(self):
        super().setUp()
        self.watch = invariants.Watch(self.servers.db.url)
        self.conductors = [self.servers.conductor]
        if self.dead():
            self.start_conductor()
        bus = next(_buses)
        self.one, self.two, self.three = self.addresses = [
            '0000:%02x:00.%d' % (bus, number) for number in range(3)]

    def start_state(self, managed: bool | None) -> None:
        """The devices are reported in one mode, and one is bound."""
        self.cloud.plug(*self.addresses)
        self.rules(managed, managed)
        self.cloud.start_agent()
        self.arq = self.cloud.bind(self.one)
        self.before = self.cloud.handles()
        self.rows = self.ids()
        self.watch()

    # Conductors

    def dead(self) -> list[processes.Process]:
        return [conductor for conductor in self.conductors
                if conductor.process.poll() is not None]

    def start_conductor(self) -> None:
        """As after a crash."""
        conductor = self.servers.conductor
        start = len(conductor.output)
        conductor.start()
        conductor.wait_for_output('serves topic', since=start)

    def add_conductor(self) -> None:
        conductor = self.useFixture(self.servers.process('conductor', {
            'DEFAULT': {'host': 'conductor-2'},
            'database': {'connection': self.servers.db.url}}))
        conductor.wait_for_output('serves topic')
        self.conductors.append(conductor)

    # The agent

    def rules(self, bound: bool | None, free: bool | None) -> None:
        """Managed mode of the bound device, and of the others."""
        self.cloud.rules(*[
            {'address': address} if managed is None else
            {'address': address, 'managed': managed} for address, managed in
            zip(self.addresses, (bound, free, free), strict=True)])

    @contextlib.contextmanager
    def killed(self, point: str) -> Iterator[list]:
        """Restart the agent; it stands still from the kill to the end.

        Gives what the transaction had sent.
        """
        self.cloud.stop_agent()
        order = self.servers.folder / point
        order.touch()
        self.addCleanup(order.unlink, missing_ok=True)
        self.cloud.configure(rpc_response_timeout=PATIENCE)
        agent = self.cloud.agent = self.useFixture(
            self.servers.process('agent', self.cloud.options))
        conductor, = processes.wait_until(self.dead, 'a dead conductor')
        os.kill(agent.process.pid, signal.SIGSTOP)
        try:
            self.assertEqual(-signal.SIGKILL, conductor.process.returncode)
            # It was told nothing, good or bad.
            self.assertNotIn('is now managed=', agent.output)
            self.assertNotIn('could not report', agent.output)
            self.watch()
            yield json.loads((self.servers.folder / 'killed').read_text())
        finally:
            os.kill(agent.process.pid, signal.SIGCONT)

    def wait_for_next_report(self, said: str) -> None:
        """REC-7: the failure is logged, the start is over, it goes on."""
        agent = self.cloud.agent
        agent.wait_for_output(said)
        failed, = [line for line in agent.output.splitlines()
                   if 'could not report' in line]
        self.assertIn('WARNING', failed)
        self.assertIn('no conductor answered on topic', failed)
        first, _, rest = agent.output.partition(failed)
        self.assertNotIn('serves topic', first)
        self.assertIn('serves topic', rest.partition(said)[0])

    def assert_updated(self, count: int, managed: str) -> None:
        """So many handles, in all that this agent reported."""
        output = self.cloud.agent.output
        self.assertEqual(count, output.count('is now managed=' + managed))
        self.assertIn('managed mode updated on %d attach' % count, output)

    def assert_names(self, text: str, address: str, arq: str, old: str,
                     new: str) -> None:
        """A refusal of a device tells all that an operator needs."""
        for part in ('Device %s of host %s' % (address, self.cloud.host),
                     self.before[address].uuid, arq, 'managed=' + old,
                     'configured managed=%s is refused' % new):
            self.assertIn(part, text)

    # What there is

    def ids(self) -> list[tuple]:
        """Of every row that a report could double or lose."""
        return [(device.id, device.uuid, d.id, d.uuid, d.rp_uuid, h.id,
                 h.uuid) for device in self.cloud.stored().devices
                for d in device.deployables for h in d.handles]

    def generations(self) -> dict[str, int]:
        placement = self.cloud.placement
        return {name: placement.generation(uuid) for name, uuid
                in placement.providers(self.cloud.root).items()}

    def assert_stored(self, *arqs: str, **managed: bool) -> None:
        """All is as at the start, but for the modes named.

        :param arqs: who is bound now, to the first devices in turn.
        """
        expected = {}
        for name, address, arq in itertools.zip_longest(
                ('one', 'two', 'three'), self.addresses, arqs):
            handle = self.before[address]
            if name in managed:
                handle = dataclasses.replace(
                    handle, attach_info=json.dumps(
                        json.loads(handle.attach_info)
                        | {'managed': managed[name]}, sort_keys=True))
            expected[address] = dataclasses.replace(
                handle, in_use=arq is not None,
                arq_uuids=() if arq is None else (arq,))
        self.assertEqual(expected, self.cloud.handles())
        self.assertEqual(self.rows, self.ids())
        self.watch()
        placement = self.cloud.placement
        self.assertEqual(
            {self.cloud.host, *map(self.cloud.provider_name,
                                   self.addresses)},
            set(placement.providers(self.cloud.root)))
        for number, address in enumerate(self.addresses):
            self.assertEqual((1, 0), self.cloud.amounts(address))
            self.assertEqual(
                {'CUSTOM_PCI': int(number < len(arqs))},
                placement.usages(self.cloud.provider(address)))
        self.assertEqual(3 - len(arqs), self.cloud.free())
        for arq in arqs:
            self.assertEqual('Bound', self.cloud.arq(arq)['state'])


class _Scenarios:

    def test_killed_before_inside_and_after(self):
        """REC-4, REC-7: a new conductor starts, the next report converges."""
        self.start_state(None)
        # Nothing of the transaction was sent.
        self.killed_at('before', [], {}, False, 2)
        # The UPDATE has found its rows, and is rolled back.
        self.killed_at('inside', [UPDATE], {'two': False, 'three': False},
                       True, 2)
        # What was committed is not done again, though nobody was told.
        self.killed_at('after', [UPDATE], {'two': False, 'three': False},
                       False, 0)
        self.refused_while_bound()

    def killed_at(self, point: str, sent: list, meanwhile: dict[str, bool],
                  managed: bool, updates: int) -> None:
        """The free devices get another mode, and the conductor dies.

        :param meanwhile: modes stored between the kill and the next report.
        :param updates: handles that the next report has to change.
        """
        self.rules(None, managed)
        with self.killed(point) as found:
            self.assertEqual(sent, found)
            self.start_conductor()
            self.assert_stored(self.arq, **meanwhile)
            generations = self.generations()
        self.wait_for_next_report('reports again')
        self.assert_updated(updates, str(managed).lower())
        self.assert_stored(self.arq, two=managed, three=managed)
        self.assertEqual(generations, self.generations())

    def refused_while_bound(self):
        """REC-3, REC-7: the bound one follows when its guest is gone."""
        self.rules(False, False)
        self.cloud.stop_agent()
        error = self.assertRaises(services.StartRefused,
                                  self.cloud.start_agent)
        self.assert_names(str(error), self.one, self.arq, 'true', 'false')
        self.assert_stored(self.arq, two=False, three=False)
        self.cloud.delete(self.arq)
        self.cloud.start_agent()
        self.assert_updated(1, 'false')
        self.assert_stored(one=False, two=False, three=False)

    def test_agent_killed(self):
        """REC-4: one mode for all, so that there is a way on."""
        self.start_state(None)
        for point, managed in (('before', False), ('inside', True),
                               ('after', False)):
            self.rules(None, managed)
            self.kill_agent(point)
            processes.wait_until(
                lambda managed=managed: all(
                    json.loads(self.cloud.handles()[address].attach_info)
                    .get('managed', True) is managed
                    for address in (self.two, self.three)),
                'the end of the transaction', 30)
            self.assert_stored(self.arq, two=managed, three=managed)
        # Nobody was told that anything has changed.
        more = [self.cloud.bind(self.two), self.cloud.bind(self.three)]
        self.cloud.start_agent()
        self.assert_updated(0, 'false')
        self.assert_stored(self.arq, *more, two=False, three=False)

    def kill_agent(self, point: str) -> None:
        """It ends where the transaction is; the conductor goes on."""
        self.cloud.stop_agent()
        order = self.servers.folder / point
        self.addCleanup(order.unlink, missing_ok=True)
        agent = self.useFixture(
            self.servers.process('agent', self.cloud.options))
        order.write_text(str(agent.process.pid))
        processes.wait_until(lambda: agent.process.poll() is not None,
                             'a dead agent', 120)
        self.assertEqual(-signal.SIGKILL, agent.process.returncode)
        self.assertNotIn('is now managed=', agent.output)
        self.assertEqual([], self.dead())

    def test_bound_before_the_next_report(self):
        """REC-3, REC-8: the other of two conductors serves it, and refuses.

        The update that was rolled back is not made up for under a guest, but
        is once the guest is gone. That takes no restart of anything.
        """
        self.add_conductor()
        self.start_state(False)
        self.rules(False, True)
        with self.killed('inside') as sent:
            self.assertEqual([UPDATE], sent)
            self.assert_stored(self.arq)
            late = self.cloud.bind(self.two)
        self.wait_for_next_report('is rejected')
        agent = self.cloud.agent
        agent.wait_for_output('is rejected', since=len(agent.output))
        for line in agent.output.splitlines():
            if 'is rejected' in line:
                self.assertIn('ERROR', line)
                self.assert_names(line, self.two, late, 'false', 'true')
        self.assert_stored(self.arq, late)
        self.assertIs(False, self.cloud.arq(late)[
            'attach_handle_info']['managed'])
        self.cloud.delete(late)
        agent.wait_for_output('reported 3 devices')
        self.assert_updated(2, 'true')
        self.assert_stored(self.arq, two=True, three=True)
        self.assertEqual(1, len(self.dead()))


class TestOnMariaDB(_Scenarios, _Case):

    database = 'mariadb'


class TestOnPostgreSQL(_Scenarios, _Case):

    database = 'postgresql'
