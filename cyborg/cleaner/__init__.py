# SPDX-License-Identifier: Apache-2.0
"""Cleans the NVMe disks that Nova hands out, between their users.

:mod:`~cyborg.cleaner.loop` reads Placement, the host and the journal, asks
:mod:`cyborg.cleaning.decide`, and does what it says. Whoever listens only
ever raises a reservation; only the host's cleaner, which holds the disk and
has verified it, lowers it.
"""
