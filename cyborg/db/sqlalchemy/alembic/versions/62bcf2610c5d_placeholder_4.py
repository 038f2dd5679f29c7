# SPDX-License-Identifier: Apache-2.0
"""Placeholder without a change, for a release that needed none."""

revision = '62bcf2610c5d'
down_revision = '7b696fd94949'


def upgrade():
    pass
