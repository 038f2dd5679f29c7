# SPDX-License-Identifier: Apache-2.0
"""BASE-1, CFG-1..6: options, their defaults, the examples in their help."""

import json
import pathlib
import re
import socket
import subprocess
import sys

from oslo_config import cfg
from oslo_config import types

from cyborg.agent import loading
from cyborg.cleaner import selection
from cyborg.common import exception
from cyborg.common import rpc
from cyborg.conf import CONF
from cyborg.conf import default
from cyborg.conf import opts
from cyborg.pci import device_spec
from cyborg.pci import exclusions
from cyborg.rpcapi import agent as agent_rpcapi
from cyborg.rpcapi import conductor as conductor_rpcapi
from cyborg.tests import base

RECORDED = json.loads(
    (pathlib.Path(__file__).parent / 'options_2026_2.json').read_text())

# Defaults that depend on the machine, as the recording writes them.
MACHINE_DEFAULTS = {
    '<socket.gethostname()>': socket.gethostname(),
    '<socket.getfqdn()>': socket.getfqdn(),
    '<directory of the installed package>': default.PACKAGE_PARENT,
}


def own_options():
    """(group, option) of what this service itself defines."""
    for group, options in opts.list_opts():
        name = getattr(group, 'name', group)
        for option in options:
            if name not in ('nova', 'placement', 'service_user', 'glance'):
                yield name, option
            elif option.dest in ('send_service_user_token', 'num_retries'):
                yield name, option


def registered(group: str, dest: str) -> cfg.Opt:
    known = CONF._opts if group == 'DEFAULT' else CONF._groups[group]._opts
    return known[dest]['opt']


class ContractTest(base.TestCase):

    def test_options_of_2026_2_are_there_with_their_defaults(self):
        for group, recorded in RECORDED.items():
            for expected in recorded:
                dest = expected['dest']
                if dest == 'passthrough_whitelist':
                    continue    # CFG-1, below
                option = registered(group, dest)
                value = expected['default']
                if isinstance(value, str):
                    value = MACHINE_DEFAULTS.get(value, value)
                self.assertEqual(value, option.default, (group, dest))
                if 'sample_default' in expected:
                    self.assertEqual(expected['sample_default'],
                                     option.sample_default, (group, dest))
                if expected['class'] != 'Opt':
                    self.assertEqual(expected['class'],
                                     type(option).__name__, (group, dest))

    def test_former_names_of_2026_2_are_there(self):
        for group, recorded in RECORDED.items():
            for expected in recorded:
                if 'deprecated_names' not in expected:
                    continue
                option = registered(group, expected['dest'])
                self.assertEqual(
                    expected['deprecated_names'],
                    [{'group': former.group, 'name': former.name}
                     for former in option.deprecated_opts],
                    (group, expected['dest']))

    def test_every_registered_option_is_listed(self):
        listed = {(getattr(group, 'name', group), option.dest)
                  for group, options in opts.list_opts()
                  for option in options}
        for group, recorded in RECORDED.items():
            for expected in recorded:
                if expected['dest'] != 'passthrough_whitelist':
                    self.assertIn((group, expected['dest']), listed)

    def test_defaults_survive_a_reset_of_the_configuration(self):
        CONF.reset()
        self.assertEqual('placement', CONF.placement.service_type)
        self.assertEqual(['internal', 'public'], CONF.nova.valid_interfaces)


class DeviceSpecNamesTest(base.TestCase):
    """CFG-1: one option under two names."""

    OLD = 'passthrough_whitelist = {"vendor_id": "10de"}\n'
    NEW = 'device_spec = {"vendor_id": "8086"}\n'

    def read(self, *files):
        directory = pathlib.Path(self.temp_dir())
        paths = []
        for number, text in enumerate(files):
            path = directory / ('%d.conf' % number)
            path.write_text('[pci]\n' + text)
            paths.append(str(path))
        self.conf.load_files(*paths)
        return CONF.pci.device_spec

    def test_new_name(self):
        self.assertEqual(['{"vendor_id": "8086"}'], self.read(self.NEW))

    def test_former_name(self):
        self.assertEqual(['{"vendor_id": "10de"}'], self.read(self.OLD))

    def test_repeated(self):
        self.assertEqual(2, len(self.read(self.NEW + self.NEW)))

    def test_both_names_in_one_file(self):
        self.assertEqual(
            {'{"vendor_id": "8086"}', '{"vendor_id": "10de"}'},
            set(self.read(self.OLD + self.NEW)))

    def test_both_names_in_two_files(self):
        self.assertEqual(
            {'{"vendor_id": "8086"}', '{"vendor_id": "10de"}'},
            set(self.read(self.OLD, self.NEW)))

    def test_validator_knows_both(self):
        for text in (self.OLD, self.NEW):
            result = self.validate(text)
            self.assertEqual(0, result.returncode, result.stderr)

    def test_validator_tells_a_misspelt_name(self):
        result = self.validate('device_specs = {}\n')
        self.assertNotEqual(0, result.returncode)
        self.assertIn('device_specs', result.stderr + result.stdout)

    def validate(self, text):
        path = pathlib.Path(self.temp_dir()) / 'cyborg.conf'
        path.write_text('[pci]\n' + text)
        return subprocess.run(
            [sys.executable, '-W', 'ignore', '-c',
             'import sys; from oslo_config import validator; '
             'sys.exit(validator.main())',
             '--namespace', 'cyborg', '--input-file', str(path)],
            capture_output=True, text=True, timeout=300)


class DeprecationTest(base.TestCase):

    def test_workaround_is_deprecated_at_introduction(self):
        """CFG-5"""
        option = registered('workarounds', 'allow_unsafe_devices')
        self.assertTrue(option.deprecated_for_removal)
        self.assertEqual('2027.1', option.deprecated_since)
        self.assertFalse(option.default)


class SampleTest(base.TestCase):

    def generate(self):
        path = pathlib.Path(self.temp_dir()) / 'cyborg.conf.sample'
        root = pathlib.Path(default.PACKAGE_PARENT)
        subprocess.run(
            [sys.executable, '-W', 'ignore', '-c',
             'import sys; from oslo_config import generator; '
             'sys.exit(generator.main())',
             '--config-file',
             str(root / 'tools/config/cyborg-config-generator.conf'),
             '--output-file', str(path)],
            check=True, capture_output=True, timeout=300)
        return path

    def test_sample_names_every_option_and_is_readable(self):
        path = self.generate()
        text = path.read_text()
        for group, option in own_options():
            self.assertIn('[%s]' % group, text)
            self.assertRegex(text, r'(?m)^#%s\s*=' % option.dest)
        self.assertNotIn(socket.gethostname() + '\n', text)
        # With every line active it would have to be valid, too; what has no
        # default is empty there, so only our own options are tried.
        self.conf.load_files(str(path))
        self.assertEqual(6666, CONF.api.port)

    def test_list_of_library_options_is_complete_for_keystone(self):
        text = self.generate().read_text()
        for group in ('nova', 'placement', 'glance', 'service_user'):
            section = text.split('\n[%s]\n' % group)[1].split('\n[')[0]
            for name in ('auth_type', 'auth_url', 'username', 'cafile'):
                self.assertIn('#%s =' % name, section, group)


def of_driver_names(value):
    loading.load([name.strip() for name in value.split(',')])


def of_conductor_cap(value):
    CONF.set_override('conductor', value, group='upgrade_levels')
    conductor_rpcapi.ConductorAPI().supports_object_indirection()


def of_agent_cap(value):
    CONF.set_override('agent', value, group='upgrade_levels')
    agent_rpcapi.AgentAPI().client


def of_uri(value):
    types.URI()(value)
    if '://' not in value:
        raise ValueError('no URL: ' + value)


# How this service, beyond the type of the option, checks a value.
CHECKS = {
    ('agent', 'enabled_drivers'): of_driver_names,
    ('cleaner', 'device_spec'): lambda value: selection.rules('h', [value]),
    ('pci', 'device_spec'): lambda value: device_spec.load([value]),
    ('pci', 'exclude_list'): lambda value: exclusions.load(value.split(',')),
    ('upgrade_levels', 'conductor'): of_conductor_cap,
    ('upgrade_levels', 'agent'): of_agent_cap,
    ('api', 'public_endpoint'): of_uri,
}


class HelpTest(base.TestCase):
    """What the help calls valid is valid, and what it calls invalid is not."""

    def setUp(self):
        super().setUp()
        rpc.init()
        self.addCleanup(rpc.cleanup)

    def examples(self, option, word):
        match = re.search(r'(?<!\w)%s:(.*?)(?=\n\n|Invalid:|$)' % word,
                          option.help, re.S)
        return re.findall(r'``(.+?)``', match[1]) if match else []

    def check(self, group, option, text):
        value = option.type(text)
        special = CHECKS.get((group, option.dest))
        if special:
            special(text)
        return value

    def test_every_option_has_examples(self):
        for group, option in own_options():
            if 'accepted so that' in option.help:
                continue    # unused options
            self.assertTrue(self.examples(option, 'Valid'),
                            (group, option.name))

    def test_valid_examples_are_accepted(self):
        for group, option in own_options():
            for text in self.examples(option, 'Valid'):
                self.check(group, option, text)

    def test_invalid_examples_are_refused(self):
        refused = 0
        for group, option in own_options():
            for text in self.examples(option, 'Invalid'):
                try:
                    self.check(group, option, text)
                except (ValueError, exception.CyborgException):
                    refused += 1
                    continue
                self.fail('%s.%s: %r passes' % (group, option.name, text))
        self.assertGreater(refused, 20)
