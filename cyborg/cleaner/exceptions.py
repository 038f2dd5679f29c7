# SPDX-License-Identifier: Apache-2.0
"""Errors of the cleaner that an operator can cause or has to know."""

from cyborg.common import exception
from cyborg.common.i18n import _


class CleanerConfigInvalid(exception.ConfigInvalid):
    _msg_fmt = _('[cleaner] device_spec of host %(host)s is not valid:\n'
                 '%(reason)s')


class CleanerWithoutRules(exception.ConfigInvalid):
    _msg_fmt = _('[cleaner] device_spec of host %(host)s is empty, so there '
                 'is nothing to clean. Name the NVMe disks that Nova hands '
                 'out, with the rules of its [pci] device_spec.')


class DiskOfTwoServices(exception.ConfigInvalid):
    _msg_fmt = _('NVMe disk %(address)s of host %(host)s is selected by '
                 '[cleaner] %(ours)s and by [pci] %(theirs)s: Cyborg would '
                 'hand out what Nova hands out. Take it out of one of them, '
                 'or add it to [pci] exclude_list.')


class AnotherCleaner(exception.CyborgException):
    _msg_fmt = _('Another cyborg-cleaner of host %(host)s uses the journal '
                 '%(path)s. Stop it first.')


class JournalUnusable(exception.CyborgException):
    _msg_fmt = _('The journal %(path)s of host %(host)s cannot be used: '
                 '%(reason)s. It has to be a directory that the user of '
                 'cyborg-cleaner owns; see [cleaner] journal_path.')


class HostProviderMissing(exception.CyborgException):
    _msg_fmt = _('Placement has no resource provider for host %(host)s; '
                 'looked for: %(names)s. Start nova-compute of this host '
                 'first, or put the name that it uses in Placement into '
                 '[agent] resource_provider_name.')


class Refused(exception.CyborgException):
    """An interlock does not hold; asked again at the next look."""

    _msg_fmt = _('Disk %(disk)s of host %(host)s was not touched: '
                 '%(interlock)s.')


class ReservationLost(exception.CyborgException):
    _msg_fmt = _('Disk %(disk)s of host %(host)s lost its reservation while '
                 'it was being cleaned: %(interlock)s.')


class DiskNotFound(exception.CyborgException):
    _msg_fmt = _('Host %(host)s has no NVMe disk %(device)s that [cleaner] '
                 'device_spec selects or the journal knows. See: cyborg-nvme '
                 'list')


class RequestRefused(exception.CyborgException):
    _msg_fmt = _('%(command)s is not possible for disk %(disk)s of host '
                 '%(host)s: it is %(state)s (%(reason)s). %(remedy)s')
