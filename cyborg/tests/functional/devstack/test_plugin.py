# SPDX-License-Identifier: Apache-2.0
"""CON-3: the DevStack plugin's functions, run in a sandbox.

What they write is read by the service itself.
"""

from importlib import metadata
import json
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

from oslo_config import cfg

from cyborg.cmd import pci as pci_command
from cyborg.pci import device_spec
from cyborg.tests import base
from cyborg.tests.fixtures import needs
from cyborg.tests.fixtures import sysfs

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[3]
SCRIPTS = ('plugin.sh', 'settings', 'lib/cyborg', 'lib/pci_sim',
           'upgrade/settings', 'upgrade/resources.sh', 'upgrade/shutdown.sh',
           'upgrade/upgrade.sh')
UART = 0x070002
#: Who knows options that may stand in cyborg.conf.
OPTIONS_OF = ('cyborg', 'keystonemiddleware.auth_token', 'oslo.concurrency',
              'oslo.db', 'oslo.log', 'oslo.messaging')
PFS = ('0000:25:00.0', '0001:25:00.0')


def vf(pf: str, number: int) -> str:
    return pf[:-1] + str(number)


class SandboxTestCase(base.TestCase):
    """Two PFs of pci-sim with four VFs each."""

    def setUp(self):
        super().setUp()
        self.sandbox = pathlib.Path(self.temp_dir())
        self.tree = self.useFixture(sysfs.SysfsTree())
        for group, pf in enumerate(PFS):
            self.tree.tree.add(pf, 0x1d55, 0x1000, UART, totalvfs=7,
                               driver='fake_pci_sriov')
            for number in range(1, 5):
                self.tree.tree.add(vf(pf, number), 0x1d55, 0x1001, UART,
                                   physfn=pf, iommu_group=10 * group + number)
        # Somebody else's device.
        self.tree.tree.add('0000:3b:00.0', 0x10de, 0x1eb8, 0x030200,
                           driver='nouveau')
        for name in ('bus/pci/drivers_probe', 'module/vfio_iommu_type1/'
                     'parameters/allow_unsafe_interrupts'):
            path = pathlib.Path(self.tree.path, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        for name in ('nova.conf', 'nova-cpu.conf', 'tempest.conf'):
            (self.sandbox / name).touch()
        commands = self.sandbox / 'bin'
        commands.mkdir()
        (commands / 'cyborg-dbsync').write_text(
            '#!/bin/sh\necho cyborg-dbsync "$@" >>"%s/calls"\n'
            % self.sandbox)
        (commands / 'cyborg-dbsync').chmod(0o755)
        (commands / 'uwsgi').write_text('#!/bin/sh\n')
        (commands / 'uwsgi').chmod(0o755)

    def run_script(self, script: str, check: bool = True,
                   **settings: str) -> str:
        """Source the plugin's files, then run a script; its output."""
        command = textwrap.dedent("""
            source {here}/stubs.sh
            source {root}/devstack/settings
            CYBORG_BIN_DIR=$SANDBOX/bin
            source {root}/devstack/lib/cyborg
            source {root}/devstack/lib/pci_sim
            CYBORG_DIR=${{CYBORG_SOURCES:-$CYBORG_DIR}}
            """).format(here=HERE, root=ROOT) + script
        done = subprocess.run(
            ['bash', '-c', command], capture_output=True, text=True,
            timeout=300, env={
                'PATH': '%s:%s' % (self.sandbox / 'bin', os.environ['PATH']),
                'SANDBOX': str(self.sandbox), 'CYBORG_DIR': str(ROOT),
                'PYTHON': sys.executable, 'INI': str(HERE / 'ini.py'),
                'PCI_SIM_SYSFS': str(self.tree.path),
                'ENABLE_PCI_SIM': 'True',
                'PCI_SIM_CONFIGURE_CYBORG_PCI': 'True', **settings})
        if check and done.returncode:
            self.fail('%s\n%s' % (done.stdout, done.stderr))
        return done.stdout if check else done.stderr

    @property
    def calls(self) -> list[str]:
        return (self.sandbox / 'calls').read_text().splitlines()

    def raw(self, name: str) -> dict[str, dict[str, list[str]]]:
        """An INI file by section and option."""
        sections: dict[str, dict[str, list[str]]] = {}
        cfg.ConfigParser(str(self.sandbox / name), sections).parse()
        return sections


class ScriptsTest(base.TestCase):
    """CON-3: the scripts can be read by bash."""

    def test_syntax(self):
        for name in SCRIPTS:
            subprocess.run(['bash', '-n', str(ROOT / 'devstack' / name)],
                           check=True, timeout=300)

    def test_shellcheck(self):
        if not shutil.which('shellcheck'):
            needs.skip_or_fail('shellcheck is not installed')
        done = subprocess.run(
            ['shellcheck', '-x', '-P', str(ROOT),
             *(str(ROOT / 'devstack' / name) for name in SCRIPTS),
             str(HERE / 'stubs.sh')],
            capture_output=True, text=True, timeout=300)
        self.assertEqual('', done.stdout)


    def test_bashate(self):
        """What OpenStack's gate asks of scripts, as DevStack asks it."""
        if not shutil.which('bashate'):
            needs.skip_or_fail('bashate is not installed')
        done = subprocess.run(
            # E005: files to source have no such name; E006: long lines.
            ['bashate', '-i', 'E005,E006',
             *(str(ROOT / 'devstack' / name) for name in SCRIPTS)],
            capture_output=True, text=True, timeout=300)
        self.assertEqual('', done.stdout)


class ConfigurationTest(SandboxTestCase):
    """CON-3: the files that the functions write."""

    def test_cyborg_reads_all_of_it(self):
        """BASE-1: no option is one that the service does not know."""
        self.run_script('configure_cyborg; configure_pci_sim_cyborg')
        known = set()
        for entry in metadata.entry_points(group='oslo.config.opts'):
            if entry.name in OPTIONS_OF:
                for group, options in entry.load()():
                    group = getattr(group, 'name', group) or 'DEFAULT'
                    known |= {(group, option.dest) for option in options}
        written = {(section, option) for section, options
                   in self.raw('etc/cyborg.conf').items()
                   for option in options}
        self.assertEqual(set(), written - known)
        agent = self.raw('etc/cyborg.conf')['agent']
        self.assertIn('pci_driver', agent['enabled_drivers'][0].split(','))
        paste = self.raw('etc/cyborg.conf')['api']['api_paste_config']
        self.assertTrue(pathlib.Path(paste[0]).is_file())

    def test_agent_gets_no_database(self):
        """BASE-4: a compute host's file holds no database connection."""
        script = 'disable_service cyborg-api cyborg-cond; configure_cyborg'
        self.run_script(script)
        self.assertNotIn('database', self.raw('etc/cyborg.conf'))
        self.run_script('configure_cyborg')
        self.assertIn('connection', self.raw('etc/cyborg.conf')['database'])

    def test_service_tokens(self):
        """CON-3: who deletes an instance's requests needs a service token."""
        self.run_script('configure_cyborg; '
                        'configure_nova_for_cyborg "$NOVA_CONF"')
        section = self.raw('etc/cyborg.conf')['keystone_authtoken']
        self.assertEqual(['True'], section['service_token_roles_required'])
        self.assertEqual(['service'], section['service_token_roles'])
        self.assertEqual(['True'], self.raw('nova.conf')['service_user'][
            'send_service_user_token'])


class PciSimTest(SandboxTestCase):
    """CON-3: UART VFs are offered with ``managed: false``."""

    def rules(self, option: str = 'device_spec') -> list[dict]:
        return [json.loads(rule) for rule in
                self.raw('etc/cyborg.conf')['pci'][option]]

    def configure(self, **settings):
        self.run_script('configure_cyborg; configure_pci_sim_cyborg; '
                        'configure_pci_sim_nova; configure_pci_sim_tempest',
                        **settings)

    def test_agent_offers_the_virtual_functions(self):
        """CON-3, CFG-1: the agent selects the VFs, and no other device."""
        self.configure()
        conf_file = self.sandbox / 'etc' / 'cyborg.conf'
        with conf_file.open('a') as stream:
            stream.write('[pci]\nsysfs_path = %s\n' % self.tree.path)
        done = subprocess.run(
            [sys.executable, '-m', pci_command.__name__, '--config-file',
             str(conf_file), 'list', '-f', 'json'],
            capture_output=True, text=True, timeout=300)
        self.assertEqual(0, done.returncode, done.stderr)
        offered = {row['address']: row['managed']
                   for row in json.loads(done.stdout)
                   if row['verdict'] == 'offered'}
        self.assertEqual(
            {vf(pf, number): False for pf in PFS for number in range(1, 5)},
            offered)

    def test_rules_are_valid(self):
        """CON-3: option and key as 2027.1 has them, a JSON boolean."""
        self.configure()
        rules = self.rules()
        self.assertEqual(8, len(rules))
        self.assertEqual({False}, {rule['managed'] for rule in rules})
        spec = device_spec.load(self.raw('etc/cyborg.conf')['pci'][
            'device_spec'])
        self.assertTrue(spec.sets_managed)
        self.assertEqual(['False'], self.raw('tempest.conf')['cyborg_pci'][
            'expected_managed'])

    def test_managed(self):
        """CON-3: the other mode on request."""
        self.configure(PCI_SIM_CYBORG_MANAGED='True')
        self.assertEqual({True}, {rule['managed'] for rule in self.rules()})
        self.assertEqual(['True'], self.raw('tempest.conf')['cyborg_pci'][
            'expected_managed'])

    def test_older_release(self):
        """CON-3: 2026.2 knows neither the option's name nor the key."""
        self.configure(PCI_SIM_CYBORG_MANAGED='',
                       PCI_SIM_CYBORG_SPEC_OPTION='passthrough_whitelist')
        self.assertNotIn('device_spec', self.raw('etc/cyborg.conf')['pci'])
        for rule in self.rules('passthrough_whitelist'):
            self.assertEqual({'vendor_id', 'product_id', 'address'},
                             set(rule))
        tempest = self.raw('tempest.conf')
        self.assertEqual(['2.3'], tempest['cyborg']['max_microversion'])
        self.assertNotIn('expected_managed', tempest['cyborg_pci'])

    def test_again(self):
        """CON-3: a second run replaces the rules."""
        self.configure()
        self.run_script('configure_pci_sim_cyborg')
        self.assertEqual(8, len(self.rules()))

    def test_shared_with_nova(self):
        """CON-3: no device is handed out by both."""
        self.configure(PCI_SIM_CONFIGURE_NOVA_PCI='True')
        self.assertEqual([vf(PFS[1], number) for number in range(1, 5)],
                         [rule['address'] for rule in self.rules()])
        for name in ('nova.conf', 'nova-cpu.conf'):
            pci = self.raw(name)['pci']
            self.assertEqual(
                [{'address': vf(PFS[0], number), 'managed': 'no'}
                 for number in range(1, 5)],
                [json.loads(rule) for rule in pci['device_spec']])
            self.assertEqual('type-VF', json.loads(
                pci['alias'][0])['device_type'])

    def driver(self, address: str) -> str | None:
        link = pathlib.Path(self.tree.path, 'bus/pci/devices', address,
                            'driver')
        return link.resolve().name if link.is_symlink() else None

    def test_unmanaged_devices_are_prepared(self):
        """CON-3: each VF gets the VFIO driver that can serve it.

        A new one is with the driver that makes it a terminal of the host,
        and vfio-pci finds no registers behind it.
        """
        self.tree.tree.bind(vf(PFS[0], 1), 'pci_sim_loopback_vf')
        self.tree.tree.bind(vf(PFS[0], 2), 'pci_sim_vfio_pci')
        self.run_script('load_pci_sim')
        devices = pathlib.Path(self.tree.path, 'bus/pci/devices')
        for pf in PFS:
            self.assertEqual('4\n', (devices / pf / 'sriov_numvfs')
                             .read_text())
            self.assertEqual(
                {'pci_sim_vfio_pci'},
                {self.driver(vf(pf, number)) for number in range(1, 5)})
        self.assertIn('modprobe fake_pci_sriov num_pfs=2', self.calls)

    def published(self) -> pathlib.Path:
        """A repository with the sources under the tag of their release."""
        folder = self.sandbox / 'published'
        (folder / 'pci-sim').mkdir(parents=True)
        (folder / 'pci-sim' / 'Makefile').write_text('modules:\n')
        git = ['git', '-C', str(folder), '-c', 'user.name=OpenStack', '-c',
               'user.email=openstack-discuss@lists.openstack.org']
        for words in (['init', '-q'], ['add', '-A'],
                      ['commit', '-q', '-m', 'release'], ['tag', '17.0.0']):
            subprocess.run(git + words, check=True, timeout=300)
        return folder

    def test_sources_by_name_and_ref(self):
        """CON-3: what is built is what was published."""
        self.run_script('install_pci_sim', PCI_SIM_REPO=str(self.published()))
        sources = self.sandbox / 'dest' / 'pci-sim'
        self.assertTrue((sources / 'Makefile').is_file())
        self.assertTrue(any(call.startswith('git_clone')
                            and call.endswith(' 17.0.0')
                            for call in self.calls))
        self.assertTrue(any(call.startswith('make') and str(sources) in call
                            for call in self.calls))

    def test_sources_of_history(self):
        """CON-3: a gate without network has them in this repository."""
        self.run_script('install_pci_sim', CYBORG_SOURCES=str(
            self.published()))
        self.assertFalse(any(call.startswith('git_clone')
                             for call in self.calls))
        self.assertTrue((self.sandbox / 'dest' / 'pci-sim' / 'Makefile')
                        .is_file())

    def test_sources_missing(self):
        """CON-3: says what to set when the module's sources are missing."""
        folder = self.published()
        error = self.run_script(
            'rm -r %s/pci-sim; git -C %s -c user.name=a -c user.email=b '
            'commit -qam gone; git -C %s tag -f 17.0.0; install_pci_sim'
            % (folder, folder, folder), check=False,
            PCI_SIM_REPO=str(folder))
        self.assertIn('set PCI_SIM_REPO', error)

    def test_resources(self):
        """CON-3: a profile and a flavor to try the devices with."""
        self.run_script('create_pci_sim_resources')
        self.assertTrue(any(
            'accelerator device profile create pci-sim '
            '[{"resources:CUSTOM_PCI": "1"}]' in call for call in self.calls))
        self.assertTrue(any('accel:device_profile=pci-sim' in call
                            for call in self.calls))


class PhasesTest(SandboxTestCase):
    """CON-3: what happens in which phase."""

    def phase(self, *words: str, **settings) -> list[str]:
        (self.sandbox / 'calls').write_text('')
        self.run_script('source $CYBORG_DIR/devstack/plugin.sh %s'
                        % ' '.join(words), **settings)
        return self.calls

    def test_stack(self):
        """CON-3: schema, then conductor, then agent."""
        self.phase('stack', 'post-config', PCI_SIM_LOAD='False',
                   ENABLED_SERVICES='key,nova')
        self.assertIn('create_service_user cyborg admin', self.calls)
        calls = self.phase('stack', 'extra')
        order = [calls.index(next(call for call in calls if word in call))
                 for word in ('recreate_database', 'cyborg-dbsync',
                              'run_process cyborg-cond',
                              'run_process cyborg-agent')]
        self.assertEqual(sorted(order), order)

    def test_compute_host(self):
        """BASE-4: an agent's host makes no database."""
        calls = self.phase(
            'stack', 'extra; disable_service cyborg-api cyborg-cond;'
            'source $CYBORG_DIR/devstack/plugin.sh stack extra')
        second = calls[calls.index(next(
            call for call in calls if 'run_process cyborg-agent' in call))
            + 1:]
        self.assertEqual(1, len(second))
        self.assertIn('run_process cyborg-agent', second[0])

    def test_unstack_and_clean(self):
        """CON-3: agents stop first, and nothing stays."""
        self.phase('stack', 'post-config', PCI_SIM_LOAD='False')
        calls = self.phase('unstack')
        self.assertEqual(['cyborg-agent', 'cyborg-cond', 'cyborg-api'],
                         [call.split()[1] for call in calls
                          if call.startswith('stop_process')])
        self.phase('clean')
        self.assertFalse((self.sandbox / 'etc').exists())
        self.assertIn('modprobe -r fake_pci_sriov', self.calls)

    def test_disabled(self):
        """CON-3: nothing happens for a plugin whose services are off."""
        (self.sandbox / 'calls').write_text('')
        self.run_script(
            'disable_service cyborg-api cyborg-cond cyborg-agent cyborg;'
            'source $CYBORG_DIR/devstack/plugin.sh stack extra')
        self.assertEqual(['define_plugin cyborg'], self.calls)
