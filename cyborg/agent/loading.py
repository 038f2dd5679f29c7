# SPDX-License-Identifier: Apache-2.0
"""Makes the drivers that ``[agent] enabled_drivers`` names.

A driver is whatever class stands under the name in the entry point group; it
need not derive from our base class, and drivers written for 2026.2 know no
method but ``discover()``.
"""

from collections.abc import Sequence
import dataclasses
from importlib import metadata
from typing import Any

from oslo_log import log as logging
from stevedore import named

from cyborg.common import constants
from cyborg.common import exception
from cyborg.conf import CONF

LOG = logging.getLogger(__name__)

NAMESPACE = 'cyborg.accelerator.driver'


@dataclasses.dataclass(frozen=True)
class LoadedDriver:
    """A driver object and the name the operator knows it by."""

    name: str
    driver: Any


def load(names: Sequence[str] | None = None) -> list[LoadedDriver]:
    """The drivers of this host, in the configured order.

    :param names: entry point names; None takes ``[agent] enabled_drivers``.
    :raises exception.DriverNotShipped: 2026.2 had a driver of that name.
    :raises exception.InvalidDriver: nothing is installed under a name.
    :raises exception.DriverLoadFailed: its module or its constructor failed.
    :raises exception.CyborgException: whatever a driver's constructor has
        to say about the configuration.
    """
    names = _each_once(CONF.agent.enabled_drivers if names is None else names)
    if not names:
        LOG.warning('[agent] enabled_drivers is empty: host %s offers no '
                    'device', CONF.host)
        return []
    manager = named.NamedExtensionManager(
        NAMESPACE, names=names, invoke_on_load=True, name_order=True,
        on_load_failure_callback=_load_failed,
        on_missing_entrypoints_callback=_missing)
    return [LoadedDriver(found.name, found.obj) for found in manager]


def init_host(drivers: Sequence[LoadedDriver]) -> None:
    """Let each driver check this host's configuration (RPC-1).

    :raises exception.CyborgException: a driver's own words.
    :raises exception.DriverLoadFailed: any other failure of a driver.
    """
    for loaded in drivers:
        prepare = getattr(loaded.driver, 'init_host', None)
        if prepare is None:
            continue
        try:
            prepare()
        except exception.CyborgException:
            raise
        except Exception as error:
            LOG.debug('init_host of %s', loaded.name, exc_info=True)
            raise _failed(loaded.name, error) from error


def _each_once(names: Sequence[str]) -> list[str]:
    unique = list(dict.fromkeys(name.strip() for name in names
                                if name.strip()))
    if len(unique) < len(names):
        LOG.warning('[agent] enabled_drivers has empty or repeated entries; '
                    'used: %s', ', '.join(unique))
    return unique


def _missing(names) -> None:
    # stevedore hands over a set; the first in alphabetical order is named so
    # that the message is the same at every start.
    name = sorted(names)[0]
    installed = ', '.join(sorted(
        {found.name for found in metadata.entry_points(group=NAMESPACE)}))
    if name in constants.DROPPED_DRIVERS:
        raise exception.DriverNotShipped(
            name=name, host=CONF.host, installed=installed,
            instead=constants.DROPPED_DRIVERS[name])
    raise exception.InvalidDriver(
        name=name, host=CONF.host, installed=installed)


def _load_failed(_manager, entry_point, error) -> None:
    if isinstance(error, exception.CyborgException):
        raise error
    LOG.debug('Loading %s', entry_point, exc_info=error)
    raise _failed(entry_point.name, error) from error


def _failed(name: str, error: Exception) -> exception.DriverLoadFailed:
    return exception.DriverLoadFailed(
        name=name, host=CONF.host, reason='%s: %s' % (
            type(error).__name__, exception.plain_text(error)))
