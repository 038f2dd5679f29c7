# SPDX-License-Identifier: Apache-2.0
"""Devices may be network cards."""

from cyborg.db.sqlalchemy.alembic import steps

revision = '899cead40bc9'
down_revision = '7e6f1f107f2b'


BEFORE = ('GPU', 'FPGA', 'AICHIP', 'QAT')
AFTER = BEFORE + ('NIC',)


def upgrade():
    steps.widen('devices', 'type', 'device_type', BEFORE, AFTER)
