# SPDX-License-Identifier: Apache-2.0
"""A driver without hardware: one FPGA with sixteen regions, always there."""

import json
import re
from typing import Any

from cyborg.accelerator.drivers import driver
from cyborg.common import constants
from cyborg.conf import CONF
from cyborg.objects.driver_objects import driver_attach_handle
from cyborg.objects.driver_objects import driver_attribute
from cyborg.objects.driver_objects import driver_controlpath_id
from cyborg.objects.driver_objects import driver_deployable
from cyborg.objects.driver_objects import driver_device

_REGIONS = 16
# Texts and their order are what 2026.2 stored; a row keeps its text.
_CONTROL_PATH = '{"domain":"0000","bus":"0c","device":"00","function":"0"}'
_BOARD = '{"device_id": "0xabcd", "class": "Fake class"}'
_ATTRIBUTES = (('traits1', 'CUSTOM_FAKE_DEVICE'), ('rc', constants.FPGA))


class FakeDriver(driver.GenericDriver):
    """For tests and for trying the service out."""

    def discover(self) -> list:
        return [driver_device.DriverDevice(
            vendor='0xABCD', model='miss model info',
            type=constants.DEVICE_FPGA, std_board_info=_BOARD,
            vendor_board_info='fake_vendor_info', stub=False,
            controlpath_id=driver_controlpath_id.DriverControlPathID(
                cpid_type=constants.CPID_TYPE_PCI, cpid_info=_CONTROL_PATH),
            deployable_list=[driver_deployable.DriverDeployable(
                name=_provider_name('%s_FakeDevice' % CONF.host),
                num_accelerators=_REGIONS, driver_name='fake',
                attribute_list=[
                    driver_attribute.DriverAttribute(key=key, value=value)
                    for key, value in _ATTRIBUTES],
                attach_handle_list=[_region(n)
                                    for n in range(1, _REGIONS + 1)])])]

    def update(self, control_path: Any, image_path: Any) -> bool:
        return True


def _region(number: int):
    info = {'domain': '0000', 'bus': '0c', 'device': str(number // 8),
            'function': str(number % 8)}
    return driver_attach_handle.DriverAttachHandle(
        attach_type=constants.AH_TYPE_TEST_PCI, attach_info=json.dumps(info),
        in_use=False)


def _provider_name(name: str) -> str:
    return re.sub('[^A-Za-z0-9_-]', '_', name)
