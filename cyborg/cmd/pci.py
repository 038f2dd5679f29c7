# SPDX-License-Identifier: Apache-2.0
"""cyborg-pci: what an agent started now would do with this host's devices.

For the operator. Needs no privilege, changes nothing, and reads the same
configuration files as the agent.
"""

import argparse
import contextlib
import logging
import os
import sys

from cliff import app
from cliff import columns
from cliff import command
from cliff import commandmanager
from cliff import lister
from cliff import show
from oslo_config import cfg

from cyborg import version
from cyborg.accelerator.drivers.pci.pci import survey
from cyborg.cmd import pci_check
from cyborg.cmd import pci_rows
from cyborg.cmd import pci_tree
from cyborg.common import config
from cyborg.common import exception
from cyborg.common import option_values
from cyborg.conf import CONF
from cyborg.pci import address as pci_address
from cyborg.pci import links

NAME = 'cyborg-pci'
#: Longest time to wait for a conductor, in seconds.
_LONGEST = 3600


class _Lines(columns.FormattableColumn):
    """A list: one item a line for people, a list for programs."""

    def human_readable(self):
        return '\n'.join(self._value)


class _Command(command.Command):
    """A command that looks at the host."""

    def survey(self) -> survey.Survey:
        """:raises exception.CyborgException: nothing can be shown."""
        self.app.read_configuration()
        option_values.check(CONF, 'pci', 'workarounds')
        return survey.survey(survey.configuration(CONF))


class ListDevices(_Command, lister.Lister):
    """All PCI devices of this host, and which would be offered."""

    def take_action(self, parsed_args):
        rows = pci_rows.devices(self.survey())
        if parsed_args.formatter == 'table' and not parsed_args.columns:
            return pci_rows.HEADINGS, [pci_rows.for_people(r) for r in rows]
        return pci_rows.KEYS, [
            tuple(row[key] for key in pci_rows.KEYS) for row in rows]


class ShowDevice(_Command, show.ShowOne):
    """One PCI device, and why it would be offered or not."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('address', metavar='ADDRESS',
                            help='Such as 0000:3b:00.0.')
        return parser

    def take_action(self, parsed_args):
        # Before anything is read: the operator waits for the typo.
        wanted = pci_address.PciAddress.parse(parsed_args.address)
        found = self.survey()
        for verdict in found.verdicts:
            if verdict.device.address == wanted:
                device = verdict.device
                row = pci_rows.verdict_row(verdict) | {
                    'virtual_functions': _Lines(
                        [str(a) for a in device.virtfns]),
                    'network_interfaces': _Lines(list(device.net_names)),
                    'upstream': _Lines([str(a) for a in links.upstream(
                        CONF.pci.sysfs_path, wanted)]),
                    'advice': _Lines(list(verdict.advice))}
                return tuple(row), tuple(row.values())
        for fault in found.faults:
            if fault.address == wanted:
                row = pci_rows.fault_row(fault)
                return tuple(row), tuple(row.values())
        raise exception.PciDeviceNotFoundById(id=wanted)


class Tree(_Command):
    """Devices by NUMA node, root port, physical and virtual function."""

    def take_action(self, parsed_args):
        stream = self.app.stdout
        colour = stream.isatty() and 'NO_COLOR' not in os.environ
        for line in pci_tree.lines(
                self.survey(), CONF.pci.sysfs_path, colour):
            stream.write(line + '\n')


class Check(lister.Lister):
    """Whether an agent started now would accept this configuration.

    Exit status: 0 yes, 1 no (every reason is printed), 2 could not tell.
    """

    @property
    def formatter_default(self):
        return 'value'

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--persisted', action='store_true',
            help='Also ask a conductor for what is stored of this host, and '
                 'tell which devices would be new, changed, missing, '
                 'retained, or refused because they are allocated.')
        parser.add_argument(
            '--timeout', type=_seconds, default=10.0, metavar='SECONDS',
            help='How long to wait for a conductor (default: %(default)s).')
        return parser

    def run(self, parsed_args):
        # The drivers' own warnings are among the findings.
        with _quiet('cyborg'):
            self.status = pci_check.UNKNOWN
            try:
                super().run(parsed_args)
                self._say(self.status)
            except (cfg.ConfigFileParseError, cfg.ConfigFileValueError,
                    cfg.ConfigDirNotFoundError,
                    exception.OptionInvalid) as error:
                self._say(pci_check.REJECTED, error)
            except BrokenPipeError:
                raise
            except Exception as error:
                # Any other status would be a verdict.
                self.app.LOG.debug('check', exc_info=True)
                self._say(pci_check.UNKNOWN, error)
        return self.status

    def take_action(self, parsed_args):
        self.app.read_configuration()
        findings = pci_check.local()
        if parsed_args.persisted and not pci_check.status(findings):
            compared = pci_check.persisted(parsed_args.timeout)
            findings += compared
            self._tell_comparison(compared)
        self.status = pci_check.status(findings)
        return ('kind', 'subject', 'detail'), [
            (f.kind, f.subject, f.detail) for f in findings]

    def _tell_comparison(self, compared: list) -> None:
        """That it took place, which no line of a finding tells."""
        if self.app.stderr is not None and not any(
                finding.kind == 'unknown' for finding in compared):
            self.app.stderr.write(
                '%s: compared with what is stored of host %s: %s\n' % (
                    NAME, CONF.host, 'no difference' if not compared
                    else '%d differences' % len(compared) if compared[1:]
                    else '1 difference'))

    def _say(self, status: int, error: Exception | None = None) -> None:
        """Keep and print the verdict, apart from the findings."""
        self.status = status
        if self.app.stderr is not None:  # nobody closed it
            self.app.stderr.write('%s: %s%s\n' % (
                NAME, _VERDICTS[status], ': %s' % error if error else ''))


_VERDICTS = {
    pci_check.ACCEPTED: 'an agent started now would accept this '
                        'configuration',
    pci_check.REJECTED: 'an agent started now would refuse this '
                        'configuration',
    pci_check.UNKNOWN: 'could not tell whether an agent would accept this '
                       'configuration',
}


@contextlib.contextmanager
def _quiet(name: str):
    log = logging.getLogger(name)
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)


class PciApp(app.App):
    """The command line; ``options`` are arguments for oslo.config."""

    def __init__(self, options: list[str], **kwargs):
        commands = commandmanager.CommandManager('cyborg.pci.commands')
        for name, factory in (('list', ListDevices), ('show', ShowDevice),
                              ('check', Check), ('tree', Tree)):
            commands.add_command(name, factory)
        super().__init__(description=__doc__.split('\n\n')[0],
                         version=version.release_string(),
                         command_manager=commands, **kwargs)
        self._arguments = options

    def build_option_parser(self, description, version, argparse_kwargs=None):
        parser = super().build_option_parser(description, version,
                                             argparse_kwargs)
        _add_configuration_options(parser)
        return parser

    def read_configuration(self) -> None:
        """:raises cfg.Error: a file is missing, unreadable, or no config."""
        config.parse_args([NAME, *self._arguments])


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value <= _LONGEST:
        raise argparse.ArgumentTypeError(
            'more than 0 and at most %d seconds' % _LONGEST)
    return value


def _add_configuration_options(parser: argparse.ArgumentParser) -> None:
    for name, metavar in (('--config-file', 'PATH'), ('--config-dir', 'DIR')):
        parser.add_argument(
            name, action='append', default=[], metavar=metavar,
            help='As for the agent; may be repeated, and may also follow '
                 'the command.')


def main(argv: list[str] | None = None, **streams) -> int:
    """Run one command.

    :param streams: ``stdout``, ``stderr`` in place of the process's.
    :returns: exit status.
    """
    if not streams:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            # Rather an escaped letter than no answer.
            stream.reconfigure(errors='backslashreplace')
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    _add_configuration_options(parser)
    found, rest = parser.parse_known_args(sys.argv[1:] if argv is None
                                          else argv[1:])
    options = ['%s=%s' % (name, value) for name, values in (
        ('--config-file', found.config_file),
        ('--config-dir', found.config_dir)) for value in values]
    return PciApp(options, **streams).run(rest or ['help'])


if __name__ == '__main__':
    sys.exit(main())
