# SPDX-License-Identifier: Apache-2.0
"""The rules of ``[pci] device_spec``: reading, checking, matching.

Every entry is JSON: a rule, or a list of rules. All faults of all entries
are told at once, so that one restart is enough to put them right.
"""

import collections
from collections.abc import Sequence
import dataclasses
import difflib
import json

from jsonschema import protocols

from cyborg.pci import patterns
from cyborg.pci import printable
from cyborg.pci import schema
from cyborg.pci import sysfs

#: Words that other tools use for a key; too unlike it to be found by spelling.
_SYNONYMS = {'device': 'slot', 'dev': 'slot', 'device_id': 'product_id',
             'interface': 'devname', 'ifname': 'devname'}
#: Keys of Nova's option of the same name, which 2026.2 took and ignored.
_NOVA_KEYS = frozenset({'physical_network', 'trusted', 'remote_managed',
                        'resource_class', 'traits', 'live_migratable',
                        'one_time_use'})


@dataclasses.dataclass(frozen=True)
class Rule:
    """One rule.

    :ivar entry: number of the entry it stands in, from 1.
    :ivar item: place within an entry that is a list, from 0; else None.
    :ivar text: the rule as JSON.
    :ivar vendor_id: None for any, as ``product_id`` and ``address``.
    :ivar managed: None when the rule doesn't say.
    """

    entry: int
    item: int | None
    text: str
    vendor_id: str | None = None
    product_id: str | None = None
    address: patterns.AddressPattern | patterns.AddressRegex | None = None
    devname: str | None = None
    managed: bool | None = None

    @property
    def label(self) -> str:
        """How messages name the rule."""
        place = '' if self.item is None else '[%d]' % self.item
        return 'device_spec entry %d%s' % (self.entry, place)

    def matches_ids(self, device: sysfs.PciDevice) -> bool:
        return (self.vendor_id in (None, device.vendor_id)
                and self.product_id in (None, device.product_id))

    def matches(self, device: sysfs.PciDevice) -> bool:
        """Whether each key that the rule has is true of the device.

        A physical function's address or interface says nothing of its
        virtual functions: those have ids and addresses of their own.
        """
        if not self.matches_ids(device):
            return False
        if self.devname is not None:
            return self.devname in device.net_names
        return self.address is None or self.address.matches(device.address)


@dataclasses.dataclass(frozen=True)
class Fault:
    """One thing that is wrong.

    :ivar entry: number of the entry, from 1.
    :ivar text: the entry, as a message can show it.
    :ivar path: JSON path of the value in question within the entry.
    :ivar nearest: the valid key that was probably meant, or None.
    """

    entry: int
    text: str
    path: str
    reason: str
    nearest: str | None = None

    def __str__(self):
        hint = ', did you mean "%s"?' % self.nearest if self.nearest else ''
        return 'entry %d, %s: at %s: %s%s' % (
            self.entry, self.text, self.path, self.reason, hint)


class InvalidDeviceSpec(ValueError):
    """``faults`` holds every fault of every entry, in order."""

    def __init__(self, faults: Sequence[Fault]):
        super().__init__('\n'.join(str(fault) for fault in faults))
        self.faults = tuple(faults)


class _NoJson(Exception):
    """Python would read it, and JSON has no such thing."""


@dataclasses.dataclass(frozen=True)
class DeviceSpec:
    """All rules, in order.

    :ivar notes: what is valid but probably not meant, a line each.
    """

    rules: tuple[Rule, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def sets_managed(self) -> bool:
        """Whether any rule sets ``managed``, to whatever value (RPC-1)."""
        return any(rule.managed is not None for rule in self.rules)


def load(entries: Sequence[str],
         validator: protocols.Validator = schema.VALIDATOR) -> DeviceSpec:
    """Read all entries.

    :param validator: another one for rules with further keys, see
        :func:`schema.extended`; their values stand in ``Rule.text``.
    :raises InvalidDeviceSpec: one or more entries are wrong.
    """
    rules: list[Rule] = []
    notes: list[str] = []
    faults: list[Fault] = []
    for number, entry in enumerate(entries, 1):
        text = printable.one_line(entry)
        try:
            document, repeated = _decode(entry)
            found = _faults(number, text, document, validator)
        except (json.JSONDecodeError, _NoJson, RecursionError) as error:
            faults.append(Fault(number, text, '$', _not_json(error)))
            continue
        if 'managed' in repeated:
            found.append(Fault(number, text, '$',
                               'the key "managed" is given twice'))
        faults.extend(found)
        if not found:
            notes.extend(
                'entry %d, %s: the key "%s" is given twice, the last one '
                'counts' % (number, text, printable.name(key))
                for key in repeated)
            for rule in _rules(number, document):
                rules.append(rule)
                notes.extend(_notes(rule))
    if faults:
        raise InvalidDeviceSpec(faults)
    return DeviceSpec(tuple(rules), tuple(notes))


def _decode(text: str):
    """The document, and the keys that an object of it repeats.

    JSON leaves open what a repeated key means. 2026.2 took the last one, and
    so do we where it understood the key; ``managed`` has no such past.
    """
    repeated = []

    def build(pairs):
        counts = collections.Counter(name for name, _value in pairs)
        repeated.extend(sorted(n for n in counts if counts[n] > 1))
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=build,
                          parse_constant=_refuse_constant), repeated
    except json.JSONDecodeError:
        raise
    except ValueError as error:  # a number of thousands of digits
        raise _NoJson(str(error)) from None


def _refuse_constant(name: str):
    raise _NoJson('%s is no JSON value' % name)


def _not_json(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return 'not JSON: %s at line %d column %d' % (
            error.msg, error.lineno, error.colno)
    if isinstance(error, RecursionError):
        return 'not usable: nested too deeply'
    return 'not JSON: %s' % error


def _faults(number: int, text: str, document, validator) -> list[Fault]:
    found = []
    errors = sorted(validator.iter_errors(document),
                    key=lambda error: [(isinstance(part, str), part)
                                       for part in error.absolute_path])
    for error in errors:
        if error.validator == 'additionalProperties':
            found.extend(_unknown_keys(number, text, error))
        else:
            found.append(Fault(number, text, error.json_path,
                               _reason(error)))
    return found


def _unknown_keys(number: int, text: str, error) -> list[Fault]:
    valid = list(error.schema['properties'])
    return [
        Fault(number, text, '%s.%s' % (error.json_path, printable.name(key)),
              '%s "%s" (valid: %s)' % (
                  'key of Nova\'s option, without meaning here,'
                  if key in _NOVA_KEYS else 'unknown key',
                  printable.name(key), ', '.join(valid)),
              _nearest(key, valid))
        for key in error.instance if key not in valid]


def _nearest(key: str, valid: list[str]) -> str | None:
    synonym = _SYNONYMS.get(key.lower())
    if synonym in valid:
        return synonym
    close = difflib.get_close_matches(key.lower(), valid, n=1)
    return close[0] if close else None


def _reason(error) -> str:
    """Why a value is wrong, in an operator's words."""
    if error.cause is not None:
        return str(error.cause)
    value = json.dumps(error.instance)
    if error.validator == 'type':
        wanted = error.validator_value
        names = [wanted] if isinstance(wanted, str) else wanted
        if 'boolean' in names:
            names = ['boolean']  # the text form is for old habits only
        return '%s must be %s' % (printable.one_line(value), ' or '.join(
            _TYPE_NAMES[name] for name in names if name != 'null'))
    reason = error.schema.get(schema.REASON, error.message)
    return '%s %s' % (printable.one_line(value), reason)


_TYPE_NAMES = {'object': 'an object', 'string': 'text', 'array': 'a list',
               'boolean': 'true or false'}


def _rules(number: int, document) -> list[Rule]:
    if isinstance(document, list):
        return [_rule(number, place, item)
                for place, item in enumerate(document)]
    return [_rule(number, None, document)]


def _rule(number: int, place: int | None, values: dict) -> Rule:
    """A rule from values that have passed the schema."""
    managed = values.get('managed')
    return Rule(
        number, place, json.dumps(values),
        patterns.parse_id(values.get('vendor_id', '*')),
        patterns.parse_id(values.get('product_id', '*')),
        _address(values.get('address')),
        values.get('devname'),
        None if managed is None else patterns.parse_boolean(managed))


def _address(value):
    if value is None:
        return None
    if isinstance(value, str):
        return patterns.parse_address(value)
    return patterns.AddressRegex(tuple(
        patterns.parse_regex(value.get(name, '.*'))
        for name in patterns.FIELDS))


def _notes(rule: Rule) -> list[str]:
    """Parts of an address that are given, and restrict nothing.

    2026.2 took them for any, and so do we; a template that left its variable
    empty looks like this, too.
    """
    given = json.loads(rule.text).get('address', {})
    if isinstance(given, str):
        names, any_value = patterns.empty_parts(given), '*'
    else:
        names, any_value = [n for n in given if given[n] == ''], '.*'
    return ['%s: the %s of the address is empty and taken for any, write '
            '"%s" if that is meant' % (rule.label, name, any_value)
            for name in names]
