# SPDX-License-Identifier: Apache-2.0
"""cyborg-api: serves the REST API, for small set-ups."""

import sys

from oslo_config import cfg

from cyborg.api import app
from cyborg.api import server
from cyborg.common import config
from cyborg.common import exception


def main(argv: list[str] | None = None) -> int:
    """Serve the API until a signal ends it.

    :returns: exit status: 0 after SIGTERM, 1 when it cannot start.
    """
    try:
        config.prepare(sys.argv if argv is None else argv)
        loaded = app.load_app()
        app.serve_from_here()
        return server.run(loaded)
    except (cfg.Error, exception.CyborgException) as error:
        print('%s cannot start: %s' % (
            server.NAME, exception.plain_text(error)), file=sys.stderr)
        return 1


if __name__ == '__main__':
    sys.exit(main())
