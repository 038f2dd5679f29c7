# SPDX-License-Identifier: Apache-2.0
"""Places of files, by the configuration's own substitution or resolved."""

import os
import pathlib

from cyborg.conf import CONF

PACKAGE_DIRECTORY = pathlib.Path(__file__).resolve().parents[2]


def basedir_def(*parts: str) -> str:
    """A default below ``pybasedir``, left for oslo.config to fill in."""
    return os.path.join('$pybasedir', *parts)


def bindir_def(*parts: str) -> str:
    """A default below ``bindir``, left for oslo.config to fill in."""
    return os.path.join('$bindir', *parts)


def state_path_def(*parts: str) -> str:
    """A default below ``state_path``, left for oslo.config to fill in."""
    return os.path.join('$state_path', *parts)


def basedir_rel(*parts: str) -> str:
    return os.path.join(CONF.pybasedir, *parts)


def bindir_rel(*parts: str) -> str:
    return os.path.join(CONF.bindir, *parts)


def state_path_rel(*parts: str) -> str:
    return os.path.join(CONF.state_path, *parts)
