# SPDX-License-Identifier: Apache-2.0
"""Text from outside, made fit for a message.

Names in sysfs and values in a configuration file can hold anything: escape
sequences that a terminal obeys, line breaks that look like another message,
half a surrogate pair that no stream can encode, or megabytes.
"""

#: Longest part of an entry that a message repeats, in characters.
_LINE = 200
#: Likewise of a single value.
_VALUE = 80


def printable(text: str) -> str:
    """The same text with every character that can't be shown escaped."""
    if text.isprintable():
        return text
    return ''.join(
        char if char.isprintable()
        else char.encode('unicode_escape').decode('ascii') for char in text)


def one_line(text: str) -> str:
    """An entry on one line, and not longer than a message can bear."""
    return _cut(printable(' '.join(text.split())), _LINE)


def name(text: str) -> str:
    """A key or a name as it was given, not longer than can be read."""
    return _cut(printable(text), _VALUE)


def quoted(text: str) -> str:
    """A value in quotes."""
    return repr(_cut(text, _VALUE))


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[:length] + '...'
