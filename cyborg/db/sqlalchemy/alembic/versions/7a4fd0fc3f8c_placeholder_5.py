# SPDX-License-Identifier: Apache-2.0
"""Placeholder without a change, for a release that needed none."""

revision = '7a4fd0fc3f8c'
down_revision = '62bcf2610c5d'


def upgrade():
    pass
