# SPDX-License-Identifier: Apache-2.0
"""What is to become of an NVMe disk between two users: decisions only.

Pure, and free of Nova: a view of Placement, the host's facts, a journal entry
and the options go in, the next step comes out.
"""
