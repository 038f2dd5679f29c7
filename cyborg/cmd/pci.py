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
from typing import Any

from cliff import command
from cliff import lister
from cliff import show
from oslo_config import cfg

from cyborg.accelerator.drivers.pci.pci import survey
from cyborg.cmd import pci_check
from cyborg.cmd import pci_rows
from cyborg.cmd import pci_tree
from cyborg.cmd import tool
from cyborg.common import exception
from cyborg.common import option_values
from cyborg.conf import CONF
from cyborg.pci import address as pci_address
from cyborg.pci import links

NAME = 'cyborg-pci'
#: Longest time to wait for a conductor, in seconds.
_LONGEST = 3600


class _Command(command.Command):
    """A command that looks at the host."""

    def survey(self) -> survey.Survey:
        """:raises exception.CyborgException: nothing can be shown."""
        self.app.read_configuration()
        option_values.check(CONF, 'pci', 'workarounds')
        return survey.survey(survey.configuration(CONF))


class ListDevices(_Command, lister.Lister):
    """All PCI devices of this host, and which would be offered."""

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        rows = pci_rows.devices(self.survey())
        if parsed_args.formatter == 'table' and not parsed_args.columns:
            return pci_rows.HEADINGS, [pci_rows.for_people(r) for r in rows]
        return pci_rows.KEYS, [
            tuple(row[key] for key in pci_rows.KEYS) for row in rows]


class ShowDevice(_Command, show.ShowOne):
    """One PCI device, and why it would be offered or not."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('address', metavar='ADDRESS',
                            help='Such as 0000:3b:00.0.')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        # Before anything is read: the operator waits for the typo.
        wanted = pci_address.PciAddress.parse(parsed_args.address)
        found = self.survey()
        for verdict in found.verdicts:
            if verdict.device.address == wanted:
                device = verdict.device
                row = pci_rows.verdict_row(verdict) | {
                    'virtual_functions': tool.Lines(
                        [str(a) for a in device.virtfns]),
                    'network_interfaces': tool.Lines(list(device.net_names)),
                    'upstream': tool.Lines([str(a) for a in links.upstream(
                        CONF.pci.sysfs_path, wanted)]),
                    'advice': tool.Lines(list(verdict.advice))}
                return tuple(row), tuple(row.values())
        for fault in found.faults:
            if fault.address == wanted:
                row = pci_rows.fault_row(fault)
                return tuple(row), tuple(row.values())
        raise exception.PciDeviceNotFoundById(id=wanted)


class Tree(_Command):
    """Devices by NUMA node, root port, physical and virtual function."""

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
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
    def formatter_default(self) -> str:
        return 'value'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
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

    def run(self, parsed_args: argparse.Namespace) -> int:
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

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
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


class PciApp(tool.Tool):
    """The command line."""

    name = NAME
    text = __doc__.split('\n\n')[0]
    service = 'the agent'

    def __init__(self, options: list[str], **kwargs):
        super().__init__({'list': ListDevices, 'show': ShowDevice,
                          'check': Check, 'tree': Tree}, options, **kwargs)


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value <= _LONGEST:
        raise argparse.ArgumentTypeError(
            'more than 0 and at most %d seconds' % _LONGEST)
    return value


def main(argv: list[str] | None = None, **streams: Any) -> int:
    """Run one command.

    :param streams: ``stdout``, ``stderr`` in place of the process's.
    :returns: exit status.
    """
    return tool.main(lambda options: PciApp(options, **streams), argv,
                     streams)


if __name__ == '__main__':
    sys.exit(main())
