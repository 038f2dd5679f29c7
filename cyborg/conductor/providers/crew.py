# SPDX-License-Identifier: Apache-2.0
"""Threads that help with what one report has to do for many providers."""

import collections
from collections.abc import Callable
from collections.abc import Iterable
from concurrent import futures
from typing import TypeVar

_T = TypeVar('_T')


class Crew:
    """One per conductor, so that all of its reports together stay in bounds.

    Whoever has work does it with those helpers that are idle; when others
    have all of them it does it alone, and is no slower than without any.

    :param size: most threads that work on one list, the caller's included.
    """

    def __init__(self, size: int):
        self._helpers = size - 1
        self._pool = futures.ThreadPoolExecutor(
            size - 1, thread_name_prefix='placement') if size > 1 else None

    @property
    def is_alone(self) -> bool:
        return self._pool is None

    def each(self, work: Callable[[_T], None], todo: Iterable[_T],
             begin: Callable[[], None] = lambda: None) -> None:
        """Call ``work`` with each item; when it returns, none goes on.

        :param begin: called first by each helper.
        :raises Exception: what ``work`` raised first; what was not begun by
            then is left undone.
        """
        left = collections.deque(todo)

        def work_on() -> None:
            try:
                while True:
                    try:
                        item = left.popleft()
                    except IndexError:
                        return
                    work(item)
            except BaseException:
                left.clear()
                raise

        def help_with() -> None:
            begin()
            work_on()

        helpers = [self._pool.submit(help_with) for _ in range(
            min(self._helpers, len(left) - 1))] if self._pool else []
        try:
            work_on()
        finally:
            # One that has not begun would find nothing left.
            futures.wait([each for each in helpers if not each.cancel()])
        for each in helpers:
            if not each.cancelled():
                each.result()

    def stop(self) -> None:
        """End the threads; nobody may have work any more."""
        if self._pool:
            self._pool.shutdown()
