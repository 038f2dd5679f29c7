# SPDX-License-Identifier: Apache-2.0
"""``cyborg-agent`` as a process: how it refuses, waits, and ends."""

import pathlib
import subprocess
import sys
import textwrap
import time

from cyborg.tests import base
from cyborg.tests.fixtures import processes
from cyborg.tests.fixtures import services
from cyborg.tests.functional.agent import base as agent_base

BIN = pathlib.Path(sys.executable).parent
QUIET = {'PYTHONWARNINGS': 'ignore'}

#: Lets nothing that belongs to a database be imported.
BLOCKER = textwrap.dedent("""
    import sys

    class Blocker:
        def find_spec(self, name, path=None, target=None):
            for blocked in ('sqlalchemy', 'alembic', 'cyborg.db'):
                if name == blocked or name.startswith(blocked + '.'):
                    raise ImportError('%s is blocked here' % name)

    sys.meta_path.insert(0, Blocker())
""")


class TestAlone(base.TestCase):
    """Without any server."""

    def run_agent(self, configuration: str, seconds: float = 30):
        path = pathlib.Path(self.temp_dir()) / 'cyborg.conf'
        path.write_text('[DEFAULT]\nhost = compute-1\ntransport_url = '
                        'rabbit://nobody@127.0.0.1:1/\n' + configuration)
        process = self.useFixture(processes.Process(
            [BIN / 'cyborg-agent', '--config-file', path],
            path.with_name('log'), QUIET))
        try:
            process.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.fail('it did not end:\n' + process.output)
        return process.process.returncode, process.output

    def assert_refused(self, configuration, *texts):
        """Ends with status 1 and one line that has all the texts."""
        status, output = self.run_agent(configuration)
        self.assertEqual(1, status, output)
        refusals = [line for line in output.splitlines()
                    if 'cannot start: ' in line]
        self.assertEqual(1, len(refusals), output)
        self.assertNotIn('Traceback', output)
        for text in texts:
            self.assertIn(text, refusals[0])

    def test_dropped_driver(self):
        self.assert_refused(
            '[agent]\nenabled_drivers = fake_driver,huawei_ascend_driver\n',
            'huawei_ascend_driver', 'host compute-1', '2026.2')

    def test_unknown_driver(self):
        self.assert_refused('[agent]\nenabled_drivers = nvidia\n',
                            'nvidia in [agent] enabled_drivers')

    def test_blocking_cap(self):
        """RPC-1: both values, both option names; the broker is not asked."""
        for option, value in (('device_spec', 'true'),
                              ('device_spec', 'false'),
                              ('passthrough_whitelist', 'true'),
                              ('passthrough_whitelist', '"False"')):
            self.assert_refused(
                '[agent]\nenabled_drivers = pci_driver\n'
                '[upgrade_levels]\nconductor = 1.0\n'
                '[pci]\n%s = {"vendor_id": "10de", "managed": %s}\n'
                % (option, value), 'managed-mode support', '1.1',
                'caps it at 1.0', '[upgrade_levels] conductor')

    def test_unusable_cap(self):
        """CFG-6"""
        self.assert_refused('[upgrade_levels]\nconductor = newest\n',
                            '[upgrade_levels] conductor = newest')

    def test_ssd_driver_without_the_workaround(self):
        """DSC-6: even though this host has no such device."""
        self.assert_refused(
            '[agent]\nenabled_drivers = inspur_nvme_ssd_driver\n',
            'inspur_nvme_ssd_driver', 'allow_unsafe_devices')

    def test_value_of_the_wrong_type(self):
        self.assert_refused(
            '[agent]\nresource_provider_startup_retries = forever\n',
            'resource_provider_startup_retries', 'forever')
        self.assert_refused('[placement]\ntimeout = soon\n',
                            'timeout', 'soon')

    def test_transport_of_no_kind(self):
        for url, reason in (('carrier-pigeon://', 'carrier-pigeon'),
                            ('', 'No scheme specified')):
            self.assert_refused('transport_url = %s\n' % url, reason,
                                '[DEFAULT] transport_url of host compute-1')

    def test_missing_configuration_file(self):
        done = subprocess.run(
            [BIN / 'cyborg-agent', '--config-file', '/nonexistent.conf'],
            capture_output=True, text=True, env=QUIET, timeout=300)
        self.assertEqual(1, done.returncode)
        self.assertEqual('cyborg-agent cannot start: Failed to find some '
                         'config files: /nonexistent.conf\n', done.stderr)

    def test_waits_for_the_broker_and_ends_when_told(self):
        path = pathlib.Path(self.temp_dir()) / 'cyborg.conf'
        port = processes.free_port()
        path.write_text('[DEFAULT]\nhost = compute-1\ntransport_url = '
                        'rabbit://nobody@127.0.0.1:%d/\n' % port)
        process = self.useFixture(processes.Process(
            [BIN / 'cyborg-agent', '--config-file', path],
            path.with_name('log'), QUIET))
        process.wait_for_output(
            'Waiting for the message broker: [DEFAULT] transport_url = '
            'rabbit://nobody:***@127.0.0.1:%d/ of host compute-1' % port)
        started = time.monotonic()
        self.assertEqual(0, process.stop())
        self.assertLess(time.monotonic() - started, 60)
        self.assertIn('Told to stop while waiting for the message broker',
                      process.output)

    def test_needs_no_database_code(self):
        """BASE-4: load, discover and prepare a report without SQLAlchemy."""
        done = subprocess.run(
            [sys.executable, '-c', BLOCKER + textwrap.dedent("""
                from cyborg.cmd import agent
                from cyborg.agent import discovery, loading, service
                from cyborg.common import config
                from cyborg import objects
                config.parse_args(['cyborg-agent'], default_config_files=[])
                objects.register_all()
                devices = discovery.discover(loading.load(
                    ['fake_driver', 'pci_driver'])).devices
                assert devices[0].obj_to_primitive()
                try:
                    import cyborg.db.api
                except ImportError:
                    print(len(devices))
            """)], capture_output=True, text=True, timeout=300,
            env=QUIET)
        self.assertEqual('1\n', done.stdout, done.stderr)


class TestWithServers(agent_base.ServersTestCase):

    def setUp(self):
        super().setUp()
        self.cloud.plug('0000:25:00.1', '0000:25:00.2')

    def test_agent_that_cannot_import_a_database(self):
        """BASE-4: reconciles and reports with no [database] section."""
        self.cloud.start_agent()
        self.cloud.stop_agent()
        self.cloud.configure('pci', device_spec=[
            services.rule(managed=False)])
        command = self.servers.process('agent', self.cloud.options)
        self.assertNotIn('database', pathlib.Path(
            command.command[2]).read_text())
        command.command[:1] = [
            sys.executable, '-c', BLOCKER + 'from cyborg.cmd import agent\n'
            'sys.exit(agent.main())']
        agent = self.useFixture(command)
        agent.wait_for_output('serves topic')
        self.assertIn('managed=true is now managed=false', agent.output)
        for handle in self.cloud.handles().values():
            self.assertIn('"managed": false', handle.attach_info)

    def test_conductor_that_comes_later(self):
        """It is waited for, with its name, and the start goes on."""
        self.servers.conductor.stop()
        try:
            agent = self.useFixture(
                self.servers.process('agent', self.cloud.options))
            agent.wait_for_output('Waiting for a conductor: no conductor '
                                  'answers on topic cyborg-conductor')
        finally:
            self.servers.conductor.start()
        agent.wait_for_output('serves topic')
        self.assertEqual(2, self.cloud.free())

    def test_work_in_hand_is_finished_at_sigterm(self):
        """A report that is under way is completed."""
        self.cloud.start_agent()
        self.cloud.plug('0000:25:00.3')
        reached = []
        self.cloud.placement.before(
            'POST /resource_providers', lambda: (
                reached.append(self.cloud.agent.process.terminate()),
                time.sleep(1)))
        self.assertEqual(0, self.cloud.agent.process.wait(300))
        self.assertEqual([None], reached)
        self.assertIn('reported 3 devices', self.cloud.agent.output)
        self.assertIn('has stopped', self.cloud.agent.output)
        self.assertIsNotNone(self.cloud.provider('0000:25:00.3'))
