# SPDX-License-Identifier: Apache-2.0
"""Queries on ``controlpath_ids``."""

import sqlalchemy as sa

from cyborg.common import context as cyborg_context
from cyborg.db import api
from cyborg.db import query
from cyborg.db.sqlalchemy import models


def get_by_device_id(context: cyborg_context.RequestContext,
                     device_id: int) -> models.ControlpathID:
    """The control path of a device.

    :raises exception.ResourceNotFound: the device has none.
    """
    with api.reader(context) as session:
        row = session.scalars(
            sa.select(models.ControlpathID)
            .where(models.ControlpathID.device_id == device_id)
            .order_by(models.ControlpathID.id).limit(1)).first()
        if row is None:
            raise query.not_found('ControlpathID', device_id=device_id)
        return row
