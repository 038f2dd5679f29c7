# SPDX-License-Identifier: Apache-2.0
"""What an operator reads: errors of the cleaner, refusals, bad messages."""

from cyborg.cleaner import exceptions
from cyborg.cleaner import listener
from cyborg.cleaning import interlocks
from cyborg.cleaning import records
from cyborg.common import exception
from cyborg.nvme import records as nvme_records
from cyborg.tests import base
from cyborg.tests.unit.cleaning import builders

DISK = '0000:81:00.0 (serial S1)'


class ExceptionsTest(base.TestCase):

    def test_texts(self):
        lock = interlocks.Interlock('reserved', False, 'provider p has 0 of '
                                    '1 reserved')
        for error, text in (
                (exceptions.HostProviderMissing(host='h', names='a, b'),
                 'Placement has no resource provider for host h; looked for: '
                 'a, b. Start nova-compute of this host first, or put the '
                 'name that it uses in Placement into [agent] '
                 'resource_provider_name.'),
                (exceptions.Refused(disk=DISK, host='h', interlock=lock),
                 'Disk %s of host h was not touched: reserved: provider p '
                 'has 0 of 1 reserved.' % DISK),
                (exceptions.ReservationLost(disk=DISK, host='h',
                                            interlock=lock),
                 'Disk %s of host h lost its reservation while it was being '
                 'cleaned: reserved: provider p has 0 of 1 reserved.' % DISK),
                (exceptions.RequestRefused(
                    command='retry', disk=DISK, host='h', state='held',
                    reason='unknown disk', remedy='Do that.'),
                 'retry is not possible for disk %s of host h: it is held '
                 '(unknown disk). Do that.' % DISK),
                (exceptions.AnotherCleaner(host='h', path='/j'),
                 'Another cyborg-cleaner of host h uses the journal /j. Stop '
                 'it first.'),
                (exceptions.JournalUnusable(path='/j', host='h', reason='no'),
                 'The journal /j of host h cannot be used: no. It has to be '
                 'a directory that the user of cyborg-cleaner owns; see '
                 '[cleaner] journal_path.'),
                (exceptions.DiskNotFound(host='h', device='d'),
                 'Host h has no NVMe disk d that [cleaner] device_spec '
                 'selects or the journal knows. See: cyborg-nvme list'),
                (exception.PrivilegedHelperFailed(
                    host='h', section='cyborg_nvme', reason='it ended'),
                 'The privileged helper of host h does not work: it ended. '
                 'It is started by [cyborg_nvme] helper_command, which is '
                 '"sudo privsep-helper" unless set; try that as the user of '
                 'the service.')):
            self.assertEqual(text, error.message)


class InterlocksTest(base.TestCase):

    def refused(self, name, holder, locks):
        self.assertIn(interlocks.Interlock(name, False, holder), locks)

    def test_of_the_host(self):
        """CLEAN-13: each one, with the text of its refusal."""
        uses = tuple(nvme_records.Use(kind, 'a ' + kind)
                     for kind in nvme_records.USES)
        host = builders.host(
            selected=False, cyborg_rule='[pci] entry 1 selects it too',
            class_code=0x20000, physfn='0000:81:00.1', vfs=3, serial='S9',
            model='Other', neighbours=('nvme7',), uses=uses)
        locks = interlocks.of_host(host, builders.entry(
            builders.State.DIRTY))
        for name, holder in (
                ('selected', 'no entry of [cleaner] device_spec selects it'),
                ('cyborg', '[pci] entry 1 selects it too'),
                ('class', 'its class is 020000, not 010802'),
                ('no VF', 'a VF of 0000:81:00.1'), ('no VFs', '3 VFs'),
                ('identity', 'another disk: serial S9, model Other'),
                ('subsystem', 'nvme7'),
                *((use.kind, use.holder) for use in uses)):
            self.refused(name, holder, locks)
        self.refused('present', 'the host has no such device',
                     interlocks.of_host(builders.host(present=False), None))
        self.refused('identity', 'another disk than X', interlocks.of_host(
            builders.host(displaced='X'), None))

    def test_of_placement(self):
        name = 'compute-1_0000:81:00.0'
        for view, lock, holder in (
                (None, 'provider', 'Placement has no provider of it'),
                (builders.view(total=4), 'provider', 'provider %s has 4 '
                 'units of CUSTOM_PCI, not 1' % name),
                (builders.view(twins=(builders.view(name='b'),)), 'provider',
                 'Placement has several providers of it: %s, b' % name),
                (builders.view(used=1), 'not allocated',
                 'provider %s has 1 allocated' % name),
                (builders.view(), 'reserved', 'provider %s has 0 of 1 '
                 'reserved' % name)):
            self.refused(lock, holder, interlocks.of_placement(view))

    def test_settled(self):
        options = records.Options(settle_seconds=10)
        entry = builders.entry(builders.State.DIRTY, since=builders.NOW - 3)
        self.assertEqual('settled: free for less than 10 s', str(
            interlocks.settled(entry, options, builders.NOW)))
        self.assertEqual('settled: the journal does not know it yet', str(
            interlocks.settled(None, options, builders.NOW)))


def payload(version='1.8', namespace='nova', **data):
    return {'nova_object.version': version, 'nova_object.namespace':
            namespace, 'nova_object.data': data}


FLAVOR = payload(extra_specs={'pci_passthrough:alias': 'a:1'})
UUID = '6d3f3b3a-7c62-4a4e-8d67-2d1b4b5b0a01'


class PayloadTest(base.TestCase):
    """CLEAN-28"""

    def test_what_is_wrong_with_a_message(self):
        not_one = ('the payload is no object of Nova\'s version 1, but of '
                   '%s')
        for content, text in (
                (None, 'the payload is no object'),
                ('text', 'the payload is no object'),
                ([], 'the payload is no object'),
                ({}, not_one % 'None'),
                (payload('2.0'), not_one % "'2.0'"),
                (payload(1.8), not_one % '1.8'),
                (payload(namespace='x'), not_one % "'1.8'"),
                ({**payload(), 'nova_object.data': 1},
                 'the payload has no data'),
                (payload(), 'its uuid is None'),
                (payload(uuid=7), 'its uuid is 7'),
                (payload(uuid='../x'), "its uuid is '../x'"),
                (payload(uuid=UUID), 'the flavor is no object'),
                (payload(uuid=UUID, flavor=payload('2.1')), "the flavor is "
                 "no object of Nova's version 1, but of '2.1'"),
                (payload(uuid=UUID, flavor=payload(extra_specs=[])),
                 'its extra_specs are no object'),
                (payload(uuid=UUID, flavor=FLAVOR, host=7),
                 'its host is no text'),
                (payload(uuid=UUID, flavor=FLAVOR, node={}),
                 'its node is no text')):
            error = self.assertRaises(listener.Malformed,
                                      listener.instance_of, content)
            self.assertEqual(text, str(error))

    def test_a_long_value_is_cut(self):
        error = self.assertRaises(listener.Malformed, listener.instance_of,
                                  payload(uuid='x' * 10000))
        self.assertLess(len(str(error)), 120)

    def test_what_is_good(self):
        self.assertEqual((UUID, 'h', None), listener.instance_of(
            payload(uuid=UUID, flavor=FLAVOR, host='h', node=None)))
