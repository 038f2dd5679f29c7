# SPDX-License-Identifier: Apache-2.0
"""The commands that prove things on real parts, without those parts."""

import contextlib
import fcntl
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import textwrap
import threading
import time

import fixtures

from cyborg.tests import base

ROOT = pathlib.Path(__file__).resolve().parents[4]


def module(path: str):
    """A module of ``tools``, which is no package."""
    loader = importlib.machinery.SourceFileLoader(
        pathlib.Path(path).stem, str(ROOT / 'tools' / path))
    found = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(found)
    return found


class CommandsTest(base.TestCase):

    def help(self, name: str) -> str:
        done = subprocess.run(
            [sys.executable, str(ROOT / 'tools' / name / name), '--help'],
            capture_output=True, text=True, timeout=300)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def test_documented_commands(self):
        """DOC-1: the pages show commands that there are."""
        for name in ('pcilab', 'minicloud', 'campaign'):
            said = self.help(name)
            page = (ROOT / 'doc/source/contributor' / (name + '.rst')
                    ).read_text()
            shown = re.findall(r'tools/%s/%s ([a-z-]+)' % (name, name), page)
            self.assertNotEqual([], shown)
            for word in shown:
                self.assertIn(word, said, name)

    def test_in_a_bare_interpreter(self):
        """It goes on in the clone's environment, which it makes if need be."""
        for path in ('tools/campaign/campaign', 'benchmarks/run'):
            done = subprocess.run(
                [sys.executable, '-S', str(ROOT / path), '--help'],
                capture_output=True, text=True, timeout=900)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertIn('usage: ', done.stdout)

    def test_documented_scenarios(self):
        """DOC-1: the page names all scenarios, and none else."""
        text = (ROOT / 'tools/minicloud/scenarios.py').read_text()
        there = {name.replace('_', '-') for name in re.findall(
            r'^@(?:scenario|on_libvirt)\ndef (\w+)', text, re.MULTILINE)}
        page = (ROOT / 'doc/source/contributor/minicloud.rst').read_text()
        section = page.split('The scenarios\n')[1]
        named = {name for line in section.splitlines()
                 if line.startswith('``')
                 for name in re.findall(r'``([a-z-]+)``', line)}
        self.assertEqual(there, named)

    def test_unshelve_names_its_host(self):
        """Of two hosts Nova took the one whose libvirt starts no such guest,
        now and then."""
        text = (ROOT / 'tools/minicloud/scenarios.py').read_text()
        asked = re.findall(r"\bunshelve'?[=:] ?(.)(.{6})", text)
        self.assertEqual([('{', "'host'")] * 3, asked)


class LabTest(base.TestCase):
    """The jobs of the PCI lab, which only a machine of its own can run."""

    jobs = ROOT / 'tools/pcilab/jobs'

    def cases(self, job):
        return {name.replace('_', '-') for name in re.findall(
            r'^@(?:case|FIRST|SECOND)\ndef (\w+)',
            (self.jobs / job).read_text(), re.MULTILINE)}

    def test_short_form_has_cases_of_the_whole(self):
        text = (self.jobs / 'short').read_text()
        named = set(re.findall(r'[a-z]+(?:-[a-z]+){2,}', text))
        self.assertEqual(3, len(named))
        self.assertEqual(set(), named - self.cases('main'))

    def test_documented_jobs(self):
        """DOC-1"""
        page = (ROOT / 'doc/source/contributor/pcilab.rst').read_text()
        for name in re.findall(r'jobs/([a-z_.]+)`', page):
            self.assertTrue((self.jobs / name).is_file(), name)

    def test_jobs_compile(self):
        for path in self.jobs.iterdir():
            text = path.read_text()
            if path.suffix == '.py' or 'python3' in text.partition('\n')[0]:
                compile(text, str(path), 'exec')
        for job in ('allocated', 'mdev', 'network'):
            self.assertTrue(self.cases(job), job)

    def test_what_a_killed_run_left_is_removed(self):
        """And what a living one has is not."""
        pcilab = self.load()
        lab = pcilab.Lab(pathlib.Path(self.temp_dir()))
        (lab.state / 'run-dead').mkdir()
        alive = lab.state / 'new-alive'
        alive.mkdir()
        with contextlib.ExitStack() as stack:
            owned = lab._owned(alive, stack)
            lab._sweep()
            self.assertEqual([owned], list(lab.state.iterdir()))
        self.assertEqual([], list(lab.state.iterdir()))

    def made(self):
        """A lab with an image and a run that was kept."""
        self.tool = self.load()
        lab = self.tool.Lab(pathlib.Path(self.temp_dir()) / 'lab')
        for name in ('rootfs/usr', 'kept-1/share', 'run-1/share'):
            (lab.state / name).mkdir(parents=True)
        for name in ('lock', 'root.img', 'stamp-image', 'run-1/lock'):
            (lab.state / name).touch()
        return lab

    def test_clean_leaves_nothing(self):
        lab = self.made()
        for _time in range(2):
            lab.clean()
            self.assertFalse(lab.state.exists())

    def test_clean_removes_no_machine_that_runs(self):
        lab = self.made()
        for folder in (lab.state, lab.state / 'kept-1', lab.state / 'run-1'):
            with open(folder / 'lock', 'w') as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                error = self.assertRaises(self.tool.image.LabError,
                                          lab.clean)
                self.assertEqual(
                    '%s is in use by a build or a run: end that first, or '
                    'wait for it.' % folder, str(error))
            self.assertTrue((lab.state / 'rootfs/usr').exists())

    def test_clean_under_the_machine_of_another_clone(self):
        """It was of a version that locked nothing."""
        lab = self.made()
        process = subprocess.Popen(['sleep', '600'],
                                   cwd=lab.state / 'rootfs')
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        error = self.assertRaises(self.tool.image.LabError, lab.clean)
        self.assertEqual('%s is in use by process %d: end that first.' % (
            lab.state, process.pid), str(error))
        self.assertTrue((lab.state / 'rootfs/usr').exists())

    def test_clean_of_a_directory_with_other_things(self):
        """CYBORG_PCILAB may name a home."""
        lab = self.made()
        (lab.state / 'thesis').mkdir()
        error = self.assertRaises(self.tool.image.LabError, lab.clean)
        self.assertEqual('left: %s/thesis. Remove by hand what is not of the '
                         'lab.' % lab.state, str(error))
        self.assertEqual(['thesis'], os.listdir(lab.state))

    def test_a_step_is_made_again_with_what_it_stands_on(self):
        image = self.load().image.Image(pathlib.Path(self.temp_dir()))
        made = []

        def build(first, last):
            del made[:]
            image._step('packages', [first], lambda: made.append('packages'),
                        'image')
            image._step('image', [last], lambda: made.append('image'))
            return made

        self.assertEqual(['packages', 'image'], build('a', 'b'))
        self.assertEqual([], build('a', 'b'))
        self.assertEqual(['image'], build('a', 'c'))
        # The same packages, got again: what was made of the old ones is gone.
        (image.state / 'stamp-packages').unlink()
        self.assertEqual(['packages', 'image'], build('a', 'c'))

    def load(self):
        folder = str(ROOT / 'tools/pcilab')
        self.patch(sys, 'path', [folder, *sys.path])
        self.addCleanup(sys.modules.pop, 'image', None)
        loader = importlib.machinery.SourceFileLoader(
            'pcilab', folder + '/pcilab')
        found = importlib.util.module_from_spec(
            importlib.util.spec_from_loader('pcilab', loader))
        loader.exec_module(found)
        return found


class CloudTest(base.TestCase):
    """The small cloud, as far as it goes without starting it."""

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.useFixture(fixtures.EnvironmentVariable(
            'CYBORG_MINICLOUD', str(self.folder)))
        # Its modules import each other as scripts do.
        self.useFixture(fixtures.MonkeyPatch(
            'sys.path', [str(ROOT / 'tools/minicloud'), *sys.path]))
        for name in ('hypervisor', 'settings'):
            self.addCleanup(sys.modules.pop, name, None)
        self.cloud = module('minicloud/minicloud').Cloud()

    def write(self):
        """The configuration, as if the packages were installed."""
        for name in ('nova', 'cyborg'):
            paste = self.cloud.venv / 'etc' / name / 'api-paste.ini'
            paste.parent.mkdir(parents=True)
            paste.touch()
        self.cloud.etc.mkdir()
        self.cloud.settings.write(self.cloud.venv)

    def test_agents_accept_the_hosts(self):
        """Each agent would start, and offer each made-up accelerator."""
        self.write()
        for name, managed in (('cyborg', [False] * 4),
                              ('cyborg-libvirt', [False, True, True])):
            done = subprocess.run(
                [sys.executable, '-m', 'cyborg.cmd.pci', 'list', '-f', 'json',
                 '--config-file', str(self.cloud.etc / (name + '.conf'))],
                capture_output=True, text=True, timeout=300)
            self.assertEqual(0, done.returncode, done.stderr)
            shown = json.loads(done.stdout)
            self.assertEqual({'offered'}, {one['verdict'] for one in shown})
            self.assertEqual(managed, [one['managed'] for one in shown])

    def test_what_libvirt_was_given(self):
        guests = self.cloud.hypervisor.guests
        guests.mkdir(parents=True)
        for name, uuid in (('1', 'one'), ('2', 'two')):
            (guests / (name + '.xml')).write_text(textwrap.dedent("""
                <domain><uuid>%s</uuid><devices>
                  <hostdev type='usb'/>
                  <hostdev type='pci' managed='no'/>
                </devices></domain>""" % uuid).strip())
        (device,) = self.cloud.hypervisor.given('two')
        self.assertEqual('no', device.get('managed'))
        self.assertEqual([], self.cloud.hypervisor.given('three'))

    def test_state_that_the_packages_would_cover(self):
        cloud = self.cloud
        cloud.hypervisor.cloud = self
        self.state = pathlib.Path('/var/cache/minicloud')
        module_of = sys.modules[type(cloud.hypervisor).__module__]
        error = self.assertRaises(
            module_of.CloudError, cloud.hypervisor.install)
        self.assertEqual(
            'The host with libvirt cannot live in /var/cache/minicloud: set '
            'CYBORG_MINICLOUD to a directory outside of /usr, /etc, /var and '
            '/run, or use up --one-host.', str(error))

    def test_one_command_at_a_time(self):
        """A second "up" stopped services under running scenarios."""
        held = os.open(self.folder, os.O_RDONLY)
        self.addCleanup(os.close, held)
        fcntl.flock(held, fcntl.LOCK_EX)
        done = self.command('run', 'no-such-scenario')
        self.assertEqual(
            (2, 'minicloud: another command works on the cloud in %s: wait '
             'for its end\n' % self.folder),
            (done.returncode, done.stdout + done.stderr))
        # These change nothing.
        self.assertEqual(1, self.command('status').returncode)
        self.assertIn('boot-delete', self.command('run', '--list').stdout)
        fcntl.flock(held, fcntl.LOCK_UN)
        self.assertEqual('unknown: no-such-scenario\n',
                         self.command('run', 'no-such-scenario').stdout)

    def command(self, *words):
        return subprocess.run(
            [sys.executable, str(ROOT / 'tools/minicloud/minicloud'), *words],
            capture_output=True, text=True, timeout=300)

    def test_left_processes_are_told(self):
        with subprocess.Popen(
                ['sleep', '600'], cwd=self.folder) as process:
            self.addCleanup(process.kill)
            self.useFixture(fixtures.MonkeyPatch(
                'subprocess.run', lambda *words, **kwargs:
                subprocess.CompletedProcess(words, 0, '', '')))
            self.assertEqual(
                ['process %d' % process.pid, str(self.folder)],
                self.cloud._left(wipe=True))
            process.kill()


class ProxyTest(base.TestCase):
    """What stands between a service and its servers in the campaign."""

    def setUp(self):
        super().setUp()
        listener = socket.create_server(('127.0.0.1', 0))
        self.addCleanup(listener.close)
        threading.Thread(target=self.echo, args=(listener,),
                         daemon=True).start()
        self.proxy = module('campaign/proxy.py').Proxy(
            listener.getsockname()[1])

    @staticmethod
    def echo(listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            while data := client.recv(100):
                client.sendall(data)
            client.close()

    def connect(self):
        client = socket.create_connection(('127.0.0.1', self.proxy.port), 10)
        self.addCleanup(client.close)
        return client

    def test_passes(self):
        client = self.connect()
        client.sendall(b'one')
        self.assertEqual(b'one', client.recv(100))

    def test_cut_and_half_closed(self):
        for disturb in (self.proxy.cut, self.proxy.half_close):
            client = self.connect()
            client.sendall(b'one')
            self.assertEqual(b'one', client.recv(100))
            disturb()
            self.assertEqual(b'', client.recv(100))

    def test_held_back(self):
        client = self.connect()
        self.proxy.mode = 'stall'
        client.sendall(b'one')
        client.settimeout(0.5)
        self.assertRaises(TimeoutError, client.recv, 100)
        self.proxy.heal()
        client.settimeout(10)
        self.assertEqual(b'one', client.recv(100))

    def test_healed_while_the_campaign_waits(self):
        """A call waited for its connection, and that for the call's end."""
        self.useFixture(fixtures.MonkeyPatch(
            'sys.path', [str(ROOT / 'tools/campaign'), *sys.path]))
        self.addCleanup(sys.modules.pop, 'proxy', None)
        campaign = module('campaign/campaign').Campaign('mariadb', 1, 1)
        ended = threading.Event()
        healer = threading.Thread(target=campaign._heal, args=(ended,))
        healer.start()
        self.addCleanup(healer.join)
        self.addCleanup(ended.set)
        client = self.connect()
        self.proxy.mode = 'stall'
        campaign.disturbed[self.proxy] = time.monotonic()
        client.sendall(b'one')
        client.settimeout(60)
        self.assertEqual(b'one', client.recv(100))
        self.assertEqual({}, campaign.disturbed)

    def test_swallowed(self):
        client = self.connect()
        self.proxy.mode = 'swallow'
        client.sendall(b'one')
        client.settimeout(0.5)
        self.assertRaises(TimeoutError, client.recv, 100)
        self.proxy.heal()
        client.settimeout(10)
        # It never comes: who lost it has to connect anew.
        self.assertEqual(b'', client.recv(100))
