# SPDX-License-Identifier: Apache-2.0
"""Devices may be AI chips."""

from cyborg.db.sqlalchemy.alembic import steps

revision = '589ff20545b7'
down_revision = 'ede4e3f1a232'


BEFORE = ('GPU', 'FPGA')
AFTER = BEFORE + ('AICHIP',)


def upgrade():
    steps.widen('devices', 'type', 'device_type', BEFORE, AFTER)
