# SPDX-License-Identifier: Apache-2.0
"""The version documents, ``/`` and ``/v2``."""

from cyborg.api import microversions
from cyborg.api import views

_NAME = 'OpenStack Cyborg API'
# Contract text, mistakes and all: clients may show it.
_DESCRIPTION = ('Cyborg is the OpenStack project for lifecycle management of '
                'hardware accelerators, such as GPUs,FPGAs, AI chips, '
                'security accelerators, etc.')


def _range() -> dict[str, str]:
    return {'max_version': str(microversions.MAXIMUM),
            'min_version': str(microversions.MINIMUM)}


def root(base: str) -> dict:
    """Which versions of the API there are."""
    v2 = {'id': 'v2', 'status': 'CURRENT', **_range(),
          'links': [{'href': views.link(base, 'v2'), 'rel': 'self'}]}
    return {'name': _NAME, 'description': _DESCRIPTION, 'versions': [v2],
            'default_version': v2}


def v2(base: str) -> dict:
    """What version 2 offers."""
    return {'id': 'v2.0',
            'links': [{'href': views.link(base, 'v2', ''), 'rel': 'self'}],
            **_range(), 'status': 'CURRENT'}
