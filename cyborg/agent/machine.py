# SPDX-License-Identifier: Apache-2.0
"""Which machine this is, whatever it is called.

The kernel's boot id is the one mark that a machine has in a container, too,
and that no image makes the same on two of them (proc(5),
``/proc/sys/kernel/random/boot_id``). It is another one after each boot.
"""

import os


def mark(sysfs_path: str) -> str | None:
    """``NAME/BOOT`` of the machine whose sysfs is given; None if unknown.

    ``/proc`` is taken from beside the sysfs tree, as
    :mod:`cyborg.pci.usage` does.
    """
    path = os.path.join(os.path.dirname(os.path.abspath(sysfs_path)),
                        'proc/sys/kernel/random/boot_id')
    try:
        with open(path, encoding='ascii') as stream:
            boot = stream.read(100).strip()
    except (OSError, UnicodeDecodeError):
        return None
    return '%s/%s' % (os.uname().nodename, boot) if boot else None
