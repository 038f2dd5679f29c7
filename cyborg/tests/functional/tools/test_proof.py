# SPDX-License-Identifier: Apache-2.0
"""The commands that prove things on real parts, without those parts."""

import importlib.util
import pathlib
import re
import socket
import subprocess
import sys
import threading

from cyborg.tests import base

ROOT = pathlib.Path(__file__).resolve().parents[4]


def module(path: str):
    """A module of ``tools``, which is no package."""
    spec = importlib.util.spec_from_file_location(
        pathlib.Path(path).stem, ROOT / 'tools' / path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


class CommandsTest(base.TestCase):

    def help(self, name: str) -> str:
        done = subprocess.run(
            [sys.executable, str(ROOT / 'tools' / name / name), '--help'],
            capture_output=True, text=True, timeout=120)
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

    def test_documented_scenarios(self):
        """DOC-1: the page names all scenarios, and none else."""
        text = (ROOT / 'tools/minicloud/scenarios.py').read_text()
        there = {name.replace('_', '-') for name in re.findall(
            r'^@scenario\ndef (\w+)', text, re.MULTILINE)}
        page = (ROOT / 'doc/source/contributor/minicloud.rst').read_text()
        section = page.split('The scenarios\n')[1]
        named = {name for line in section.splitlines()
                 if line.startswith('``')
                 for name in re.findall(r'``([a-z-]+)``', line)}
        self.assertEqual(there, named)


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
