# SPDX-License-Identifier: Apache-2.0
"""Whether the providers of a host are what they were, by one answer.

Pure: answers in, texts out. Placement gives a provider a new generation with
whatever it changes of it: inventory, traits, allocations. The root's own
generation is left out, for each guest of the host changes that, and nothing
of the root is ever written here.
"""

from collections.abc import Callable
from collections.abc import Iterable
import hashlib
import json
import threading

# Hosts whose last answer is remembered.
_KEPT = 10000


def of(providers: Iterable) -> str:
    """The print of ``client.Provider`` records, in whatever order."""
    lines = sorted(
        (each.uuid, each.name, each.parent or '',
         each.generation if each.parent else -1) for each in providers)
    return hashlib.sha256(json.dumps(lines).encode()).hexdigest()


class Prints:
    """Remembers of which answers it made prints; safe for threads."""

    def __init__(self):
        self._lock = threading.Lock()
        #: root -> (digest of the answer's bytes, print)
        self._known: dict[str, tuple[bytes, str]] = {}

    def of_answer(self, root: str, body: bytes,
                  parse: Callable[[], Iterable]) -> str:
        """The print of an answer; parsed unless it is as the last one."""
        digest = hashlib.sha256(body).digest()
        with self._lock:
            known = self._known.get(root)
        if known is None or known[0] != digest:
            known = digest, of(parse())
            with self._lock:
                if len(self._known) >= _KEPT:
                    self._known.clear()
                self._known[root] = known
        return known[1]
