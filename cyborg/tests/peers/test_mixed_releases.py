# SPDX-License-Identifier: Apache-2.0
"""Conductor, agent and API of 2026.2 and of this release, in every mixture.

ID-7, IND-4, REC-9: on one database and one broker, with NUMA nodes known, one
device bound and the others free. No handle is lost, replaced or freed; where
two releases do not go together, the newer one says what to upgrade.
"""

import json
import uuid

import sqlalchemy as sa
import testtools

from cyborg.tests.fixtures import database
from cyborg.tests.fixtures import processes
from cyborg.tests.peers import deployment
from cyborg.tests.peers import hardware

OURS = deployment.OURS
CAP = '[upgrade_levels]\nconductor = 2026.2\n'
BOUND, FREE = '0000:3b:00.0', '0000:3c:00.0'
REFUSED = 'upgrade the conductors first'
SETTINGS = {'managed', 'stateful', 'numa_node'}


class MixedReleases(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.theirs = deployment.released()
        self.db = self.useFixture(database.MariaDatabase(schema=False))
        self.cloud = self.useFixture(deployment.Deployment(
            self.db.url, lspci=hardware.lspci()))
        hardware.sysfs(self.cloud.folder / 'sys', numa_node=1)
        self.configure()
        self.cloud.command(self.theirs, 'cyborg-dbsync', 'upgrade')
        self.started = 0
        self.fill()

    def configure(self, more=''):
        self.cloud.configure(
            '[cyborg_sys_admin]\nhelper_command = %s/privsep-helper\n'
            '[agent]\nenabled_drivers = pci_driver\n'
            '[pci]\nsysfs_path = %s/sys\n%s%s' % (
                self.theirs, self.cloud.folder, ''.join(
                    'passthrough_whitelist = %s\n' % rule
                    for rule in hardware.RULES), more))

    def start(self, release, name):
        self.started += 1
        found = self.cloud.service(release, name, number=self.started)
        if name == 'cyborg-conductor' and release == self.theirs:
            found.wait_for_output('Created RPC server')
        return found

    def fill(self):
        """Rows, providers and a bound request, all by 2026.2."""
        services = [self.start(self.theirs, 'cyborg-conductor'),
                    self.start(self.theirs, 'cyborg-agent')]
        api = self.cloud.api(self.theirs)
        processes.wait_until(
            lambda: len([d for d in api.get('/v2/deployables')['deployables']
                         if d['rp_uuid']]) == 3, 'first report', 90)
        api.call('POST', '/v2/device_profiles', [{
            'name': 'gpu', 'groups': [{'resources:CUSTOM_PCI': '1'}]}],
        ).raise_for_status()
        self.providers = self.cloud.providers()
        self.assertEqual(202, self.bind(api, BOUND)[1].status_code)
        for process in [*services, api.process]:
            process.stop()
        self.before = self.rows()
        self.assertEqual([False, False, True], sorted(
            bool(row.in_use) for row in self.before.values()))
        self.texts = self.infos()
        self.kinds = self.types()

    def bind(self, api, device):
        provider = self.providers['compute-1_' + device]['uuid']
        arq, = api.request_arqs('gpu')
        return arq, api.bind(arq, 'compute-1', provider, str(uuid.uuid4()))

    def query(self, text):
        with self.db.engine.connect() as connection:
            return connection.execute(sa.text(text)).all()

    def rows(self):
        """All of a handle but its text, by what a guest would get."""
        return {row.uuid: row for row in self.query(
            'SELECT id, uuid, deployable_id, cpid_id, in_use, attach_type '
            'FROM attach_handles')}

    def infos(self):
        return {row.uuid: row.attach_info for row in self.query(
            'SELECT uuid, attach_info FROM attach_handles')}

    def types(self):
        return sorted(self.query('SELECT uuid, type FROM devices'))

    def unchanged(self, texts=True):
        """Nothing is lost, and no UUID has changed."""
        self.assertEqual(self.before, self.rows())
        self.assertEqual(self.providers, self.cloud.providers())
        if texts:
            self.assertEqual(self.texts, self.infos())
            self.assertEqual(self.kinds, self.types())
            return
        for key, text in self.infos().items():
            now, then = json.loads(text), json.loads(self.texts[key])
            self.assertEqual(then, {name: value for name, value in
                                    now.items() if name not in SETTINGS})

    def serve(self, release, more='', status=200):
        """Use one API: read, request, bind a free device, give it back."""
        self.configure(more)
        api = self.cloud.api(release)
        self.addCleanup(api.process.stop)
        shown = api.get('/v2/accelerator_requests')['arqs']
        self.assertEqual(['Bound'], [arq['state'] for arq in shown])
        if status == 200:
            arq, answer = self.bind(api, FREE)
            self.assertEqual(202, answer.status_code, answer.text)
            processes.wait_until(lambda: api.get(
                '/v2/accelerator_requests/' + arq)['state'] == 'Bound',
                'bind', 60)
            answer = api.call(
                'DELETE', '/v2/accelerator_requests?arqs=' + arq,
                headers=deployment.SERVICE)
            self.assertEqual(204, answer.status_code, answer.text)
        else:
            answer = api.call('POST', '/v2/accelerator_requests',
                              {'device_profile_name': 'gpu'})
            self.assertEqual(status, answer.status_code, answer.text)
            self.assertIn('conductors have to be upgraded before the API',
                          answer.text)
            self.assertNotIn('Traceback', api.process.output)
        api.process.stop()

    def report(self, more='', lines=('reported 3 devices',)):
        """A report of our agent, or what it says instead."""
        self.configure(more)
        agent = self.start(OURS, 'cyborg-agent')
        processes.wait_until(lambda: any(
            line in agent.output for line in lines), str(lines))
        agent.stop()
        return agent

    def report_of_theirs(self):
        """Reports of a 2026.2 agent, until one took our settings out."""
        self.assertNotEqual(self.texts, self.infos())
        self.configure()
        agent = self.start(self.theirs, 'cyborg-agent')
        processes.wait_until(lambda: self.infos() == self.texts,
                             'report of 2026.2', 90)
        agent.stop()

    def apis(self, capped=200, uncapped=200):
        self.serve(self.theirs)
        self.serve(OURS, CAP, capped)
        self.serve(OURS, '', uncapped)

    def test_each_pair(self):
        conductor = self.start(self.theirs, 'cyborg-conductor')
        self.apis(uncapped=503)
        self.unchanged()
        self.report(CAP)
        self.unchanged()
        agent = self.report(lines=[REFUSED])
        self.assertNotIn('reported', agent.output)
        self.unchanged()
        self.assertNotIn('rror', conductor.output)
        conductor.stop()

        # Both listen for a while: whoever gets the message, nothing is lost.
        both = [self.start(self.theirs, 'cyborg-conductor'),
                self.start(OURS, 'cyborg-conductor')]
        self.report(CAP)
        self.unchanged()
        self.report(lines=[REFUSED, 'reported 3 devices'])
        self.unchanged(texts=False)
        both[0].stop()
        self.report()
        self.unchanged(texts=False)

        self.report_of_theirs()
        self.apis()
        self.unchanged()
        self.report(CAP)
        self.unchanged()
        self.report()
        self.unchanged(texts=False)
        self.assertEqual({1}, {json.loads(text).get('numa_node')
                               for text in self.infos().values()})
        self.assertNotIn(' ERROR ', both[1].output)
