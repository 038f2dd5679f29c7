# SPDX-License-Identifier: Apache-2.0
"""The URL of the database in logs and messages, which no password reaches."""

import re

from oslo_config import cfg
from oslo_db import options as db_options
import sqlalchemy as sa

from cyborg.common import exception

_DRIVER = re.compile(r'[\w+]+(?=:/)')
_HIDDEN = '***'


def check(conf: cfg.ConfigOpts) -> None:
    """Refuse a URL of which the library says more than may be shown.

    :raises exception.DatabaseUrlInvalid: no number stands for its port; what
        does may be the end of a password.
    """
    # The API asks before anything has imported what uses the database.
    conf.register_opts(db_options.database_opts, 'database')
    try:
        sa.make_url(conf.database.connection or '')
    except sa.exc.ArgumentError:
        return
    except ValueError:
        raise exception.DatabaseUrlInvalid(host=conf.host) from None


def shown(url: str | None) -> str:
    """A URL without what may be secret in it.

    :param url: value of ``[database] connection``.
    :returns: without password and query, which may hold one as well; the
        driver alone where it cannot be told where the password ends.
    """
    url = url or ''
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        return _driver(url)
    if parsed.password is not None and '@' in _behind_password(url):
        return _driver(url)
    return parsed.set(query={}).render_as_string(hide_password=True)


def without_password(text: str, url: str | None) -> str:
    """What a library says of a URL, such as the host that is not found.

    :param url: value of ``[database] connection``.
    :returns: the text without the URL, and without a host that is the end of
        a password.
    """
    if not url:
        return text
    text = text.replace(url, shown(url))
    try:
        host = sa.make_url(url).host or ''
    except (sa.exc.ArgumentError, ValueError):
        return text
    return text.replace(host, _HIDDEN) if '@' in host else text


def _behind_password(url: str) -> str:
    """SQLAlchemy ends a password at its first ``@``."""
    given = url.partition('://')[2].partition(':')[2]
    return given.partition('@')[2]


def _driver(url: str) -> str:
    found = _DRIVER.match(url)
    return '%s://%s' % (found[0], _HIDDEN) if found else _HIDDEN
