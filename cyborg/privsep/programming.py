# SPDX-License-Identifier: Apache-2.0
"""Runs the vendors' tools that write bitstreams, with privilege.

The arguments are checked here too: what runs with privilege trusts nobody.
"""

import logging
import os
import re
import subprocess

from cyborg import privsep
from cyborg.pci import address as pci_address

LOG = logging.getLogger(__name__)

#: Tool -> what its arguments may be, the image file left out.
_TOOLS = {
    '/usr/bin/fpgaconf': re.compile(
        r'--bus 0x[0-9a-f]{2} --device 0x[0-9a-f]{2} --function 0x[0-7]'),
    '/opt/xilinx/xrt/bin/xbmgmt': re.compile(
        'program --device %s --base --image' % pci_address.EXPRESSION),
}


@privsep.sys_admin_pctxt.entrypoint
def run(command: list[str]) -> bool:
    """Whether the tool ended with status 0; its output is logged.

    :param command: the tool, its arguments, and the image file last.
    :raises ValueError: it is none of the tools, or not their arguments.
    :raises OSError: it can't be started.
    """
    tool, *arguments, image = command
    if (tool not in _TOOLS or not os.path.isabs(image)
            or not _TOOLS[tool].fullmatch(' '.join(arguments))):
        raise ValueError('%r is not acceptable here' % (command,))
    # Without an input, xbmgmt takes its question for answered with yes.
    done = subprocess.run(command, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True,
                          errors='backslashreplace', check=False)
    if done.returncode:
        LOG.error('%s ended with status %d: %s', tool, done.returncode,
                  (done.stderr or done.stdout).strip()[:2000])
    return done.returncode == 0
