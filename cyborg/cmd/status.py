# SPDX-License-Identifier: Apache-2.0
"""cyborg-status: is this host ready for the installed release?

``upgrade check`` exits with 0 (yes), 1 (look at the warnings), 2 (it would
fail), or 255 (the check itself failed).
"""

import os
import sys

from oslo_config import cfg
from oslo_db import exception as db_exc
from oslo_log import log
from oslo_upgradecheck import common_checks
from oslo_upgradecheck import upgradecheck
import sqlalchemy as sa

from cyborg import version
from cyborg.accelerator import safety
from cyborg.accelerator.drivers.pci.pci import survey
from cyborg.common import config
from cyborg.common import context
from cyborg.common import database_url
from cyborg.common import exception
from cyborg.common import option_values
from cyborg.conf import CONF
from cyborg.db import devices
from cyborg.db.sqlalchemy import indexes

_OLD_NAME = 'passthrough_whitelist'
_SSD_DRIVER = 'inspur_nvme_ssd_driver'
# Hosts from which on the indexes of large fleets are worth a warning.
_LARGE_FLEET = 100

Code = upgradecheck.Code
Result = upgradecheck.Result


def check_files() -> Result:
    """Files that the user of this command may not read were not checked."""
    try:
        config.check_directories(CONF)
    except cfg.Error as error:
        return Result(Code.FAILURE, '%s. Run this as the user of the '
                      'services.' % error)
    return Result(Code.SUCCESS)


def check_device_state() -> Result:
    """Rows without ``device_state``, as 2026.2 counts them."""
    if not _has_database():
        return Result(Code.SUCCESS, 'No [database] connection is configured '
                      'on this host.')
    try:
        count = devices.count_without_state(context.get_admin_context())
    except (db_exc.DBError, sa.exc.SQLAlchemyError) as error:
        return Result(Code.FAILURE, 'The devices table cannot be read: %s. '
                      'Run: cyborg-dbsync upgrade'
                      % exception.plain_text(error))
    if count:
        return Result(Code.FAILURE, '%d devices have no device_state. Run: '
                      'cyborg-dbsync online_data_migrations' % count)
    return Result(Code.SUCCESS)


def check_indexes() -> Result:
    """What a report of one host costs beside thousands of others (PERF-4)."""
    if not _has_database():
        return Result(Code.SUCCESS)
    try:
        missing = indexes.missing()
        hosts = devices.count_hosts(context.get_admin_context())
    except (db_exc.DBError, sa.exc.SQLAlchemyError):
        # The check of the devices says what is wrong with the database.
        return Result(Code.SUCCESS, 'Not looked at: the devices table cannot '
                      'be read.')
    if missing and hosts > _LARGE_FLEET:
        return Result(Code.WARNING, 'The indexes %s are missing: each report '
                      'and each bind looks through the devices of all %d '
                      'hosts. Run: cyborg-dbsync indexes'
                      % (', '.join(missing), hosts))
    return Result(Code.SUCCESS)


def _has_database() -> bool:
    """Whether it is configured; compute hosts have none (BASE-4)."""
    where = CONF.get_location('connection', 'database')
    if where is not None and where.location not in (
            cfg.Locations.opt_default, cfg.Locations.set_default):
        return True
    # The default is a file that may never have been made.
    url = CONF.database.connection or ''
    return os.path.exists(url.removeprefix('sqlite:///'))


def check_option_name() -> Result:
    """``[pci] passthrough_whitelist`` goes away in 2027.2 (CFG-1)."""
    count = len(config.values_given(CONF, 'pci', _OLD_NAME))
    if count:
        return Result(Code.WARNING, '%d entries stand under the name [pci] '
                      '%s, which 2027.2 no longer knows. Rename the option '
                      'to device_spec.' % (count, _OLD_NAME))
    return Result(Code.SUCCESS)


def check_pci_options() -> Result:
    """Entries that 2026.2 accepted and the agent now refuses."""
    problems = survey.problems(CONF)
    if problems:
        return Result(Code.FAILURE, '\n'.join(
            exception.plain_text(problem) for problem in problems))
    return Result(Code.SUCCESS)


def check_ssd_driver() -> Result:
    """The SSD driver no longer starts without the workaround (DSC-6)."""
    if _SSD_DRIVER not in CONF.agent.enabled_drivers:
        return Result(Code.SUCCESS)
    try:
        safety.require_workaround(_SSD_DRIVER)
    except exception.UnsafeDriverRefused as error:
        return Result(Code.FAILURE, error.message)
    return Result(Code.WARNING, 'The driver %s is deprecated and does not '
                  'clean devices between users.' % _SSD_DRIVER)


def check_pci_devices() -> Result:
    """Devices that 2026.2 handed out and the agent now refuses (DSC-4)."""
    if survey.DRIVER not in CONF.agent.enabled_drivers:
        return Result(Code.SUCCESS, '%s is not enabled on this host.'
                      % survey.DRIVER)
    try:
        configuration = survey.configuration(CONF)
    except exception.ConfigInvalid:
        return Result(Code.SUCCESS, 'Not looked at: the options of [pci] '
                      'have to be corrected first.')
    try:
        survey.check_classes(CONF.host, survey.survey(configuration))
    except exception.CyborgException as error:
        return Result(Code.FAILURE, exception.plain_text(error))
    return Result(Code.SUCCESS)


class Checks(upgradecheck.UpgradeCommands):
    """Each check by the name that ``upgrade check`` prints."""

    _upgrade_checks = tuple(
        (name, lambda self, check=check: check()) for name, check in (
            ('Configuration files', check_files),
            ('Device state backfill', check_device_state),
            ('Indexes of large fleets', check_indexes),
            ('PCI option name', check_option_name),
            ('PCI options', check_pci_options),
            ('SSD driver', check_ssd_driver),
            ('Unsafe PCI devices', check_pci_devices)))
    _upgrade_checks = (
        ('Policy File JSON to YAML Migration',
         (common_checks.check_policy_json, {'conf': CONF})),
        *_upgrade_checks)


class _Configuration:
    """CONF with the options of the other commands.

    oslo.upgradecheck reads the command line itself, without ``--version``
    and the options of oslo.log.
    """

    def __call__(self, **arguments):
        log.register_options(CONF)
        CONF(version=version.release_string(), **arguments)
        option_values.check(CONF, 'agent', 'database', 'pci',
                            'upgrade_levels', 'workarounds')
        database_url.check(CONF)

    def __getattr__(self, name):
        return getattr(CONF, name)


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    arguments = sys.argv[1:] if argv is None else argv[1:]
    if '--version' in arguments:
        # oslo.upgradecheck asks for a command before it looks at options.
        print(version.release_string())
        return 0
    try:
        with config.file_named(arguments):
            return upgradecheck.main(_Configuration(), config.PROJECT,
                                     Checks(), argv=arguments)
    except (cfg.Error, exception.OptionInvalid) as error:
        # The status of a traceback, 1, would stand for a warning.
        print('cyborg-status: %s' % error, file=sys.stderr)
        return 255


if __name__ == '__main__':
    sys.exit(main())
