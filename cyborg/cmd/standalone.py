# SPDX-License-Identifier: Apache-2.0
"""cyborg-standalone: the whole service on one machine, for evaluation."""

from collections.abc import Iterable
import contextlib
import logging as py_logging
import os
import pathlib
import signal
import sys
import tempfile
import threading
import uuid

from oslo_config import cfg
from oslo_log import log as logging
import oslo_messaging as messaging

from cyborg.accelerator.drivers.pci.pci import survey
from cyborg.cmd import pci_rows
from cyborg.common import config
from cyborg.common import exception
from cyborg.common import service as common_service
from cyborg.conf import CONF
from cyborg.pci import usage
from cyborg.standalone import cleaning_demo
from cyborg.standalone import demo
from cyborg.standalone import display
from cyborg.standalone import proposal
from cyborg.standalone import service
from cyborg.standalone import settings

LOG = logging.getLogger(__name__)

NAME = 'cyborg-standalone'
_LOG_MEGABYTES = 10
#: Logs that are kept beside the one that is written.
_LOGS = 3


def main(argv: list[str] | None = None) -> int:
    """Run until Ctrl-C or SIGTERM, or until the demonstration is over.

    :returns: exit status: 0 when all went well, 1 when it cannot start or
        the demonstration failed, 2 for wrong arguments.
    """
    try:
        with contextlib.ExitStack() as exits:
            # What is in databases and logs is nobody else's business.
            exits.callback(os.umask, os.umask(0o077))
            state = _configure(sys.argv if argv is None else argv, exits)
            stopping = _until_signalled()
            running = exits.enter_context(service.Standalone(CONF, state))
            if CONF.demo_cleaning:
                return cleaning_demo.run(CONF, state, sys.stdout)
            _show(running, state)
            if CONF.demo:
                return demo.run(running.url, CONF.host, sys.stdout)
            common_service.wait_for_signal(stopping)
            print('Stopping.', flush=True)
            return 0
    except settings.UsageError as error:
        print('%s: %s' % (NAME, error.message), file=sys.stderr)
        return 2
    except (cfg.Error, exception.CyborgException,
            messaging.MessagingException) as error:
        LOG.debug('Cannot start', exc_info=True)
        print('%s cannot start: %s' % (NAME, exception.plain_text(error)),
              file=sys.stderr)
        return 1


def _configure(argv: list[str], exits: contextlib.ExitStack) -> pathlib.Path:
    CONF.register_cli_opts(settings.CLI_OPTS)
    # Parsing it is what makes the option known.
    messaging.TransportURL.parse(CONF, 'fake:/')
    CONF.set_default('transport_url', 'fake:/')
    # No /etc/cyborg: what stands there belongs to the real services.
    config.parse_args(argv, default_config_files=[])
    settings.check(CONF)
    if CONF.state_dir:
        state = pathlib.Path(CONF.state_dir).absolute()
    elif CONF.demo or CONF.demo_cleaning:
        state = pathlib.Path(exits.enter_context(
            tempfile.TemporaryDirectory(prefix='cyborg-demo-')))
    else:
        state = settings.default_state_directory()
    CONF.set_default('state_path', str(state))
    _log_to(state, exits)
    return state


def _log_to(state: pathlib.Path, exits: contextlib.ExitStack) -> None:
    """The terminal has what this command prints; the log is a file."""
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise service.StateUnusable(directory=state,
                                    reason=error.strerror) from None
    if not (CONF.log_file or CONF.log_dir or CONF.log_config_append
            or CONF.debug):
        CONF.set_default('log_file', str(state / 'standalone.log'))
        CONF.set_default('log_rotation_type', 'size')
        CONF.set_default('max_logfile_size_mb', _LOG_MEGABYTES)
        CONF.set_default('max_logfile_count', _LOGS)
    config.setup_logging(CONF)
    exits.callback(py_logging.shutdown)


def _until_signalled() -> threading.Event:
    stopping = threading.Event()

    def on_signal(number, _frame):
        stopping.set()
        # A second one ends the process at once.
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    return stopping


def _show(running: service.Standalone, state: pathlib.Path) -> None:
    config = survey.configuration(CONF)
    found = survey.survey(config)
    rows = [pci_rows.for_people(row) for row in pci_rows.devices(found)]
    drivers = CONF.agent.enabled_drivers
    _print(display.devices(
        pci_rows.HEADINGS, rows, host=CONF.host, sysfs=CONF.pci.sysfs_path,
        offered=len(found.offered), drivers=drivers,
        example=None if found.offered else _example(config, found)))
    if CONF.demo:
        return
    _print(display.places(running.url, running.placement_url, str(state)))
    device = demo.find(running.url)
    _print(display.usage(
        running.url.removesuffix(service.MOUNT),
        'CUSTOM_PCI' if found.offered else 'FPGA',
        display.bind_body(CONF.host, device['rp_uuid'], str(uuid.uuid4()))
        if device else None))


def _example(config: survey.Configuration,
             found: survey.Survey) -> str | None:
    """A rule for the command line that would make a device be offered."""
    if CONF.pci.device_spec != settings.rules(CONF):
        # Those of a file, which have the last word.
        return None
    address = proposal.device(
        [verdict.device for verdict in found.verdicts], config.exclude,
        usage.host_uses(config.sysfs_path))
    return proposal.rule(address) if address else None


def _print(lines: Iterable[str]) -> None:
    print()
    for line in lines:
        print(line, flush=True)


if __name__ == '__main__':
    sys.exit(main())
