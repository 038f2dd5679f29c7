# SPDX-License-Identifier: Apache-2.0
"""The life of a disk: reserved while used, erased, verified, given back."""

from cyborg.tests.functional.cleaner import base

ONE = base.ONE


class StoryTest(base.CleanerTestCase):

    def test_a_guest_comes_and_goes(self):
        """CLEAN-1, CLEAN-2, CLEAN-6, CLEAN-18, CLEAN-20, CLEAN-23

        Without any notification, broker or database.
        """
        host = self.host
        host.start()
        host.look()
        self.assertOffered()
        consumer, guest = host.boot()
        guest.write(1, 0, base.SECRET)
        host.look()
        self.assertReserved('in_use', 'allocated')
        self.assertEqual(consumer, host.entry().consumer)
        self.assertIn(base.SECRET, host.media())
        host.delete(consumer, guest)
        host.look()
        self.assertOffered()
        self.assertNotIn(base.SECRET, host.media())
        _consumer, second = host.boot()
        self.assertEqual(bytes(4096), second.read(1, 0, 4096))

    def test_delete_end_proves_nothing(self):
        """The allocation is gone, and the guest still runs: CLEAN-13, -14"""
        host = self.host
        host.start()
        host.look()
        consumer, guest = host.boot()
        guest.write(1, 0, base.SECRET)
        host.look()
        host.placement.deallocate(consumer)
        before = len(host.world.touched(ONE))
        host.look(3)
        self.assertReserved('dirty', 'freed')
        self.assertEqual(before, len(host.world.touched(ONE)))
        self.assertIn(base.SECRET, host.media())
        self.assertLogged('WARNING', 'vfio: ')
        guest.leave()
        host.look()
        self.assertOffered()
