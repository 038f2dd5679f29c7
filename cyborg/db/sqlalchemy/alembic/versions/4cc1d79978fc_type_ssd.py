# SPDX-License-Identifier: Apache-2.0
"""Devices may be SSDs."""

from cyborg.db.sqlalchemy.alembic import steps

revision = '4cc1d79978fc'
down_revision = '899cead40bc9'


BEFORE = ('GPU', 'FPGA', 'AICHIP', 'QAT', 'NIC')
AFTER = BEFORE + ('SSD',)


def upgrade():
    steps.widen('devices', 'type', 'device_type', BEFORE, AFTER)
