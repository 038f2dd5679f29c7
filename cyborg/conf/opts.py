# SPDX-License-Identifier: Apache-2.0
"""What ``oslo-config-generator --namespace cyborg`` prints."""

from cyborg import conf


def list_opts() -> list[tuple]:
    """(group, options) of every group that this service registers."""
    return [entry for module in conf.MODULES
            for entry in module.list_opts().items()]
