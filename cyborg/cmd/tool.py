# SPDX-License-Identifier: Apache-2.0
"""What the command lines for operators have in common.

Their own arguments are cliff's; which configuration files are read is an
option before or behind the command.
"""

import argparse
from collections.abc import Callable
from collections.abc import Mapping
import sys

from cliff import app
from cliff import columns
from cliff import commandmanager

from cyborg import version
from cyborg.common import config


class Lines(columns.FormattableColumn):
    """A list: one item a line for people, a list for programs."""

    def human_readable(self) -> str:
        return '\n'.join(self._value)


class Tool(app.App):
    """A command line.

    :cvar name: of the program; ``text`` says what it is for, ``service``
        whose configuration files it reads.
    :param commands: name -> class of a command.
    :param options: arguments for oslo.config.
    """

    name = ''
    text = ''
    service = ''

    def __init__(self, commands: Mapping[str, type], options: list[str],
                 **kwargs):
        manager = commandmanager.CommandManager(
            self.name.replace('-', '.') + '.commands')
        for name, factory in commands.items():
            manager.add_command(name, factory)
        super().__init__(description=self.text,
                         version=version.release_string(),
                         command_manager=manager, **kwargs)
        self._arguments = options

    def build_option_parser(self, description: str, version: str,
                            argparse_kwargs: dict | None = None
                            ) -> argparse.ArgumentParser:
        parser = super().build_option_parser(description, version,
                                             argparse_kwargs)
        _add_configuration_options(parser, self.service)
        return parser

    def read_configuration(self) -> None:
        """:raises cfg.Error: a file is missing, unreadable, or no config."""
        config.parse_args([self.name, *self._arguments])


def _add_configuration_options(parser: argparse.ArgumentParser,
                               service: str) -> None:
    for name, metavar in (('--config-file', 'PATH'), ('--config-dir', 'DIR')):
        parser.add_argument(
            name, action='append', default=[], metavar=metavar,
            help='As for %s; may be repeated, and may also follow the '
                 'command.' % service)


def main(make: Callable[[list[str]], Tool], argv: list[str] | None,
         streams: Mapping) -> int:
    """Run one command.

    :param make: called with the arguments for oslo.config.
    :param streams: what stands in place of the process's, if anything does.
    :returns: exit status.
    """
    if not streams:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            # Rather an escaped letter than no answer.
            stream.reconfigure(errors='backslashreplace')
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    _add_configuration_options(parser, '')
    found, rest = parser.parse_known_args(sys.argv[1:] if argv is None
                                          else argv[1:])
    return make(['%s=%s' % (name, value) for name, values in (
        ('--config-file', found.config_file),
        ('--config-dir', found.config_dir)) for value in values]).run(
            rest or ['help'])
