# SPDX-License-Identifier: Apache-2.0
"""Placeholder without a change, for a release that needed none."""

revision = '7b696fd94949'
down_revision = '22fb1af2d51e'


def upgrade():
    pass
