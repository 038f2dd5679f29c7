# SPDX-License-Identifier: Apache-2.0
"""oslo.middleware's CORS filter with the options of this process.

Its own factory reads the configuration files in the usual places again, so
that ``[cors]`` in a file given by ``--config-file`` would not count.
"""

from collections.abc import Callable
from typing import Any

from oslo_middleware import cors

from cyborg.conf import CONF


def factory(global_config: dict, **local_conf: Any) -> Callable:
    """For PasteDeploy."""
    return lambda app: cors.CORS(app, CONF)
