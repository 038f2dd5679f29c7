# SPDX-License-Identifier: Apache-2.0
"""Tests. No test may fail because the machine is busy with something else:
what takes long is seen by the benchmarks, not here.
"""

import hypothesis

hypothesis.settings.register_profile(
    'any-machine', deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile('any-machine')
