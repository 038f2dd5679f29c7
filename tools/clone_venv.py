# SPDX-License-Identifier: Apache-2.0
"""The virtual environment ``.venv`` of this clone, made when it is missing.

Needs nothing but Python 3.11 or newer with its own ``venv`` module.
"""

import hashlib
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
OLDEST = (3, 11)
NAMES = ('python3.11', 'python3.12', 'python3.13')


def use_new_enough_python() -> None:
    """Start the running script again when ``python3`` is too old."""
    if sys.version_info >= OLDEST:
        return
    for name in NAMES:
        found = shutil.which(name)
        if found:
            os.execv(found, [found] + sys.argv)
    sys.exit('Python 3.11 or newer is needed; this is %s.'
             % sys.version.split()[0])


def ensure(extras: str, requirements: tuple[str, ...] = ()) -> pathlib.Path:
    """Install this clone, editable, into its ``.venv``.

    Nothing is done when the same was installed before.

    :param extras: comma separated extras of the package
    :param requirements: further requirement files
    :returns: the environment's ``bin`` directory
    """
    directory = pathlib.Path(os.environ.get('CYBORG_VENV', ROOT / '.venv'))
    stamp = directory / ('installed-' + extras.replace(',', '-'))
    wanted = hashlib.sha256()
    for name in ('setup.cfg', 'requirements.txt', *requirements):
        wanted.update((ROOT / name).read_bytes())
    wanted.update(str(ROOT).encode())
    bin_directory = directory / 'bin'
    if stamp.exists() and stamp.read_text() == wanted.hexdigest():
        return bin_directory
    if not (bin_directory / 'python').exists():
        print('Creating %s' % directory, flush=True)
        made = subprocess.run([sys.executable, '-m', 'venv', str(directory)])
        if made.returncode:
            sys.exit('The venv module of Python does not work; on Debian and '
                     'Ubuntu it comes with the package python3-venv.')
    print('Installing the package and what it needs', flush=True)
    command = [str(bin_directory / 'python'), '-m', 'pip', 'install',
               '--quiet', '--disable-pip-version-check',
               '--editable', '%s[%s]' % (ROOT, extras)]
    for name in requirements:
        command += ['--requirement', str(ROOT / name)]
    installed = subprocess.run(command, stderr=subprocess.PIPE, text=True,
                               errors='replace')
    if installed.returncode:
        sys.exit(installed.stderr + '\nThe installation failed.')
    stamp.write_text(wanted.hexdigest())
    return bin_directory



def ensure_for_tests() -> pathlib.Path:
    """The ``bin`` directory of an environment that has all tests need."""
    return ensure('standalone,mysql,postgresql', ('test-requirements.txt',))


def enter() -> None:
    """Start the running script again in the environment of the tests.

    Where it already runs in one, this clone's or another, nothing is done.
    """
    if importlib.util.find_spec('fixtures'):
        return
    use_new_enough_python()
    bin_directory = ensure_for_tests()
    os.environ['PATH'] = '%s:%s' % (bin_directory, os.environ.get('PATH', ''))
    os.execv(bin_directory / 'python', ['python', *sys.argv])
