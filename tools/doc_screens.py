#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make what the administrator guide shows: screens, and the table of keys.

    tools/doc_screens.py [--check] [--directory DIR]

Runs the real commands on the simulated host of ``cyborg-standalone``. With
``--check`` nothing is written; the exit status is 1 when a file differs from
what would be written. A test does that.
"""

import argparse
import io
import os
import pathlib
import shlex
import sys
import tempfile
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIRECTORY = ROOT / 'doc/source/admin/generated'

GOOD = """\
[agent]
enabled_drivers = pci_driver

[pci]
# The virtual functions keep the VFIO variant driver they are bound to.
device_spec = {"vendor_id": "1d0f", "managed": false}
device_spec = {"vendor_id": "10de", "product_id": "1eb8"}
# The physical function stays with the host.
exclude_list = 0000:21:00.0
"""

#: Screen -> configuration and command.
SCREENS = {
    'list': (GOOD, 'cyborg-pci list'),
    'show': (GOOD, 'cyborg-pci show 0000:21:00.1'),
    'tree': (GOOD, 'cyborg-pci tree'),
    'error-key': ("""\
[agent]
enabled_drivers = pci_driver

[pci]
device_spec = {"vendor": "1d0f", "product_id": "efa1"}
device_spec = {"address": "0000:41:00.9", "managed": "yes"}
""", 'cyborg-pci check'),
    'error-exclude': ("""\
[agent]
enabled_drivers = pci_driver

[pci]
device_spec = {"vendor_id": "1d0f"}
exclude_list = 21:00.0, 0000:21:00.*
""", 'cyborg-pci check'),
    'error-class': ("""\
[agent]
enabled_drivers = pci_driver

[pci]
device_spec = {"address": {"bus": "4[15]"}}
""", 'cyborg-pci check'),
    'warnings': ("""\
[agent]
enabled_drivers = pci_driver

[pci]
device_spec = {"address": "0000:25:00.0"}
device_spec = {"product_id": "efa0", "managed": false}
""", 'cyborg-pci check'),
}


def screen(configuration: str, command: str) -> str:
    """The configuration's file and what the command prints, both streams."""
    from cyborg.cmd import pci
    from cyborg.pci import simulate
    with tempfile.TemporaryDirectory() as folder:
        simulate.build(os.path.join(folder, 'sys'))
        path = os.path.join(folder, 'cyborg.conf')
        with open(path, 'w') as stream:
            stream.write('[DEFAULT]\nhost = compute-1\n' + configuration
                         + '[pci]\nsysfs_path = %s/sys\n' % folder)
        output = io.StringIO()
        status = pci.main([*shlex.split(command), '--config-file', path],
                          stdout=output, stderr=output)
    text = '$ %s\n%s' % (command, output.getvalue())
    if 'check' in command:
        text += '$ echo $?\n%d\n' % status
    return text.replace(folder, '')


def produce() -> dict[str, str]:
    """File name -> text."""
    from cyborg.pci import schema
    files = {'device-spec-keys.inc': schema.key_table()}
    for name, (configuration, command) in SCREENS.items():
        if configuration != GOOD or name == 'list':
            files[name + '.conf'] = configuration
        files[name + '.txt'] = screen(configuration, command)
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--check', action='store_true')
    parser.add_argument('--directory', type=pathlib.Path, default=DIRECTORY)
    args = parser.parse_args()
    warnings.simplefilter('ignore')
    files, differing = produce(), []
    for name, text in files.items():
        path = args.directory / name
        if path.exists() and path.read_text() == text:
            continue
        differing.append(name)
        if not args.check:
            args.directory.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    for name in differing:
        print('%s %s' % ('differs:' if args.check else 'wrote', name))
    return 1 if args.check and differing else 0


if __name__ == '__main__':
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
