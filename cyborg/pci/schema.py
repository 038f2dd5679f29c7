# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema (draft 2020-12) of an entry of ``[pci] device_spec``.

The one place that says which keys a rule may have. The table of keys in the
administrator guide is made from it: ``python -m cyborg.pci.schema``.
"""

from collections.abc import Mapping
import json
import sys
from typing import Any

import jsonschema

from cyborg.pci import patterns

#: Our annotation: what is wrong with a value that fails this subschema.
REASON = 'x-reason'

_ID = {'type': 'string', 'format': 'pci-id'}
_REGEX = {'type': 'string', 'format': 'pci-regex', 'default': '.*'}
#: What 2026.2 took for "no address given". An empty variable of a template
#: must not select every device.
_NO_ADDRESS: list[Any] = [None, False, 0, [], {}]

ADDRESS_FIELDS = {
    'type': 'object',
    'properties': dict.fromkeys(patterns.FIELDS, _REGEX),
    'additionalProperties': False,
}

RULE: dict[str, Any] = {
    'type': 'object',
    'properties': {
        'vendor_id': {
            **_ID,
            'title': 'four hexadecimal digits, or ``*``',
            'description': 'Vendor of the device. Any, when left out.',
            'examples': ['10de', '*'],
        },
        'product_id': {
            **_ID,
            'title': 'four hexadecimal digits, or ``*``',
            'description': 'Product of the vendor. Any, when left out.',
            'examples': ['1eb8', '*'],
        },
        'address': {
            'if': {'enum': _NO_ADDRESS},
            'then': {'not': {}, REASON: patterns.NO_RESTRICTION},
            'else': {
                'if': {'type': 'object'},
                'then': {'$ref': '#/$defs/address_fields'},
                'else': {'type': ['string', 'object'],
                         'format': 'pci-address'},
            },
            'title': 'text with ``*`` for any part, or an object of regular '
                     'expressions over ``domain``, ``bus``, ``slot``, '
                     '``function``',
            'description': 'Where the device is. Any, when left out. An '
                           'expression must match from the start of its '
                           'part. A physical function is selected alone: '
                           'select virtual functions by their ids or '
                           'addresses.',
            'examples': ['0000:3b:00.*', {'bus': '3[b-d]', 'function': '0'}],
        },
        'devname': {
            'if': {'type': ['null', 'string'], 'pattern': r'^\s*$'},
            'then': {'not': {}, REASON: 'restricts nothing: leave the key '
                                        'out'},
            'else': {'type': 'string'},
            'title': 'name of a network interface',
            'description': 'The device below this interface, in place of '
                           '``address``.',
            'examples': ['ens1f0'],
        },
        'managed': {
            'type': ['boolean', 'string'],
            'format': 'pci-boolean',
            'default': True,
            'title': 'true or false',
            'description': 'Whether the hypervisor rebinds the device for '
                           'the guest and back. The first rule that matches '
                           'a device decides.',
            'examples': [False],
        },
    },
    'additionalProperties': False,
    'not': {'type': 'object', 'required': ['address', 'devname']},
    REASON: 'has both address and devname, give one of them',
}

SCHEMA: dict[str, Any] = {
    '$schema': 'https://json-schema.org/draft/2020-12/schema',
    'title': 'An entry of [pci] device_spec: a rule, or a list of rules',
    '$defs': {'rule': RULE, 'address_fields': ADDRESS_FIELDS},
    'if': {'type': 'array'},
    'then': {'items': {'$ref': '#/$defs/rule'}},
    'else': {'$ref': '#/$defs/rule'},
}


def _formats() -> jsonschema.FormatChecker:
    checker = jsonschema.FormatChecker(formats=())
    for name, parse, types in (
            ('pci-id', patterns.parse_id, str),
            ('pci-address', patterns.parse_address, str),
            ('pci-regex', patterns.parse_regex, str),
            ('pci-boolean', patterns.parse_boolean, (bool, str))):
        def check(value, parse=parse, types=types):
            # A value of another type is the business of "type".
            if isinstance(value, types):
                parse(value)
            return True
        checker.checks(name, raises=ValueError)(check)
    return checker


VALIDATOR = jsonschema.Draft202012Validator(SCHEMA, format_checker=_formats())


def extended(keys: Mapping[str, Mapping]) -> jsonschema.Draft202012Validator:
    """A validator of rules that may have further keys.

    :param keys: subschema by key.
    """
    rule = {**RULE, 'properties': {**RULE['properties'], **keys}}
    return jsonschema.Draft202012Validator(
        {**SCHEMA, '$defs': {**SCHEMA['$defs'], 'rule': rule}},
        format_checker=_formats())


def key_table() -> str:
    """The keys of a rule as a reStructuredText list table."""
    lines = ['.. list-table::', '   :header-rows: 1', '   :widths: 15 30 55',
             '', '   * - Key', '     - Value', '     - Meaning']
    for key, value in RULE['properties'].items():
        examples = ', '.join('``%s``' % json.dumps(example)
                             for example in value['examples'])
        lines += ['   * - ``%s``' % key,
                  '     - %s; for example %s' % (value['title'], examples),
                  '     - %s%s' % (value['description'], _default(value))]
    return '\n'.join(lines) + '\n'


def _default(value) -> str:
    if 'default' not in value:
        return ''
    return ' ``%s`` when left out.' % json.dumps(value['default'])


if __name__ == '__main__':
    sys.stdout.write(key_table())
