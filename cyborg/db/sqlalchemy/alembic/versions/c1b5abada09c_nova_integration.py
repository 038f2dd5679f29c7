# SPDX-License-Identifier: Apache-2.0
"""Requests are bound to instances, deployables have resource providers."""

from alembic import op
import sqlalchemy as sa

from cyborg.db.sqlalchemy.alembic import steps

revision = 'c1b5abada09c'
down_revision = '589ff20545b7'


STATES_BEFORE = ('Initial', 'Bound', 'BindFailed')
STATES = ('Initial', 'BindStarted', 'Bound', 'Unbound', 'BindFailed',
          'Deleting')
REQUESTS = 'extended_accelerator_requests'


def upgrade():
    with op.batch_alter_table('deployables') as batch:
        batch.add_column(sa.Column('rp_uuid', sa.String(36)))
        batch.add_column(sa.Column('driver_name', sa.String(100)))
        batch.add_column(sa.Column('bitstream_id', sa.String(36)))
    steps.widen('attach_handles', 'attach_type', 'attach_type',
                ('PCI', 'MDEV'), ('PCI', 'MDEV', 'TEST_PCI'))
    with op.batch_alter_table('device_profiles') as batch:
        batch.drop_constraint('uniq_device_profiles0uuid0name', 'unique')
        batch.create_unique_constraint('uniq_device_profiles0uuid', ['uuid'])
        batch.create_unique_constraint('uniq_device_profiles0name', ['name'])
    _change_requests()


def _change_requests():
    op.drop_index('extArqs_device_instance_uuid_idx', REQUESTS)
    with op.batch_alter_table(REQUESTS) as batch:
        batch.drop_column('device_instance_uuid')
    steps.widen(REQUESTS, 'state', 'arq_state', STATES_BEFORE, STATES)
    steps.add_filled(REQUESTS, 'device_profile_group_id', sa.Integer(), '0')
    with op.batch_alter_table(REQUESTS) as batch:
        batch.add_column(sa.Column('instance_uuid', sa.String(36)))
    op.create_index('extArqs_instance_uuid_idx', REQUESTS, ['instance_uuid'])
