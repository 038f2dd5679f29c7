# SPDX-License-Identifier: Apache-2.0
"""Attach information: what it says of a handle, and how it may change.

``managed`` absent means true, ``stateful`` absent means false, ``numa_node``
absent or null means unknown (specification, "REST API Impact"). Values of
another type are damage and never read as a default. These settings describe
a handle, its address identifies it (specification, "Persisted state and
reconciliation").
"""

from collections.abc import Mapping
import dataclasses
import functools
import json
import types
from typing import Any

from cyborg.inventory import identity
from cyborg.pci import address as pci_address

#: Characters that fit in ``attach_handles.attach_info``.
MAX_LENGTH = 255
#: Keys that describe a handle and never identify it.
METADATA = ('managed', 'stateful', 'numa_node')
#: What tells mediated devices of one function apart.
_MDEV_MARKS = ('asked_type', 'vgpu_mark')


@dataclasses.dataclass(frozen=True)
class Settings:
    """What the settings of one handle come to, defaults applied."""

    managed: bool = True
    stateful: bool = False
    numa_node: int | None = None


@dataclasses.dataclass(frozen=True)
class AttachInfo:
    """One text, read once; each part is checked when it is asked for.

    :ivar text: as the database keeps it, or a driver wrote it.
    :ivar values: everything in it, not to be changed.
    """

    text: str
    values: Mapping[str, Any] = dataclasses.field(compare=False, repr=False)

    @classmethod
    @functools.lru_cache(maxsize=16384)
    def read(cls, text: str) -> 'AttachInfo':
        """:raises identity.InvalidInfo: no JSON object."""
        return cls(text, types.MappingProxyType(identity.parse(text)))

    @functools.cached_property
    def address(self) -> pci_address.PciAddress:
        """:raises identity.InvalidInfo: no usable address."""
        return identity.address(self.values, self.text)

    @functools.cached_property
    def settings(self) -> Settings:
        """:raises identity.InvalidInfo: the first of a wrong type."""
        return effective(self.values, self.text)

    @functools.cached_property
    def others(self) -> Mapping[str, Any]:
        """What is neither address nor setting, ``physical_network`` say."""
        return types.MappingProxyType({
            key: value for key, value in self.values.items()
            if key not in METADATA and key not in pci_address.LIMITS})

    def key(self, attach_type: str) -> identity.Key:
        """The identity of a handle within its control path and deployable.

        ``PCI`` and ``TEST_PCI`` share one name space: a driver that changes
        the attach type of an address still speaks of the same function.
        Several mediated devices may stand at one address, their type and
        mark tell them apart.

        :raises identity.InvalidInfo: the text holds no usable address.
        """
        if attach_type != 'MDEV':
            return ('PCI', self.address)
        marks = [self.values.get(name) for name in _MDEV_MARKS]
        for name, mark in zip(_MDEV_MARKS, marks, strict=True):
            if isinstance(mark, (dict, list)):
                raise identity.InvalidInfo(
                    self.text, '"%s" is %s and must be text'
                    % (name, json.dumps(mark)))
        return ('MDEV', self.address, *marks)

    def merged(self, wanted: 'AttachInfo', *, take_managed: bool,
               take_others: bool) -> str:
        """This text with the differing settings of ``wanted`` put in.

        A setting whose effective value is the same keeps its stored form,
        and a text in which nothing changes is returned as it is: rows that
        2026.2 wrote are not touched without need (REC-2).

        :param take_managed: False leaves ``managed`` as it is (REC-6, REC-9).
        :param take_others: False leaves what is neither address nor setting.
        :raises identity.InvalidInfo: either text is damaged.
        """
        merged = dict(self.values)
        for name in METADATA:
            if name == 'managed' and not take_managed:
                continue
            if getattr(self.settings, name) != getattr(wanted.settings, name):
                merged.pop(name, None)
                if name in wanted.values:
                    merged[name] = wanted.values[name]
        if take_others and self.others != wanted.others:
            for name in self.others:
                del merged[name]
            merged.update(wanted.others)
        return self.text if merged == self.values else dump(merged)

    def without(self, *names: str) -> str:
        """The text without some keys; as it is where it has none of them."""
        if not self.values.keys() & set(names):
            return self.text
        return dump({key: value for key, value in self.values.items()
                     if key not in names})


def settings(text: str) -> Settings:
    """Effective settings of an attach info text.

    :raises identity.InvalidInfo: names the first setting of a wrong type.
    """
    return AttachInfo.read(text).settings


def effective(info: Mapping[str, Any], text: str) -> Settings:
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


def dump(info: Mapping[str, Any]) -> str:
    """The text form the database keeps: sorted keys, default separators."""
    return json.dumps(dict(info), sort_keys=True)


def reported(text: str) -> str:
    """A driver's text with what it does not know left out.

    sysfs has -1 for a NUMA node that is unknown, and drivers pass it on.
    """
    try:
        info = AttachInfo.read(text)
    except identity.InvalidInfo:
        return text
    node = info.values.get('numa_node')
    if node != -1 or not isinstance(node, int):
        return text
    return info.without('numa_node')


def without_settings(text: str) -> str:
    """The text as 2026.2 would have it; as it is where it holds no setting."""
    try:
        return AttachInfo.read(text).without(*METADATA)
    except identity.InvalidInfo:
        return text


def describe(text: str) -> str:
    """A handle's address for a log line, or its text if it has none."""
    try:
        return str(AttachInfo.read(text).address)
    except identity.InvalidInfo:
        return text
