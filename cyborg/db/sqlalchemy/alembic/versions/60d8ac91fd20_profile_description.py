# SPDX-License-Identifier: Apache-2.0
"""Device profiles have a description."""

from alembic import op
import sqlalchemy as sa

revision = '60d8ac91fd20'
down_revision = '7a4fd0fc3f8c'


def upgrade():
    op.add_column('device_profiles', sa.Column('description', sa.Text))
