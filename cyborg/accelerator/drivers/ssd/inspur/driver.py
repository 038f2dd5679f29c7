# SPDX-License-Identifier: Apache-2.0
"""NVMe controllers of Inspur."""

from cyborg.accelerator.drivers.ssd import base


class InspurNVMeSSDDriver(base.SSDDriver):
    VENDOR = '1bd4'
    NAME = 'inspur_nvme_ssd_driver'
