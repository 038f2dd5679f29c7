# SPDX-License-Identifier: Apache-2.0
"""Records to plain values and back, for journals and for other processes.

A record is a frozen dataclass whose fields are numbers, texts, truth values,
enumerations, records, tuples of those, or None where the hint allows it.
"""

import dataclasses
import enum
import functools
import types
import typing
from typing import Any
from typing import TypeVar

from cyborg.nvme import errors
from cyborg.nvme import records
from cyborg.pci import printable

Record = TypeVar('Record')


class BrokenRecord(ValueError):
    """Plain values that are no record of the class that was asked for."""

    def __init__(self, where: str, reason: str):
        super().__init__('%s %s' % (where, reason))
        self.where = where
        self.reason = reason


def to_plain(value: Any) -> Any:
    """Only dicts, lists, texts, numbers, truth values and None remain."""
    if dataclasses.is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name))
                for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, tuple | list):
        return [to_plain(each) for each in value]
    return value


def from_plain(cls: type[Record], value: Any, where: str = '') -> Record:
    """Build a record; each field is checked against its hint.

    A field that is absent takes its default; one that is not known is
    refused, since what a newer version meant by it can't be guessed.

    :raises BrokenRecord: naming the field by its path.
    """
    return _build(cls, value, where or cls.__name__)


def _build(hint: Any, value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(hint):
        return _record(hint, value, where)
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        inner = [each for each in typing.get_args(hint)
                 if each is not type(None)]
        return _build(inner[0], value, where)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise _wrong(where, 'a list', value)
        inner = typing.get_args(hint)[0]
        return tuple(_build(inner, each, '%s[%d]' % (where, number))
                     for number, each in enumerate(value))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        try:
            return hint(value)
        except ValueError:
            raise _wrong(where, 'one of %s' % ', '.join(
                str(each.value) for each in hint), value) from None
    return _scalar(hint, value, where)


def _record(cls, value, where):
    if not isinstance(value, dict):
        raise _wrong(where, 'an object', value)
    hints = _hints(cls)
    unknown = sorted(str(name) for name in value if name not in hints)
    if unknown:
        raise BrokenRecord(where, 'has the unknown field %s' %
                           printable.quoted(unknown[0]))
    for field in dataclasses.fields(cls):
        if (field.name not in value
                and field.default is dataclasses.MISSING
                and field.default_factory is dataclasses.MISSING):
            raise BrokenRecord(where, 'lacks the field %r' % field.name)
    return cls(**{name: _build(hints[name], each, '%s.%s' % (where, name))
                  for name, each in value.items()})


def _scalar(hint, value, where):
    # A truth value is a number to Python, and 1 is no truth value to us.
    good = (isinstance(value, hint)
            and isinstance(value, bool) == (hint is bool))
    if hint is float and isinstance(value, int):
        good = not isinstance(value, bool)
    if not good:
        raise _wrong(where, {int: 'a whole number', str: 'a text',
                             bool: 'true or false', float: 'a number',
                             dict: 'an object'}.get(
                                 hint, hint.__name__), value)
    return value


@functools.cache
def _hints(cls):
    return typing.get_type_hints(cls)


def _wrong(where, wanted, value):
    return BrokenRecord(where, 'must be %s, not %s' % (
        wanted, printable.quoted(str(value)) if isinstance(value, str)
        else printable.name(repr(value))))


def error_to_plain(error: errors.NvmeError) -> dict:
    """An error for another process: its class, its text, what it knows."""
    return {'class': type(error).__name__, 'text': str(error),
            'values': {name: to_plain(value)
                       for name, value in vars(error).items()}}


def error_from_plain(value: dict) -> errors.NvmeError:
    """The same error again.

    :raises BrokenRecord: no error of ours has that class.
    """
    cls = {each.__name__: each for each in _subclasses(
        errors.NvmeError)}.get(value.get('class'))
    if cls is None:
        raise BrokenRecord('the error', 'has the unknown class %s' %
                           printable.quoted(str(value.get('class'))))
    error = cls.__new__(cls)
    Exception.__init__(error, value['text'])
    for name, each in value['values'].items():
        if name == 'uses':
            each = _build(tuple[records.Use, ...], each, 'uses')
        setattr(error, name, tuple(
            tuple(inner) if isinstance(inner, list) else inner
            for inner in each) if isinstance(each, list) else each)
    return error


def _subclasses(cls):
    for each in cls.__subclasses__():
        yield each
        yield from _subclasses(each)
