# SPDX-License-Identifier: Apache-2.0
"""The microversions of the API: the one list, and how a request picks one.

The header follows the API-WG guideline "Microversion Specification":
``OpenStack-API-Version: accelerator 2.4``. Every version is described for
users in ``rest_api_version_history.rst`` beside this file.
"""

import dataclasses
import re

from cyborg.common.i18n import _

SERVICE_TYPE = 'accelerator'
HEADER = 'OpenStack-API-Version'
MINIMUM_HEADER = 'OpenStack-API-Minimum-Version'
MAXIMUM_HEADER = 'OpenStack-API-Maximum-Version'
VARY_HEADER = 'Vary'

_NUMBER = re.compile(r'(\d+)\.(-?\d+)', re.ASCII)


@dataclasses.dataclass(frozen=True, order=True)
class Version:
    """A microversion; versions compare by number."""

    major: int
    minor: int

    def __str__(self):
        return '%d.%d' % (self.major, self.minor)


# 2.0   The first version of API v2: device profiles, accelerator requests,
#       devices, deployables, attributes.
# 2.1   PATCH of accelerator requests takes project_id.
# 2.2   A device profile can be shown by name; profiles have a description.
# 2.3   Devices have a status.
# 2.4   attach_handle_info has managed (PCI only), stateful and numa_node.
PROJECT_IN_PATCH = Version(2, 1)
PROFILE_BY_NAME = Version(2, 2)
DEVICE_STATUS = Version(2, 3)
HANDLE_SETTINGS = Version(2, 4)

MINIMUM = Version(2, 0)
MAXIMUM = HANDLE_SETTINGS


class VersionError(Exception):
    """The header asks for nothing that can be served: 406."""


class Unparsable(VersionError):
    """The value of the header follows no known form."""

    def __init__(self, value: str):
        super().__init__(
            _('The value %(value)r of the %(header)s header cannot be read. '
              'Write for example "%(service)s %(maximum)s".')
            % {'value': value, 'header': HEADER, 'service': SERVICE_TYPE,
               'maximum': MAXIMUM})


class Unsupported(VersionError):
    """The version asked for is none of ours."""

    def __init__(self, version: Version):
        super().__init__(
            _('Version %(version)s is not supported. This service supports '
              '%(minimum)s to %(maximum)s.')
            % {'version': version, 'minimum': MINIMUM, 'maximum': MAXIMUM})


def _number(text: str) -> Version | None:
    """The version that ``text`` names; None when it names none."""
    if text.lower() == 'latest':
        return MAXIMUM
    found = _NUMBER.fullmatch(text)
    # int() refuses digits by the thousand; so do we, as out of range.
    if found is None or len(text) > 100:
        return None
    return Version(int(found.group(1)), int(found.group(2)))


def requested(header: str | None) -> Version:
    """The version a request asks for, which need not exist.

    :param header: value of the header, None when absent. Requests to several
        services may share one value, with commas between (the last entry of
        a service wins); entries of other services do not concern us. A
        version alone, without a service, is taken as ours.
    :raises Unparsable: no entry is ours and some entry is nobody's.
    """
    if header is None:
        return MINIMUM
    alone = _number(header.strip())
    if alone is not None:
        return alone
    ours, others, junk = None, 0, 0
    for entry in header.split(','):
        words = entry.split()
        if len(words) == 2 and words[0].lower() == SERVICE_TYPE:
            ours = words[1]
        elif len(words) == 2 and _number(words[1]) is not None:
            others += 1
        elif words:
            junk += 1
    if ours is None and others and not junk:
        return MINIMUM
    version = None if ours is None else _number(ours)
    if version is None:
        raise Unparsable(header)
    return version


def negotiate(header: str | None) -> Version:
    """The version to serve a request with.

    :raises Unparsable: see :func:`requested`.
    :raises Unsupported: the version is outside what we serve.
    """
    version = requested(header)
    if not MINIMUM <= version <= MAXIMUM:
        raise Unsupported(version)
    return version


def is_bare(header: str | None) -> bool:
    """Whether a header names a version but no service (tolerated form)."""
    return header is not None and _number(header.strip()) is not None


def range_headers() -> dict[str, str]:
    """Headers of every answer that knows about microversions."""
    return {MINIMUM_HEADER: str(MINIMUM), MAXIMUM_HEADER: str(MAXIMUM),
            VARY_HEADER: HEADER}


def headers(version: Version) -> dict[str, str]:
    """Headers of an answer that was made with ``version``."""
    return {HEADER: '%s %s' % (SERVICE_TYPE, version), **range_headers()}
