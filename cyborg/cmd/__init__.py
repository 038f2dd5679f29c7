# SPDX-License-Identifier: Apache-2.0
"""The commands."""

import os
import sys
import warnings

# oslo.service still installs eventlet, and futurist imports it only to see
# whether it is there. Nothing here uses it, so its farewell would tell the
# operator of something that is neither used nor theirs to change.
warnings.filterwarnings('ignore', message=r'\s*Eventlet is deprecated')
# Its resolver alone, which nobody asks anything, takes as long to import as
# all the rest of the library.
os.environ.setdefault('EVENTLET_NO_GREENDNS', 'yes')

_hook_before = sys.excepthook


def _without_traceback(kind, error, trace) -> None:
    """Ctrl-C while a command loads or starts is no fault of it."""
    if not issubclass(kind, KeyboardInterrupt):
        _hook_before(kind, error, trace)
    elif sys.stderr is not None:
        sys.stderr.write('Interrupted.\n')


sys.excepthook = _without_traceback
