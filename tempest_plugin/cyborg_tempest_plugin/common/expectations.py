# SPDX-License-Identifier: Apache-2.0
"""What an attach handle must look like, decided without a cloud.

Source: the specification of managed mode, section "REST API Impact".
"""

from collections.abc import Mapping
from typing import Any

#: Microversion that adds managed, stateful and numa_node.
SETTINGS_VERSION = '2.4'
ADDRESS_KEYS = ('domain', 'bus', 'device', 'function')


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split('.'))


def version_to_ask_for(max_microversion: str) -> str | None:
    """The microversion that tests state explicitly.

    :param max_microversion: the newest one of the service, or ``latest``
    :returns: None for a service too old to know the settings: such requests
        go without a microversion, as those of older clients do
    :raises ValueError: for something that is no microversion
    """
    if max_microversion == 'latest' or (
            _number(max_microversion) >= _number(SETTINGS_VERSION)):
        return SETTINGS_VERSION
    return None


def problems(arq: Mapping[str, Any], handle_type: str, version: str | None,
             expected_managed: bool | None = None) -> list[str]:
    """Everything that is wrong with a bound accelerator request.

    :param version: the microversion it was read with; None is 2.0
    :param expected_managed: None accepts either boolean
    """
    found = []
    if arq.get('state') != 'Bound':
        found.append('state is %r, not Bound' % arq.get('state'))
    if arq.get('attach_handle_type') != handle_type:
        found.append('attach_handle_type is %r, not %s' % (
            arq.get('attach_handle_type'), handle_type))
    info = arq.get('attach_handle_info')
    if not isinstance(info, Mapping):
        return found + ['attach_handle_info is %r, no object' % (info,)]
    found.extend('%s is %r, no text' % (key, info.get(key))
                 for key in ADDRESS_KEYS
                 if not isinstance(info.get(key), str))
    if version is None or _number(version) < _number(SETTINGS_VERSION):
        return found + ['%s is there before %s' % (key, SETTINGS_VERSION)
                        for key in ('managed', 'stateful', 'numa_node')
                        if key in info]
    return found + _settings(info, handle_type, expected_managed)


def _settings(info, handle_type, expected_managed):
    found = []
    if handle_type == 'PCI':
        managed = info.get('managed')
        # 1 and "true" are what must not pass for a boolean.
        if not isinstance(managed, bool):
            found.append('managed is %r, no boolean' % (managed,))
        elif expected_managed is not None and managed is not expected_managed:
            found.append('managed is %s, not %s' % (managed,
                                                    expected_managed))
    elif 'managed' in info:
        found.append('managed is there for a %s handle' % handle_type)
    if not isinstance(info.get('stateful'), bool):
        found.append('stateful is %r, no boolean' % (info.get('stateful'),))
    node = info.get('numa_node', 'missing')
    if node is not None and (isinstance(node, bool)
                             or not isinstance(node, int) or node < 0):
        found.append('numa_node is %r, no node number or null' % (node,))
    return found


def pci_id(text: str) -> str:
    """A vendor or product as sysfs of a guest shows it.

    :raises ValueError: for something that is no hexadecimal number
    """
    return '0x%04x' % int(text, 16)
