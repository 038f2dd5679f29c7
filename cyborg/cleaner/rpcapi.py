# SPDX-License-Identifier: Apache-2.0
"""Hints: a listener tells a host's cleaner to look now."""

import oslo_messaging as messaging

from cyborg.common import context as cyborg_context
from cyborg.common import rpc

#: Not the name of the listeners' pool: oslo.messaging names the queue of a
#: pool after it, and RPC servers would take notifications out of it.
TOPIC = 'cyborg-cleaner-hints'
VERSION = '1.0'


class CleanerAPI:
    """Casts to the cleaner of one host; nobody waits for an answer.

    1.0: ``hint``.
    """

    def __init__(self):
        self._client = rpc.get_client(messaging.Target(topic=TOPIC,
                                                       version=VERSION))

    def hint(self, context: cyborg_context.RequestContext, host: str) -> None:
        self._client.prepare(server=host).cast(context, 'hint')
