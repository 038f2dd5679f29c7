# SPDX-License-Identifier: Apache-2.0
"""What drivers fill in; drivers outside this tree import these modules."""
