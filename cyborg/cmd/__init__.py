# SPDX-License-Identifier: Apache-2.0
"""The commands."""

import os
import warnings

# oslo.service still installs eventlet, and futurist imports it only to see
# whether it is there. Nothing here uses it, so its farewell would tell the
# operator of something that is neither used nor theirs to change.
warnings.filterwarnings('ignore', message=r'\s*Eventlet is deprecated')
# Its resolver alone, which nobody asks anything, takes as long to import as
# all the rest of the library.
os.environ.setdefault('EVENTLET_NO_GREENDNS', 'yes')
