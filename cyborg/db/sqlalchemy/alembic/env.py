# SPDX-License-Identifier: Apache-2.0
"""Run by alembic; ``cyborg.db.sqlalchemy.migration`` hands the connection."""

from alembic import context

from cyborg.db.sqlalchemy import history
from cyborg.db.sqlalchemy import models

context.configure(
    connection=context.config.attributes['connection'],
    target_metadata=models.Base.metadata,
    include_object=history.is_compared)
with context.begin_transaction():
    context.run_migrations()
