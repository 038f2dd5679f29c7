# SPDX-License-Identifier: Apache-2.0
"""The life of a conductor: wait for what it needs, then serve."""

import logging
import threading

from oslo_db import exception as db_exc
import sqlalchemy as sa

from cyborg import objects
from cyborg.common import constants
from cyborg.common import context
from cyborg.common import database_url
from cyborg.common import exception
from cyborg.common import option_values
from cyborg.common import sdk
from cyborg.common import service
from cyborg.conductor import manager
from cyborg.conf import CONF
from cyborg.db import api
from cyborg.db import devices
from cyborg.db import server
from cyborg.objects import base as objects_base
from cyborg.placement import client as placement_client

LOG = logging.getLogger(__name__)

NAME = 'cyborg-conductor'


class SchemaMissing(exception.CyborgException):
    _msg_fmt = ('[database] connection = %(url)s of host %(host)s has no '
                'tables of this service: run cyborg-dbsync upgrade.')


class DatabaseUnusable(exception.ConfigInvalid):
    """No waiting helps: the URL is wrong, or its driver is not installed."""

    _msg_fmt = ('[database] connection of host %(host)s cannot be used: '
                '%(reason)s. Write DIALECT+DRIVER://USER:PASSWORD@HOST/NAME, '
                'for example mysql+pymysql://, and install the driver.')


class ConductorService(service.RPCService):
    """A conductor: its RPC server, and what it waits for before.

    :param stopping: set once the service was told to end.
    :param expects_nova: False where no Nova waits for events, so that a
        ``[nova]`` without credentials is nothing to warn of.
    :raises exception.OptionInvalid: an option has a value of a wrong type.
    """

    def __init__(self, stopping: threading.Event | None = None, *,
                 expects_nova: bool = True):
        option_values.check(CONF, 'database', 'glance', 'nova', 'placement',
                            'service_user', 'upgrade_levels')
        database_url.check(CONF)
        self._expects_nova = expects_nova
        objects.register_all()
        self._placement = placement_client.PlacementClient()
        # Agents wait as long as this service does, if nobody set another
        # limit on their hosts.
        self.manager = manager.ConductorManager(
            placement=self._placement,
            patience=CONF.rpc_response_timeout / 2)
        super().__init__(
            NAME, constants.CONDUCTOR_TOPIC, self.manager,
            serializer=objects_base.CyborgObjectSerializer(),
            version=self.manager.target.version,
            prepare=self._wait_for_others, stopping=stopping)

    def _wait_for_others(self) -> None:
        if self._expects_nova and not sdk.has_credentials('nova'):
            LOG.warning('[nova] has no credentials: nobody is told how a '
                        'bind ended. Set them where Nova uses this service.')
        service.wait_for('the database', self._look_at_database,
                         (server.DatabaseAway, SchemaMissing), self.stopping)
        service.wait_for(
            'Placement', lambda: self._placement.ping(None),
            exception.CyborgException, self.stopping)
        self._fill_in_states()

    @staticmethod
    def _look_at_database() -> None:
        asker = context.get_admin_context()
        try:
            server.check()
            with api.reader(asker) as session:
                tables = sa.inspect(session.connection()).get_table_names()
        except (sa.exc.ArgumentError, ImportError) as error:
            raise DatabaseUnusable(
                host=CONF.host,
                reason=database_url.without_password(
                    exception.plain_text(error),
                    CONF.database.connection)) from error
        except (db_exc.DBError, sa.exc.SQLAlchemyError) as error:
            raise server.away(error) from error
        if 'devices' not in tables:
            raise SchemaMissing(
                url=database_url.shown(CONF.database.connection),
                host=CONF.host)

    @staticmethod
    def _fill_in_states() -> None:
        """Give a state to rows from before the column ``device_state``."""
        _found, changed = devices.fill_in_state(context.get_admin_context())
        if changed:
            LOG.info('%d devices of an earlier release got their '
                     'device_state.', changed)

    def stop(self, graceful: bool = True) -> None:
        super().stop(graceful)
        self.manager._stop()
