# SPDX-License-Identifier: Apache-2.0
"""Cleaning a disk from end to end, and every way in which it must fail."""

import dataclasses

from cyborg.nvme import baseline
from cyborg.nvme import canaries
from cyborg.nvme import erase
from cyborg.nvme import errors
from cyborg.nvme import methods
from cyborg.nvme import records
from cyborg.nvme import structures
from cyborg.tests.unit.nvme import base

ADDRESS, SECRET = base.ADDRESS, base.SECRET
SEED = '5eed' * 8
M = methods.Method
#: Abilities that leave one method, by its name.
ONLY = {M.CRYPTO_SANITIZE: {'sanicap': 1}, M.BLOCK_SANITIZE: {'sanicap': 2},
        M.OVERWRITE_SANITIZE: {'sanicap': 4},
        M.CRYPTO_FORMAT: {'sanicap': 0},
        M.BLOCK_FORMAT: {'sanicap': 0, 'fna': 0}}


class CleaningTestCase(base.DiskTestCase):

    def start(self, **facts):
        """A disk with a record, which a guest has got then."""
        self.port = self.plug(**facts)
        self.record = self.recorded(self.port)
        return self.world.guest(ADDRESS)

    def clean(self, limits=None, action='auto', strategy='auto'):
        """All steps in their order; the method that was taken."""
        limits = limits or erase.Limits()
        self.port.hold()
        disk = self.controller(self.port)
        erase.interlocks(disk, self.record.identity)
        ask = erase.guard(disk, self.record.identity)
        found = erase.prepare(disk, self.record, limits, ask)
        method = methods.choose(disk.disk, found.identity, found.namespaces,
                                action, strategy)
        plan = canaries.plan(disk.disk, SEED, found.namespaces, 8)
        canaries.write(disk.disk, self.port, plan)
        scdw10 = erase.begin(disk, method, found.namespaces, ask)
        while scdw10 is not None and erase.follow(disk, scdw10) is not None:
            self.disks.clock[0] += 1
        canaries.verify(disk.disk, self.port, plan)
        erase.finish(disk, self.record, limits, ask)
        self.port.check_hold()
        return method

    def whole(self):
        media = self.world.media(ADDRESS)
        return media.read(0, media.state().identity.tnvmcap)

    def assertClean(self):
        self.assertEqual(0, self.whole().count(b'secret'))
        self.assertEqual(self.record.namespaces,
                         self.recorded(self.port).namespaces)


class CleanTest(CleaningTestCase):

    def test_every_method(self):
        """CLEAN-17, CLEAN-19"""
        for method, able in ONLY.items():
            self.another_host()
            guest = self.start(sanitize_seconds=3.0, **able)
            guest.write(1, 4096, SECRET)
            guest.leave()
            self.assertIn(b'secret', self.whole())
            self.assertIs(method, self.clean(
                action='zero' if method is M.OVERWRITE_SANITIZE else 'auto'))
            self.assertClean()

    def test_several_namespaces_each_get_a_format(self):
        """CLEAN-18: whether or not FNA says that one reaches all."""
        for fna in (0x0, 0x2):
            self.another_host()
            guest = self.start(namespaces=4, sanicap=0, fna=fna)
            for nsid in (1, 2, 3, 4):
                guest.write(nsid, 0, SECRET)
            guest.leave()
            self.clean()
            self.assertClean()
            self.assertEqual(4, self.world.opcodes(ADDRESS).count(
                'Format NVM'))

    def detach(self, guest, nsid):
        command, data = structures.attach_namespace(nsid, 0, attach=False)
        guest.admin(command, data)

    def test_a_namespace_that_the_guest_detached(self):
        """CLEAN-18, CLEAN-21"""
        for able in ONLY[M.CRYPTO_SANITIZE], ONLY[M.BLOCK_FORMAT]:
            self.another_host()
            guest = self.start(namespaces=2, **able)
            guest.write(2, 0, SECRET)
            self.detach(guest, 2)
            guest.leave()
            self.clean()
            self.assertClean()

    def test_one_that_was_recorded_as_detached_is_detached_again(self):
        self.plug(namespaces=2, sanicap=0)
        guest = self.world.guest(ADDRESS)
        self.detach(guest, 2)
        guest.leave()
        self.port = self.world.host().port(ADDRESS)
        self.record = self.recorded(self.port)
        guest = self.world.guest(ADDRESS)
        command, data = structures.attach_namespace(2, 0)
        guest.admin(command, data)
        guest.write(2, 0, SECRET)
        guest.leave()
        self.clean()
        self.assertClean()
        self.assertEqual([True, False], [
            each.attached for each in self.record.namespaces])

    def test_a_namespace_that_the_guest_deleted(self):
        """What stood in it is in no namespace, and erased all the same."""
        for able in ONLY[M.CRYPTO_SANITIZE], ONLY[M.BLOCK_FORMAT]:
            self.another_host()
            guest = self.start(namespaces=2, **able)
            guest.write(2, 0, SECRET)
            guest.admin(structures.delete_namespace(2), bytes(4096))
            guest.leave()
            self.assertIn(b'secret', self.whole())
            self.clean()
            self.assertEqual(0, self.whole().count(b'secret'))
            # A namespace made anew has another NGUID.
            self.assertEqual((), baseline.layout_differences(
                self.record.namespaces, self.recorded(self.port).namespaces))

    def test_all_namespaces_deleted(self):
        guest = self.start(namespaces=2, sanicap=0)
        guest.write(1, 0, SECRET)
        for nsid in (1, 2):
            guest.admin(structures.delete_namespace(nsid), bytes(4096))
        guest.leave()
        self.clean()
        self.assertEqual(0, self.whole().count(b'secret'))

    def test_namespaces_that_the_guest_made_anew(self):
        guest = self.start(namespaces=1, sanicap=0)
        guest.admin(structures.delete_namespace(1), bytes(4096))
        small = dataclasses.replace(self.record.namespaces[0], blocks=16,
                                    capacity=16)
        for _number in range(2):
            made = guest.admin(*structures.create_namespace(small)).result
            guest.admin(*structures.attach_namespace(made, 0))
            guest.write(made, 0, SECRET)
        guest.leave()
        self.clean()
        self.assertEqual(0, self.whole().count(b'secret'))

    def test_another_block_format(self):
        guest = self.start()
        guest.admin(structures.format_nvm(1, self.record.namespaces[0], 1, 1,
                                          0))
        guest.write(1, 0, SECRET)
        guest.leave()
        self.clean()
        self.assertClean()

    def test_write_protected(self):
        guest = self.start()
        guest.write(1, 0, SECRET)
        guest.admin(structures.write_protection(1, protect=True))
        guest.leave()
        self.clean()
        self.assertClean()

    def test_layout_is_an_error_where_that_is_asked_for(self):
        """CLEAN-21: [cleaner] namespaces = fail."""
        guest = self.start(namespaces=2)
        self.detach(guest, 2)
        guest.leave()
        text = self.refused(errors.Changed, self.clean,
                            erase.Limits(restore=False))
        self.assertEqual(
            'NVMe disk 0000:01:00.0 (serial S1): it is not as it was '
            'recorded: namespace 2 is not attached.', text)

    def test_firmware(self):
        guest = self.start()
        self.world.media(ADDRESS).set(
            firmware=records.Firmware(2, 0, ('SIM1.0', 'EVIL')),
            identity=dataclasses.replace(self.record.identity,
                                         firmware='EVIL'))
        guest.leave()
        error = self.assertRaises(errors.Changed, self.clean)
        self.assertEqual(
            'NVMe disk 0000:01:00.0 (serial S1): it is not as it was '
            'recorded: firmware EVIL runs, and SIM1.0 was recorded; firmware '
            'slots are (SIM1.0, EVIL; active 2), and (SIM1.0; active 1) were '
            'recorded.', str(error))
        self.clean(erase.Limits(pin_firmware=False))

    def test_health(self):
        for health, text in (
                (records.Health(critical_warning=0x5),
                 'it warns: spare blocks run out, reliability degraded. '
                 'Replace it.'),
                (records.Health(percentage_used=101),
                 '101 % of its life are used, and max_percentage_used is '
                 '100. Replace it.')):
            self.another_host()
            self.start().leave()
            self.world.media(ADDRESS).set(health=health)
            self.assertIn(text, str(self.assertRaises(errors.Unhealthy,
                                                      self.clean)))


class FaultTest(CleaningTestCase):

    def fails(self, cls, able=None, **faults):
        guest = self.start(**(able or {}))
        guest.write(1, 0, SECRET)
        guest.leave()
        self.world.break_(ADDRESS, **faults)
        return str(self.assertRaises(cls, self.clean))

    def test_lies(self):
        """CLEAN-20: success is said, and the canary can be read."""
        for able in ONLY.values():
            if able == ONLY[M.OVERWRITE_SANITIZE]:
                continue
            self.another_host()
            self.assertEqual(
                'NVMe disk 0000:01:00.0 (serial S1): it reported success and '
                'is not erased: a block written before at byte 0 of '
                'namespace 1 can still be read. Do not give it to anybody; '
                'replace it.', self.fails(errors.NotErased, able,
                                          lies=True))

    def test_short_reads(self):
        self.assertIn('gave 4095 of 4096 bytes', self.fails(
            errors.ShortTransfer, short_reads=1))

    def test_read_errors(self):
        self.assertIn('failed with EIO', self.fails(
            errors.DiskFailed, read_errors=4096))

    def test_writes_that_are_lost(self):
        self.assertIn('a block written to byte 0 of namespace 1 was read '
                      'back otherwise', self.fails(
                          errors.WriteLost, loses_writes=True))

    def test_sanitize_fails(self):
        """CLEAN-19: the disk refuses its data until one succeeds."""
        self.assertIn('the sanitize operation ended as failed. The disk '
                      'refuses reads until one succeeds', self.fails(
                          errors.SanitizeFailed, sanitize_fails=True))
        self.assertRaises(errors.DiskFailed, self.port.read, 1, 0, 512)
        self.world.break_(ADDRESS)
        disk = self.controller(self.port)
        disk.sanitize(M.BLOCK_SANITIZE, lambda: None)
        self.assertIsNone(erase.follow(disk, 2))
        self.assertNotIn(b'secret', self.port.read(1, 0, 4096))

    def test_format_fails(self):
        self.assertIn('Format NVM ended with status 002 (Invalid Field in '
                      'Command).', self.fails(
                          errors.CommandFailed, ONLY[M.BLOCK_FORMAT],
                          format_status=0x002))

    def begun(self, **faults):
        """A sanitize of ten seconds, just begun."""
        self.start(sanitize_seconds=10.0).leave()
        self.world.break_(ADDRESS, **faults)
        self.port.hold()
        disk = self.controller(self.port)
        return disk, disk.sanitize(M.CRYPTO_SANITIZE, lambda: None)

    def test_followed_over_time(self):
        disk, scdw10 = self.begun()
        seen = []
        for _second in range(11):
            seen.append(erase.follow(disk, scdw10))
            self.disks.clock[0] += 1
        self.assertIsNone(seen.pop())
        self.assertEqual(sorted(seen), seen)
        self.assertEqual((0.0, True), (seen[0], 0.8 < seen[-1] < 1))

    def test_reads_fail_while_it_runs(self):
        self.begun()
        self.assertRaises(errors.DiskFailed, self.port.read, 1, 0, 512)

    def test_hangs(self):
        """CLEAN-19: for days at one value; it is never a success."""
        disk, scdw10 = self.begun(sanitize_hangs_at=0x8000)
        for _day in range(3):
            self.disks.clock[0] += 86400
            self.assertEqual(0.5, erase.follow(disk, scdw10))

    def test_power_loss_begins_it_anew(self):
        disk, scdw10 = self.begun()
        self.disks.clock[0] += 9
        self.world.lose_power(ADDRESS)
        self.disks.clock[0] += 5
        again = self.controller(self.world.host().port(ADDRESS))
        self.assertAlmostEqual(0.5, erase.follow(again, scdw10), places=2)
        self.disks.clock[0] += 5
        self.assertIsNone(erase.follow(again, scdw10))

    def test_somebody_elses_sanitize(self):
        """CLEAN-19: only our own operation's success counts."""
        guest = self.start(sanicap=0x7)
        guest.admin(structures.sanitize(2))
        guest.leave()
        disk = self.controller(self.port)
        self.assertEqual(
            'NVMe disk 0000:01:00.0: its sanitize log speaks of command '
            'dword 00000002, and ours was 00000004. It counts as not erased.',
            str(self.assertRaises(errors.SanitizeNotOurs, erase.follow, disk,
                                  4)))

    def test_written_after_an_old_success(self):
        """Global Data Erased tells that nothing was written since."""
        guest = self.start()
        guest.admin(structures.sanitize(4))
        disk = self.controller(self.port)
        guest.leave()
        self.assertTrue(disk.sanitize_log().global_erased)
        guest.write(1, 0, SECRET)
        log = disk.sanitize_log()
        self.assertEqual((True, False), (log.succeeded, log.global_erased))


class InterlockTest(CleaningTestCase):

    def test_another_disk(self):
        """CLEAN-15"""
        self.start().leave()
        self.world.remove(ADDRESS)
        self.world.add(ADDRESS, 'S9')
        port = self.world.host().port(ADDRESS)
        self.assertEqual(
            'NVMe disk 0000:01:00.0 (serial S9): another disk stands at this '
            'address: its serial is S9, and S1 was expected. It was not '
            'touched.', self.refused(
                errors.WrongDisk, erase.interlocks, self.controller(port),
                self.record.identity))

    def test_a_neighbour_out_of_sight(self):
        """CLEAN-16: at vfio-pci it has no name in sysfs."""
        self.plug()
        self.world.add('0000:02:00.0', 'S1', shares_with=ADDRESS,
                       driver='vfio-pci')
        self.port = self.world.host().port(ADDRESS)
        self.record = self.recorded(self.port)
        disk = self.controller(self.port)
        self.assertIn('has another controller (controller 1)', self.refused(
            errors.SharedSubsystem, erase.interlocks, disk,
            self.record.identity))

    def test_one_that_cannot_tell(self):
        self.port = self.plug(oacs=0x2, cmic=0x2)
        disk = self.controller(self.port)
        self.assertIn('one that it cannot name', self.refused(
            errors.SharedSubsystem, erase.check_alone, disk,
            disk.identify()))

    def test_the_guard_is_asked_before_each_command(self):
        """CLEAN-13"""
        self.start(namespaces=2, sanicap=0).leave()
        self.port.hold()
        disk = self.controller(self.port)
        asked = []

        def further():
            asked.append(self.world.opcodes(ADDRESS).count('Format NVM'))

        ask = erase.guard(disk, self.record.identity, further)
        erase.begin(disk, M.BLOCK_FORMAT, self.record.namespaces, ask)
        self.assertEqual([0, 1], asked)

        def no():
            raise errors.InUse(ADDRESS, (records.Use('allocation', 'x'),))

        for call in (
                lambda ask: erase.begin(disk, M.CRYPTO_FORMAT,
                                        self.record.namespaces, ask),
                lambda ask: disk.sanitize(M.CRYPTO_SANITIZE, ask),
                lambda ask: disk.create_namespace(
                    self.record.namespaces[0], ask),
                lambda ask: disk.delete_namespace(1, ask),
                lambda ask: disk.attach_namespace(1, 0, ask),
                lambda ask: disk.detach_namespace(1, 0, ask),
                lambda ask: disk.protect(1, True, ask)):
            self.refused(errors.InUse, call, erase.guard(
                disk, self.record.identity, no))

    def test_looking_sends_nothing_that_destroys(self):
        """CLEAN-30: what a preview reads."""
        self.start(namespaces=2).leave()
        before = self.world.touched(ADDRESS)
        self.controller(self.port).inventory()
        self.port.facts()
        self.assertEqual(before, self.world.touched(ADDRESS))
        self.assertEqual(base.LOOKS | {'Identify'}, base.LOOKS | set(
            self.world.opcodes(ADDRESS)))
