# SPDX-License-Identifier: Apache-2.0
"""Properties of matching and selecting over random hosts and rules."""

import json
import re

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from cyborg.pci import address
from cyborg.pci import device_spec
from cyborg.pci import selection
from cyborg.pci import sysfs
from cyborg.tests import base

# Small ranges, so that rules and devices meet often.
DOMAINS, BUSES, SLOTS, FUNCTIONS = (0, 1, 0x10000), (0, 0x3b, 0xff), (
    0, 2, 0x1f), (0, 1, 7)
VENDORS, PRODUCTS = ('10de', '8086', '0001'), ('1eb8', '154c')

addresses = st.builds(
    address.PciAddress, st.sampled_from(DOMAINS), st.sampled_from(BUSES),
    st.sampled_from(SLOTS), st.sampled_from(FUNCTIONS))
managed = st.sampled_from((True, False, 'true', 'FALSE'))


def part(values, digits):
    """A field of an address text: a number in some form, or any."""
    numbers = st.sampled_from(values).flatmap(lambda n: st.sampled_from((
        '%0*x' % (digits, n), '%x' % n, '0x%x' % n,
        '%0*X' % (digits, n), ' %x ' % n)))
    return st.one_of(numbers, st.sampled_from(('*', '', ' * ')))


@st.composite
def address_texts(draw):
    parts = [draw(part((0, 1), 4)), draw(part(BUSES, 2)),
             draw(part(SLOTS, 2))]
    head = ':'.join(parts[draw(st.integers(0, 2)):])
    text = head + draw(st.one_of(
        st.just(''), part(FUNCTIONS, 1).map(lambda text: '.' + text)))
    return text if text.strip() else '*'


def expressions(values, digits):
    return st.one_of(
        st.sampled_from(values).map(lambda n: '%0*x' % (digits, n)),
        st.sampled_from(('.*', '', '0', '1', 'b', 'f', '[0-3]', '3b|ff',
                         '(?i)3B', 'f$')))


address_objects = st.fixed_dictionaries({}, optional={
    'domain': expressions((0, 1), 4), 'bus': expressions(BUSES, 2),
    'slot': expressions(SLOTS, 2), 'function': expressions(FUNCTIONS, 1)
}).filter(bool)
exact_objects = addresses.filter(lambda a: a.addressable).map(lambda a: {
    'domain': '%04x' % a.domain, 'bus': '%02x' % a.bus,
    'slot': '%02x' % a.device, 'function': '%x' % a.function})


@st.composite
def rules(draw):
    rule = draw(st.fixed_dictionaries({}, optional={
        'vendor_id': st.sampled_from((*VENDORS, '*', '10DE', '0x8086', '1')),
        'product_id': st.sampled_from((*PRODUCTS, '*', '154C')),
        'managed': managed}))
    where = draw(st.integers(0, 4))
    if where == 1:
        rule['address'] = draw(address_texts())
    elif where == 2:
        rule['address'] = draw(st.one_of(address_objects, exact_objects))
    elif where == 3:
        rule['devname'] = draw(st.sampled_from(('eth0', 'eth1', 'eth9')))
    elif where == 4:
        rule['address'] = str(draw(
            addresses.filter(lambda a: a.addressable)))
    return rule


@st.composite
def hosts(draw):
    """Devices with unique addresses; some are VFs of others."""
    found = draw(st.lists(addresses, min_size=1, max_size=6, unique=True))
    names = draw(st.permutations(['eth0', 'eth1'] + [None] * 4))
    return [sysfs.PciDevice(
        where, draw(st.sampled_from(VENDORS)),
        draw(st.sampled_from(PRODUCTS)),
        draw(st.sampled_from((0x010802, 0x020000))),
        # The PF itself may be missing, as one that can't be read is.
        physfn=draw(st.one_of(st.none(), st.sampled_from(found), addresses)),
        totalvfs=draw(st.sampled_from((None, 0, 4))),
        net_names=(name,) if name else ())
        for where, name in zip(found, names[:len(found)], strict=True)]


rule_lists = st.lists(rules(), max_size=4)


def reference(rule, device):
    """Does a rule match? Slow, and written from the table of keys alone."""
    for key, have in (('vendor_id', device.vendor_id),
                      ('product_id', device.product_id)):
        want = rule.get(key, '*').strip()
        if want != '*' and int(want, 16) != int(have, 16):
            return False

    texts = [str(device.address).split(':')[0], *re.split(
        '[:.]', str(device.address))[1:]]
    if 'devname' in rule:
        return rule['devname'] in device.net_names
    where = rule.get('address')
    if isinstance(where, dict):
        wants = [where.get(key, '.*')
                 for key in ('domain', 'bus', 'slot', 'function')]
        return all(re.match('(?:%s)' % want if '(?i)' not in want else want,
                            text) for want, text in zip(
            wants, texts, strict=True))
    if where is None:
        return True
    before, _dot, function = where.partition('.')
    wants = ['*', '*', '*', *before.split(':')][-3:] + [function or '*']
    wants = [want.strip() or '*' for want in wants]
    return all(want == '*' or int(want, 16) == int(text, 16)
               for want, text in zip(wants, texts, strict=True))


def load(found):
    return device_spec.load([json.dumps(rule) for rule in found]).rules


def outcomes(verdicts):
    return {v.device.address: v.outcome for v in verdicts}


class MatchingTest(base.TestCase):

    @settings(max_examples=400, deadline=None)
    @given(hosts(), rules())
    def test_matching_equals_the_reference(self, devices, rule):
        loaded, = load([rule])
        for device in devices:
            self.assertEqual(reference(rule, device),
                             loaded.matches(device),
                             (rule, device))


class SelectionTest(base.TestCase):

    @settings(max_examples=200, deadline=None)
    @given(hosts(), rule_lists, st.sets(addresses), addresses, st.booleans())
    def test_an_exclusion_never_changes_another_devices_verdict(
            self, devices, found, exclude, extra, allow_unsafe):
        """DSC-3"""
        before = outcomes(selection.select(
            devices, load(found), exclude, allow_unsafe))
        after = outcomes(selection.select(
            devices, load(found), exclude | {extra}, allow_unsafe))
        before.pop(extra, None)
        after.pop(extra, None)
        self.assertEqual(before, after)

    @settings(max_examples=200, deadline=None)
    @given(hosts(), rule_lists.flatmap(
        lambda found: st.tuples(st.just(found), st.permutations(found))),
        st.sets(addresses), st.booleans())
    def test_the_order_of_entries_never_changes_the_devices(
            self, devices, orders, exclude, allow_unsafe):
        first, second = (outcomes(selection.select(
            devices, load(order), exclude, allow_unsafe)) for order in orders)
        self.assertEqual(first, second)

    @settings(max_examples=200, deadline=None)
    @given(hosts(), rule_lists, st.sets(addresses))
    def test_what_is_offered(self, devices, found, exclude):
        """DSC-2..5, DSC-8, for any host and rules"""
        for allow_unsafe in (False, True):
            for verdict in selection.select(devices, load(found), exclude,
                                            allow_unsafe):
                if verdict.withheld is not None:
                    continue  # see FamiliesTest
                device = verdict.device
                selected = any(reference(rule, device)
                               for rule in found)
                nvme = device.class_code >> 8 == 0x0108
                self.assertEqual(
                    selected and device.address not in exclude
                    and device.address.domain <= 0xffff
                    and (allow_unsafe or not nvme), verdict.offered)
