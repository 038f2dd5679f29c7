# SPDX-License-Identifier: Apache-2.0
"""Databases that the vendor drivers of 2026.2 left, under our services.

The first report of an agent changes no row and no provider of what is
allocated (BASE-1, REC-2). The unit tests of stored rows plan the rest.
"""

import uuid

import sqlalchemy as sa

from cyborg.common import context
from cyborg.db import api
from cyborg.db.sqlalchemy import models
from cyborg.placement import provider_plan
from cyborg.tests import base
from cyborg.tests.fixtures import recorded
from cyborg.tests.fixtures import services
from cyborg.tests.unit.accelerator import test_stored_rows

TABLES = {'devices': models.Device, 'controlpath_ids': models.ControlpathID,
          'deployables': models.Deployable, 'attributes': models.Attribute,
          'attach_handles': models.AttachHandle}


class StoredRowsTest(base.TestCase):

    timeout = 600

    def store(self, rows):
        """Put the rows in, and into Placement what stands there."""
        mediated = iter(range(1, 4))
        with api.writer(context.get_admin_context()) as session:
            for name, model in TABLES.items():
                for row in rows[name]:
                    values = dict(row, uuid=str(uuid.uuid4()))
                    if name == 'attach_handles':
                        values['in_use'] = True
                        number = next(mediated, None) if row[
                            'attach_type'] == 'MDEV' else None
                        if number:
                            values['uuid'] = test_stored_rows.MDEV % number
                    session.execute(sa.insert(model.__table__), values)
        for deployable in rows['deployables']:
            if deployable['rp_uuid']:
                self.provide(deployable, [
                    (row['key'], row['value']) for row in rows['attributes']
                    if row['deployable_id'] == deployable['id']])

    def provide(self, deployable, attributes):
        placement = self.cloud.placement
        resource_class, traits = provider_plan.from_attributes(attributes)
        placement.api('POST', '/resource_providers', {
            'name': deployable['name'], 'uuid': deployable['rp_uuid'],
            'parent_provider_uuid': self.cloud.root})
        for kind, name in [('resource_classes', resource_class)] + [
                ('traits', trait) for trait in traits]:
            if name.startswith('CUSTOM_'):
                placement.api('PUT', '/%s/%s' % (kind, name))
        placement.set_inventory(deployable['rp_uuid'], **{
            resource_class: {'total': deployable['num_accelerators'],
                             'max_unit': deployable['num_accelerators']}})
        placement.set_traits(deployable['rp_uuid'], *traits, 'OWNER_CYBORG')

    def providers(self):
        placement = self.cloud.placement
        return {name: (provider, placement.amounts(provider),
                       placement.traits(provider))
                for name, provider in placement.providers().items()}

    def test_first_report_changes_nothing(self):
        cases = recorded.cases()
        for name, steps in recorded.stored_rows().items():
            if name in (test_stored_rows.DROPPED, 'sriov-gpu'):
                continue
            with self.subTest(name):
                self.first_report(cases[steps[-1]['report']],
                                  steps[-1]['rows'])

    def first_report(self, case, rows):
        with recorded.RecordedHost(self.conf, case) as host:
            self.cloud = services.InOneProcess(self.conf, self.logs)
            with self.cloud:
                self.cloud.configure('agent',
                                     enabled_drivers=[case['driver']])
                self.cloud.configure('pci', sysfs_path=host.sysfs)
                self.store(rows)
                stored, providers = self.cloud.stored(), self.providers()
                self.cloud.start_agent()
                self.assertEqual(stored, self.cloud.stored())
                self.assertEqual(providers, self.providers())
                self.cloud.stop_agent()

    def test_leftovers_of_a_dropped_driver(self):
        """A deployable without provider, handle or attribute goes."""
        steps = recorded.stored_rows()[test_stored_rows.DROPPED]
        case = recorded.cases()['gpu-02']
        with recorded.RecordedHost(self.conf, case) as host:
            self.cloud = self.useFixture(
                services.InOneProcess(self.conf, self.logs))
            self.cloud.configure('agent', enabled_drivers=[case['driver']])
            self.cloud.configure('pci', sysfs_path=host.sysfs)
            self.store(steps[-1]['rows'])
            self.assertEqual(['AICHIP'], [
                device.type for device in self.cloud.stored().devices])
            self.cloud.start_agent()
            self.assertEqual(['GPU'], [
                device.type for device in self.cloud.stored().devices])
            self.assertEqual([], self.logs.messages('ERROR'))
