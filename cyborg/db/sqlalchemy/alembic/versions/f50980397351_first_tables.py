# SPDX-License-Identifier: Apache-2.0
"""The tables of the first release, which ede4e3f1a232 replaces."""

from alembic import op
import sqlalchemy as sa

from cyborg.db.sqlalchemy.alembic import steps

revision = 'f50980397351'
down_revision = None


def upgrade():
    op.create_table(
        'accelerators',
        *steps.timestamps(),
        steps.key(),
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('name', sa.String(255), nullable=False),
        sa.Column('description', sa.Text),
        sa.Column('project_id', sa.String(36)),
        sa.Column('user_id', sa.String(36)),
        sa.Column('device_type', sa.Text, nullable=False),
        sa.Column('acc_type', sa.Text),
        sa.Column('acc_capability', sa.Text),
        sa.Column('vendor_id', sa.Text, nullable=False),
        sa.Column('product_id', sa.Text, nullable=False),
        sa.Column('remotable', sa.Integer, nullable=False),
        sa.UniqueConstraint('uuid', name='uniq_accelerators0uuid'),
        **steps.CHARSET)
    op.create_table(
        'deployables',
        *steps.timestamps(),
        steps.key(),
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('name', sa.String(255), nullable=False),
        sa.Column('parent_uuid', sa.String(36),
                  sa.ForeignKey('deployables.uuid')),
        sa.Column('root_uuid', sa.String(36),
                  sa.ForeignKey('deployables.uuid')),
        *(sa.Column(name, sa.Text, nullable=False) for name in (
            'address', 'host', 'board', 'vendor', 'version', 'type',
            'interface_type')),
        sa.Column('assignable', sa.Boolean, nullable=False),
        sa.Column('instance_uuid', sa.String(36)),
        sa.Column('availability', sa.Text, nullable=False),
        steps.reference('accelerator_id', 'accelerators.id', 'CASCADE'),
        sa.UniqueConstraint('uuid', name='uniq_deployables0uuid'),
        sa.Index('deployables_parent_uuid_idx', 'parent_uuid'),
        sa.Index('deployables_root_uuid_idx', 'root_uuid'),
        **steps.CHARSET)
    op.create_table(
        'attributes',
        *steps.timestamps(),
        steps.key(),
        sa.Column('uuid', sa.String(36), nullable=False),
        steps.reference('deployable_id', 'deployables.id', 'CASCADE'),
        sa.Column('key', sa.Text, nullable=False),
        sa.Column('value', sa.Text, nullable=False),
        sa.UniqueConstraint('uuid', name='uniq_attributes0uuid'),
        sa.Index('attributes_deployable_id_idx', 'deployable_id'),
        **steps.CHARSET)
