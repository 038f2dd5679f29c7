# SPDX-License-Identifier: Apache-2.0
"""Tables for quotas, which no code has used since."""

from alembic import op
import sqlalchemy as sa

from cyborg.db.sqlalchemy.alembic import steps

revision = 'd6f033d8fa5b'
down_revision = 'f50980397351'


def upgrade():
    op.create_table(
        'quota_usages',
        *steps.timestamps(),
        steps.key(),
        sa.Column('project_id', sa.String(255)),
        sa.Column('user_id', sa.String(255)),
        sa.Column('resource', sa.String(255), nullable=False),
        sa.Column('in_use', sa.Integer, nullable=False),
        sa.Column('reserved', sa.Integer, nullable=False),
        sa.Column('until_refresh', sa.Integer),
        sa.Index('ix_quota_usages_project_id', 'project_id'),
        sa.Index('ix_quota_usages_user_id', 'user_id'))
    op.create_table(
        'reservations',
        *steps.timestamps(),
        steps.key(),
        sa.Column('uuid', sa.String(36), nullable=False),
        steps.reference('usage_id', 'quota_usages.id', None),
        sa.Column('project_id', sa.String(255)),
        sa.Column('user_id', sa.String(255)),
        sa.Column('resource', sa.String(255)),
        sa.Column('delta', sa.Integer, nullable=False),
        sa.Column('expire', sa.DateTime),
        sa.Index('ix_reservations_project_id', 'project_id'),
        sa.Index('ix_reservations_user_id', 'user_id'),
        sa.Index('reservations_uuid_idx', 'uuid'))
