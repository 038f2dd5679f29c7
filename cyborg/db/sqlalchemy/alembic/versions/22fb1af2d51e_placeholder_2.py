# SPDX-License-Identifier: Apache-2.0
"""Placeholder without a change, for a release that needed none."""

revision = '22fb1af2d51e'
down_revision = '57539722e5cf'


def upgrade():
    pass
