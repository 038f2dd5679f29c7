# SPDX-License-Identifier: Apache-2.0
"""Puts a controller's method on the network.

WSME decides what the arguments of a request are and refuses what does not
fit; bodies go through a JSON Schema; the method returns plain JSON values
that a view has built. Errors get their documented form here, so that the
headers of the microversion stay on them.
"""

from collections.abc import Callable
import dataclasses
import functools
import inspect
from typing import Any

import pecan
import wsme
import wsme.exc
from wsme.rest import args as wsme_args
from wsme.rest import xml as restxml
import wsme.types

from cyborg.api import bodies
from cyborg.api import faults
from cyborg.api import schemas
from cyborg.common.i18n import _

# What WSME's converters let escape when a value is malformed.
_MALFORMED = (ValueError, TypeError, AttributeError, KeyError)


@dataclasses.dataclass(frozen=True)
class Reply:
    """An answer with a status other than the usual one."""

    body: Any
    status: int


class Json(wsme.types.UserType):
    """Any JSON value; a schema looks at it afterwards."""

    basetype = str
    name = 'json'

    @staticmethod
    def validate(value: Any) -> Any:
        return value

    @staticmethod
    def frombasetype(value: Any) -> Any:
        return value


class Uuid(wsme.types.UserType):
    """A UUID in one of its usual forms; the method gets that of the rows."""

    basetype = str
    name = 'uuid'

    @staticmethod
    def validate(value: Any) -> Any:
        canonical = schemas.canonical_uuid(value)
        if canonical is None:
            raise ValueError(_('Expected a uuid but received %s.') % value)
        return canonical

    @staticmethod
    def frombasetype(value: Any) -> Any:
        return None if value is None else Uuid.validate(value)


class Name(wsme.types.UserType):
    """Any text; when it is a UUID, then as rows hold it."""

    basetype = str
    name = 'text'

    @staticmethod
    def validate(value: Any) -> Any:
        return schemas.usual_uuid(value)

    @staticmethod
    def frombasetype(value: Any) -> Any:
        return None if value is None else Name.validate(value)


class RowId(wsme.types.UserType):
    """A whole number that fits the integer columns."""

    basetype = int
    name = 'integer'

    @staticmethod
    def validate(value: Any) -> Any:
        if not -schemas.MAX_INTEGER - 1 <= value <= schemas.MAX_INTEGER:
            raise ValueError(_('%s is out of range.') % value)
        return value

    @staticmethod
    def frombasetype(value: Any) -> Any:
        return None if value is None else RowId.validate(int(value))


JSON = Json()
UUID = Uuid()
NAME = Name()
ROW_ID = RowId()


def _arguments(definition, args, kwargs) -> tuple[list, dict]:
    """Arguments of the method, from path, query and body.

    :raises wsme.exc.ClientSideError: they do not fit the method.
    """
    request = pecan.request
    body = bodies.kept(request)
    if body and request.content_type in restxml.accept_content_types:
        # WSME would read it as well.
        raise wsme.exc.ClientSideError(
            _('Unknown mimetype: %s') % request.content_type, 415)
    if 'json' in request.content_type:
        bodies.check_json(body, request.charset)
    try:
        args, kwargs = wsme_args.get_args(
            definition, args, kwargs, request.params, None, body,
            request.content_type)
    except wsme.exc.ClientSideError:
        raise
    except RecursionError:
        raise wsme.exc.ClientSideError(
            _('The body is nested too deeply.')) from None
    except _MALFORMED as error:
        raise wsme.exc.ClientSideError(
            _('The request cannot be read: %s') % error) from error
    schemas.check_text([*args, *kwargs.values()])
    return args, kwargs


def _everybody() -> None:
    """For the documents that tell which versions there are."""


def _answer_error(error: Exception):
    found = faults.fault(error, pecan.request.environ.get(
        'openstack.request_id'))
    faults.report(error, found)
    pecan.response.status = found.status
    return found.document()


def expose(*argument_types: Any, allow: Callable[[], None] = _everybody,
           body: Any = None, status: int = 200) -> Callable:
    """Decorate a controller's method.

    :param allow: raises what the caller is told who may not do this, before
        anything of the request is read; see :func:`services.policy`.
    :param argument_types: WSME types of the method's arguments.
    :param body: type of a last argument that comes from the body.
    :param status: HTTP status of success. 202 and 204 send no content.
    """
    options = {'body': body} if body is not None else {}
    signature = wsme.signature(None, *argument_types, **options)

    def decorate(method):
        signature(method)
        definition = wsme.api.FunctionDefinition.get(method)
        definition.resolve_types(wsme.types.registry)

        @functools.wraps(method)
        def exposed(self, *args, **kwargs):
            try:
                allow()
                args, kwargs = _arguments(definition, args, kwargs)
                result = method(self, *args, **kwargs)
            # Every error ends here: it becomes the answer, and the log has
            # it if the answer cannot tell it.
            except Exception as error:  # noqa: BLE001
                return _answer_error(error)
            pecan.response.status = status
            if isinstance(result, Reply):
                pecan.response.status, result = result.status, result.body
            if status in (202, 204):
                pecan.request.pecan['content_type'] = None
                pecan.response.content_type = None
                return ''
            return result

        pecan.expose('json', content_type='application/json')(exposed)
        pecan.util._cfg(exposed)['argspec'] = inspect.getfullargspec(method)
        return exposed

    return decorate
