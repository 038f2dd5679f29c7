# SPDX-License-Identifier: Apache-2.0
"""cyborg-pci check --persisted: what a restart would do (PRV-1).

Each test first asks, then restarts the agent and compares.
"""

import io
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
from unittest import mock

from cyborg.cmd import pci
from cyborg.tests import base
from cyborg.tests.fixtures import servers
from cyborg.tests.fixtures import services
from cyborg.tests.functional.agent import base as agent_base

ONE, TWO, THREE = '0000:25:00.1', '0000:25:00.2', '0000:25:00.3'


class PreviewTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.cloud = self.useFixture(
            services.InOneProcess(self.conf, self.logs))
        self.empty = os.path.join(self.temp_dir(), 'cyborg.conf')
        pathlib.Path(self.empty).touch()
        self.cloud.plug(ONE, TWO)
        self.cloud.start_agent()

    def preview(self, *arguments):
        """Exit status and the findings as (kind, subject) -> detail."""
        for group, options in self.cloud.options.items():
            self.conf.set(None if group == 'DEFAULT' else group, **options)
        out, self.told = io.StringIO(), io.StringIO()
        status = pci.main(
            ['cyborg-pci', 'check', '--persisted', '-f', 'json', *arguments,
             '--config-file', self.empty], stdout=out, stderr=self.told)
        return status, {(row['kind'], row['subject']): row['detail']
                        for row in json.loads(out.getvalue())}

    def test_nothing_changes(self):
        before = self.cloud.stored()
        self.assertEqual((0, {}), self.preview())
        self.assertIn('cyborg-pci: compared with what is stored of host '
                      'compute-1: no difference\n', self.told.getvalue())
        self.assertEqual(before, self.cloud.stored())

    def test_a_host_that_is_renamed(self):
        """ID-2: it showed devices of both names and refused nothing."""
        self.cloud.bind(ONE)
        self.cloud.placement.add_provider('compute-1.example.org')
        self.cloud.configure(host='compute-1.example.org')
        self.cloud.configure('agent', resource_provider_name=None)
        status, found = self.preview()
        self.assertEqual((1, [('reason', '[DEFAULT] host')]),
                         (status, list(found)))
        text, = found.values()
        self.cloud.stop_agent()
        error = self.assertRaises(services.StartRefused,
                                  self.cloud.start_agent)
        self.assertEqual(str(error), text)
        # Where Placement knows the short name alone, the host is the same;
        # what is free gets the name that the driver makes now.
        self.cloud.placement.delete_provider(
            self.cloud.placement.providers()['compute-1.example.org'])
        before = self.cloud.handles()[ONE]
        self.assertEqual(
            (0, {('missing', TWO), ('new', TWO)}),
            (lambda status, found: (status, {
                (kind, subject.rpartition('_')[2])
                for kind, subject in found}))(*self.preview()))
        self.cloud.start_agent()
        self.assertEqual(before, self.cloud.handles()[ONE])
        self.assertEqual((1, 0), self.cloud.amounts(ONE))

    def test_a_renamed_host_and_no_placement(self):
        self.cloud.configure(host='compute-1.example.org')
        self.cloud.configure('agent', resource_provider_name=None)
        self.cloud.placement.fail('', status=503, times=None)
        status, found = self.preview()
        self.assertEqual(2, status)
        self.assertIn('Placement', found['unknown', 'conductor'])

    def test_an_allocated_device_whose_interface_is_gone(self):
        """ID-4: asked with what is stored in mind, as the agent does."""
        self.cloud.tree.net(ONE, 'ib0')
        self.cloud.rules({'devname': 'ib0'}, {'address': TWO})
        self.cloud.restart_agent()
        self.cloud.bind(ONE)
        self.cloud.tree.take_net('ib0')
        status, found = self.preview()
        self.assertEqual((0, [('warning', '[pci] device_spec')]),
                         (status, list(found)))
        text, = found.values()
        self.assertIn('a guest has the device, and the interface with it',
                      text)

    def test_a_new_device(self):
        self.cloud.plug(THREE)
        self.assertEqual(
            (0, {('new', THREE): 'not stored yet, would be offered'}),
            self.preview())
        self.cloud.restart_agent()
        self.assertIn(THREE, self.cloud.handles())
        self.assertEqual((0, {}), self.preview())

    def test_a_free_device_that_is_gone(self):
        """MIS-4"""
        self.cloud.unplug(ONE)
        status, found = self.preview()
        self.assertEqual((0, [('missing', ONE)]), (status, list(found)))
        self.cloud.restart_agent()
        self.assertEqual([TWO], list(self.cloud.handles()))

    def test_an_allocated_device_that_is_excluded(self):
        """MIS-1"""
        arq = self.cloud.bind(ONE)
        self.cloud.rules({'vendor_id': services.VENDOR}, exclude=[ONE])
        self.assertEqual(
            (0, {('retained', ONE): 'gone or no longer offered, but '
                 'allocated (accelerator request %s): kept until it is '
                 'released' % arq}), self.preview())
        self.cloud.restart_agent()
        self.assertTrue(self.cloud.handles()[ONE].allocated)

    def test_another_device_at_the_address_of_an_allocated_one(self):
        """MIS-6"""
        arq = self.cloud.bind(ONE)
        self.cloud.unplug(ONE)
        self.cloud.plug(ONE, product=0x1eb8)
        self.cloud.rules({'vendor_id': services.VENDOR})
        status, found = self.preview()
        self.assertEqual(0, status)
        self.assertEqual(
            'replaced by another device, 10de:1eb8, but allocated '
            '(accelerator request %s): kept until it is released' % arq,
            found['retained', ONE])

    def test_a_free_handle_changes_its_mode(self):
        """REC-4"""
        self.cloud.rules({'vendor_id': services.VENDOR, 'managed': False})
        status, found = self.preview()
        self.assertEqual(0, status)
        for address in (ONE, TWO):
            handle = self.cloud.handles()[address]
            self.assertEqual(
                'managed=true becomes false, attach handle %s' % handle.uuid,
                found['changed', address])
        self.cloud.restart_agent()
        self.assertEqual(0, len([kind for kind, _subject in
                                 self.preview()[1] if kind == 'changed']))

    def test_an_allocated_handle_refuses(self):
        """REC-3: with the words of the agent"""
        arq = self.cloud.bind(ONE)
        self.cloud.rules({'vendor_id': services.VENDOR, 'managed': False})
        status, found = self.preview()
        self.assertEqual(1, status)
        error = self.assertRaises(services.StartRefused,
                                  self.cloud.restart_agent)
        self.assertEqual(str(error), found['refused', ONE])
        self.assertIn(arq, found['refused', ONE])
        self.assertIn(('changed', TWO), found)

    def test_allocated_with_both_modes(self):
        """PRV-1: the rules that an agent accepts."""
        self.cloud.bind(ONE)
        self.cloud.bind(TWO)
        handle = self.cloud.handles()[TWO]
        with self.cloud.db.engine.begin() as connection:
            connection.exec_driver_sql(
                "UPDATE attach_handles SET attach_info = '%s' WHERE id = %d"
                % (json.dumps({**json.loads(handle.attach_info),
                               'managed': False}, sort_keys=True), handle.id))
        self.cloud.rules({'vendor_id': services.VENDOR, 'managed': True})
        status, found = self.preview()
        self.assertEqual(1, status)
        rules = [found['warning', address].partition('device_spec = ')[2]
                 for address in (ONE, TWO)]
        self.assertEqual(['{"address": "%s", "managed": true}' % ONE,
                          '{"address": "%s", "managed": false}' % TWO], rules)
        self.cloud.rules(*map(json.loads, rules),
                         {'vendor_id': services.VENDOR, 'managed': True})
        status, found = self.preview()
        self.assertEqual(0, status)
        # That it is bound to no driver is another matter.
        self.assertEqual([('warning', TWO)], list(found))
        self.assertIn('bound to no driver', found['warning', TWO])

    def test_damaged_attach_info(self):
        """REC-7"""
        uuid = self.cloud.handles()[ONE].uuid
        with self.cloud.db.engine.begin() as connection:
            connection.exec_driver_sql(
                "UPDATE attach_handles SET attach_info = '[1]' "
                "WHERE uuid = '%s'" % uuid)
        status, found = self.preview()
        self.assertEqual(1, status)
        error = self.assertRaises(services.StartRefused,
                                  self.cloud.restart_agent)
        self.assertEqual(str(error), found['reason', uuid])

    def test_a_capped_conductor(self):
        self.cloud.configure('upgrade_levels', conductor='1.0')
        status, found = self.preview()
        self.assertEqual(2, status)
        self.assertIn('caps conductors at 1.0', found['unknown', 'conductor'])

    def test_a_conductor_that_is_too_slow(self):
        """Stopped, hung, or killed while it answers."""
        self.cloud.conductor.before('object_class_action_versions',
                                    lambda: time.sleep(2))
        status, found = self.preview('--timeout', '0.5')
        self.assertEqual(2, status)
        self.assertIn('no conductor answered on topic cyborg-conductor',
                      found['unknown', 'conductor'])

    def test_a_broker_that_is_never_reached(self):
        """oslo.messaging goes on trying for ever; the command does not."""
        never = threading.Event()
        self.addCleanup(never.set)
        with mock.patch.object(pci.pci_check.rpc, 'init', new=never.wait):
            findings = pci.pci_check.persisted(timeout=0.1)
        self.assertEqual([('unknown', 'conductor')],
                         [(f.kind, f.subject) for f in findings])

    def test_an_error_that_is_not_ours(self):
        """The library of the broker raises its own."""
        with mock.patch.object(pci.pci_check.rpc, 'init',
                               side_effect=ValueError('403 refused')):
            finding, = pci.pci_check.persisted(timeout=1)
        self.assertEqual('unknown', finding.kind)
        self.assertIn('cannot be read: 403 refused', finding.detail)

    def test_a_wrong_configuration_asks_nobody(self):
        self.cloud.configure('pci', device_spec=['oops'])
        self.logs.clear()
        status, found = self.preview()
        self.assertNotIn('oslo_messaging', self.logs.text)
        self.assertEqual(1, status)
        self.assertEqual([('reason', '[pci] device_spec')], list(found))

    def test_a_discovery_that_fails(self):
        """MIS-7: nothing is called missing."""
        self.cloud.move_sysfs_away()
        status, found = self.preview()
        self.assertEqual(2, status)
        self.assertEqual({'unknown'}, {kind for kind, _subject in found})


class PreviewOverRabbitMQTest(agent_base.ServersTestCase):
    """The command itself, and conductor and agent as commands."""

    timeout = 180

    def test_command(self):
        cloud = self.cloud
        cloud.plug(ONE, TWO)
        cloud.start_agent()
        arq = cloud.bind(ONE)
        cloud.rules({'vendor_id': services.VENDOR, 'managed': False})
        config = os.path.join(self.temp_dir(), 'cyborg.conf')
        options = dict(cloud.options, DEFAULT=dict(
            cloud.options['DEFAULT'], transport_url=self.servers.url))
        pathlib.Path(config).write_text(servers._ini(options))
        done = subprocess.run(
            [pathlib.Path(sys.executable).parent / 'cyborg-pci', 'check',
             '--persisted', '-f', 'json', '--config-file', config],
            capture_output=True, text=True, timeout=300,
            env=dict(os.environ, PYTHONWARNINGS='ignore'))
        self.assertEqual(1, done.returncode, done.stderr)
        found = {row['subject']: row for row in json.loads(done.stdout)
                 if row['kind'] in ('refused', 'changed')}
        self.assertEqual(('refused', 'changed'),
                         (found[ONE]['kind'], found[TWO]['kind']))
        self.assertIn(arq, found[ONE]['detail'])
