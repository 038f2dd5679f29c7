# SPDX-License-Identifier: Apache-2.0
"""cyborg-nvme: the NVMe disks of this host, and what is done between users.

For the operator. list, show and check only read; clean, retry, hold and
release leave a request for cyborg-cleaner.
"""

import argparse
from collections.abc import Iterator
import json
import sys
from typing import Any

from cliff import command
from cliff import lister
from cliff import show
from oslo_config import cfg

from cyborg.cleaner import exceptions
from cyborg.cleaner import journal as cleaner_journal
from cyborg.cleaner import preview
from cyborg.cleaner import requests
from cyborg.cleaning import decide
from cyborg.cleaning import states
from cyborg.cmd import tool
from cyborg.common import exception
from cyborg.common import option_values
from cyborg.conf import CONF
from cyborg.nvme import linux
from cyborg.nvme import local
from cyborg.nvme import roots as nvme_roots
from cyborg.pci import address as pci_address

NAME = 'cyborg-nvme'
WELL, REFUSED, UNKNOWN = 0, 1, 2
_KEYS = ('address', 'serial', 'model', 'state', 'reason', 'reserved', 'used',
         'consumer', 'method', 'detail')


def row(disk: preview.Disk) -> dict:
    entry, view = disk.entry, disk.view
    return dict(zip(_KEYS, (
        disk.address, disk.facts.serial or (entry and entry.serial) or '',
        disk.facts.model or (entry and entry.model) or '', disk.state,
        disk.reason, view.reserved if view else None,
        view.used if view else None, entry.consumer if entry else '',
        entry.method if entry else '', entry.detail if entry else ''),
        strict=True))


def address_of(text: str) -> str:
    """:raises argparse.ArgumentTypeError: it is no PCI address."""
    try:
        return str(pci_address.PciAddress.parse(text))
    except pci_address.InvalidPciAddress as error:
        raise argparse.ArgumentTypeError(str(error)) from None


class _Command(command.Command):

    def disks(self) -> list[preview.Disk]:
        """:raises exception.CyborgException: an option is wrong."""
        self.app.read_configuration()
        return preview.disks(CONF, self.app.host())

    def _parser(self, parser):
        parser.add_argument('device', metavar='DEVICE', type=address_of,
                            help='PCI address, such as 0000:81:00.0.')
        return parser


class ListDisks(_Command, lister.Lister):
    """All disks that are cleaned, and their states."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple:
        keys = _KEYS[:-1]
        return keys, [tuple(row(disk)[key] for key in keys)
                      for disk in self.disks()]


class ShowDisk(_Command, show.ShowOne):
    """One disk: its state, why, and the way out."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        return self._parser(super().get_parser(prog_name))

    def take_action(self, parsed_args: argparse.Namespace) -> tuple:
        for disk in self.disks():
            if disk.address == parsed_args.device:
                return self._shown(disk)
        raise exceptions.DiskNotFound(host=CONF.host,
                                      device=parsed_args.device)

    @staticmethod
    def _shown(disk):
        meaning = states.MEANINGS.get(disk.reason)
        found = row(disk) | {
            'meaning': meaning.text if meaning else '',
            'way_out': meaning.way_out if meaning else
            'cyborg-nvme retry %s' % disk.address
            if disk.state == 'error' else '',
            'interlocks': tool.Lines([str(lock) for lock in disk.interlocks
                                  if not lock.holds]),
            'driver': disk.facts.binding.driver or '',
            'firmware': disk.facts.firmware or ''}
        return tuple(found), tuple(found.values())


class Check(_Command, lister.Lister):
    """What would be done now, and every interlock with its answer.

    Writes nothing. Exit status: 0 nothing stands in the way, 1 a disk needs
    a person or is refused, 2 could not tell.
    """

    @property
    def formatter_default(self) -> str:
        return 'value'

    def run(self, parsed_args: argparse.Namespace) -> int:
        self.status = UNKNOWN
        try:
            super().run(parsed_args)
        except exception.CyborgException as error:
            self.status = REFUSED
            self.app.stderr.write('%s: %s\n' % (NAME, error.message))
        except cfg.Error as error:
            self.status = REFUSED
            self.app.stderr.write('%s: %s\n' % (NAME, error))
        return self.status

    def take_action(self, parsed_args: argparse.Namespace) -> tuple:
        found = list(self.findings(self.disks()))
        self.status = max((finding[0] for finding in found), default=WELL)
        return ('address', 'kind', 'name', 'detail'), [
            finding[1:] for finding in found]

    @staticmethod
    def findings(disks: list[preview.Disk]) -> Iterator[tuple]:
        for disk in disks:
            if disk.trouble:
                yield (UNKNOWN, disk.address, 'unknown', 'placement',
                       disk.trouble)
            decision = disk.decision
            if decision is not None:
                state = decision.state.value if decision.state else disk.state
                yield (REFUSED if disk.needs_a_person else WELL, disk.address,
                       'decision', decision.step.value,
                       '%s (%s)' % (state, decision.reason))
            if disk.overdue:
                yield (REFUSED, disk.address, 'note', states.OVERDUE,
                       states.MEANINGS[states.OVERDUE].text)
            due = decision is not None and decision.step in (
                decide.Step.WAIT, decide.Step.CLEAN, decide.Step.RESUME)
            for lock in disk.interlocks:
                yield (REFUSED if due and not lock.holds else WELL,
                       disk.address, 'interlock', lock.name,
                       lock.holder or 'holds')
            if disk.view is not None and not disk.view.one_time_use:
                yield (WELL, disk.address, 'note', 'one_time_use',
                       'off in Nova: between the claim of a guest and the '
                       'next look or notification the disk is not reserved, '
                       'and a guest that is gone before both is seen by its '
                       'seal alone')


class _Request(_Command):
    """Leaves a request; the cleaner fulfils it at once when it runs."""

    name = ''

    def get_parser(self, prog_name):
        return self._parser(super().get_parser(prog_name))

    def take_action(self, parsed_args):
        reason = getattr(parsed_args, 'uncleaned', None) or ''
        disk = next((each for each in self.disks()
                     if each.address == parsed_args.device), None)
        if disk is None:
            raise exceptions.DiskNotFound(host=CONF.host,
                                          device=parsed_args.device)
        request = cleaner_journal.Request(self.name, disk.address, reason)
        if disk.entry is not None and not disk.trouble:
            # The cleaner asks again; this is for the operator's eyes.
            requests.requested(request, disk.entry, disk.view, CONF.host)
        path = CONF.cleaner.journal_path
        cleaner_journal.Journal(path, CONF.host).ask(request)
        answer = {'address': disk.address, 'command': self.name,
                  'cleaner': 'running' if preview.running(path) else
                  'not running: done at its start'}
        if parsed_args.json:
            self.app.stdout.write(json.dumps(answer) + '\n')
        else:
            self.app.stdout.write('%(command)s of %(address)s is asked for; '
                                  'cyborg-cleaner: %(cleaner)s\n' % answer)


def _request(name: str, text: str, reason: bool = False) -> type:
    def get_parser(self, prog_name):
        parser = _Request.get_parser(self, prog_name)
        parser.add_argument('--json', action='store_true',
                            help='Answer with JSON.')
        if reason:
            parser.add_argument(
                '--uncleaned', metavar='REASON', required=True,
                help='Why the disk may be offered without being erased; it '
                     'goes to the log.')
        return parser

    return type(name.title(), (_Request,), {
        '__doc__': text, 'name': name, 'get_parser': get_parser})


class NvmeApp(tool.Tool):
    """The command line."""

    name = NAME
    text = __doc__.split('\n\n')[0]
    service = 'cyborg-cleaner'

    def __init__(self, options: list[str], host=None, **kwargs):
        super().__init__({
            'list': ListDisks, 'show': ShowDisk, 'check': Check,
            'clean': _request('clean', 'Erase a disk, and offer it.'),
            'retry': _request('retry', 'Clean a disk in error again.'),
            'hold': _request('hold', 'Reserve a free disk, and leave it '
                                     'alone.'),
            'release': _request('release', 'Offer a disk uncleaned.',
                                reason=True)}, options, **kwargs)
        self._host = host

    def host(self) -> local.Host:
        """The disks of this host, without any privilege."""
        return self._host or local.Host(linux.Kernel(
            nvme_roots.Roots(sys=CONF.pci.sysfs_path)))

    def read_configuration(self) -> None:
        """:raises cfg.Error: a file is missing, unreadable, or no config.

        :raises exception.OptionInvalid: a value can't be used.
        """
        super().read_configuration()
        option_values.check(CONF, 'cleaner', 'nvme', 'pci')


def main(argv: list[str] | None = None, host: local.Host | None = None,
         **streams: Any) -> int:
    """Run one command.

    :param host: the disks, in place of the machine's.
    :param streams: ``stdout``, ``stderr`` in place of the process's.
    :returns: exit status.
    """
    return tool.main(lambda options: NvmeApp(options, host, **streams), argv,
                     streams)


if __name__ == '__main__':
    sys.exit(main())
