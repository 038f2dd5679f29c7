# SPDX-License-Identifier: Apache-2.0
"""Names that out-of-tree drivers import; the service raises none of them."""

from cyborg.common import exception


class AcceleratorException(exception.CyborgException):
    pass


class Invalid(AcceleratorException):
    pass


class InvalidParameterValue(Invalid):
    pass


class MissingParameterValue(InvalidParameterValue):
    pass


class InvalidAccelerator(InvalidParameterValue):
    pass
