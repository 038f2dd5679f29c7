# SPDX-License-Identifier: Apache-2.0
"""Devices may be mediated devices and plain PCI devices."""

from cyborg.db.sqlalchemy.alembic import steps

revision = '9625668549b5'
down_revision = '6c77bd6afea5'


BEFORE = ('GPU', 'FPGA', 'AICHIP', 'QAT', 'NIC', 'SSD')
AFTER = BEFORE + ('MDEV', 'PCI')


def upgrade():
    steps.widen('devices', 'type', 'device_type', BEFORE, AFTER)
