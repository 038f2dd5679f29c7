# SPDX-License-Identifier: Apache-2.0
"""Meaning of the settings inside attach info.

``managed`` absent means true, ``stateful`` absent means false, ``numa_node``
absent or null means unknown (specification, "REST API Impact"). Values of
another type are damage and never read as a default.
"""

import dataclasses
import json
from typing import Any

from cyborg.inventory import identity

#: Characters that fit in ``attach_handles.attach_info``.
MAX_LENGTH = 255


@dataclasses.dataclass(frozen=True)
class Settings:
    """What the settings of one handle come to, defaults applied."""

    managed: bool = True
    stateful: bool = False
    numa_node: int | None = None


def settings(text: str) -> Settings:
    """Effective settings of an attach info text.

    :raises identity.InvalidInfo: names the first setting of a wrong type.
    """
    return effective(identity.parse(text), text)


def effective(info: dict[str, Any], text: str) -> Settings:
    """As :func:`settings`, for info that is parsed already."""
    for name in ('managed', 'stateful'):
        if name in info and not isinstance(info[name], bool):
            raise identity.InvalidInfo(
                text, '"%s" is %s and must be true or false'
                % (name, json.dumps(info[name])))
    node = info.get('numa_node')
    if node is not None and (
            isinstance(node, bool) or not isinstance(node, int) or node < 0):
        raise identity.InvalidInfo(
            text, '"numa_node" is %s and must be an integer from 0 or null'
            % json.dumps(node))
    return Settings(info.get('managed', True), info.get('stateful', False),
                    node)


def dump(info: dict[str, Any]) -> str:
    """The text form the database keeps: sorted keys, default separators."""
    return json.dumps(info, sort_keys=True)


def reported(text: str) -> str:
    """A driver's text with what it does not know left out.

    sysfs has -1 for a NUMA node that is unknown, and drivers pass it on.
    """
    try:
        info = identity.parse(text)
    except identity.InvalidInfo:
        return text
    node = info.get('numa_node')
    if node != -1 or not isinstance(node, int):
        return text
    return dump({key: value for key, value in info.items()
                 if key != 'numa_node'})


def without_settings(text: str) -> str:
    """The text as 2026.2 would have it; as it is where it holds no setting."""
    try:
        info = identity.parse(text)
    except identity.InvalidInfo:
        return text
    if not info.keys() & set(identity.METADATA):
        return text
    return dump({key: value for key, value in info.items()
                 if key not in identity.METADATA})


def others(info: dict[str, Any]) -> dict[str, Any]:
    """What is neither address nor setting, ``physical_network`` for one."""
    return {key: value for key, value in info.items()
            if key not in identity.METADATA
            and key not in ('domain', 'bus', 'device', 'function')}


def merge(stored: str, wanted: str, *, take_managed: bool,
          take_others: bool) -> str:
    """``stored`` with the differing settings of ``wanted`` put in.

    A setting whose effective value is the same keeps its stored form, and a
    text in which nothing changes is returned as it is: rows that 2026.2
    wrote are not touched without need (REC-2).

    :param take_managed: False leaves ``managed`` as stored (REC-6, REC-9).
    :param take_others: False leaves what is neither address nor setting.
    :raises identity.InvalidInfo: either text is damaged.
    """
    old, new = identity.parse(stored), identity.parse(wanted)
    before, after = effective(old, stored), effective(new, wanted)
    merged = dict(old)
    for name in identity.METADATA:
        if name == 'managed' and not take_managed:
            continue
        if getattr(before, name) != getattr(after, name):
            merged.pop(name, None)
            if name in new:
                merged[name] = new[name]
    if take_others and others(old) != others(new):
        for name in others(old):
            del merged[name]
        merged.update(others(new))
    return stored if merged == old else dump(merged)
