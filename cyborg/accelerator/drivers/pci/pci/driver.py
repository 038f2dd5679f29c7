# SPDX-License-Identifier: Apache-2.0
"""The generic PCI driver: hands out the functions the operator selected."""

from typing import NamedTuple

from oslo_log import log as logging

from cyborg.accelerator import safety
from cyborg.accelerator.common import records
from cyborg.accelerator.drivers import driver
from cyborg.accelerator.drivers.pci.pci import survey
from cyborg.common import constants
from cyborg.conf import CONF
from cyborg.objects.driver_objects import driver_device
from cyborg.pci import address as pci_address
from cyborg.pci import held as pci_held
from cyborg.pci import selection

LOG = logging.getLogger(__name__)

PciAddress = pci_address.PciAddress

#: Vendors that have a trait of their own.
_VENDORS = {'10de': 'nvidia', '102b': 'matrox', '8086': 'intel',
            '1bd4': 'inspur', '10ee': 'xilinx', '19e5': 'huawei'}


class _Reported(NamedTuple):
    """What was made of a device at the last report."""

    verdict: selection.Verdict
    device: driver_device.DriverDevice


class PCIDriver(driver.GenericDriver):
    """Offers PCI functions as ``[pci] device_spec`` selects them.

    The configuration is read and checked once, before the first device is
    looked at, and kept until the process ends (CFG-2, CFG-7).
    """

    def __init__(self):
        self._configuration: survey.Configuration | None = None
        self._announcer = safety.Announcer()
        self._advice = safety.Standing()
        self._families = safety.Standing()
        self._held: pci_held.Holdings = {}
        self._bad: dict[str, str] = {}
        self._last: dict[PciAddress, _Reported] = {}

    def init_host(self) -> None:
        """Check the options of ``[pci]``; sends nothing.

        :raises cyborg.common.exception.ConfigInvalid: an entry is wrong, or
            managed mode is configured under a cap that forbids it (RPC-1).
        """
        survey.check_rpc_cap(CONF, self._config().spec)

    def hold(self, held: pci_held.Holdings) -> None:
        """See :meth:`cyborg.accelerator.drivers.driver.GenericDriver.hold`.
        """
        self._held = dict(held)

    def discover(self) -> list:
        """The selected functions of this host, in the order of addresses.

        :raises cyborg.common.exception.UnsafeDeviceRefused: a selected
            device has a class that this driver can't clean (DSC-4).
        :raises cyborg.accelerator.exceptions.HostDevicesUnreadable: sysfs
            doesn't list the devices.
        """
        kind = _kind()
        return [_report(verdict, kind) for verdict in self._offered()]

    def rediscover(self) -> list:
        """As :meth:`discover`, but what is as it was is the same object.

        Making objects takes far longer than looking at the devices, and from
        one report to the next hardly any device changes. For callers that
        change nothing of what they get.
        """
        offered, kind = self._offered(), _kind()
        last, self._last = self._last, {}
        for verdict in offered:
            address = verdict.device.address
            reported = last.get(address)
            if reported is None or reported.verdict != verdict:
                reported = _Reported(verdict, _report(verdict, kind))
            self._last[address] = reported
        return [reported.device for reported in self._last.values()]

    def _offered(self) -> list[selection.Verdict]:
        config = self._config()
        found = survey.survey(config, self._held)
        self._tell_faults(found.faults)
        self._tell(found)
        survey.check_classes(config.host, found)
        LOG.debug('%d of %d PCI devices of host %s are offered',
                  len(found.offered), len(found.verdicts), config.host)
        return found.offered

    def _config(self) -> survey.Configuration:
        if self._configuration is None:
            self._configuration = survey.configuration(CONF)
            spec = self._configuration.spec
            for entry in survey.overridden_exclusions(CONF):
                LOG.warning('[pci] exclude_list of host %s is given more '
                            'than once, and only the last one counts: %s is '
                            'not excluded', CONF.host, entry)
            for note in spec.notes:
                LOG.warning('[pci] device_spec of host %s: %s',
                            CONF.host, note)
            if not spec.rules:
                # A mistyped name of the option looks like this, too (B01).
                LOG.warning('[pci] device_spec of host %s is empty: %s '
                            'offers no device', CONF.host, survey.DRIVER)
        return self._configuration

    def _tell_faults(self, faults) -> None:
        """One line when a device becomes unreadable, one when it is back."""
        bad = {fault.name: fault.reason for fault in faults}
        for name, reason in bad.items():
            if self._bad.get(name) != reason:
                LOG.warning('PCI device %s of host %s cannot be read and '
                            'counts as missing: %s', name, CONF.host, reason)
        for name in self._bad.keys() - bad.keys():
            LOG.info('PCI device %s of host %s is readable again, or gone '
                     'altogether', name, CONF.host)
        self._bad = bad

    def _tell(self, found: survey.Survey) -> None:
        """What an operator should know, once for each device (DSC-5..8)."""
        first_time = self._announcer.first_time
        for address in found.unused_exclusions:
            if first_time('unused', address):
                LOG.info('[pci] exclude_list of host %s names %s, and the '
                         'host has no such device', CONF.host, address)
        for rule in found.unused_rules:
            if first_time('unused', rule.label):
                LOG.info('%s of host %s %s', rule.label, CONF.host,
                         survey.unmatched(rule))
        if found.no_iommu and first_time('iommu', CONF.host):
            LOG.warning('%s of host %s offers %d devices, but: %s',
                        survey.DRIVER, CONF.host, len(found.offered),
                        survey.NO_IOMMU)
        for verdict in found.having(selection.Outcome.BRIDGE):
            if first_time('bridge', verdict.device.address):
                LOG.info('PCI device %s of host %s is not offered: it is a '
                         'bridge, which VFIO takes for no guest',
                         verdict.device.address, CONF.host)
        outcome = selection.Outcome.NOT_ADDRESSABLE
        for verdict in found.having(outcome):
            if first_time(outcome, verdict.device.address):
                LOG.info('PCI device %s of host %s is not offered: neither '
                         'libvirt nor Nova can address a PCI domain above '
                         'ffff', verdict.device.address, CONF.host)
        for verdict in found.offered:
            address = verdict.device.address
            if verdict.unsafe:
                self._announcer.unsafe_device(
                    LOG, survey.DRIVER, str(address))
        self._tell_advice(found.offered)
        self._tell_families(found)

    def _tell_advice(self, offered: list[selection.Verdict]) -> None:
        advice = {(verdict.device.address, each.about): each
                  for verdict in offered for each in verdict.advice}
        begun = self._advice.begun(advice)
        for key, each in advice.items():
            if key in begun:
                LOG.warning('PCI device %s of host %s is offered, but: %s',
                            key[0], CONF.host, each)

    def _tell_families(self, found: survey.Survey) -> None:
        """Which of a PF and its VFs is not offered, once a PF (ID-3)."""
        states = survey.withheld(CONF.host, found)
        begun = self._families.begun(states)
        for key, text in states.items():
            if key in begun:
                LOG.warning('%s', text)


def _kind() -> str:
    # 2026.2 called all of them GPU.
    return (constants.DEVICE_GPU if records.for_former_release()
            else constants.DEVICE_PCI)


def _report(verdict: selection.Verdict, kind: str):
    device = verdict.device
    word = _VENDORS.get(device.vendor_id)
    traits = [constants.OWNER_CYBORG]
    if word is not None:
        traits.append('CUSTOM_PCI_%s' % word.upper())
    traits.append('CUSTOM_PCI_PRODUCT_ID_%s' % device.product_id.upper())
    return records.pci_function(
        device, kind=kind, model=device.product_id,
        board={'product_id': device.product_id, 'controller': None},
        vendor_board='miss_vb_info', resource_class=constants.PCI,
        traits=traits, driver_name=(word or device.vendor_id).upper(),
        handle=records.attach_info(device, verdict.managed,
                                   verdict.stateful))
