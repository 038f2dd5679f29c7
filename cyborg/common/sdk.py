# SPDX-License-Identifier: Apache-2.0
"""openstacksdk adapters for the services that this one is a client of.

The library is imported where it is used: it takes a third of the start of a
command, and most commands never call another service.
"""

import typing

from keystoneauth1 import loading as ks_loading
from keystoneauth1 import service_token
from oslo_config import cfg

from cyborg.conf import CONF

if typing.TYPE_CHECKING:
    from openstack import proxy


def adapter(group: str, service_type: str, *, service_user: bool = False,
            conf: cfg.ConfigOpts = CONF) -> 'proxy.Proxy':
    """An adapter with the keystoneauth options of a configuration group.

    Nothing is sent: the endpoint and a token are looked up at the first
    request. Answers are never turned into exceptions; a request raises only
    ``keystoneauth1.exceptions.ClientException`` when it got no answer.

    :param group: ``placement``, ``nova``, ``glance``
    :param service_type: official service type of the group, for example
        ``compute``
    :param service_user: send the service token of ``[service_user]`` too,
        when send_service_user_token is set there
    :raises keystoneauth1.exceptions.AuthPluginException: the credentials in
        the configuration cannot be used
    """
    from openstack import connection
    from openstack.config import cloud_region
    auth = ks_loading.load_auth_from_conf_options(conf, group)
    if service_user and conf.service_user.send_service_user_token:
        auth = service_token.ServiceTokenAuthWrapper(
            user_auth=auth,
            service_auth=ks_loading.load_auth_from_conf_options(
                conf, 'service_user'))
    session = ks_loading.load_session_from_conf_options(
        conf, group, auth=auth)
    region = cloud_region.from_conf(
        conf, session=session, service_types=[service_type],
        app_name='cyborg')
    # A proxy needs a connection to exist; asking the connection itself for
    # the proxy would already talk to the service to find its versions.
    cloud = connection.Connection(config=region)
    client = region.get_session_client(service_type)
    client._connection = cloud
    return client


def has_credentials(group: str, conf: cfg.ConfigOpts = CONF) -> bool:
    """Whether the operator configured how to reach the service at all."""
    section = conf[group]
    return bool(section.auth_type or section.auth_section)
