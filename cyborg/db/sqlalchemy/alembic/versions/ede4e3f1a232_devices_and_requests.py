# SPDX-License-Identifier: Apache-2.0
"""Devices, profiles and accelerator requests replace the first tables."""

from alembic import op
import sqlalchemy as sa

from cyborg.db.sqlalchemy.alembic import steps

revision = 'ede4e3f1a232'
down_revision = 'd6f033d8fa5b'


def upgrade():
    for table in ('attributes', 'deployables', 'accelerators'):
        op.drop_table(table)
    _create_inventory()
    _create_requests()


def _create_inventory():
    op.create_table(
        'devices',
        *steps.timestamps(),
        steps.key(),
        _uuid(),
        sa.Column('type', steps.enum('device_type', 'GPU', 'FPGA'),
                  nullable=False),
        sa.Column('vendor', sa.String(255), nullable=False),
        sa.Column('model', sa.String(255), nullable=False),
        sa.Column('std_board_info', sa.Text),
        sa.Column('vendor_board_info', sa.Text),
        sa.Column('hostname', sa.String(255), nullable=False),
        **steps.CHARSET)
    op.create_table(
        'deployables',
        *steps.timestamps(),
        steps.key(),
        _uuid(),
        steps.reference('parent_id', 'deployables.id', 'CASCADE', True),
        steps.reference('root_id', 'deployables.id', 'CASCADE', True),
        sa.Column('name', sa.String(255), nullable=False),
        sa.Column('num_accelerators', sa.Integer, nullable=False),
        steps.reference('device_id', 'devices.id'),
        sa.Index('deployables_parent_id_idx', 'parent_id'),
        sa.Index('deployables_root_id_idx', 'root_id'),
        sa.Index('deployables_device_id_idx', 'device_id'),
        **steps.CHARSET)
    op.create_table(
        'attributes',
        *steps.timestamps(),
        steps.key(),
        _uuid(),
        steps.reference('deployable_id', 'deployables.id', index=True),
        sa.Column('key', sa.Text, nullable=False),
        sa.Column('value', sa.Text, nullable=False),
        **steps.CHARSET)
    op.create_table(
        'controlpath_ids',
        *steps.timestamps(),
        steps.key(),
        _uuid(),
        steps.reference('device_id', 'devices.id', index=True),
        sa.Column('cpid_type', steps.enum('cpid_type', 'PCI'),
                  nullable=False),
        sa.Column('cpid_info', sa.String(255), nullable=False),
        **steps.CHARSET)
    op.create_table(
        'attach_handles',
        *steps.timestamps(),
        steps.key(),
        _uuid(),
        steps.reference('deployable_id', 'deployables.id'),
        steps.reference('cpid_id', 'controlpath_ids.id'),
        sa.Column('in_use', sa.Boolean),
        sa.Column('attach_type', steps.enum('attach_type', 'PCI', 'MDEV'),
                  nullable=False),
        sa.Column('attach_info', sa.String(255), nullable=False),
        sa.Index('attach_handles_deployable_id_idx', 'deployable_id'),
        sa.Index('attach_handles_cpid_id_idx', 'cpid_id'),
        **steps.CHARSET)


def _create_requests():
    op.create_table(
        'device_profiles',
        *steps.timestamps(),
        steps.key(),
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('name', sa.String(255), nullable=False),
        sa.Column('profile_json', sa.Text, nullable=False),
        sa.UniqueConstraint('uuid', 'name',
                            name='uniq_device_profiles0uuid0name'),
        **steps.CHARSET)
    op.create_table(
        'extended_accelerator_requests',
        *steps.timestamps(),
        steps.key(),
        _uuid(),
        sa.Column('project_id', sa.String(255)),
        sa.Column('state', steps.enum('arq_state', 'Initial', 'Bound',
                                      'BindFailed'), nullable=False),
        steps.reference('device_profile_id', 'device_profiles.id'),
        sa.Column('hostname', sa.String(255)),
        sa.Column('device_rp_uuid', sa.String(36)),
        sa.Column('device_instance_uuid', sa.String(36)),
        steps.reference('attach_handle_id', 'attach_handles.id',
                        nullable=True),
        sa.Column('substate', steps.enum('arq_substate', 'Initial'),
                  nullable=False),
        steps.reference('deployable_id', 'deployables.id', nullable=True),
        *(sa.Index('extArqs_%s_idx' % name, name) for name in (
            'project_id', 'device_profile_id', 'device_rp_uuid',
            'device_instance_uuid', 'attach_handle_id', 'deployable_id')),
        **steps.CHARSET)


def _uuid() -> sa.Column:
    return sa.Column('uuid', sa.String(36), nullable=False, unique=True)
