# SPDX-License-Identifier: Apache-2.0
"""Only for drivers outside the tree: where the client was before."""

from cyborg.rpcapi.conductor import ConductorAPI
from cyborg.rpcapi.conductor import IndirectionAPI

__all__ = ('ConductorAPI', 'IndirectionAPI')
