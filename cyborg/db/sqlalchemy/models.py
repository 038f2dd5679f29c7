# SPDX-License-Identifier: Apache-2.0
"""The tables, as revision ``b47c8f2d1e3a`` (release 2026.2) left them.

``Base.metadata`` is what ``cyborg-dbsync create_schema`` makes. A database
that came through the revisions instead differs in a few ways which no code
may depend on: column order, ``device_profiles.uuid`` being unique by itself,
``ON DELETE CASCADE`` between deployables, and the order of the values of the
request state. No column has a server default; the defaults are set here.
"""

import datetime

from oslo_utils import timeutils
import sqlalchemy as sa
from sqlalchemy import orm

DEVICE_TYPES = ('GPU', 'FPGA', 'AICHIP', 'QAT', 'NIC', 'SSD', 'MDEV', 'PCI',
                'NVME')
DEVICE_STATUSES = ('enabled', 'maintaining')
DEVICE_STATES = ('available', 'allocated', 'pending_cleaning', 'cleaning',
                 'error')
CONTROLPATH_TYPES = ('PCI',)
ATTACH_TYPES = ('PCI', 'MDEV', 'TEST_PCI')
# UnbindFailed is a state of the object, not of the table: adding it would be
# a migration, and 2026.2 databases are used as they are.
ARQ_STATES = ('Initial', 'BindStarted', 'Bound', 'BindFailed', 'Unbound',
              'Deleting')
ARQ_SUBSTATES = ('Initial',)

_TEXT = 255
# After the columns of the table itself, where create_schema puts them.
_LAST = 1000


def _pk() -> orm.Mapped[int]:
    return orm.mapped_column(sa.Integer, primary_key=True)


def _uuid() -> orm.Mapped[str]:
    return orm.mapped_column(sa.String(36), nullable=False, unique=True)


def _enum(name: str, values: tuple[str, ...], **kwargs):
    return orm.mapped_column(sa.Enum(*values, name=name), **kwargs)


def _text(length: int = _TEXT, nullable: bool = True):
    return orm.mapped_column(sa.String(length), nullable=nullable)


def _reference(target: str, ondelete: str | None = 'RESTRICT',
               nullable: bool = False):
    return orm.mapped_column(
        sa.Integer, sa.ForeignKey(target, ondelete=ondelete),
        nullable=nullable)


class Base(orm.DeclarativeBase):
    """Common ground of all tables: two UTC timestamps.

    The storage engine on MySQL is that of ``[database] mysql_engine``; the
    migrations see to it.
    """

    created_at: orm.Mapped[datetime.datetime | None] = orm.mapped_column(
        sa.DateTime, default=timeutils.utcnow, sort_order=_LAST)
    updated_at: orm.Mapped[datetime.datetime | None] = orm.mapped_column(
        sa.DateTime, onupdate=timeutils.utcnow, sort_order=_LAST + 1)


class Device(Base):
    __tablename__ = 'devices'

    id = _pk()
    uuid = _uuid()
    type = _enum('device_type', DEVICE_TYPES, nullable=False)
    vendor = _text(nullable=False)
    model = _text(nullable=False)
    std_board_info = orm.mapped_column(sa.Text, nullable=True)
    vendor_board_info = orm.mapped_column(sa.Text, nullable=True)
    hostname = _text(nullable=False)
    status = _enum('device_status', DEVICE_STATUSES, nullable=False,
                   default='enabled')
    # NULL marks a row written before the column existed.
    device_state = _enum('device_state', DEVICE_STATES, nullable=True)


class ControlpathID(Base):
    __tablename__ = 'controlpath_ids'

    id = _pk()
    uuid = _uuid()
    device_id = orm.mapped_column(
        sa.Integer, sa.ForeignKey('devices.id', ondelete='RESTRICT'),
        nullable=False, index=True)
    cpid_type = _enum('cpid_type', CONTROLPATH_TYPES, nullable=False)
    cpid_info = _text(nullable=False)


class Deployable(Base):
    __tablename__ = 'deployables'
    __table_args__ = (
        sa.Index('deployables_parent_id_idx', 'parent_id'),
        sa.Index('deployables_root_id_idx', 'root_id'),
        sa.Index('deployables_device_id_idx', 'device_id'),
    )

    id = _pk()
    uuid = _uuid()
    parent_id = _reference('deployables.id', None, nullable=True)
    root_id = _reference('deployables.id', None, nullable=True)
    name = _text(nullable=False)
    num_accelerators = orm.mapped_column(sa.Integer, nullable=False)
    device_id = _reference('devices.id')
    rp_uuid = _text(36)
    driver_name = _text(100)
    bitstream_id = _text(36)


class Attribute(Base):
    __tablename__ = 'attributes'

    id = _pk()
    uuid = _uuid()
    deployable_id = orm.mapped_column(
        sa.Integer, sa.ForeignKey('deployables.id', ondelete='RESTRICT'),
        nullable=False, index=True)
    key = orm.mapped_column(sa.Text, nullable=False)
    value = orm.mapped_column(sa.Text, nullable=False)


class AttachHandle(Base):
    __tablename__ = 'attach_handles'
    __table_args__ = (
        sa.Index('attach_handles_deployable_id_idx', 'deployable_id'),
        sa.Index('attach_handles_cpid_id_idx', 'cpid_id'),
    )

    id = _pk()
    uuid = _uuid()
    deployable_id = _reference('deployables.id')
    cpid_id = _reference('controlpath_ids.id')
    in_use = orm.mapped_column(sa.Boolean, default=False, nullable=True)
    attach_type = _enum('attach_type', ATTACH_TYPES, nullable=False)
    attach_info = _text(nullable=False)


class DeviceProfile(Base):
    __tablename__ = 'device_profiles'
    __table_args__ = (
        sa.UniqueConstraint('uuid', 'name',
                            name='uniq_device_profiles0uuid0name'),
    )

    id = _pk()
    uuid = _text(36, nullable=False)
    name = orm.mapped_column(sa.String(_TEXT), nullable=False, unique=True)
    profile_json = orm.mapped_column(sa.Text, nullable=False)
    description = orm.mapped_column(sa.Text, nullable=True)


class ExtARQ(Base):
    __tablename__ = 'extended_accelerator_requests'
    __table_args__ = (
        sa.Index('extArqs_project_id_idx', 'project_id'),
        sa.Index('extArqs_device_profile_id_idx', 'device_profile_id'),
        sa.Index('extArqs_device_rp_uuid_idx', 'device_rp_uuid'),
        sa.Index('extArqs_instance_uuid_idx', 'instance_uuid'),
        sa.Index('extArqs_attach_handle_id_idx', 'attach_handle_id'),
        sa.Index('extArqs_deployable_id_idx', 'deployable_id'),
    )

    id = _pk()
    uuid = _uuid()
    project_id = _text()
    state = _enum('arq_state', ARQ_STATES, nullable=False)
    device_profile_id = _reference('device_profiles.id')
    device_profile_group_id = orm.mapped_column(
        sa.Integer, nullable=False, default=0)
    hostname = _text()
    device_rp_uuid = _text(36)
    instance_uuid = _text(36)
    attach_handle_id = _reference('attach_handles.id', nullable=True)
    substate = _enum('arq_substate', ARQ_SUBSTATES, nullable=False,
                     default='Initial')
    deployable_id = _reference('deployables.id', nullable=True)


class QuotaUsage(Base):
    """Unused by any code; the table exists in every database."""

    __tablename__ = 'quota_usages'
    __table_args__ = (
        sa.Index('ix_quota_usages_project_id', 'project_id'),
        sa.Index('ix_quota_usages_user_id', 'user_id'),
    )

    id = _pk()
    project_id = _text()
    user_id = _text()
    resource = _text(nullable=False)
    in_use = orm.mapped_column(sa.Integer, nullable=False)
    reserved = orm.mapped_column(sa.Integer, nullable=False)
    until_refresh = orm.mapped_column(sa.Integer, nullable=True)


class Reservation(Base):
    """Unused by any code; the table exists in every database."""

    __tablename__ = 'reservations'
    __table_args__ = (
        sa.Index('ix_reservations_project_id', 'project_id'),
        sa.Index('ix_reservations_user_id', 'user_id'),
        sa.Index('reservations_uuid_idx', 'uuid'),
    )

    id = _pk()
    uuid = _text(36, nullable=False)
    usage_id = _reference('quota_usages.id', None)
    project_id = _text()
    user_id = _text()
    resource = _text()
    delta = orm.mapped_column(sa.Integer, nullable=False)
    expire = orm.mapped_column(sa.DateTime, nullable=True)
