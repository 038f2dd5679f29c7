# SPDX-License-Identifier: Apache-2.0
"""NVMe disks that do not exist, in a directory that outlives the process.

They stand below everything that is ours: what reaches them are the bytes of
commands and the calls of a kernel. :class:`~cyborg.nvme.simulate.world.World`
builds a host with disks and plays the others on it (guests, operators, dying
power); its ``kernel()`` is what one process has of that host.
"""
