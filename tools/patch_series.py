#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Apply a patch series to a released source package and run its tests.

A series is a directory with ``series.toml`` and numbered ``*.patch`` files
made by ``git format-patch``. The program fetches the source package with pip,
applies the patches with ``git am``, makes a virtual environment from the
package's own requirements and runs the test modules that ``series.toml``
names. Everything made is kept below ``--cache`` and used again.

``series.toml``::

    package = "nova"                  # name in the package index
    version = "34.0.0"                # the release the patches apply to
    requirements = ["requirements.txt"]   # files of the source package
    packages = ["openstack-placement"]    # more packages for the tests
    tests = ["nova.tests.unit.accelerator.test_cyborg"]
    new_tests = ["..."]               # modules that only the series adds
    all_tests = ["..."]               # further modules that --all runs
    [nearest]                         # of these only tests with such names;
    "nova.tests.unit.compute.test_compute" = "accel|rescue"    # --all: all
    [environment]                     # variables for the test processes
    OS_TEST_TIMEOUT = "160"

The last line printed is ``N passed, N failed, N skipped``; the exit status is
0 when nothing failed, 1 otherwise, 2 when the series could not be prepared.
"""

import argparse
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import unittest


class SeriesError(Exception):
    """The series could not be prepared (fetch, apply or environment)."""


@dataclasses.dataclass(frozen=True)
class Series:
    """What one ``series.toml`` says."""

    directory: pathlib.Path
    package: str
    version: str
    requirements: tuple[str, ...]
    packages: tuple[str, ...]
    tests: tuple[str, ...]
    new_tests: tuple[str, ...]
    all_tests: tuple[str, ...]
    nearest: dict[str, str]
    environment: dict[str, str]

    @property
    def patches(self) -> list[pathlib.Path]:
        return sorted(self.directory.glob('[0-9]*.patch'))

    def digest(self) -> str:
        """Part of the patched tree's name: changes with any patch."""
        total = hashlib.sha256()
        for patch in self.patches:
            total.update(patch.name.encode() + patch.read_bytes())
        return total.hexdigest()[:12]

    def tree(self, cache: pathlib.Path, patched: bool) -> pathlib.Path:
        """Where the source tree is, or will be."""
        return cache / ('%s-%s-%s' % (
            self.package, self.version,
            self.digest() if patched else 'released'))

    def venv(self, cache: pathlib.Path) -> pathlib.Path:
        """Where the virtual environment of both trees is, or will be."""
        return cache / ('%s-%s-venv' % (self.package, self.version))


def default_cache() -> pathlib.Path:
    """``CYBORG_PATCH_CACHE``, or a folder in the user's cache."""
    named = os.environ.get('CYBORG_PATCH_CACHE')
    if named:
        return pathlib.Path(named)
    base = os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache'
    return pathlib.Path(base) / 'cyborg-patch-series'


def read_series(directory: pathlib.Path) -> Series:
    data = tomllib.loads((directory / 'series.toml').read_text())
    return Series(
        directory=directory, package=data['package'],
        version=data['version'],
        requirements=tuple(data.get('requirements', ())),
        packages=tuple(data.get('packages', ())),
        tests=tuple(data.get('tests', ())),
        new_tests=tuple(data.get('new_tests', ())),
        all_tests=tuple(data.get('all_tests', ())),
        nearest=dict(data.get('nearest', {})),
        environment=dict(data.get('environment', {})))


def run(command, **kwargs):
    """Run a preparing command; its output is shown only when it fails."""
    done = subprocess.run([str(word) for word in command], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **kwargs)
    if done.returncode:
        raise SeriesError('%s failed (%d):\n%s' % (
            ' '.join(str(word) for word in command), done.returncode,
            done.stdout[-4000:]))
    return done.stdout


def fetch(series: Series, cache: pathlib.Path) -> pathlib.Path:
    """The source package as pip serves it."""
    folder = cache / 'sdists'
    folder.mkdir(parents=True, exist_ok=True)
    pattern = '%s-%s.tar.gz' % (
        series.package.replace('-', '[-_]'), series.version)
    found = list(folder.glob(pattern))
    if not found:
        run([sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps',
             '--no-binary', series.package, '--dest', folder,
             '%s==%s' % (series.package, series.version)])
        found = list(folder.glob(pattern))
    if not found:
        raise SeriesError('pip gave no source package for %s %s' % (
            series.package, series.version))
    return found[0]


def git_environment() -> dict[str, str]:
    """An identity for ``git am`` that needs no configuration of the user."""
    return dict(os.environ, GIT_COMMITTER_NAME='OpenStack',
                GIT_COMMITTER_EMAIL='openstack-discuss@lists.openstack.org',
                GIT_AUTHOR_NAME='OpenStack',
                GIT_AUTHOR_EMAIL='openstack-discuss@lists.openstack.org',
                GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_SYSTEM=os.devnull)


def unpack(series: Series, cache: pathlib.Path, patched: bool):
    """A source tree, with the series applied or as released.

    The tree is built beside its final place and renamed, so that an
    interrupted run leaves nothing that looks complete.
    """
    tree = series.tree(cache, patched)
    if tree.is_dir():
        return tree
    archive = fetch(series, cache)
    work = pathlib.Path(tempfile.mkdtemp(prefix='unpack-', dir=cache))
    try:
        with tarfile.open(archive) as tar:
            tar.extractall(work, filter='data')
        (source,) = work.iterdir()
        environment = git_environment()
        git = ['git', '-C', source]
        run([*git, 'init', '--quiet'], env=environment)
        run([*git, 'add', '--all', '--force'], env=environment)
        run([*git, 'commit', '--quiet', '-m', '%s %s' % (
            series.package, series.version)], env=environment)
        if patched:
            run([*git, 'am', '--quiet', *series.patches], env=environment)
        source.rename(tree)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return tree


def environment_for(series: Series, cache: pathlib.Path,
                    tree: pathlib.Path) -> pathlib.Path:
    """The interpreter of a virtual environment for the source tree.

    Only requirements are installed. The tree itself is put on PYTHONPATH,
    where its ``egg-info`` serves the entry points, so that the released and
    the patched tree share one environment.
    """
    venv = series.venv(cache)
    python, stamp = venv / 'bin' / 'python', venv / 'complete'
    wanted = '\n'.join([(tree / name).read_text()
                        for name in series.requirements] +
                       list(series.packages))
    if not stamp.is_file() or stamp.read_text() != wanted:
        if not python.is_file():
            run([sys.executable, '-m', 'venv', venv])
        words = [python, '-m', 'pip', 'install', '--quiet']
        for name in series.requirements:
            words += ['-r', tree / name]
        run(words + list(series.packages))
        stamp.write_text(wanted)
    return python


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


def load(names) -> list[unittest.TestCase]:
    """The tests of modules and classes.

    :param names: ``NAME``, or ``NAME=EXPRESSION`` for those tests only in
        whose own name the expression is found
    """
    tests = []
    for name in names:
        name, _, expression = name.partition('=')
        tests += [test for test in flatten(
            unittest.defaultTestLoader.loadTestsFromName(name))
            if re.search(expression, test.id().rpartition('.')[2])]
    return tests


def worker(shard: int, shards: int, output: str, names) -> int:
    """Run every ``shards``-th class of the modules in this process."""
    tests = load(names)
    classes = sorted({(type(test).__module__, type(test).__qualname__)
                      for test in tests})
    # Tests of one class stay together: they may share set-up. Big classes
    # are cut, as one class can hold most of a module.
    chosen, seen = unittest.TestSuite(), {}
    for test in tests:
        key = (type(test).__module__, type(test).__qualname__)
        seen[key] = seen.get(key, -1) + 1
        if (classes.index(key) + seen[key] // 50) % shards == shard:
            chosen.addTest(test)
    stream = open(os.devnull, 'w')
    result = unittest.TextTestRunner(stream=stream, verbosity=0).run(chosen)
    bad = [(str(test.id()), text)
           for test, text in result.failures + result.errors]
    bad += [(str(test.id()), 'unexpected success')
            for test in result.unexpectedSuccesses]
    failed = len({name for name, _ in bad})
    pathlib.Path(output).write_text(json.dumps({
        'passed': result.testsRun - failed - len(result.skipped),
        'failed': failed, 'skipped': len(result.skipped),
        'reasons': sorted({reason for _, reason in result.skipped}),
        'bad': bad}))
    return 0


def run_tests(series: Series, python: pathlib.Path, tree: pathlib.Path,
              modules, jobs: int) -> dict:
    """Run the modules in ``jobs`` processes and add up what they saw."""
    environment = dict(os.environ, OS_STDOUT_CAPTURE='1',
                       OS_STDERR_CAPTURE='1', PBR_VERSION=series.version)
    environment.update(series.environment)
    environment['PYTHONPATH'] = str(tree)
    total = {'passed': 0, 'failed': 0, 'skipped': 0, 'bad': [],
             'reasons': []}
    with tempfile.TemporaryDirectory() as folder:
        outputs = [pathlib.Path(folder) / str(n) for n in range(jobs)]
        logs = [open(pathlib.Path(folder) / ('%d.log' % n), 'w+')
                for n in range(jobs)]
        processes = [
            subprocess.Popen(
                [python, pathlib.Path(__file__).resolve(), '--worker',
                 str(n), str(jobs), outputs[n], *modules],
                cwd=tree, env=environment, stdout=logs[n],
                stderr=subprocess.STDOUT)
            for n in range(jobs)]
        for process, output, log in zip(processes, outputs, logs,
                                        strict=True):
            process.wait()
            if not output.is_file():
                log.seek(0)
                raise SeriesError('a test process ended with status %d:\n%s'
                                  % (process.returncode, log.read()[-4000:]))
            part = json.loads(output.read_text())
            for key, value in part.items():
                total[key] += value
            log.close()
    return total


def modules_of(series: Series, released: bool, further: bool) -> list[str]:
    """Names of the test modules of a run."""
    if further:
        return [*series.all_tests, *series.nearest]
    return [*series.tests, *map('='.join, series.nearest.items()),
            *(() if released else series.new_tests)]


def main(argv=None) -> int:
    if argv is None:
        argv = sys.argv[1:]
    if argv[:1] == ['--worker']:
        return worker(int(argv[1]), int(argv[2]), argv[3], argv[4:])
    parser = argparse.ArgumentParser(
        prog='run-tests', description='Apply a patch series to a released '
        'source package and run the tests it touches.')
    parser.add_argument('series', type=pathlib.Path)
    parser.add_argument('--cache', type=pathlib.Path,
                        default=default_cache(),
                        help='where sources and environments are kept '
                             '(default: $CYBORG_PATCH_CACHE or %(default)s)')
    parser.add_argument('--jobs', type=int, default=os.cpu_count() or 1)
    parser.add_argument('--released', action='store_true',
                        help='run the same modules of the package as '
                             'released, without the patches')
    parser.add_argument('--prepare', action='store_true',
                        help='apply the patches and make the environment, '
                             'print both paths, run nothing')
    parser.add_argument('--all', action='store_true',
                        help='run those further modules only that lie near '
                             'what the series touches, and all tests of '
                             'those that otherwise run in part')
    parser.add_argument('tests', nargs='*',
                        help='test names instead of those of series.toml')
    args = parser.parse_args(argv)
    series = read_series(args.series.resolve())
    cache = args.cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    try:
        tree = unpack(series, cache, patched=not args.released)
        python = environment_for(series, cache, tree)
        if args.prepare:
            print(python)
            print(tree)
            return 0
        modules = args.tests or modules_of(series, args.released, args.all)
        print('%s %s, %s: %d modules' % (
            series.package, series.version,
            'as released' if args.released else
            '%d patches' % len(series.patches), len(modules)), flush=True)
        total = run_tests(series, python, tree, modules, args.jobs)
    except SeriesError as error:
        print('could not prepare the series: %s' % error, file=sys.stderr)
        return 2
    for name, text in total['bad']:
        print('FAILED %s\n%s' % (name, text))
    for reason in sorted(set(total['reasons'])):
        print('skipped: %s' % reason)
    print('%(passed)d passed, %(failed)d failed, %(skipped)d skipped' % total)
    if not total['passed']:
        return 1
    return 1 if total['failed'] else 0


if __name__ == '__main__':
    sys.exit(main())
