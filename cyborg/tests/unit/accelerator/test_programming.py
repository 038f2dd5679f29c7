# SPDX-License-Identifier: Apache-2.0
"""Programming of FPGAs: the vendors' tools, and who is asked."""

import os

from cyborg import privsep
from cyborg.accelerator.drivers.fpga.inspur import driver as inspur
from cyborg.accelerator.drivers.fpga.intel import driver as intel
from cyborg.accelerator.drivers.fpga.xilinx import driver as xilinx
from cyborg.agent import loading
from cyborg.agent import programming
from cyborg.common import exception
from cyborg.privsep import programming as privileged
from cyborg.tests import base

PATH = {'cpid_type': 'PCI', 'cpid_info': {
    'domain': '0000', 'bus': '3b', 'device': '00', 'function': '1'}}
TOOL = """#!/bin/sh
echo "$0" "$@" >> %(log)s
read answer && echo "read $answer" >> %(log)s
echo no suitable slots found >&2
exit %(status)d
"""


class ProgramTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.folder = self.temp_dir()
        self.image = os.path.join(self.folder, 'bitstream')
        privsep.sys_admin_pctxt.set_client_mode(False)
        self.addCleanup(privsep.sys_admin_pctxt.set_client_mode, True)

    def tool(self, module, status=0):
        """Put a tool of ours into the place of the vendor's."""
        path = os.path.join(self.folder, 'tool')
        with open(path, 'w') as stream:
            stream.write(TOOL % {'log': self.folder + '/log',
                                 'status': status})
        os.chmod(path, 0o755)
        self.patch(privileged, '_TOOLS', privileged._TOOLS | {
            path: privileged._TOOLS[module._TOOL]})
        self.patch(module, '_TOOL', path)
        return path

    def said(self):
        with open(self.folder + '/log') as stream:
            return stream.read().splitlines()

    def test_arguments(self):
        """fpg-16; the address of xil-16 as today's tool takes it."""
        for module, driver, arguments in (
                (intel, intel.IntelFPGADriver(),
                 '--bus 0x3b --device 0x00 --function 0x1'),
                (xilinx, xilinx.XilinxFPGADriver(),
                 'program --device 0000:3b:00.1 --base --image')):
            tool = self.tool(module)
            self.assertIs(True, driver.program(PATH, self.image))
            self.assertEqual('%s %s %s' % (tool, arguments, self.image),
                             self.said()[-1])

    def test_tool_fails(self):
        """fpg-17, xil-16"""
        for module, driver in ((intel, intel.IntelFPGADriver()),
                               (xilinx, xilinx.XilinxFPGADriver())):
            self.tool(module, status=1)
            self.assertIs(False, driver.program(PATH, self.image))
        self.assertLogged('ERROR', 'status 1: no suitable slots found')

    def test_no_tool(self):
        error = self.assertRaises(
            exception.ProgrammingToolFailed,
            xilinx.XilinxFPGADriver().program, PATH, self.image)
        self.assertIn('/opt/xilinx/xrt/bin/xbmgmt', error.message)

    def test_no_helper(self):
        self.conf.set('cyborg_sys_admin', helper_command='false')
        privsep.sys_admin_pctxt.set_client_mode(True)
        error = self.assertRaises(
            exception.PrivilegedHelperFailed,
            xilinx.XilinxFPGADriver().program, PATH, self.image)
        self.assertIn('started by [cyborg_sys_admin] helper_command',
                      error.message)

    def test_bad_control_paths(self):
        """fpg-19, xil-17: nothing is started."""
        for driver in (intel.IntelFPGADriver(), xilinx.XilinxFPGADriver()):
            for info in ({'domain': '0000', 'bus': '3b'}, None, 'text',
                         dict(PATH['cpid_info'], bus='3b; reboot')):
                self.assertRaises(
                    exception.ControlPathInvalid, driver.program,
                    {'cpid_type': 'PCI', 'cpid_info': info}, self.image)
            self.assertRaises(exception.InvalidType, driver.program,
                              dict(PATH, cpid_type='USB'), self.image)

    def test_inspur_programs_nothing(self):
        self.assertRaises(NotImplementedError,
                          inspur.InspurFPGADriver().program, PATH, self.image)

    def test_privileged_side_trusts_nobody(self):
        for command in (
                ['/bin/sh', '-c', self.image],
                ['/usr/bin/fpgaconf', '--bus', '0x3b', self.image],
                ['/usr/bin/fpgaconf', '--bus', '0x3b', '--device', '0x00',
                 '--function', '0x0', 'relative'],
                ['/opt/xilinx/xrt/bin/xbmgmt', 'reset', '--device',
                 '0000:3b:00.0', '--base', '--image', self.image]):
            self.assertRaises(ValueError, privileged.run, command)

    def test_image_that_is_none(self):
        """Nothing is fetched and nothing programmed."""
        drivers = [loading.LoadedDriver('intel_fpga_driver',
                                        intel.IntelFPGADriver())]
        for image in ('../../etc/passwd', '', None, 'image'):
            self.assertRaises(
                exception.InvalidUUID, programming.program, drivers,
                self.context, PATH, image, 'intel')

    def test_driver_that_is_asked(self):
        """fpg-20, fpg-22, fpg-23, ifp-16, xil-19: by the stored name."""
        drivers = [loading.LoadedDriver(name, made) for name, made in (
            ('intel_fpga_driver', intel.IntelFPGADriver()),
            ('inspur_fpga_driver', inspur.InspurFPGADriver()))]
        for name, number in (('intel', 0), ('INSPUR', 1)):
            self.assertIs(drivers[number].driver,
                          programming.driver_for(drivers, name))
        for name in ('XILINX', 'xilinx', 'nobody'):
            error = self.assertRaises(exception.DriverCannotProgram,
                                      programming.driver_for, drivers, name)
            self.assertIn('intel_fpga_driver, inspur_fpga_driver',
                          error.message)
