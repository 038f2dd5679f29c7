# SPDX-License-Identifier: Apache-2.0
"""Deployables as the API shows them."""

from collections.abc import Iterable
import json
from typing import Any

from cyborg.api import views


def single(deployable: Any, attributes: Iterable, base: str) -> dict:
    """:param attributes: those of the deployable, in the order to show."""
    pairs = [{attribute.key: attribute.value} for attribute in attributes]
    return {
        'uuid': deployable.uuid,
        'parent_id': deployable.parent_id,
        'root_id': deployable.root_id,
        'name': deployable.name,
        'num_accelerators': deployable.num_accelerators,
        'device_id': deployable.device_id,
        'attributes_list': json.dumps(pairs),
        'rp_uuid': deployable.rp_uuid,
        'driver_name': deployable.driver_name,
        'bitstream_id': deployable.bitstream_id,
        'links': [
            views.self_link(base, 'deployables', deployable.uuid),
            {'href': views.link(base, 'deployables', deployable.uuid),
             'rel': 'bookmark'},
        ],
        'created_at': views.timestamp(deployable.created_at),
        'updated_at': views.timestamp(deployable.updated_at),
    }


def listing(deployables: Iterable, attributes: Iterable, base: str) -> dict:
    """:param attributes: those of all the deployables, in any mixture."""
    by_deployable: dict[int, list] = {}
    for attribute in attributes:
        by_deployable.setdefault(attribute.deployable_id, []).append(attribute)
    return {'deployables': [
        single(deployable, by_deployable.get(deployable.id, ()), base)
        for deployable in deployables]}
