# SPDX-License-Identifier: Apache-2.0
"""How much a random test does: little in the gate, much in a whole run."""

import os


def amount(variable: str, gate: int, whole: int) -> int:
    """How often something is done.

    :param variable: of the environment, whose number goes before both
    :param gate: number in the ordinary run
    :param whole: number where ``CYBORG_TEST_ALL=1`` asks for all, as
        ``tools/run-tests --all`` does
    """
    chosen = os.environ.get(variable)
    if chosen is not None:
        return int(chosen)
    return whole if os.environ.get('CYBORG_TEST_ALL') == '1' else gate
