# SPDX-License-Identifier: Apache-2.0
"""Whether a device still is the product that was asked for (ID-5)."""

from cyborg.inventory import products
from cyborg.tests import base

ONE, TWO = 'CUSTOM_PCI_PRODUCT_ID_1EB8', 'CUSTOM_PCI_PRODUCT_ID_1EB9'
SSD = 'CUSTOM_SSD_PRODUCT_ID_0A54'


class ProductsTest(base.TestCase):

    def test_required(self):
        self.assertEqual({ONE}, products.required({
            'resources:CUSTOM_PCI': '1', 'trait:' + ONE: 'required',
            'trait:' + TWO: 'forbidden', 'trait:CUSTOM_GOLD': 'required',
            'accel:PRODUCT_ID_': 'required'}))

    def test_contradicted(self):
        for wanted, found, expected in (
                ((), {ONE}, set()),
                ({ONE}, {ONE}, set()),
                ({ONE}, {TWO}, {ONE}),
                ({ONE}, {ONE, TWO}, set()),
                # Nobody knows what the device is.
                ({ONE}, (), set()),
                # An operator's own, of another kind.
                ({SSD}, {ONE}, set()),
                ({ONE, SSD}, {TWO, SSD}, {ONE})):
            self.assertEqual(expected, products.contradicted(wanted, found),
                             (wanted, found))
