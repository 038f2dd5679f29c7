# SPDX-License-Identifier: Apache-2.0
"""Configuration: one module per group, registered on the global object."""

from oslo_config import cfg

from cyborg.conf import agent
from cyborg.conf import api
from cyborg.conf import cleaner
from cyborg.conf import database
from cyborg.conf import default
from cyborg.conf import devices
from cyborg.conf import glance
from cyborg.conf import nova
from cyborg.conf import nvme
from cyborg.conf import pci
from cyborg.conf import placement
from cyborg.conf import service_user
from cyborg.conf import upgrade_levels
from cyborg.conf import workarounds

CONF = cfg.CONF

MODULES = (default, agent, api, cleaner, database, devices, glance, nova, nvme,
           pci, placement, service_user, upgrade_levels, workarounds)

for _module in MODULES:
    _module.register_opts(CONF)
