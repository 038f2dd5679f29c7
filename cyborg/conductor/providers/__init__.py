# SPDX-License-Identifier: Apache-2.0
"""The providers of a host in Placement, and how they are kept.

``wanted`` says what they should be, ``sync`` finds the host and what differs,
``run`` writes it one provider after another, ``outcomes`` is what became of
each, and ``strays`` removes those that no row stands for.
"""
