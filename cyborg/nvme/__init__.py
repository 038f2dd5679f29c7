# SPDX-License-Identifier: Apache-2.0
"""NVMe disks: what they are, who uses them, and how they are erased.

A floor of its own beside ``cyborg.pci``: it knows the NVM Express Base
Specification and Linux, and nothing of OpenStack or of this service's
options. From the bottom up:

* :mod:`~cyborg.nvme.port`: the contracts of a disk and of the kernel below
  it; :mod:`~cyborg.nvme.linux` keeps the kernel's with system calls,
  :mod:`~cyborg.nvme.simulate` with disks that do not exist, and
  :mod:`~cyborg.nvme.local` the disk's over either.
* :mod:`~cyborg.nvme.controller`: the same disk in typed methods.
* :mod:`~cyborg.nvme.facts`: who uses a disk, from /sys, /proc and /dev.
* :mod:`~cyborg.nvme.methods`, :mod:`~cyborg.nvme.canaries` and
  :mod:`~cyborg.nvme.baseline`: how to erase, whether it was erased, and
  whether the disk is as it was before a guest had it.
"""
