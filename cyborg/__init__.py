# SPDX-License-Identifier: Apache-2.0
"""OpenStack Cyborg: lifecycle management of hardware accelerators."""

from oslo_service import backend as _backend

# oslo.messaging asks oslo.service for a backend as soon as it is imported,
# and would be given eventlet. A hook, unlike init_backend(), does not fail
# where a test runner of another project has chosen already.
_backend.register_backend_default_hook(
    lambda: _backend.BackendType.THREADING)
