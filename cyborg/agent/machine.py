# SPDX-License-Identifier: Apache-2.0
"""Which machine this is, whatever it is called.

The kernel's boot id is the one mark that a machine has in a container, too,
and that no image makes the same on two of them (proc(5),
``/proc/sys/kernel/random/boot_id``). It is another one after each boot.
"""

import os

# Seconds by which the clocks of two machines may differ.
_SKEW = 300


def mark(sysfs_path: str) -> str | None:
    """``NAME/BOOT`` of the machine whose sysfs is given; None if unknown.

    ``/proc`` is taken from beside the sysfs tree, as
    :mod:`cyborg.pci.usage` does.
    """
    boot = _read(sysfs_path, 'sys/kernel/random/boot_id')
    return '%s/%s' % (os.uname().nodename, boot) if boot else None


def uptime(sysfs_path: str) -> float | None:
    """Seconds since the machine has this mark; None if unknown (proc(5)).

    In a container it may be less, the time since the container was started.
    """
    words = (_read(sysfs_path, 'uptime') or '').split()
    try:
        return float(words[0])
    except (IndexError, ValueError):
        return None


def _read(sysfs_path: str, name: str) -> str | None:
    path = os.path.join(os.path.dirname(os.path.abspath(sysfs_path)),
                        'proc', name)
    try:
        with open(path, encoding='ascii') as stream:
            return stream.read(100).strip()
    except (OSError, UnicodeDecodeError):
        return None


def is_another(own: str | None, up: float | None, last: str, ago: float
               ) -> bool:
    """Whether a report was another machine's, for sure.

    Of this machine whatever was reported since it was booted has its mark.

    :param own: its :func:`mark`
    :param up: its :func:`uptime`
    :param last: the mark that came with the report, perhaps cut at its start
    :param ago: seconds since it was made, by the clocks of other machines
    """
    if own is None or up is None or '/' not in last:
        return False
    return (last.rpartition('/')[2] != own.rpartition('/')[2]
            and ago + _SKEW < up)
