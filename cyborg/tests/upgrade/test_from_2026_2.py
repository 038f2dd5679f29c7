# SPDX-License-Identifier: Apache-2.0
"""A database that the released 2026.2 services made and filled, used by ours.

BASE-1, REC-2: no migration runs, the same requests get the same answers, and
no binding is lost by the first report of an upgraded agent.
"""

import json
import uuid

import sqlalchemy as sa
import testscenarios
import testtools

from cyborg.tests.fixtures import database
from cyborg.tests.fixtures import processes
from cyborg.tests.peers import deployment
from cyborg.tests.peers import hardware

load_tests = testscenarios.load_tests_apply_scenarios

VERSIONS = ('2.0', '2.1', '2.2', '2.3')
PATHS = ('/', '/v2/device_profiles', '/v2/accelerator_requests',
         '/v2/accelerator_requests?bind_state=resolved',
         '/v2/devices', '/v2/devices?type=FPGA', '/v2/deployables',
         '/v2/attributes')
OPTIONS = """
[agent]
enabled_drivers = fake_driver,pci_driver
[pci]
%s
""" % ''.join('passthrough_whitelist = %s\n' % rule
              for rule in hardware.RULES)


def newest(answer):
    """An answer with the newest microversion of 2026.2 put in."""
    if isinstance(answer, dict):
        return {key: '2.3' if key == 'max_version' else newest(value)
                for key, value in answer.items()}
    if isinstance(answer, list):
        return [newest(item) for item in answer]
    return answer


class Upgrade(testscenarios.WithScenarios, testtools.TestCase):

    # PostgreSQL is not among them: an enum without a name keeps the tables
    # of 2026.2 from being made there.
    scenarios = [
        ('sqlite', {'database': 'sqlite', 'create': ('create_schema',)}),
        ('mariadb', {'database': 'mariadb', 'create': ('upgrade',)}),
        ('mariadb-create', {'database': 'mariadb',
                            'create': ('create_schema',)}),
    ]

    def setUp(self):
        super().setUp()
        self.released = deployment.released()
        self.db = self.useFixture(
            database.DATABASES[self.database](schema=False))
        self.cloud = self.useFixture(deployment.Deployment(
            self.db.url, lspci=hardware.lspci(), options=OPTIONS))
        self.cloud.configure(
            '[cyborg_sys_admin]\nhelper_command = %s/privsep-helper\n'
            % self.released)
        hardware.sysfs(self.cloud.folder / 'sys')

    def fill(self):
        """Devices, profiles and ARQs in several states, all by 2026.2."""
        self.cloud.command(self.released, 'cyborg-dbsync', *self.create)
        services = [self.cloud.service(self.released, 'cyborg-conductor')]
        services[0].wait_for_output('Created RPC server')
        services.append(self.cloud.service(self.released, 'cyborg-agent'))
        api = self.cloud.api(self.released)
        processes.wait_until(lambda: len(api.get('/v2/deployables')[
            'deployables']) == 4 and all(d['rp_uuid'] for d in api.get(
                '/v2/deployables')['deployables']), 'first report', 60)
        for name, resource, amount in (('gpu', 'CUSTOM_PCI', '1'),
                                       ('fpga', 'FPGA', '2')):
            api.call('POST', '/v2/device_profiles', [{
                'name': name, 'description': 'made by 2026.2',
                'groups': [{'resources:' + resource: amount}]}],
            ).raise_for_status()
        self.bind(api, 'gpu', '0000:3b:00.0')
        self.bind(api, 'fpga', 'FakeDevice')
        api.request_arqs('gpu')
        answers = self.ask(api)
        for process in [*services, api.process]:
            process.stop()
        return answers

    def bind(self, api, profile, device):
        provider = self.cloud.providers()['compute-1_' + device]['uuid']
        instance = str(uuid.uuid4())
        arqs = api.request_arqs(profile)
        for arq in arqs[:1]:
            answer = api.bind(arq, 'compute-1', provider, instance)
            self.assertEqual(202, answer.status_code, answer.text)
        return arqs

    def ask(self, api):
        answers = {}
        for version in VERSIONS:
            for path in PATHS:
                answer = api.call('GET', path, version=version).json()
                answers[version, path] = _without_url(
                    newest(answer), api.url)
        return answers

    def handles(self):
        with self.db.engine.connect() as connection:
            return sorted(connection.execute(sa.text(
                'SELECT id, uuid, deployable_id, cpid_id, in_use, attach_type,'
                ' attach_info FROM attach_handles')).all())

    def revision(self):
        with self.db.engine.connect() as connection:
            return connection.execute(sa.text(
                'SELECT version_num FROM alembic_version')).scalar_one()

    def test_upgrade(self):
        before = self.fill()
        handles, revision = self.handles(), self.revision()
        self.cloud.configure('sysfs_path = %s/sys\n' % self.cloud.folder)

        output = self.cloud.command(deployment.OURS, 'cyborg-dbsync',
                                    'upgrade')
        self.assertNotIn('Running upgrade', output)
        self.assertEqual(revision, self.revision())
        conductor = self.cloud.service(deployment.OURS, 'cyborg-conductor',
                                       number=2)
        api = self.cloud.api(deployment.OURS)
        self.assertEqual(before, self.ask(api))

        agent = self.cloud.service(deployment.OURS, 'cyborg-agent', number=2)
        processes.wait_until(lambda: {'PCI'} <= {d['type'] for d in api.get(
            '/v2/devices')['devices']}, 'first report of ours', 60)
        self.assertEqual(handles, self.handles())
        after = self.ask(api)
        for key in before:
            if 'accelerator_requests' in key[1]:
                self.assertEqual(before[key], after[key])
        self.assertEqual([], [line for process in (conductor, agent)
                              for line in process.output.splitlines()
                              if ' ERROR ' in line or 'Traceback' in line])

    # Managed mode

    BOUND, *FREE = ('0000:3b:00.0', '0000:3c:00.0', '0000:af:00.0')

    def offer(self, *, bound=None, free=None):
        """Offer the same devices with ``managed`` as given, None: left out."""
        self.cloud.options = (
            '[agent]\nenabled_drivers = fake_driver,pci_driver\n[pci]\n'
            'sysfs_path = %s/sys\n' % self.cloud.folder) + ''.join(
                'device_spec = %s\n' % json.dumps(
                    {'address': address} if managed is None else
                    {'address': address, 'managed': managed})
                for address, managed in ((self.BOUND, bound), *(
                    (address, free) for address in self.FREE)))
        self.cloud.configure()

    def agent(self):
        self.agents += 1
        return self.cloud.service(deployment.OURS, 'cyborg-agent',
                                  number=self.agents)

    def report(self, updated: int):
        """One report of a new agent that updates so many handles."""
        agent = self.agent()
        agent.wait_for_output('managed mode updated on %d attach handles'
                              % updated)
        self.assertEqual(0, agent.stop())
        self.assertNotIn(' ERROR ', agent.output)

    def infos(self):
        """Address -> attach info text of the PCI handles."""
        return {'%(domain)s:%(bus)s:%(device)s.%(function)s'
                % json.loads(row.attach_info): row.attach_info
                for row in self.handles() if row.attach_type == 'PCI'}

    def expect(self, before, *changed):
        """The handles are as before, but for ``managed`` of some."""
        rows, infos = before
        for old, new in zip(rows, self.handles(), strict=True):
            self.assertEqual(old[:-1], new[:-1])
        after = self.infos()
        self.assertEqual(set(infos), set(after))
        for address, text in after.items():
            if address in changed:
                self.assertEqual(
                    dict(json.loads(infos[address]), managed=False),
                    json.loads(text))
            else:
                self.assertEqual(infos[address], text)
        self.assertEqual(
            [row for row in rows if row.attach_type != 'PCI'],
            [row for row in self.handles() if row.attach_type != 'PCI'])

    def test_managed_mode_of_rows_of_2026_2(self):
        """REC-2, REC-3: what has no ``managed`` is managed."""
        self.fill()
        before = self.handles(), self.infos()
        self.assertEqual({self.BOUND, *self.FREE}, set(before[1]))
        for text in before[1].values():
            self.assertNotIn('managed', text)
        handle, = (row for row in self.handles()
                   if row.attach_info == before[1][self.BOUND])
        with self.db.engine.connect() as connection:
            arq = connection.execute(sa.text(
                'SELECT uuid FROM extended_accelerator_requests '
                'WHERE attach_handle_id = %d' % handle.id)).scalar_one()
        self.agents = 1
        self.offer(bound=True, free=True)
        self.cloud.service(deployment.OURS, 'cyborg-conductor', number=2)
        self.report(updated=0)
        self.expect(before)

        self.offer()
        self.report(updated=0)
        self.expect(before)

        self.offer(bound=False, free=False)
        agent = self.agent()
        processes.wait_until(lambda: agent.process.poll() is not None,
                             'refusal', 60)
        self.assertNotEqual(0, agent.process.returncode)
        refusal, = (line for line in agent.output.splitlines()
                    if ' CRITICAL ' in line)
        for word in (self.BOUND, 'compute-1', handle.uuid, arq):
            self.assertIn(word, refusal)
        for address in self.FREE:
            self.assertNotIn(address, refusal)
        self.expect(before)

        self.offer(bound=True, free=False)
        self.report(updated=2)
        self.expect(before, *self.FREE)

        self.offer(bound=None, free=False)
        self.report(updated=0)
        self.expect(before, *self.FREE)


def _without_url(answer, url):
    if isinstance(answer, str):
        return answer.replace(url, 'URL')
    if isinstance(answer, dict):
        return {key: _without_url(value, url)
                for key, value in answer.items()}
    if isinstance(answer, list):
        return [_without_url(item, url) for item in answer]
    return answer
