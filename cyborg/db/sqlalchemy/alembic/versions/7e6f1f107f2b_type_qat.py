# SPDX-License-Identifier: Apache-2.0
"""Devices may be QuickAssist cards."""

from cyborg.db.sqlalchemy.alembic import steps

revision = '7e6f1f107f2b'
down_revision = '60d8ac91fd20'


BEFORE = ('GPU', 'FPGA', 'AICHIP')
AFTER = BEFORE + ('QAT',)


def upgrade():
    steps.widen('devices', 'type', 'device_type', BEFORE, AFTER)
