# SPDX-License-Identifier: Apache-2.0
"""Devices can be taken out for maintenance."""

from cyborg.db.sqlalchemy.alembic import steps

revision = '6c77bd6afea5'
down_revision = '4cc1d79978fc'


def upgrade():
    steps.add_filled(
        'devices', 'status',
        steps.enum('device_status', 'enabled', 'maintaining'), 'enabled')
