# SPDX-License-Identifier: Apache-2.0
"""Attributes."""

from cyborg.common import exception
from cyborg.db import attributes
from cyborg.tests.fixtures import rows
from cyborg.tests.functional.db import base


class TestAttributes(base.DatabaseTestCase):

    def test_list(self):
        notes = (('rc', 'CUSTOM_PCI'), ('trait0', 'OWNER_CYBORG'))
        one = rows.device(bus=1, attributes=notes)
        other = rows.device(bus=2, attributes=notes)

        def ids(**filters):
            return [row.id for row in attributes.list_(self.context,
                                                       **filters)]

        of_one = [row.id for row in one.attributes]
        of_other = [row.id for row in other.attributes]
        self.assertEqual(of_one + of_other, ids())
        self.assertEqual(of_other, ids(deployable_id=other.deployable.id))
        self.assertEqual([of_one[0], of_other[0]], ids(key='rc'))
        self.assertEqual(of_one, ids(deployable_ids=[one.deployable.id, 99]))
        self.assertEqual([], ids(deployable_ids=[]))

    def test_create_and_delete(self):
        part = rows.device().deployable
        row = attributes.create(self.context, uuid='u', key='k', value='v',
                                deployable_id=part.id)
        self.assertEqual('v', attributes.get(self.context, 'u').value)
        error = self.assertRaises(
            exception.AttributeAlreadyExists, attributes.create, self.context,
            uuid='u', key='k', value='v', deployable_id=part.id)
        self.assertEqual('An attribute with uuid u exists already.',
                         error.message)
        attributes.delete(self.context, 'u')
        self.assertIsNone(rows.read(row))
        self.assertRaises(exception.ResourceNotFound, attributes.delete,
                          self.context, 'u')

    def test_an_unknown_deployable(self):
        error = self.assertRaises(
            exception.ResourceNotFound, attributes.create, self.context,
            uuid='u', key='k', value='v', deployable_id=99)
        self.assertEqual('Deployable not found with id=99', error.message)
