# SPDX-License-Identifier: Apache-2.0
"""Devices may be NVMe drives."""

from cyborg.db.sqlalchemy.alembic import steps

revision = 'a35b4295a0e5'
down_revision = '9625668549b5'


BEFORE = ('GPU', 'FPGA', 'AICHIP', 'QAT', 'NIC', 'SSD', 'MDEV',
          'PCI')
AFTER = BEFORE + ('NVME',)


def upgrade():
    steps.widen('devices', 'type', 'device_type', BEFORE, AFTER)
