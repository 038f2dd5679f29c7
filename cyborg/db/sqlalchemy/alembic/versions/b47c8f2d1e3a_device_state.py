# SPDX-License-Identifier: Apache-2.0
"""Devices have a state; NULL until something fills it in.

The newest revision of release 2026.2, and still the newest one.
"""

from alembic import op
import sqlalchemy as sa

from cyborg.db.sqlalchemy.alembic import steps

revision = 'b47c8f2d1e3a'
down_revision = 'a35b4295a0e5'


STATES = steps.enum('device_state', 'available', 'allocated',
                    'pending_cleaning', 'cleaning', 'error')


def upgrade():
    if steps.on('postgresql'):
        STATES.create(op.get_bind())
    with op.batch_alter_table('devices') as batch:
        batch.add_column(sa.Column('device_state', STATES))
