# SPDX-License-Identifier: Apache-2.0

import time

from cyborg.pci import address
from cyborg.pci import device_spec
from cyborg.pci import printable
from cyborg.pci import schema
from cyborg.tests import base

KEYS = 'vendor_id, product_id, address, devname, managed'
ADDRESS_KEYS = 'domain, bus, slot, function'

#: Entry -> each of its faults, the full text after the entry.
BAD = {
    # Bug 2167145, B12: misspelt and foreign keys
    '{"vendor": "10de"}': [
        'at $.vendor: unknown key "vendor" (valid: %s), did you mean '
        '"vendor_id"?' % KEYS],
    '{"vendor_id": "10de", "adress": "0000:3b:00.0", "mangaed": true}': [
        'at $.adress: unknown key "adress" (valid: %s), did you mean '
        '"address"?' % KEYS,
        'at $.mangaed: unknown key "mangaed" (valid: %s), did you mean '
        '"managed"?' % KEYS],
    '{"device_id": "1eb8"}': [
        'at $.device_id: unknown key "device_id" (valid: %s), did you mean '
        '"product_id"?' % KEYS],
    '{"xyzzy": 1}': ['at $.xyzzy: unknown key "xyzzy" (valid: %s)' % KEYS],
    '{"physical_network": "net1"}': [
        'at $.physical_network: key of Nova\'s option, without meaning here, '
        '"physical_network" (valid: %s)' % KEYS],
    '{"address": {"device": "ff"}}': [
        'at $.address.device: unknown key "device" (valid: %s), did you mean '
        '"slot"?' % ADDRESS_KEYS],
    '{"address": {"buss": "ff", "func": "0"}}': [
        'at $.address.buss: unknown key "buss" (valid: %s), did you mean '
        '"bus"?' % ADDRESS_KEYS,
        'at $.address.func: unknown key "func" (valid: %s), did you mean '
        '"function"?' % ADDRESS_KEYS],
    # Types
    '{"vendor_id": 4318}': ['at $.vendor_id: 4318 must be text'],
    '{"vendor_id": null}': ['at $.vendor_id: null must be text'],
    '{"product_id": ["1eb8"]}': ['at $.product_id: ["1eb8"] must be text'],
    # Values that restrict nothing: an empty variable of a template
    **{'{"address": %s}' % value: [
        'at $.address: %s restricts nothing: leave the key out, or write "*"'
        % shown] for value, shown in (
            ('null', 'null'), ('false', 'false'), ('0', '0'), ('[]', '[]'),
            ('{}', '{}'), ('""', "''"), ('"  "', "'  '"))},
    **{'{"devname": %s}' % value: [
        'at $.devname: %s restricts nothing: leave the key out' % value]
        for value in ('null', '""', '" "')},
    '{"vendor_id": "10de", "devname": false}': [
        'at $.devname: false must be text'],
    '{"address": 5}': ['at $.address: 5 must be text or an object'],
    '{"address": true}': ['at $.address: true must be text or an object'],
    '{"address": ["0000:3b:00.0"]}': [
        'at $.address: ["0000:3b:00.0"] must be text or an object'],
    '{"address": {"bus": 59}}': ['at $.address.bus: 59 must be text'],
    '{"devname": 5}': ['at $.devname: 5 must be text'],
    '{"managed": 1}': ['at $.managed: 1 must be true or false'],
    '{"managed": null}': ['at $.managed: null must be true or false'],
    # Ranges and forms
    '{"vendor_id": "10d*"}': [
        "at $.vendor_id: '10d*' is neither a hexadecimal number nor *"],
    '{"vendor_id": "-1"}': [
        "at $.vendor_id: '-1' is neither a hexadecimal number nor *"],
    # Python takes all of these for hexadecimal numbers.
    **{'{"vendor_id": "%s"}' % value: [
        "at $.vendor_id: '%s' is neither a hexadecimal number nor *" % shown]
        for value, shown in (('1_0de', '1_0de'), ('+10de', '+10de'),
                             ('0x_10de', '0x_10de'), ('0x', '0x'),
                             ('\uff11\uff10de', '\uff11\uff10de'))},
    '{"address": "0000:3_b:00.0"}': [
        "at $.address: bus '3_b' is neither a hexadecimal number nor *"],
    '{"address": "0000:3b:00.+0"}': [
        "at $.address: function '+0' is neither a hexadecimal number nor *"],
    '{"vendor_id": "12345"}': ["at $.vendor_id: '12345' is larger than ffff"],
    '{"vendor_id": ""}': [
        "at $.vendor_id: '' is neither a hexadecimal number nor *"],
    '{"address": "0000:3b:00.8"}': [
        "at $.address: function '8' is larger than 7"],
    '{"address": "0000:3b:20.0"}': [
        "at $.address: slot '20' is larger than 1f"],
    '{"address": "10000:e1:00.0"}': [
        "at $.address: domain '10000' is larger than ffff"],
    '{"address": "0000:3b:00.[0-3]"}': [
        "at $.address: function '[0-3]' is neither a hexadecimal number nor "
        '*'],
    # B13
    '{"address": "0000:82.0.0"}': [
        "at $.address: slot '82' is larger than 1f"],
    '{"address": "0000:82:0.0.0"}': [
        "at $.address: function '0.0' is neither a hexadecimal number nor *"],
    '{"address": "1:0000:3b:00.0"}': [
        "at $.address: '1:0000:3b:00.0' has too many parts: write "
        'domain:bus:slot.function'],
    '{"address": {"bus": "["}}': [
        "at $.address.bus: '[' is no regular expression: unterminated "
        'character set at position 0'],
    # CFG-3
    '{"managed": "maybe"}': ["at $.managed: 'maybe' is neither true nor "
                             'false'],
    '{"managed": "yes"}': ["at $.managed: 'yes' is neither true nor false"],
    '{"managed": " true"}': ["at $.managed: ' true' is neither true nor "
                             'false'],
    '{"managed": "true\\n"}': ["at $.managed: 'true\\n' is neither true nor "
                               'false'],
    '{"managed": true, "managed": false}': [
        'at $: the key "managed" is given twice'],
    # Combinations
    '{"devname": "ens1f0", "address": "0000:3b:00.0"}': [
        'at $: {"devname": "ens1f0", "address": "0000:3b:00.0"} has both '
        'address and devname, give one of them'],
    '{"devname": "ens1f0", "address": ""}': [
        'at $: {"devname": "ens1f0", "address": ""} has both address and '
        'devname, give one of them',
        'at $.address: \'\' restricts nothing: leave the key out, or write '
        '"*"'],
    '{"devname": "ens1f0", "address": {"bus": "3b"}, "managed": 5}': [
        'at $: {"devname": "ens1f0", "address": {"bus": "3b"}, "managed": 5} '
        'has both address and devname, give one of them',
        'at $.managed: 5 must be true or false'],
    # Not an entry at all
    '': ['at $: not JSON: Expecting value at line 1 column 1'],
    'oops': ['at $: not JSON: Expecting value at line 1 column 1'],
    "{'vendor_id': '10de'}": [
        'at $: not JSON: Expecting property name enclosed in double quotes '
        'at line 1 column 2'],
    '{"vendor_id": NaN}': ['at $: not JSON: NaN is no JSON value'],
    '"10de"': ['at $: "10de" must be an object'],
    'null': ['at $: null must be an object'],
    '[["10de"]]': ['at $[0]: ["10de"] must be an object'],
    '[{"vendor_id": "10de"}, {"vendor": "10de"}, 5]': [
        'at $[1].vendor: unknown key "vendor" (valid: %s), did you mean '
        '"vendor_id"?' % KEYS,
        'at $[2]: 5 must be an object'],
}


def load_one(entry):
    return device_spec.load([entry]).rules


class FaultTest(base.TestCase):
    """CFG-2: each fault with position, entry, path, reason."""

    def test_full_texts(self):
        for entry, faults in BAD.items():
            error = self.assertRaises(
                device_spec.InvalidDeviceSpec, device_spec.load, [entry])
            shown = printable.one_line(entry)
            self.assertEqual(
                ['entry 1, %s: %s' % (shown, fault) for fault in faults],
                str(error).split('\n'), entry)

    def test_all_faults_of_all_entries_at_once(self):
        error = self.assertRaises(
            device_spec.InvalidDeviceSpec, device_spec.load,
            ['{"vendor_id": "10de"}', 'oops', '{"a": 1, "managed": "x"}'])
        self.assertEqual([(2, '$'), (3, '$.a'), (3, '$.managed')],
                         [(f.entry, f.path) for f in error.faults])

    def test_a_long_entry_is_cut(self):
        entry = '{"address": "%s"}' % ('x' * 1000)
        error = self.assertRaises(
            device_spec.InvalidDeviceSpec, device_spec.load, [entry])
        self.assertIn('entry 1, %s...: at' % entry[:200], str(error))

    def test_too_deep(self):
        error = self.assertRaises(
            device_spec.InvalidDeviceSpec, device_spec.load,
            ['[' * 100000 + ']' * 100000])
        self.assertIn('not usable: nested too deeply', str(error))

    def test_a_little_less_deep(self):
        """Python reads these, but cannot print them any more."""
        for depth in range(900, 1000, 10):
            for form in ('%s%s', '{"vendor_id": %s%s}', '{"address": %s%s}'):
                self.assertRaises(
                    device_spec.InvalidDeviceSpec, device_spec.load,
                    [form % ('[' * depth, ']' * depth)])

    def test_expressions_that_the_library_gives_up_on(self):
        """Neither is the library's own error for a bad expression."""
        for text, reason in (
                ('a{99999999999999999999}', 'the repetition number is too'),
                ('(' * 3000 + ')' * 3000, 'maximum recursion depth')):
            error = self.assertRaises(
                device_spec.InvalidDeviceSpec, device_spec.load,
                ['{"address": {"bus": "%s"}}' % text])
            self.assertIn('is no regular expression: ' + reason, str(error))
            self.assertEqual('$.address.bus', error.faults[0].path)

    def test_a_key_cannot_pass_for_another_message(self):
        error = self.assertRaises(
            device_spec.InvalidDeviceSpec, device_spec.load,
            [r'{"a\nentry 9: fine": 1, "\ud800": 1, "\u001b[2J": 1}'])
        self.assertEqual(3, len(str(error).split('\n')))
        self.assertIn(r'unknown key "a\nentry 9: fine"', str(error))
        self.assertIn(r'unknown key "\ud800"', str(error))
        self.assertIn(r'unknown key "\x1b[2J"', str(error))
        str(error).encode('ascii')

    def test_an_entry_cannot_pass_for_anything_else(self):
        error = self.assertRaises(
            device_spec.InvalidDeviceSpec, device_spec.load, ['\x1b[2J\0'])
        self.assertIn(r'entry 1, \x1b[2J\x00: at', str(error))

    def test_long_values_and_keys_are_cut(self):
        for form in ('{"vendor_id": "%s"}', '{"product_id": "%s"}',
                     '{"address": "%s"}', '{"address": {"bus": "[%s"}}',
                     '{"managed": "%s"}', '{"%s": 1}', '{"devname": [%s]}'):
            error = self.assertRaises(
                device_spec.InvalidDeviceSpec, device_spec.load,
                [form % ('1' * 10000)])
            self.assertLess(len(str(error)), 700, form)

    def test_faults_of_a_long_list_keep_their_order(self):
        error = self.assertRaises(
            device_spec.InvalidDeviceSpec, device_spec.load,
            ['[%s]' % ', '.join(['5'] * 12)])
        self.assertEqual(['$[%d]' % n for n in range(12)],
                         [fault.path for fault in error.faults])

    def test_very_many_keys(self):
        """The time grows with the entry, not with its square."""
        entry = '{%s}' % ', '.join('"k%d": 1' % n for n in range(20000))
        error = self.assertRaises(
            device_spec.InvalidDeviceSpec, device_spec.load, [entry])
        self.assertEqual(20000, len(error.faults))
        self.assertLess(len(str(error)), 20000 * 400)

    def test_no_entries(self):
        self.assertEqual((), device_spec.load([]).rules)
        self.assertEqual((), device_spec.load(['[]']).rules)


class RuleTest(base.TestCase):

    def test_managed_is_a_boolean_whatever_was_written(self):
        """CFG-3"""
        for text, expected in {
                'true': True, 'false': False, '"true"': True, '"True"': True,
                '"FALSE"': False, '"fAlSe"': False}.items():
            rule, = load_one('{"managed": %s}' % text)
            self.assertIs(expected, rule.managed)
        self.assertIsNone(load_one('{}')[0].managed)

    def test_explicit_managed_is_noticed(self):
        """RPC-1: either value"""
        for entry in ('{"managed": true}', '{"managed": "false"}',
                      '[{}, {"managed": false}]'):
            self.assertTrue(device_spec.load([entry]).sets_managed)
        self.assertFalse(device_spec.load(['{}']).sets_managed)

    def test_one_address_in_all_its_forms(self):
        """B10"""
        wanted = address.PciAddress.parse('0000:0a:00.1')
        for text in ('"0000:0a:00.1"', '"0a:00.1"', '"A:0.1"', '"*:0A:*.1"',
                     '{"bus": "0a", "slot": "00", "function": "1"}'):
            rule, = load_one('{"address": %s}' % text)
            self.assertTrue(rule.address.matches(wanted), text)
            self.assertFalse(rule.address.matches(
                address.PciAddress.parse('0000:0a:01.0')), text)

    def test_expressions_that_hang_elsewhere_do_not_here(self):
        """Parts are too short for what takes for ever on long texts."""
        worst = address.PciAddress(0xffffffff, 0xff, 0x1f, 7)
        started = time.process_time()
        for text in ('(f+)+x', '(f*)*x', '(f|f)*x', '(f|ff)+x', '((f+)+)+x',
                     '(.*)*x', '(.*)*(.*)*x', '(.+)+(.+)+x',
                     '^(([a-f])+.)+[A-F]([a-f])+x', '(f?){8}f{8}x'):
            rule, = load_one('{"address": {"domain": "%s"}}' % text)
            self.assertFalse(rule.address.matches(worst), text)
        self.assertLess(time.process_time() - started, 1)

    def test_a_list_numbers_its_rules(self):
        rules = device_spec.load(
            ['{}', ' [{"vendor_id": "10de"},\n {"vendor_id": "8086"}] ']).rules
        self.assertEqual(
            ['device_spec entry 1', 'device_spec entry 2[0]',
             'device_spec entry 2[1]'], [rule.label for rule in rules])
        self.assertEqual('{"vendor_id": "8086"}', rules[2].text)

    def test_a_repeated_key_counts_as_2026_2_counted_it(self):
        """The last one, with a note."""
        spec = device_spec.load(['{"vendor_id": "10de","vendor_id": "8086"}'])
        self.assertEqual('8086', spec.rules[0].vendor_id)
        self.assertEqual(
            ('entry 1, {"vendor_id": "10de","vendor_id": "8086"}: the key '
             '"vendor_id" is given twice, the last one counts',), spec.notes)

    def test_an_empty_part_of_an_address_counts_as_2026_2_counted_it(self):
        """CFG-2: as any, with a note; the template's variable was empty."""
        for text, names in (
                ('"0000::00.0"', ['bus']),
                ('"::."', ['domain', 'bus', 'slot', 'function']),
                ('"0000:3b:00."', ['function']), ('".0"', ['slot']),
                ('" :3b:00.0"', ['domain'])):
            spec = device_spec.load(['[{"address": %s}]' % text])
            self.assertEqual(tuple(
                'device_spec entry 1[0]: the %s of the address is empty and '
                'taken for any, write "*" if that is meant' % name
                for name in names), spec.notes, text)
        spec = device_spec.load(['{"address": {"bus": "", "slot": "00"}}'])
        self.assertEqual(
            ('device_spec entry 1: the bus of the address is empty and taken '
             'for any, write ".*" if that is meant',), spec.notes)
        for text in ('"3b:00.0"', '"0000:3b:00"', '"*"', '"3b:00.*"',
                     '{"bus": "3b"}', '"*:*:*.*"'):
            self.assertEqual((), device_spec.load(
                ['{"address": %s}' % text]).notes, text)

    def test_a_multi_line_entry(self):
        """As the specification's own example is written."""
        rule, = load_one('{"vendor_id": "10de",\n"product_id": "25b6",\n'
                         '"address": "0000:25:00.4",\n"managed": false}')
        self.assertEqual(('10de', '25b6', False),
                         (rule.vendor_id, rule.product_id, rule.managed))


class SchemaTest(base.TestCase):

    def test_it_is_a_schema(self):
        schema.VALIDATOR.check_schema(schema.SCHEMA)
        self.assertEqual('https://json-schema.org/draft/2020-12/schema',
                         schema.SCHEMA['$schema'])

    def test_its_examples_are_valid(self):
        for key, value in schema.RULE['properties'].items():
            for example in value['examples']:
                self.assertEqual(
                    [], list(schema.VALIDATOR.iter_errors({key: example})))

    def test_the_table_has_every_key(self):
        table = schema.key_table()
        for key in schema.RULE['properties']:
            self.assertIn('   * - ``%s``\n' % key, table)
