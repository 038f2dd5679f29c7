# SPDX-License-Identifier: Apache-2.0
"""NVMe disks: what they are, who uses them, and how they are erased.

A floor of its own beside ``cyborg.pci``: it knows the NVM Express Base
Specification and Linux, and nothing of OpenStack or of this service's
options. From the bottom up:

* :mod:`~cyborg.nvme.port`: the contract of one disk of a host, with commands
  as the bytes that the kernel takes; :mod:`~cyborg.nvme.linux` keeps it with
  ioctls, :mod:`~cyborg.nvme.simulate` with disks that do not exist.
* :mod:`~cyborg.nvme.controller`: the same disk in typed methods.
* :mod:`~cyborg.nvme.facts`: who uses a disk, from /sys, /proc and /dev.
* :mod:`~cyborg.nvme.methods`, :mod:`~cyborg.nvme.canaries` and
  :mod:`~cyborg.nvme.baseline`: how to erase, whether it was erased, and
  whether the disk is as it was before a guest had it.
"""
