# SPDX-License-Identifier: Apache-2.0
"""DOC-1: what stops a start or a report, as admin/errors.rst shows it."""

import pathlib
import subprocess
import sys
import time

import oslo_messaging as messaging

from cyborg.tests.fixtures import drivers
from cyborg.tests.fixtures import pages
from cyborg.tests.fixtures import services
from cyborg.tests.functional.docs import base

PAGE = 'admin/errors.rst'
ONE, TWO, NVME, NVME2 = base.ONE, base.TWO, base.NVME, base.NVME2

BROKEN = """
    class Driver:
        def discover(self):
            return []

        def init_host(self):
            raise OSError('no such control node: /dev/acme0')


    class Silent:
        def discover(self):
            raise OSError('/dev/acme0 does not answer')
"""


class StartTest(base.MessageCase):
    """Each of these ends the agent before it reports."""

    page = PAGE

    def command(self, *lines: str, name: str = 'agent', file: str = '') -> str:
        """Run a command with this configuration; its reason to end."""
        folder = pathlib.Path(self.temp_dir())
        path = folder / 'cyborg.conf'
        path.write_text('\n'.join(('[DEFAULT]', 'host = compute-1', *lines)))
        done = subprocess.run(
            [pathlib.Path(sys.executable).parent / ('cyborg-' + name),
             '--config-file', file or path], capture_output=True, text=True,
            timeout=300, env={'PYTHONWARNINGS': 'ignore'})
        output = done.stdout + done.stderr
        self.assertEqual(1, done.returncode, output)
        said, = [line for line in output.splitlines()
                 if 'cannot start: ' in line]
        return said.partition('cannot start: ')[2].replace(
            str(folder), '/etc/cyborg')

    # Files and options

    def test_config_file(self):
        self.assertShown(self.command(file='/etc/cyborg/no-such.conf'))

    def test_option_value(self):
        self.assertShown(self.command('periodic_interval = 1m'))

    def test_transport(self):
        self.assertShown(self.command('transport_url = rabbitmq://controller'))

    def test_upgrade_level(self):
        self.cloud.configure('upgrade_levels', conductor='newest')
        self.assertShown(self.refused())

    # Drivers

    def test_unknown_driver(self):
        self.cloud.configure('agent', enabled_drivers=['pci'])
        self.assertShown(self.refused())

    def test_dropped_driver(self):
        self.cloud.configure('agent',
                             enabled_drivers=['huawei_ascend_driver'])
        self.assertShown(self.refused())

    def test_failing_driver(self):
        self.useFixture(drivers.DriverPackage(
            'acme', BROKEN, {'acme_driver': 'Driver'}))
        self.cloud.configure('agent', enabled_drivers=['acme_driver'])
        self.assertShown(self.refused())

    def test_ssd_driver(self):
        """DSC-6"""
        self.cloud.configure('agent',
                             enabled_drivers=['inspur_nvme_ssd_driver'])
        self.assertShown(self.refused())

    # [pci]

    def test_device_spec(self):
        """CFG-2"""
        self.cloud.configure('pci', device_spec=[
            '{"vendor": "10de", "product_id": "25b6"}'])
        self.assertShown(self.refused())

    def test_exclude_list(self):
        """CFG-4"""
        self.cloud.configure('pci', exclude_list=['0000:06:00.*'])
        self.assertShown(self.refused())

    def test_managed_cap(self):
        """RPC-1"""
        self.cloud.configure('upgrade_levels', conductor='1.0')
        self.cloud.configure('pci', device_spec=[
            services.rule(managed=False)])
        self.assertShown(self.refused())

    def test_unsafe_device(self):
        """DSC-4"""
        self.cloud.plug(NVME, class_code=0x010802)
        self.assertShown(self.refused())

    def test_unsafe_devices(self):
        """DSC-4"""
        self.cloud.plug(NVME, NVME2, class_code=0x010802)
        self.assertShown(self.refused())

    # The stored inventory

    def allocate(self, *addresses: str) -> None:
        self.cloud.plug(*addresses)
        self.cloud.start_agent()
        for address in addresses:
            self.cloud.bind(address)
        self.cloud.configure('pci', device_spec=[
            services.rule(managed=False)])

    def test_managed_conflict(self):
        """REC-3"""
        self.allocate(ONE)
        self.assertShown(self.refused())

    def test_managed_conflicts(self):
        """REC-3"""
        self.allocate(ONE, TWO)
        self.assertShown(self.refused())

    def test_attach_info(self):
        """REC-7"""
        self.cloud.plug(ONE)
        self.cloud.start_agent()
        self.execute("UPDATE attach_handles SET attach_info = '{\"bus\": "
                     '"25", "device": "00", "domain": "0000", "function": '
                     '"4", "managed": "no"}\'')
        self.assertShown(self.refused())
        statement, = pages.blocks(PAGE, language='sql')
        self.execute(statement.text)
        self.cloud.configure('pci', device_spec=[
            services.rule(managed=False)])
        self.cloud.start_agent()

    def test_renamed_host(self):
        self.cloud.plug(ONE)
        self.cloud.start_agent()
        self.cloud.bind(ONE)
        self.cloud.placement.add_provider('compute-1.example.org')
        self.cloud.configure(host='compute-1.example.org')
        self.cloud.configure('agent', resource_provider_name=None)
        self.assertShown(self.refused())

    def test_no_provider(self):
        """B32"""
        self.cloud.placement.delete_provider(self.cloud.root)
        self.cloud.configure('agent', resource_provider_startup_retries=0)
        self.assertShown(self.refused())


class ReportTest(base.MessageCase):
    """Each of these lets a running agent go on."""

    page = PAGE

    def setUp(self):
        super().setUp()
        self.cloud.plug(ONE)
        self.cloud.start_agent()
        self.logs.clear()

    def test_report_rejected(self):
        """REC-8"""
        self.cloud.plug(NVME, class_code=0x010802)
        self.cloud.report()
        self.assertShown(self.line('ERROR', 'rejected'))

    def test_report_discovery(self):
        """MIS-7"""
        self.useFixture(drivers.DriverPackage(
            'acme', BROKEN, {'acme_driver': 'Silent'}))
        self.cloud.configure('agent', enabled_drivers=['acme_driver'])
        self.cloud.restart_agent()
        self.assertShown(self.line('ERROR', 'could not report'))

    def test_report_sysfs(self):
        """MIS-7"""
        self.cloud.move_sysfs_away()
        self.cloud.report()
        self.assertShown(self.line('ERROR', 'could not report').replace(
            self.cloud.sysfs, '/sys'))

    def test_report_placement(self):
        """REC-7"""
        self.cloud.placement.fail('in_tree', status=None, times=None)
        self.cloud.report()
        self.assertShown(self.line('WARNING', 'could not report').replace(
            self.cloud.placement.endpoint, 'http://controller/placement'))

    def test_report_conductor(self):
        """REC-7"""
        self.conf.set(rpc_response_timeout=1)
        self.cloud.conductor.before('object_class_action_versions',
                                    lambda: time.sleep(2))
        self.cloud.report()
        self.assertShown(self.line('WARNING', 'could not report'))

    def test_report_old_conductor(self):
        """IND-1"""
        self.cloud.conductor.target = messaging.Target(version='1.0')
        self.cloud.report()
        self.assertShown(self.line('WARNING', 'could not report'))

    def test_report_again(self):
        """REC-7"""
        self.cloud.placement.fail('in_tree', status=503)
        self.cloud.report()
        self.cloud.report()
        self.assertShown(self.line('INFO', 'again'))

    def test_report_capped(self):
        """REC-9"""
        self.cloud.configure('upgrade_levels', conductor='2026.2')
        self.cloud.restart_agent()
        self.assertShown(self.line('WARNING', 'caps'))


class EveryMessage(base.Completeness):

    page = PAGE
    cases = (StartTest, ReportTest)
