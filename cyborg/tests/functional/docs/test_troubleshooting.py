# SPDX-License-Identifier: Apache-2.0
"""DOC-1: admin/troubleshooting.rst, its messages and its commands."""

import pathlib
import sys
import time

import webtest

from cyborg.tests.fixtures import pages
from cyborg.tests.fixtures import processes
from cyborg.tests.functional.docs import base
from cyborg.tests.functional.docs import shell

PAGE = 'admin/troubleshooting.rst'
ONE, TWO = base.ONE, base.TWO
CONFIGURATION = """
[DEFAULT]
host = compute-1
transport_url = %s
[database]
connection = %s
max_retries = 0
[placement]
auth_type = none
endpoint_override = http://127.0.0.1:1
"""


class WaitTest(base.MessageCase):
    """What services say while they wait."""

    page = PAGE

    def waiting(self, name: str, what: str, transport='fake:/',
                database='sqlite://') -> str:
        """The line with which a command waits for ``what``."""
        path = pathlib.Path(self.temp_dir()) / 'cyborg.conf'
        path.write_text(CONFIGURATION % (transport, database))
        process = self.useFixture(processes.Process(
            [pathlib.Path(sys.executable).parent / ('cyborg-' + name),
             '--config-file', path], path.with_name('log'),
            {'PYTHONWARNINGS': 'ignore'}))
        process.wait_for_output('Waiting for ' + what)
        process.stop()
        line, = [line for line in process.output.splitlines()
                 if 'WARNING' in line and 'Waiting for' in line]
        return line[line.index('Waiting for'):].replace(
            '127.0.0.1', 'controller')

    def test_wait_broker(self):
        port = processes.free_port()
        self.assertShown(self.waiting(
            'agent', 'the message broker',
            transport='rabbit://x@127.0.0.1:%d/' % port,
        ).replace(str(port), '5672'))

    def test_wait_database(self):
        self.assertShown(self.waiting(
            'conductor', 'the database',
            database='mysql+pymysql://cyborg@127.0.0.1:1/cyborg'))

    def test_wait_tables(self):
        self.assertShown(self.waiting('conductor', 'the database'))

    def test_wait_placement(self):
        self.cloud.placement.fail('name=', status=401)
        self.cloud.start_agent()
        self.assertShown(self.line('WARNING', 'Waiting').replace(
            'injected fault', 'The request you have made requires '
            'authentication'))

    def test_goes_on(self):
        self.cloud.placement.fail('name=', status=503)
        self.cloud.start_agent()
        self.assertShown(self.line('INFO', 'answers, after'))

    def test_wait_provider(self):
        """B32: the compute service comes a moment later."""
        self.cloud.placement.delete_provider(self.cloud.root)
        self.cloud.placement.before(
            'name=', lambda: self.cloud.placement.add_provider('compute-1'),
            skip=1)
        self.cloud.start_agent()
        self.assertShown(self.line('WARNING', 'Looking again'))

    def test_wait_conductor(self):
        """The first patience of the agent is 5 s."""
        self.cloud.conductor.before('object_class_action_versions',
                                    lambda: time.sleep(6))
        self.cloud.start_agent()
        self.assertShown(self.line('WARNING', 'Waiting for a conductor'))

    def test_no_nova(self):
        path = pathlib.Path(self.temp_dir()) / 'cyborg.conf'
        path.write_text(CONFIGURATION % ('fake:/', 'sqlite://'))
        process = self.useFixture(processes.Process(
            [pathlib.Path(sys.executable).parent / 'cyborg-conductor',
             '--config-file', path], path.with_name('log'),
            {'PYTHONWARNINGS': 'ignore'}))
        process.wait_for_output('[nova] has no credentials')
        process.stop()
        line, = [line for line in process.output.splitlines()
                 if '[nova]' in line]
        self.assertShown(line[line.index('[nova]'):])


class DevicesTest(base.MessageCase):
    """What is said of reports, providers and binds."""

    page = PAGE

    def setUp(self):
        super().setUp()
        self.cloud.plug(ONE, TWO)

    def test_agent_report(self):
        self.cloud.start_agent()
        self.assertShown(self.line('INFO', 'managed mode updated'))

    def test_conductor_report(self):
        self.cloud.start_agent()
        self.assertShown(self.line('INFO', 'providers failed'))

    def test_no_rule(self):
        """B01"""
        self.cloud.configure('pci', device_spec=[])
        self.cloud.start_agent()
        self.assertShown(self.line('WARNING', 'is empty'))

    def test_name_taken(self):
        """B33"""
        self.cloud.placement.add_provider(
            'compute-1_' + ONE, self.cloud.root)
        self.cloud.start_agent()
        self.assertShown(self.line('ERROR', 'is not ours'))

    def test_other_host(self):
        self.cloud.start_agent()
        provider = self.cloud.provider(ONE)
        self.cloud.placement.delete_provider(provider)
        other = self.cloud.placement.add_provider('compute-2')
        self.cloud.placement.add_provider(
            'compute-1_' + ONE, other, provider)
        self.cloud.report()
        self.assertShown(self.line('ERROR', 'instead of'))

    def test_not_bound(self):
        self.cloud.start_agent()
        arq = self.cloud.create_arq()
        device, = [device for device in self.cloud.stored().devices
                   if device.deployables[0].name.endswith(ONE)]
        self.cloud.set_disabled(device.uuid, True)
        self.assertRaises(webtest.AppError, self.cloud.bind, ONE, arq)
        self.assertShown(self.line('WARNING', 'were not bound'))

    def test_damaged_row(self):
        self.cloud.start_agent()
        self.cloud.bind(ONE, self.cloud.create_arq())
        self.execute("UPDATE attach_handles SET attach_info = '[]'")
        listed = self.cloud.api.get('/v2/accelerator_requests').json['arqs']
        self.assertIsNone(listed[0]['attach_handle_info'])
        self.assertShown(self.line('WARNING', 'cannot be shown'))


class CommandsTest(base.MessageCase):

    page = PAGE

    def test_they_run(self):
        self.cloud.plug(ONE)
        self.cloud.start_agent()
        terminal = self.useFixture(shell.Shell(self.cloud))
        for block in pages.blocks(PAGE, language='console'):
            # The commands of a compute host have tests of their own.
            lines = [line for line in block.text.splitlines(True)
                     if not line.startswith('$ cyborg-pci')]
            shown = terminal.run(
                pages.Block(block.where, 'console', None, ''.join(lines)),
                ROOT=self.cloud.root, PROVIDER=self.cloud.provider(ONE))
            self.assertIn('PCI', shown)


class EveryMessage(base.Completeness):

    page = PAGE
    cases = (WaitTest, DevicesTest)
