# SPDX-License-Identifier: Apache-2.0

import dataclasses
import struct

import hypothesis
from hypothesis import strategies

from cyborg.nvme import records
from cyborg.nvme import structures
from cyborg.tests import base

SIZE = structures.IDENTIFY_SIZE


def numbers(bits):
    return strategies.integers(0, (1 << bits) - 1)


class CommandTest(base.TestCase):

    def test_layout_is_the_kernels(self):
        """struct nvme_passthru_cmd: 72 bytes, each field in its place."""
        data = structures.Command(
            0x80, 0x11223344, 0x55, cdw10=0xa0, cdw11=0xa1, cdw12=0xa2,
            cdw13=0xa3, cdw14=0xa4, cdw15=0xa5, timeout_ms=0x99).pack()
        self.assertEqual(72, len(data))
        self.assertEqual(0x80, data[0])
        at = {place: struct.unpack_from('<I', data, place)[0]
              for place in range(4, 72, 4)}
        self.assertEqual(
            {4: 0x11223344, 36: 0x55, 40: 0xa0, 44: 0xa1, 48: 0xa2,
             52: 0xa3, 56: 0xa4, 60: 0xa5, 64: 0x99},
            {place: value for place, value in at.items() if value})

    @hypothesis.given(strategies.tuples(numbers(8), *[numbers(32)] * 9))
    def test_pack_and_unpack(self, values):
        command = structures.Command(*values)
        self.assertEqual(command, structures.Command.unpack(command.pack()))

    def test_what_we_never_set_is_refused(self):
        good = structures.identify(1).pack()
        for place in (1, 2, 8, 12, 16, 24, 32, 68):
            data = bytearray(good)
            data[place] = 1
            self.assertRaises(structures.Malformed,
                              structures.Command.unpack, bytes(data))
        self.assertRaises(structures.Malformed, structures.Command.unpack,
                          good[:-1])

    def test_direction(self):
        self.assertTrue(structures.identify(1).from_controller)
        command, data = structures.attach_namespace(1, 7)
        self.assertTrue(command.to_controller)
        self.assertEqual(command.data_len, len(data))
        self.assertFalse(structures.sanitize(2).from_controller)
        self.assertFalse(structures.sanitize(2).to_controller)

    def test_dword_10(self):
        """Base specification: Sanitize, Format NVM, Get Log Page."""
        self.assertEqual(4, structures.sanitize(4).cdw10)
        self.assertEqual(2, structures.sanitize(2).cdw10)
        self.assertEqual(0x13, structures.sanitize(3).cdw10)
        self.assertEqual(0x02 | 127 << 16,
                         structures.get_log_page(0x02).cdw10)
        namespace = records.Namespace(
            1, 8, 8, 1, records.BlockFormat(512, 8), extended=True, dps=0x9)
        command = structures.format_nvm(1, namespace, 2, 17, 5000)
        self.assertEqual(1 | 1 << 4 | 1 << 5 | 1 << 8 | 2 << 9 | 1 << 12,
                         command.cdw10)
        self.assertEqual(5000, command.timeout_ms)

    def test_a_format_that_erases_nothing_is_not_made(self):
        """CLEAN-17: ses=0 is never sent."""
        namespace = records.Namespace(1, 8, 8, 0, records.BlockFormat(512))
        for ses in (0, 3, -1):
            self.assertRaises(ValueError, structures.format_nvm, 1,
                              namespace, ses, 0, 0)


class DecodeTest(base.TestCase):

    def controller(self, **values):
        data = bytearray(SIZE)
        structures.put(data, structures.CONTROLLER, **{
            'SN': b'S1'.ljust(20), 'MN': b'Some Model'.ljust(40),
            'FR': b'1.0'.ljust(8), **values})
        return bytes(data)

    def test_identify_controller(self):
        found = structures.identity(self.controller(
            VID=0x144d, CMIC=0x2, MDTS=5, CNTLID=7, OACS=0xa, FNA=0x4,
            SANICAP=0x3, TNVMCAP=1 << 70, UNVMCAP=5, NN=32,
            SUBNQN=b'nqn.x\0garbage'.ljust(256, b'\0')))
        self.assertEqual(
            ('S1', 'Some Model', '1.0', 0x144d, 4096 << 5, 7, 1 << 70, 5,
             'nqn.x'),
            (found.serial, found.model, found.firmware, found.vid,
             found.mdts, found.cntlid, found.tnvmcap, found.unvmcap,
             found.subnqn))
        self.assertTrue(found.formats and found.manages_namespaces
                        and found.several_controllers)
        self.assertIsNone(structures.identity(self.controller()).mdts)

    def test_places_of_the_specification(self):
        """The bytes themselves, so that table and decoder can't agree on a
        mistake."""
        data = bytearray(self.controller())
        data[76], data[256], data[328], data[524], data[531] = 2, 8, 7, 4, 1
        found = structures.identity(bytes(data))
        self.assertEqual((2, 8, 7, 4, 1), (
            found.cmic, found.oacs, found.sanicap, found.fna, found.nwpc))

    def test_a_disk_that_answers_with_zeros(self):
        for values in ({'SN': b'\0' * 20}, {'MN': b' ' * 40}):
            self.assertRaises(structures.Malformed, structures.identity,
                              self.controller(**values))
        self.assertRaises(structures.Malformed, structures.identity, b'')

    def namespace(self, formats=((9, 0), (12, 0)), **values):
        data = bytearray(SIZE)
        structures.put(data, structures.NAMESPACE, **{
            'NSZE': 100, 'NCAP': 100, 'NLBAF': len(formats) - 1, **values})
        for number, (exponent, metadata) in enumerate(formats):
            struct.pack_into('<HB', data, 128 + 4 * number, metadata,
                             exponent)
        return bytes(data)

    def decoded(self, **values):
        return structures.namespace(self.namespace(**values), 3, True, (1,))

    def test_identify_namespace(self):
        found = self.decoded(FLBAS=1, DPS=1, NMIC=1, NSATTR=1,
                             NGUID=bytes(range(16)))
        self.assertEqual(
            (3, 100, 1, records.BlockFormat(4096), 409600, True, (1,)),
            (found.nsid, found.blocks, found.lbaf, found.block, found.size,
             found.write_protected, found.controllers))
        self.assertEqual(bytes(range(16)).hex(), found.guid)

    def test_more_than_sixteen_formats(self):
        formats = [(9, 0)] * 20
        formats[17] = (12, 8)
        found = self.decoded(formats=formats, FLBAS=1 | 1 << 5 | 0x10)
        self.assertEqual((17, 8, True), (
            found.lbaf, found.block.metadata_size, found.extended))

    def test_a_namespace_that_is_none(self):
        for values in ({'NSZE': 0}, {'FLBAS': 2}, {'formats': ((0, 0),)}):
            self.assertRaises(structures.Malformed, self.decoded, **values)

    def test_lists(self):
        self.assertEqual((1, 5), structures.namespace_list(
            struct.pack('<III', 1, 5, 0).ljust(SIZE, b'\0')))
        self.assertEqual((0, 9), structures.controller_list(
            struct.pack('<HHH', 2, 0, 9).ljust(SIZE, b'\0')))
        self.assertRaises(structures.Malformed, structures.controller_list,
                          b'\xff' * SIZE)

    def sanitize(self, **values):
        data = bytearray(512)
        structures.put(data, structures.SANITIZE_STATUS, **values)
        return structures.sanitize_log(bytes(data))

    def test_sanitize_status(self):
        """The result stands in bits 2:0; 101h is a success."""
        status = records.SanitizeStatus
        for sstat, expected in (
                (0x000, status.NEVER), (0x001, status.SUCCEEDED),
                (0x101, status.SUCCEEDED), (0x002, status.RUNNING),
                (0x003, status.FAILED), (0x10b, status.FAILED),
                (0x104, status.SUCCEEDED_NO_DEALLOCATE)):
            found = self.sanitize(SSTAT=sstat, SPROG=0x8000)
            self.assertIs(expected, found.status)
            self.assertEqual(bool(sstat & 0x100), found.global_erased)
            self.assertEqual(0.5 if found.running else None, found.progress)
            self.assertEqual(expected.name.startswith('SUCC'),
                             found.succeeded)
        self.assertRaises(structures.Malformed, self.sanitize, SSTAT=5)

    def test_sanitize_estimates(self):
        values = {'ETO': 30, 'ETBE': 20, 'ETCE': 0xffffffff}
        self.assertEqual([20, 30, None], [
            self.sanitize(SCDW10=sanact, **values).estimate
            for sanact in (2, 3, 4)])

    def test_firmware_slots(self):
        data = bytearray(512)
        data[0] = 0x21
        data[8:16], data[16:24] = b'A1      ', b'B2      '
        self.assertEqual(records.Firmware(1, 2, ('A1', 'B2')),
                         structures.firmware(bytes(data)))

    @hypothesis.given(strategies.binary(max_size=SIZE))
    def test_garbage_is_malformed_or_a_record(self, data):
        for decode in (
                structures.identity, structures.sanitize_log,
                structures.health, structures.firmware,
                structures.namespace_list, structures.controller_list,
                lambda data: structures.namespace(data, 1, True)):
            for each in (data, data.ljust(SIZE, b'\xff')):
                try:
                    decode(each)
                except structures.Malformed as error:
                    self.assertNotEqual('', str(error))


class CreateTest(base.TestCase):

    def test_create_holds_what_is_wanted(self):
        wanted = records.Namespace(
            2, 10, 8, 1, records.BlockFormat(4096), dps=1, nmic=1)
        command, data = structures.create_namespace(wanted)
        self.assertEqual((0x0d, 0), (command.opcode, command.cdw10))
        self.assertEqual(
            (10, 8, 1, 1, 1),
            (*struct.unpack_from('<QQ', data, 0), data[26], data[29],
             data[30]))
        self.assertEqual(1, structures.delete_namespace(2).cdw10)

    def test_records_are_frozen(self):
        self.assertRaises(dataclasses.FrozenInstanceError, setattr,
                          records.Health(), 'media_errors', 1)
