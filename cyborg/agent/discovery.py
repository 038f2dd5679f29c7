# SPDX-License-Identifier: Apache-2.0
"""Asks the drivers what this host has.

A report is complete or it is not sent: a driver that fails says nothing about
its devices, least of all that they are gone (MIS-7).
"""

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
from typing import Any

from oslo_log import log as logging

from cyborg.agent import loading
from cyborg.common import exception
from cyborg.common.i18n import _
from cyborg.conf import CONF
from cyborg.inventory import values
from cyborg.objects import inventory_values
from cyborg.objects.driver_objects import driver_device
from cyborg.pci import held as pci_held

LOG = logging.getLogger(__name__)


class DiscoveryFailed(exception.CyborgException):
    _msg_fmt = _('Driver %(driver)s of host %(host)s could not tell which '
                 'devices there are, so nothing is reported: %(reason)s')


@dataclasses.dataclass(frozen=True)
class Discovered:
    """All devices of a host, in the order of the drivers.

    :ivar devices: ``DriverDevice`` objects, to be sent.
    :ivar plain: the same as plain values, to be decided on.
    """

    devices: tuple[Any, ...]
    plain: tuple[values.DiscoveredDevice, ...]


def discover(drivers: Sequence[loading.LoadedDriver],
             held: pci_held.Holdings | None = None,
             stored: values.PersistedHost | None = None) -> Discovered:
    """Ask all drivers.

    :param held: what is allocated of this host, told to each driver that
        wants to know; None when that is not known.
    :param stored: likewise everything that the database has of it.
    :raises DiscoveryFailed: a driver failed, or answered nonsense.
    :raises exception.ConfigInvalid: a driver refuses what is configured.
    :raises exception.DriverAttachInfoInvalid: a PCI handle that a driver
        reports has no clear meaning.
    """
    devices: list[Any] = []
    plain: list[values.DiscoveredDevice] = []
    for loaded in drivers:
        found = _discover(loaded, held, stored)
        plain += _plain(loaded.name, found)
        devices += found
        LOG.debug('Driver %s found %d devices', loaded.name, len(found))
    return Discovered(tuple(devices), tuple(plain))


def _discover(loaded: loading.LoadedDriver, held, stored) -> Any:
    try:
        hold = getattr(loaded.driver, 'hold', None)
        if held is not None and hold is not None:
            hold(held)
        recall = getattr(loaded.driver, 'recall', None)
        if stored is not None and recall is not None:
            recall(stored)
        return _question(loaded.driver)()
    except exception.ConfigInvalid:
        raise
    except Exception as error:
        LOG.debug('discover of %s', loaded.name, exc_info=True)
        raise _failed(loaded.name, '%s: %s' % (
            type(error).__name__, exception.plain_text(error))) from error


def _plain(name: str, found: Any) -> tuple[values.DiscoveredDevice, ...]:
    if not isinstance(found, (list, tuple)):
        # None is a driver that forgot to answer, not one without devices.
        raise _failed(name, 'it answered %s instead of a list'
                      % type(found).__name__)
    for device in found:
        if not isinstance(device, driver_device.DriverDevice):
            raise _failed(name, 'its list holds %s instead of '
                          'DriverDevice objects' % type(device).__name__)
    try:
        return inventory_values.discovered_devices(found)
    except exception.DriverDeviceInvalid as error:
        raise _failed(name, error.message) from error
    except exception.DeviceAttachInfoInvalid as error:
        raise exception.DriverAttachInfoInvalid(
            driver=name, host=CONF.host, **{
                key: error.kwargs[key]
                for key in ('address', 'reason', 'text')}) from error


def _question(driver) -> Callable[[], Any]:
    """``rediscover()`` where a driver has it, else ``discover()``.

    Nothing of what a driver reports is changed here. A class that derives
    from one with both, and says anew what ``discover()`` is, may change what
    it gets from there, and is asked for that.
    """
    for owner in (driver, *type(driver).__mro__):
        own = getattr(owner, '__dict__', {})
        if 'discover' in own:
            return getattr(driver, 'rediscover' if 'rediscover' in own
                           else 'discover')
    return driver.discover


def _failed(name: str, reason: str) -> DiscoveryFailed:
    return DiscoveryFailed(driver=name, host=CONF.host, reason=reason)
