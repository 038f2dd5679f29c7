# SPDX-License-Identifier: Apache-2.0
"""Looks at the message broker before anything depends on it.

The messaging library tries again for ever, whatever the reason, and says so
with tracebacks. Here a connection is made as it makes one, and what is wrong
is said in one line.
"""

import contextlib
import ssl
import uuid

import amqp
from amqp import exceptions as amqp_exc
from oslo_config import cfg
import oslo_messaging as messaging
from oslo_utils import strutils

from cyborg.common import exception
from cyborg.common.i18n import _
from cyborg.conf import CONF

_RABBIT = ('rabbit', 'kombu')
PORT = 5672
_GROUP = 'oslo_messaging_rabbit'
#: What names the broker, unless it is one for notifications alone.
OPTION = '[DEFAULT] transport_url'
NOTIFICATIONS = '[oslo_messaging_notifications] transport_url'
#: Seconds that each host of the broker has to answer.
PATIENCE = 5


class BrokerUnusable(exception.CyborgException):
    _msg_fmt = _('%(option)s = %(url)s of host %(host)s: %(reason)s')


def check(url: messaging.TransportURL, topic: str, conf: cfg.ConfigOpts = CONF,
          option: str = OPTION) -> None:
    """Return when one host of the URL can be worked with.

    Transports without a network (``fake:``) always can.

    :param topic: of the service; may it make queues called so?
    :param option: whose value the URL is.
    :raises BrokerUnusable: none can; says of each why, and what to do.
    """
    if url.transport.split('+')[0] not in _RABBIT or not url.hosts:
        return
    reasons = []
    for host in url.hosts:
        reason = _trouble(url, host, topic, conf)
        if reason is None:
            return
        reasons.append(reason)
    raise BrokerUnusable(option=option, url=shown(url), host=conf.host,
                         reason=' '.join(dict.fromkeys(reasons)))


def shown(url: messaging.TransportURL) -> str:
    """The URL without passwords."""
    hosts = ','.join('%s%s:%d' % (
        host.username + ':***@' if host.username else '', host.hostname,
        host.port or PORT) for host in url.hosts)
    return '%s://%s/%s' % (url.transport, hosts, url.virtual_host or '')


def _trouble(url, host, topic: str, conf) -> str | None:
    """Why this host is of no use, with the remedy; None if it is of use."""
    names = _names(url, host)
    where = names['where']
    try:
        tls = _tls(url, conf)
        connection = amqp.Connection(
            host=where, userid=host.username or 'guest',
            password=host.password or 'guest', ssl=tls,
            virtual_host=names['vhost'], connect_timeout=PATIENCE,
            read_timeout=PATIENCE, write_timeout=PATIENCE,
            login_method=conf[_GROUP].rabbit_login_method)
    except OSError as error:
        return _('A file of [%(group)s] cannot be read: %(error)s.') % {
            'group': _GROUP, 'error': error}
    try:
        connection.connect()
    except (amqp_exc.AMQPError, OSError) as error:
        return reason(error, url, host, conf)
    try:
        return _no_queue(connection, topic, names)
    finally:
        # What is to be known is known, however the broker parts.
        with contextlib.suppress(amqp_exc.AMQPError, OSError):
            connection.close()


def _names(url, host) -> dict[str, str]:
    return {'where': '%s:%d' % (host.hostname, host.port or PORT),
            'user': host.username, 'vhost': url.virtual_host or '/',
            'all': "'.*' '.*' '.*'"}


def reason(error: BaseException, url: messaging.TransportURL,
           host: messaging.TransportHost, conf: cfg.ConfigOpts = CONF
           ) -> str:
    """Why there is no connection to a host, and what to do.

    :param error: of the library that was to connect.
    :param host: of the URL's hosts.
    """
    names = _names(url, host)
    if isinstance(error, amqp_exc.AccessRefused):
        return _('%(where)s refuses the user %(user)s or its password. '
                 'Correct them in the URL, or set the password with '
                 '"rabbitmqctl change_password %(user)s".') % names
    if isinstance(error, (amqp_exc.NotAllowed, amqp_exc.NotFound)):
        return _('%(where)s has no virtual host %(vhost)s, or the user '
                 '%(user)s may not use it. Correct the end of the URL, or run '
                 '"rabbitmqctl add_vhost %(vhost)s" and "rabbitmqctl '
                 'set_permissions -p %(vhost)s %(user)s %(all)s".') % names
    if isinstance(error, ssl.SSLError):
        return _no_tls(names['where'], error, conf)
    if isinstance(error, OSError):
        return _no_connection(names['where'], error)
    return _('%(where)s: %(error)s. Look into the log of the broker.') % {
        'where': names['where'], 'error': exception.plain_text(error)}


def _no_queue(connection, topic: str, names: dict) -> str | None:
    name = '%s_check_%s' % (topic, uuid.uuid4().hex)
    try:
        connection.channel().queue_declare(name, exclusive=True)
    except amqp_exc.AccessRefused:
        return _('The user %(user)s may not make queues in virtual host '
                 '%(vhost)s of %(where)s. Run "rabbitmqctl set_permissions '
                 '-p %(vhost)s %(user)s %(all)s".') % names
    except OSError as error:
        return _no_connection(names['where'], error)
    except amqp_exc.AMQPError as error:
        return '%s: %s' % (names['where'], exception.plain_text(error))
    return None


def _no_tls(where: str, error: ssl.SSLError, conf) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return _('The certificate of %(where)s is not trusted: %(error)s. Let '
                 '[%(group)s] ssl_ca_file, now %(file)s, name the authority '
                 'that issued it.') % {
                     'where': where, 'error': error.verify_message,
                     'group': _GROUP, 'file': conf[_GROUP].ssl_ca_file}
    return _('%(where)s does not speak TLS with this service (%(error)s). '
             'Give the port for TLS, usually 5671, or set [%(group)s] ssl = '
             'false.') % {'where': where, 'group': _GROUP,
                          'error': error.reason or error}


def _no_connection(where: str, error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    if isinstance(error, TimeoutError):
        reason = _('no answer within %d s') % PATIENCE
    elif isinstance(error, ConnectionResetError) or not error.errno:
        # How a port for TLS reacts to what is none.
        reason = _('it closes the connection. If that port is for TLS, set '
                   '[%s] ssl = true') % _GROUP
    return _('%(where)s cannot be used: %(reason)s. Start the broker, or '
             'correct host and port in the URL.') % {
                 'where': where, 'reason': reason}


def _tls(url: messaging.TransportURL, conf) -> dict | bool:
    """Arguments for TLS as the messaging library gives them, or False."""
    group = conf[_GROUP]
    wanted = url.query.get('ssl')
    if not (group.ssl if wanted is None
            else strutils.bool_from_string(wanted)):
        return False
    files = {'keyfile': group.ssl_key_file, 'certfile': group.ssl_cert_file,
             'ca_certs': group.ssl_ca_file}
    options = {name: path for name, path in files.items() if path}
    for path in options.values():
        with open(path, 'rb'):
            pass
    if 'ca_certs' in options:
        options['cert_reqs'] = ssl.CERT_REQUIRED
    return options or True
