# SPDX-License-Identifier: Apache-2.0
"""Attributes of deployables as the API shows them."""

from collections.abc import Iterable
from typing import Any

from cyborg.api import views


def single(attribute: Any, base: str) -> dict:
    return {
        'uuid': attribute.uuid,
        'deployable_id': attribute.deployable_id,
        'key': attribute.key,
        'value': attribute.value,
        'created_at': views.timestamp(attribute.created_at),
        'updated_at': views.timestamp(attribute.updated_at),
        'links': [views.self_link(base, 'attributes', attribute.uuid)],
    }


def listing(attributes: Iterable, base: str) -> dict:
    return {'attributes': [single(attribute, base)
                           for attribute in attributes]}
