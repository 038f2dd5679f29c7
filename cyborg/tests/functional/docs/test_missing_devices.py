# SPDX-License-Identifier: Apache-2.0
"""DOC-1: admin/missing-devices.rst, its commands and its messages."""

from cyborg.tests.fixtures import pages
from cyborg.tests.fixtures import services
from cyborg.tests.functional.docs import base
from cyborg.tests.functional.docs import shell

PAGE = 'admin/missing-devices.rst'
ONE, TWO = base.ONE, base.TWO


def commands(part: str) -> pages.Block:
    block, = [block for block in pages.blocks(PAGE, language='console')
              if part in block.text]
    return block


class _TwoDevices(base.MessageCase):
    """Two devices, the first allocated."""

    page = PAGE

    def setUp(self):
        super().setUp()
        self.cloud.plug(ONE, TWO)
        self.cloud.start_agent()
        self.arq = self.cloud.bind(ONE)
        self.logs.clear()


class HostTest(_TwoDevices):

    def test_a_host_that_is_gone(self):
        """MIS-4: another machine speaks for it; what is held stays."""
        text = '\n'.join(block.text for block in pages.blocks(
            PAGE, language='ini'))
        for line in ('host = compute-1', 'resource_provider_name = compute-1',
                     'enabled_drivers ='):
            self.assertIn(line, text)
        self.cloud.stop_agent()
        self.cloud.configure('agent', enabled_drivers=[])
        self.cloud.start_agent()
        self.assertEqual([ONE], list(self.cloud.handles()))
        self.assertIsNone(self.cloud.provider(TWO))
        self.assertIn(self.arq, self.line('WARNING', 'is missing'))
        self.cloud.unbind(self.arq)
        self.cloud.restart_agent()
        self.assertEqual({}, self.cloud.handles())
        self.assertIsNone(self.cloud.provider(ONE))
        # Nova can delete the provider of the host.
        self.cloud.placement.delete_provider(self.cloud.root)


class MissingDevicesTest(_TwoDevices):
    """What the service says."""

    def lose(self) -> None:
        self.cloud.unplug(ONE)
        self.cloud.report()

    def test_removed(self):
        """MIS-4"""
        before = self.cloud.handles()[TWO].uuid
        self.cloud.unplug(TWO)
        self.cloud.report()
        self.assertShown(self.line('INFO', 'is gone'))
        self.cloud.plug(TWO)
        self.cloud.report()
        self.assertEqual(before, self.cloud.handles()[TWO].uuid)

    def test_missing(self):
        """MIS-1, MIS-2"""
        self.lose()
        self.assertShown(self.line('WARNING', 'is missing'))

    def test_counted(self):
        self.lose()
        self.assertShown(self.line('INFO', 'Report of host'))

    def test_back(self):
        """MIS-3"""
        self.lose()
        self.cloud.plug(ONE)
        self.cloud.report()
        self.assertShown(self.line('INFO', 'is back'))

    def test_released(self):
        """MIS-3"""
        self.lose()
        self.cloud.delete(self.arq)
        self.cloud.report()
        self.assertShown(self.line('INFO', 'has been released'))

    def test_held(self):
        """MIS-4: a request that is gone, and an allocation that is not"""
        self.lose()
        self.cloud.api.delete('/v2/accelerator_requests?arqs=' + self.arq)
        self.cloud.report()
        self.assertShown(self.line('WARNING', 'Placement still has'))

    def replace(self) -> None:
        self.cloud.unplug(ONE)
        self.cloud.plug(ONE, vendor=0x1d0f, product=0xefa1)
        self.cloud.configure('pci', device_spec=[
            services.rule(), '{"vendor_id": "1d0f"}'])
        self.cloud.restart_agent()

    def test_replaced(self):
        """MIS-6"""
        self.replace()
        self.assertShown(self.line('WARNING', 'is missing'))

    def test_successor(self):
        """MIS-6"""
        self.replace()
        self.cloud.delete(self.arq)
        self.cloud.report()
        self.assertShown(self.line('INFO', 'has been released'))
        self.assertEqual((1, 0), self.cloud.amounts(ONE))

    def test_unreadable(self):
        """DSC-10"""
        self.cloud.tree.write(ONE, 'vendor', b'0x10zz\n')
        self.cloud.report()
        self.assertShown(self.line('WARNING', 'cannot be read'))
        self.assertTrue(self.line('WARNING', 'is missing'))


class CommandsTest(base.MessageCase):
    """What an administrator does about a missing device."""

    page = PAGE

    def setUp(self):
        super().setUp()
        self.cloud.plug(ONE)
        self.cloud.start_agent()
        self.arq = self.cloud.bind(ONE)
        self.provider = self.cloud.provider(ONE)
        self.instance = self.cloud.arq(self.arq)['instance_uuid']
        self.cloud.unplug(ONE)
        self.cloud.report()
        self.terminal = self.useFixture(shell.Shell(self.cloud))

    def assertGone(self):
        self.cloud.report()
        self.assertEqual({}, self.cloud.handles())
        self.assertIsNone(self.cloud.provider(ONE))

    def test_instance_that_nova_knows(self):
        """MIS-2, MIS-3"""
        listed = self.terminal.run(commands('CUSTOM_CYBORG_MISSING'))
        self.assertIn('compute-1_%s' % ONE, listed)
        self.assertIn(self.provider, listed)
        shown = self.terminal.run(
            commands('server delete'), ARQ=self.arq, INSTANCE=self.instance)
        self.assertEqual(self.instance, shown.strip())
        self.assertEqual(['server delete ' + self.instance],
                         self.terminal.others)
        self.cloud.delete(self.arq)  # which Nova then does
        self.assertGone()
        self.assertNotIn(self.provider, self.terminal.run(
            commands('CUSTOM_CYBORG_MISSING')))

    def test_instance_that_nova_forgot(self):
        """MIS-4"""
        self.terminal.run(commands('curl'), ARQ=self.arq)
        self.cloud.api.get('/v2/accelerator_requests/' + self.arq, status=404)
        self.cloud.report()
        self.assertIsNotNone(self.cloud.provider(ONE))
        shown = self.terminal.run(
            commands('allocation delete'), PROVIDER=self.provider,
            CONSUMER=self.arq)
        self.assertIn(self.arq, shown)
        self.assertGone()

    def test_the_service_token_is_needed(self):
        """The example fails without the header it explains."""
        block = commands('curl')
        bare = pages.Block(block.where, 'console', None, block.text.replace(
            '-H "X-Service-Token: $TOKEN"', '-f'))
        self.assertRaises(AssertionError, self.terminal.run, bare,
                          ARQ=self.arq)

    def test_host_that_goes(self):
        """An empty list of drivers lets all free devices go."""
        self.cloud.plug(TWO)
        self.cloud.report()
        text, = [block.text for block in pages.blocks(PAGE, language='ini')
                 if 'enabled_drivers' in block.text]
        self.assertEqual('[agent]\nenabled_drivers =\n', text)
        self.cloud.delete(self.arq)
        self.cloud.configure('agent', enabled_drivers=[])
        self.cloud.restart_agent()
        self.assertEqual((), self.cloud.stored().devices)
        self.assertEqual({'compute-1': self.cloud.root},
                         self.cloud.placement.providers())


class EveryMessage(base.Completeness):

    page = PAGE
    cases = (MissingDevicesTest,)
