# SPDX-License-Identifier: Apache-2.0
"""Versioned objects: what services exchange and what they store.

A registered class is also an attribute of this package, ``objects.Device``
for one, once its module was imported.
"""

import importlib

_MODULES = (
    'arq', 'attach_handle', 'attribute', 'controlpath_id', 'deployable',
    'device', 'device_profile', 'ext_arq', 'host_inventory',
    'driver_objects.driver_attach_handle', 'driver_objects.driver_attribute',
    'driver_objects.driver_controlpath_id',
    'driver_objects.driver_deployable', 'driver_objects.driver_device',
)


def register_all() -> None:
    """Import every module with objects, so that all can be received."""
    for name in _MODULES:
        importlib.import_module('%s.%s' % (__name__, name))
