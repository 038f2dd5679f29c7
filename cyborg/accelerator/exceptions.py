# SPDX-License-Identifier: Apache-2.0
"""Errors of the shipped drivers that no other part of the service raises."""

from cyborg.common import exception
from cyborg.common.i18n import _


class UnsafeDevicesRefused(exception.UnsafeDeviceRefused):
    """As the parent, for several devices of one host."""

    _msg_fmt = _('%(count)s devices of host %(host)s are selected for the '
                 'driver %(driver)s but have a PCI class which that driver '
                 'cannot clean: %(devices)s. Add them to [pci] exclude_list '
                 '(%(addresses)s), narrow [pci] device_spec or, when all '
                 'users of the devices trust each other, set [workarounds] '
                 'allow_unsafe_devices = true.')


class UnsafeDeviceBelowRefused(exception.UnsafeDeviceRefused):
    """As the parent, for what goes to the guest with a device."""

    _msg_fmt = _('Device %(address)s of host %(host)s is selected for the '
                 'driver %(driver)s, and %(below)s, which hangs below it and '
                 'goes to the guest with it, has the PCI class %(pci_class)s '
                 '(%(class_name)s), which that driver cannot clean. Exclude '
                 'it with [pci] exclude_list = %(address)s, narrow [pci] '
                 'device_spec or, when all users of the device trust each '
                 'other, set [workarounds] allow_unsafe_devices = true.')


class HostDevicesUnreadable(exception.CyborgException):
    """No inventory follows from this; the next discovery tries again."""

    _msg_fmt = _('The PCI devices of host %(host)s cannot be listed in '
                 '%(path)s: %(reason)s. Check [pci] sysfs_path.')
