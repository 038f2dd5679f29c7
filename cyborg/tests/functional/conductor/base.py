# SPDX-License-Identifier: Apache-2.0
"""A conductor with its database and a real Placement, called over RPC."""

import json
import uuid

import oslo_messaging as messaging
import sqlalchemy as sa

from cyborg import objects
from cyborg.common import constants
from cyborg.conductor import manager
from cyborg.db import api
from cyborg.db import host_inventory
from cyborg.db.sqlalchemy import models
from cyborg.objects import base as objects_base
from cyborg.placement import provider_plan
from cyborg.rpcapi import conductor as conductor_rpcapi
from cyborg.tests import base
from cyborg.tests.fixtures import database
from cyborg.tests.fixtures import nova
from cyborg.tests.fixtures import placement
from cyborg.tests.fixtures import rpc

HOST = 'compute-1'

#: What a manager that is called directly raises for an error of our own;
#: over RPC the error itself arrives.
EXPECTED = messaging.ExpectedException


def address(bus: int = 1, device: int = 0, function: int = 0) -> dict:
    return {'domain': '0000', 'bus': '%02x' % bus, 'device': '%02x' % device,
            'function': '%x' % function}


def text(info: dict) -> str:
    return json.dumps(info, sort_keys=True)


def handle(attach_type: str = 'PCI', **info):
    return objects.DriverAttachHandle(
        attach_type=attach_type, attach_info=text(info), in_use=False)


def device(bus: int = 1, *, host: str = HOST, vendor: str = '10de',
           product: str = '1eb8', rc: str = 'CUSTOM_PCI', traits=('A',),
           name: str | None = None, handles=None, total: int | None = None,
           device_type: str = 'PCI', stub: bool = False, driver='NVIDIA',
           physfn: int | None = None, **settings):
    """A DriverDevice with one deployable, as the generic PCI driver has it.

    :param handles: instead of the one handle at the device's own address.
    :param physfn: bus of the PF, for a VF.
    :param settings: more of that handle's attach info.
    """
    where = address(bus)
    if handles is None:
        handles = [handle(**where, **settings)]
    board = {'product_id': product, 'controller': None}
    if physfn is not None:
        board['physfn'] = '0000:%02x:00.0' % physfn
    attributes = [objects.DriverAttribute(key='rc', value=rc)]
    attributes += [
        objects.DriverAttribute(key='trait%d' % number, value='CUSTOM_' + t)
        for number, t in enumerate(traits)]
    return objects.DriverDevice(
        vendor=vendor, model=product, type=device_type, stub=stub,
        std_board_info=json.dumps(board),
        vendor_board_info='miss_vb_info',
        controlpath_id=objects.DriverControlPathID(
            cpid_type='PCI', cpid_info=text(where)),
        deployable_list=[objects.DriverDeployable(
            name=name or '%s_0000:%02x:00.0' % (host, bus),
            num_accelerators=len(handles) if total is None else total,
            driver_name=driver, attribute_list=attributes,
            attach_handle_list=handles)])


def handles(count: int, bus: int = 1, attach_type: str = 'PCI') -> list:
    """``count`` functions behind one device."""
    return [handle(attach_type, **address(bus, 1 + n // 8, n % 8))
            for n in range(count)]


class ConductorTestCase(base.TestCase):
    """``self.conductor`` is the client; ``self.manager`` serves it."""

    database = 'sqlite'

    def setUp(self):
        super().setUp()
        objects.register_all()
        self.db = self.useFixture(database.DATABASES[self.database]())
        self.set_up_services()

    def set_up_services(self):
        self.placement = self.useFixture(placement.PlacementFixture())
        self.root = self.placement.add_provider(HOST)
        self.nova = self.useFixture(nova.NovaFixture())
        self.rpc = self.useFixture(rpc.RPCFixture())
        self.manager = self.start_conductor()
        self.conductor = conductor_rpcapi.ConductorAPI()

    def start_conductor(self, server: str = 'conductor-1', **others):
        """Another conductor that serves the same topic."""
        started = manager.ConductorManager(**others)
        self.addCleanup(started._stop)
        self.rpc.serve(constants.CONDUCTOR_TOPIC, started, server=server,
                       version='1.1',
                       serializer=objects_base.CyborgObjectSerializer())
        return started

    def report(self, *devices, host: str = HOST, by=None) -> None:
        """A report over RPC, or straight to one manager."""
        if by is None:
            self.conductor.report_data(self.context, host, list(devices))
        else:
            by.report_data(self.context, host, list(devices))

    # What is stored

    def host(self, name: str = HOST):
        return host_inventory.load(self.context, name)

    def handle(self, name: str, host: str = HOST):
        """The only handle of the deployable called ``name``."""
        found, = self.deployable(name, host).handles
        return found

    def deployable(self, name: str, host: str = HOST):
        found, = [d for device in self.host(host).devices
                  for d in device.deployables if d.name == name]
        return found

    def count(self, model) -> int:
        with api.reader(self.context) as session:
            return session.scalar(
                sa.select(sa.func.count()).select_from(model))

    def change(self, model, row_id: int, **values) -> None:
        with api.writer(self.context) as session:
            session.execute(sa.update(model).where(model.id == row_id)
                            .values(**values))

    # ARQs

    def profile(self, groups=None, name: str | None = None):
        profile = objects.DeviceProfile(
            name=name or uuid.uuid4().hex,
            groups=groups or [{'resources:CUSTOM_PCI': '1'}])
        return self.conductor.device_profile_create(self.context, profile)

    def arq(self, profile=None, group: int = 0) -> str:
        """A new ARQ; its uuid."""
        profile = profile or self.profile()
        arq = objects.ARQ(device_profile_name=profile.name,
                          device_profile_group_id=group,
                          project_id='p' * 32)
        return self.conductor.arq_create(
            self.context, objects.ExtARQ(arq=arq), profile.id).arq.uuid

    def bind(self, *arqs: str, name: str, host: str = HOST,
             instance: str | None = None, by=None) -> str:
        """Bind to the provider of a deployable; the instance's uuid."""
        instance = instance or str(uuid.uuid4())
        rp_uuid = provider_plan.provider_uuid(name)
        values = {'hostname': host, 'device_rp_uuid': rp_uuid,
                  'instance_uuid': instance}
        patch = {arq: [{'path': '/' + key, 'op': 'add', 'value': value}
                       for key, value in values.items()] for arq in arqs}
        (by or self.conductor).arq_apply_patch(
            self.context, patch, {arq: dict(values) for arq in arqs})
        return instance

    def unbind(self, *arqs: str, by=None) -> None:
        (by or self.conductor).arq_apply_patch(
            self.context,
            {arq: [{'path': '/hostname', 'op': 'remove'}] for arq in arqs},
            {})

    def arq_row(self, arq: str):
        with api.reader(self.context) as session:
            row = session.scalars(sa.select(models.ExtARQ).where(
                models.ExtARQ.uuid == arq)).one()
            session.expunge(row)
            return row

    # Placement

    def provider(self, name: str) -> str:
        return provider_plan.provider_uuid(name)

    def assertAmounts(self, expected: dict, name: str) -> None:
        """``expected``: resource class -> (total, reserved)"""
        self.assertEqual(expected,
                         self.placement.amounts(self.provider(name)))
