# SPDX-License-Identifier: Apache-2.0
"""The steps of cleaning one disk, each of which can be taken again.

The caller keeps a journal between them and knows who may have the disk; what
the disk and the host say is asked here. In order, with the disk held:
:func:`interlocks`, :func:`prepare`, ``methods.choose``, ``canaries.plan`` and
``write``, :func:`begin`, :func:`follow` until it is done,
``canaries.verify``, :func:`finish`.
"""

from collections.abc import Callable
import dataclasses

from cyborg.nvme import baseline as nvme_baseline
from cyborg.nvme import controller as nvme_controller
from cyborg.nvme import errors
from cyborg.nvme import facts as nvme_facts
from cyborg.nvme import methods
from cyborg.nvme import records

Controller = nvme_controller.Controller
Guard = nvme_controller.Guard


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a disk must keep to afterwards.

    :ivar restore: put the namespaces back; else a difference is an error.
    :ivar pin_firmware: another firmware is an error.
    :ivar max_percentage_used: 0 to 255.
    """

    restore: bool = True
    pin_firmware: bool = True
    max_percentage_used: int = 100


def interlocks(controller: Controller, expected: records.Identity) -> None:
    """Everything that the disk and the host can object, asked anew.

    :raises InUse: and what else :func:`facts.check_touchable` does.
    :raises WrongDisk: another disk than the expected one.
    :raises SharedSubsystem: another controller reaches its namespaces.
    """
    nvme_facts.await_touchable(controller.port.facts)
    identity = controller.identify()
    nvme_baseline.check_same_disk(controller.disk, expected, identity)
    check_alone(controller, identity)


def check_alone(controller: Controller, identity: records.Identity) -> None:
    """:raises SharedSubsystem: there is, or may be, another controller."""
    ids = controller.controllers(identity)
    others = tuple('controller %d' % each for each in ids
                   if each != identity.cntlid)
    if not ids:
        others = ('one that it cannot name',)
    if others:
        raise errors.SharedSubsystem(controller.disk, identity.subnqn,
                                     others)


def guard(controller: Controller, expected: records.Identity,
          further: Callable[[], None] = lambda: None) -> Guard:
    """What to ask directly before each command that destroys.

    :param further: the caller's own interlocks; asked last.
    """
    def ask() -> None:
        controller.port.check_hold()
        interlocks(controller, expected)
        further()

    return ask


def prepare(controller: Controller, recorded: records.Baseline,
            limits: Limits, ask: Guard) -> nvme_controller.Inventory:
    """Make all of the disk reachable: attached, writable, as recorded.

    :raises Changed: it differs and must not, or cannot, be put back.
    """
    nvme_baseline.settle(controller)
    found = controller.inventory()
    differences = nvme_baseline.layout_differences(recorded.namespaces,
                                                   found.namespaces)
    if differences and not limits.restore:
        raise errors.Changed(controller.disk, differences)
    steps = nvme_baseline.before_erase(recorded.namespaces, found.namespaces)
    if steps:
        nvme_baseline.apply(controller, found.identity, steps, ask)
        found = controller.inventory()
    return found


def begin(controller: Controller, method: methods.Method,
          namespaces: tuple[records.Namespace, ...], ask: Guard) -> (
              int | None):
    """Send what erases.

    A format is done when this returns; each namespace gets one, whether or
    not the disk says that the first reaches them all.

    :returns: command dword 10 of a sanitize, by which to follow it.
    """
    if method.sanitizes:
        return controller.sanitize(method, ask)
    for namespace in namespaces:
        controller.format(namespace, method, ask)
        nvme_baseline.settle(controller)
    return None


def follow(controller: Controller, scdw10: int) -> float | None:
    """How far our sanitize is.

    :returns: progress from 0.0 to 1.0; None when it has succeeded.
    :raises SanitizeFailed: it ended, and not well.
    :raises SanitizeNotOurs: the log speaks of another one.
    """
    log = controller.sanitize_log()
    if log.scdw10 != scdw10:
        raise errors.SanitizeNotOurs(controller.disk, scdw10, log.scdw10)
    if log.running:
        return log.progress or 0.0
    if log.succeeded:
        return None
    raise errors.SanitizeFailed(controller.disk, log.status.name.lower())


def check_untouched(controller: Controller) -> None:
    """Whether nothing was written since the sanitize that succeeded last.

    NVM Express Base Specification, Sanitize Status log page, Global Data
    Erased.

    :raises WrittenSinceSanitize: or the controller does not tell.
    """
    if not controller.sanitize_log().global_erased:
        raise errors.WrittenSinceSanitize(controller.disk)


def finish(controller: Controller, recorded: records.Baseline,
           limits: Limits, ask: Guard) -> nvme_controller.Inventory:
    """Give back what was lifted, and see that all is as recorded.

    :raises Changed: it is not.
    :raises Unhealthy: it warns, or is worn out.
    """
    nvme_baseline.settle(controller)
    nvme_baseline.apply(controller, recorded.identity,
                        nvme_baseline.after_erase(recorded.namespaces), ask)
    found = controller.inventory()
    now = nvme_baseline.record(found)
    differences = nvme_baseline.layout_differences(recorded.namespaces,
                                                   found.namespaces)
    if limits.pin_firmware:
        differences += nvme_baseline.firmware_differences(recorded, now)
    if differences:
        raise errors.Changed(controller.disk, differences)
    nvme_baseline.check_health(controller.disk, found.health,
                               limits.max_percentage_used)
    return found
