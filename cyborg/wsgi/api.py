# SPDX-License-Identifier: Apache-2.0
"""The API as ``cyborg.wsgi.api:application``, for any WSGI server.

The configuration comes from the usual places (``/etc/cyborg/cyborg.conf`` and
others), from options that the server hands on (uWSGI's ``pyargv``, as with
2026.2), or from the environment:

``OS_CYBORG_CONFIG_FILES``
    paths of configuration files with ``;`` between, instead of those
``OS_CYBORG_CONFIG_DIR``
    directory that relative ones of these paths are in; without
    ``OS_CYBORG_CONFIG_FILES`` its ``cyborg.conf``
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import os
import sys

from oslo_config import cfg

from cyborg.api import app
from cyborg.common import config
from cyborg.common import exception

NAME = 'cyborg-api'
# gunicorn ends at this status of a worker, and starts it anew at any other.
_NO_USE_TO_TRY_AGAIN = 3


def config_files(environ: Mapping[str, str]) -> list[str] | None:
    """Configuration files that the environment names; None without any."""
    folder = environ.get('OS_CYBORG_CONFIG_DIR', '').strip()
    names = [name.strip() for name in
             environ.get('OS_CYBORG_CONFIG_FILES', '').split(';')
             if name.strip()]
    if not names:
        if not folder:
            return None
        names = ['cyborg.conf']
    return [os.path.join(folder, name) for name in names]


def arguments(argv: Sequence[str]) -> list[str]:
    """The options for this service among a process's arguments.

    A WSGI server's own options stand in the same list unless it replaced
    them, so they count only when they name a configuration.
    """
    ours = ('--config-file', '--config-dir')
    if any(word.split('=')[0] in ours for word in argv[1:]):
        return [NAME, *argv[1:]]
    return [NAME]


def make_application() -> Callable:
    """The application with its configured pipeline.

    :raises SystemExit: it cannot start; one line on standard error, which
        servers add to their log, says why.
    """
    try:
        config.prepare(arguments(sys.argv), config_files(os.environ))
        loaded = app.load_app()
    except (cfg.Error, exception.CyborgException) as error:
        sys.stderr.write('%s cannot start: %s\n' % (
            NAME, exception.plain_text(error)))
        sys.exit(_NO_USE_TO_TRY_AGAIN)
    app.serve_from_here()
    return loaded


application = make_application()
