# SPDX-License-Identifier: Apache-2.0
"""Placeholder without a change, for a release that needed none."""

revision = '57539722e5cf'
down_revision = 'c1b5abada09c'


def upgrade():
    pass
