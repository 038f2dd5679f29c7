# SPDX-License-Identifier: Apache-2.0
"""DOC-1: what the guide says of costs, properties and safety holds."""

import json
import re

import oslo_messaging as messaging

from cyborg.common import context
from cyborg.common import exception
from cyborg.objects import base as objects_base
from cyborg.rpcapi import conductor as conductor_rpcapi
from cyborg.tests.fixtures import pages
from cyborg.tests.functional.docs import base
from cyborg.tests.functional.docs import shell

ONE, TWO, NVME = base.ONE, base.TWO, base.NVME


class CostsTest(base.MessageCase):
    """admin/reports.rst"""

    page = 'admin/reports.rst'

    def row(self, beginning: str) -> tuple[int, int, int]:
        """SQL statements, RPC calls, requests to Placement on the page."""
        text = (pages.SOURCE / self.page).read_text()
        row = re.search(r'\* - %s[^*]*\n     - (\d+)\n     - (\d+)\n'
                        r'     - (\d+)\n' % re.escape(beginning), text)
        return tuple(map(int, row.groups()))

    def cost(self, action) -> tuple[int, int, int]:
        self.cloud.placement.forget_calls()
        self.cloud.conductor.calls.clear()
        with self.cloud.db.count_statements() as statements:
            action()
        return (len(statements), len(self.cloud.conductor.calls),
                len(self.cloud.placement.calls))

    def test_costs_do_not_depend_on_numbers(self):
        """PERF-1, PERF-2"""
        self.cloud.plug(ONE, TWO)
        self.cloud.start_agent()
        for _round in range(2):
            # One that stores, and one that finds nothing to do.
            self.cloud.report()
            self.cloud.report()
            self.assertEqual(self.row('a report without change'),
                             self.cost(self.cloud.report))
            self.conf.set(group='agent', whole_report_interval=0)
            self.assertEqual(self.row('the same where it is sent whole'),
                             self.cost(self.cloud.report))
            self.conf.set(group='agent', whole_report_interval=3600)
            address = next(
                address for address, handle in self.cloud.handles().items()
                if not handle.allocated)
            arq = self.cloud.create_arq()
            self.assertEqual(self.row('creating'),
                             self.cost(self.cloud.create_arq))
            # The cost of Nova's own allocation is none of ours.
            self.cloud.placement.allocate = lambda *args, **kwargs: None
            provider = self.cloud.provider(address)
            self.assertEqual(
                self.row('binding'), self.cost(
                    lambda arq=arq, provider=provider:
                    self.cloud.bind_provider(provider, arq=arq)))
            self.cloud.placement.deallocate = lambda *args, **kwargs: None
            self.assertEqual(self.row('unbinding'), self.cost(
                lambda arq=arq: self.cloud.unbind(arq)))
            self.cloud.bind_provider(provider, arq=arq)
            instance = self.cloud.arq(arq)['instance_uuid']
            self.assertEqual(self.row('deleting'), self.cost(
                lambda instance=instance: self.cloud.api.delete(
                    '/v2/accelerator_requests?instance=' + instance)))
            arq = self.cloud.create_arq()
            self.cloud.bind_provider(provider, arq=arq)
            for path in ('', '/' + arq):
                self.assertEqual(
                    self.row('showing or listing'), self.cost(
                        lambda path=path: self.cloud.api.get(
                            '/v2/accelerator_requests' + path)))
            self.cloud.plug(*('0000:26:%02x.0' % n for n in range(20)))


class OrderTest(base.MessageCase):
    """admin/reports.rst"""

    page = 'admin/reports.rst'

    def test_outdated(self):
        """Two agents for one host."""
        def report(number):
            asker = context.get_admin_context()
            asker.report = context.Report('compute-1', number)
            self.cloud.conductor.report_data(asker, 'compute-1', [])
        report(1796094000000000)
        error = self.assertRaises(messaging.ExpectedException, report, 5)
        self.assertShown(error.exc_info[1].message)


class PropertiesTest(base.MessageCase):
    """admin/device-properties.rst"""

    page = 'admin/device-properties.rst'

    def test_handles_of_2026_2(self):
        """REC-6: id, UUID and allocation stay."""
        block, = pages.blocks(self.page, language='json')
        shown = json.loads(block.text)
        self.cloud.plug(ONE)
        self.cloud.start_agent()
        arq = self.cloud.bind(ONE)
        before = self.cloud.handles()[ONE]
        self.assertEqual(json.dumps(shown['before'], sort_keys=True),
                         before.attach_info)
        self.cloud.tree.write(ONE, 'numa_node', b'1\n')
        self.cloud.report()
        after = self.cloud.handles()[ONE]
        self.assertEqual(json.dumps(shown['after'], sort_keys=True),
                         after.attach_info)
        self.assertEqual((before.id, before.uuid, (arq,)),
                         (after.id, after.uuid, after.arq_uuids))


class SecurityTest(base.MessageCase):
    """admin/security.rst"""

    page = 'admin/security.rst'

    def test_unsafe(self):
        """DSC-5: and ``stateful`` is true."""
        self.cloud.configure('workarounds', allow_unsafe_devices=True)
        self.cloud.plug(NVME, class_code=0x010802)
        self.cloud.start_agent()
        self.cloud.report()
        self.assertShown(self.line('WARNING', 'UNSAFE DEVICE'))
        self.assertIs(True, self.cloud.arq(self.cloud.bind(NVME))[
            'attach_handle_info']['stateful'])

    def test_what_agents_may_call(self):
        """IND-1: five methods of all objects, as the page says."""
        remotable = sorted(
            '%s.%s' % (name, method)
            for name, classes in
            objects_base.CyborgObjectRegistry.obj_classes().items()
            for method in dir(classes[0])
            if getattr(getattr(classes[0], method, None), 'remotable',
                       False))
        self.assertEqual(['AttachHandle.update_attach_info',
                          'AttachHandleList.update_attach_info',
                          'HostInventory.get_by_host',
                          'HostInventory.get_last_machine',
                          'HostInventory.get_names'], remotable)
        self.assertRaises(
            exception.RemoteMethodRefused,
            conductor_rpcapi.ConductorAPI().object_class_action_versions,
            self.context, 'Device', 'list', {'Device': '1.1'}, (), {})


class MaintenanceTest(base.MessageCase):
    """admin/operation.rst"""

    page = 'admin/operation.rst'

    def test_commands(self):
        self.cloud.plug(ONE)
        self.cloud.start_agent()
        terminal = self.useFixture(shell.Shell(self.cloud))
        block, = pages.blocks(self.page, language='console')
        device, = self.cloud.stored().devices
        for line, status, free in zip(
                block.text.splitlines(True), ('maintaining', 'enabled'),
                (0, 1), strict=True):
            terminal.run(pages.Block(block.where, 'console', None, line),
                         DEVICE=device.uuid)
            self.assertEqual((status, free), (
                self.cloud.stored().devices[0].status, self.cloud.free()))
