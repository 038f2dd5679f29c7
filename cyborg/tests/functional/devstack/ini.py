# SPDX-License-Identifier: Apache-2.0
"""Edit INI files with repeated options, as DevStack's functions do.

``ini.py set|add|comment FILE SECTION OPTION [VALUE]``
"""

import pathlib
import sys


def main():
    action, name, section, option, *value = sys.argv[1:]
    path = pathlib.Path(name)
    lines = path.read_text().splitlines() if path.exists() else []
    header = '[%s]' % section
    if header not in lines:
        lines.append(header)
    start = lines.index(header) + 1
    end = next((number for number in range(start, len(lines))
                if lines[number].startswith('[')), len(lines))
    body = lines[start:end]
    if action in ('set', 'comment'):
        body = [line for line in body
                if line.split('=', 1)[0].strip() != option]
    if action in ('set', 'add'):
        body.append('%s = %s' % (option, value[0]))
    path.write_text('\n'.join(lines[:start] + body + lines[end:]) + '\n')


if __name__ == '__main__':
    main()
