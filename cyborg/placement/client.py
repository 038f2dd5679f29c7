# SPDX-License-Identifier: Apache-2.0
"""Placement, one function per call.

Every answer is typed and every refusal has its exception class: generation
conflicts, inventory or provider in use and name conflicts are expected
outcomes that callers decide about. Nothing here deletes a trait or resource
class, since others may use it (B35).
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any
from typing import TypeVar
from urllib import parse

from keystoneauth1 import exceptions as ks_exc
import requests
import tenacity

from cyborg.common import constants
from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.common import sdk
from cyborg.common.i18n import _
from cyborg.conf import CONF
from cyborg.placement import tree_print

SERVICE_TYPE = 'placement'

#: Microversions name what a call relies on. All but the last are at most
#: 1.26 (2018), and what needs that one is done without it if need be.
_NESTED = '1.14'
_PROVIDER_IN_ANSWER = '1.20'
_ERROR_CODES = '1.23'
_RESERVED_UP_TO_TOTAL = '1.26'
#: Candidates of one tree, and in their answer all of its providers.
_IN_TREE = '1.31'

_CONCURRENT = 'placement.concurrent_update'
_INVENTORY_IN_USE = 'placement.inventory.inuse'

#: Trait names per query, to keep the URL within usual limits.
_NAMES_PER_QUERY = 50

#: What any call may raise, and a change that others keep getting ahead of.
ERRORS = (exception.PlacementServerError, exception.PlacementUnauthorized,
          exception.PlacementRequestRefused,
          exception.ResourceProviderUpdateConflict)

_ATTEMPTS = 3

#: B38: another writer is normal; three refusals in a row are not.
retry_conflicts = tenacity.retry(
    retry=tenacity.retry_if_exception_type(
        exception.ResourceProviderUpdateConflict),
    stop=tenacity.stop_after_attempt(_ATTEMPTS),
    wait=tenacity.wait_random(0, 0.05), reraise=True)


_T = TypeVar('_T')

#: What each compute node has, and of which nearly always a unit is left.
_PROBE = 'MEMORY_MB:1'


@dataclasses.dataclass(frozen=True)
class Provider:
    """A resource provider; ``parent`` is None for a root."""

    uuid: str
    name: str
    generation: int
    parent: str | None
    root: str


@dataclasses.dataclass(frozen=True)
class Inventory:
    """Inventory of one resource class; a limit that is None is Placement's.

    :ivar reserved: units that no new allocation may take
    """

    total: int
    reserved: int = 0
    max_unit: int | None = None
    min_unit: int | None = None
    step_size: int | None = None
    allocation_ratio: float | None = None


@dataclasses.dataclass(frozen=True)
class Inventories:
    generation: int
    by_class: Mapping[str, Inventory]


@dataclasses.dataclass(frozen=True)
class Traits:
    generation: int
    names: frozenset[str]


@dataclasses.dataclass(frozen=True)
class Summary:
    """What Placement tells of a provider beside its candidates.

    :ivar capacity: units by class that are not reserved, times the
        allocation ratio
    :ivar used: units by class that are allocated
    """

    capacity: Mapping[str, int]
    used: Mapping[str, int]
    traits: frozenset[str]


def where() -> str:
    """Which options say where Placement is, with their values."""
    section = CONF.placement
    # auth_url is there once a plugin that has it was chosen.
    found = ['%s = %s' % (name, section[name]) for name in (
        'endpoint_override', 'auth_url')
        if name in section and section[name]]
    return _('Start it, or correct [placement] %(options)s of host '
             '%(host)s.') % {'options': ', '.join(found) or _('auth_url'),
                             'host': CONF.host}


class PlacementClient:
    """Calls to Placement with the options of ``[placement]``.

    ``context`` is the request context whose global request id Placement
    shall log, or None. Every method may raise, besides what it names:

    * PlacementServerError: status 500 or more, or (its subclass
      PlacementAPIConnectFailure) no answer at all;
    * PlacementUnauthorized: 401, 403, or no token to be had;
    * PlacementRequestRefused: any other unexpected status.
    """

    def __init__(self, adapter=None):
        self._given = adapter
        self._prints = tree_print.Prints()

    @property
    def _adapter(self):
        # Late, so that a service can start while Keystone is down and a test
        # can set options after it built the service.
        if self._given is None:
            try:
                self._given = sdk.adapter('placement', SERVICE_TYPE)
            except ks_exc.AuthPluginException as error:
                raise exception.PlacementUnauthorized(
                    status='-', reason=str(error)) from error
        return self._given

    # Providers

    def find_providers(self, context: cyborg_context.RequestContext,
                       name: str) -> list[Provider]:
        """Providers that Placement takes to have this name.

        Some databases compare without regard to case, so that a name may be
        another one than asked for.
        """
        answer = self._call(context, 'GET', _NESTED, '/resource_providers?' +
                            parse.urlencode({'name': name}))
        return parsed(answer, _providers)

    def get_provider(self, context: cyborg_context.RequestContext,
                     uuid: str) -> Provider | None:
        answer = self._call(context, 'GET', _NESTED,
                            '/resource_providers/%s' % uuid, ok=(404,))
        if answer.status_code == 404:
            return None
        return parsed(answer, _provider)

    def get_tree(self, context: cyborg_context.RequestContext,
                 uuid: str) -> list[Provider]:
        """All providers of the tree in which a provider is; [] if none."""
        return parsed(self._get_tree(context, uuid), _providers)

    def get_tree_print(self, context: cyborg_context.RequestContext,
                       uuid: str) -> str:
        """:func:`cyborg.placement.tree_print.of` what get_tree returns.

        A whole answer that is what it was costs little, however long it is.
        """
        answer = self._get_tree(context, uuid)
        return self._prints.of_answer(uuid, answer.content, lambda: parsed(
            answer, _providers))

    def _get_tree(self, context, uuid):
        return self._call(context, 'GET', _NESTED,
                          '/resource_providers?in_tree=%s' % uuid)

    def get_tree_summaries(self, context: cyborg_context.RequestContext,
                           root: str) -> dict[str, Summary]:
        """All providers of a tree, in one call.

        :returns: nothing when the compute node has no memory left at all:
            Placement tells only of trees that could take something.
        """
        answer = self._call(
            context, 'GET', _IN_TREE, '/allocation_candidates?' +
            parse.urlencode({'resources': _PROBE, 'in_tree': root,
                             'limit': 1}))
        return parsed(answer, lambda body: {
            uuid: _summary(record)
            for uuid, record in body['provider_summaries'].items()})

    def create_provider(self, context: cyborg_context.RequestContext,
                        uuid: str, name: str, parent: str) -> Provider:
        """:raises PlacementAPIConflict: the uuid or the name is taken"""
        body = {'uuid': uuid, 'name': name, 'parent_provider_uuid': parent}
        answer = self._call(context, 'POST', _PROVIDER_IN_ANSWER,
                            '/resource_providers', body, ok=(409,))
        if answer.status_code == 409:
            raise exception.PlacementAPIConflict(reason=_detail(answer))
        return parsed(answer, _provider)

    def delete_provider(self, context: cyborg_context.RequestContext,
                        uuid: str) -> bool:
        """:returns: False when there was none

        :raises ResourceProviderInUse: it has allocations or children
        """
        answer = self._call(context, 'DELETE', _ERROR_CODES,
                            '/resource_providers/%s' % uuid, ok=(404, 409))
        if answer.status_code == 409:
            raise exception.ResourceProviderInUse(uuid=uuid)
        return answer.status_code != 404

    # Inventories

    def get_inventories(self, context: cyborg_context.RequestContext,
                        uuid: str) -> Inventories:
        """:raises PlacementResourceProviderNotFound:"""
        answer = self._of_provider(context, 'GET', uuid, 'inventories',
                                   _RESERVED_UP_TO_TOTAL)
        return parsed(answer, _inventories)

    def put_inventories(self, context: cyborg_context.RequestContext,
                        uuid: str, generation: int,
                        inventories: Mapping[str, Inventory]) -> int:
        """Replace all inventories of a provider in one step.

        :returns: the provider's new generation
        :raises ResourceProviderUpdateConflict: the generation is outdated
        :raises InventoryInUse: a class that would go has allocations
        :raises PlacementResourceProviderNotFound:
        """
        body = {'resource_provider_generation': generation,
                'inventories': {name: _amounts(record)
                                for name, record in inventories.items()}}
        answer = self._of_provider(context, 'PUT', uuid, 'inventories',
                                   _RESERVED_UP_TO_TOTAL, body)
        if answer.status_code == 409:
            if _code(answer) == _INVENTORY_IN_USE:
                raise exception.InventoryInUse(
                    resource_classes=_detail(answer), resource_provider=uuid)
            raise conflict(uuid, generation, answer)
        return parsed(answer, _generation)

    def get_usages(self, context: cyborg_context.RequestContext,
                   uuid: str) -> dict[str, int]:
        """Resource class -> units that are allocated.

        :raises PlacementResourceProviderNotFound:
        """
        answer = self._of_provider(context, 'GET', uuid, 'usages', _NESTED)
        return parsed(answer, lambda body: dict(body['usages']))

    # Traits and resource classes

    def get_traits(self, context: cyborg_context.RequestContext,
                   uuid: str) -> Traits:
        """:raises PlacementResourceProviderNotFound:"""
        answer = self._of_provider(context, 'GET', uuid, 'traits', _NESTED)
        return parsed(answer, lambda body: Traits(
            _generation(body), frozenset(body['traits'])))

    def put_traits(self, context: cyborg_context.RequestContext, uuid: str,
                   generation: int, names: Iterable[str]) -> int:
        """Replace the traits of a provider.

        :returns: the provider's new generation
        :raises ResourceProviderUpdateConflict: the generation is outdated
        :raises PlacementResourceProviderNotFound:
        """
        body = {'resource_provider_generation': generation,
                'traits': sorted(names)}
        answer = self._of_provider(context, 'PUT', uuid, 'traits',
                                   _ERROR_CODES, body)
        if answer.status_code == 409:
            raise conflict(uuid, generation, answer)
        return parsed(answer, _generation)

    def existing_traits(self, context: cyborg_context.RequestContext | None,
                        names: Iterable[str]) -> set[str]:
        """Those of the names which Placement knows as traits."""
        wanted, found = sorted(names), set()
        for start in range(0, len(wanted), _NAMES_PER_QUERY):
            part = ','.join(wanted[start:start + _NAMES_PER_QUERY])
            answer = self._call(context, 'GET', _NESTED,
                                '/traits?name=in:%s' % part)
            found |= parsed(answer, lambda body: set(body['traits']))
        return found

    def ensure_trait(self, context: cyborg_context.RequestContext,
                     name: str) -> None:
        """Create a custom trait unless it exists."""
        self._call(context, 'PUT', _ERROR_CODES, '/traits/%s' % name)

    def ensure_resource_class(self, context: cyborg_context.RequestContext,
                              name: str) -> None:
        """Create a custom resource class unless it exists."""
        self._call(context, 'PUT', _ERROR_CODES,
                   '/resource_classes/%s' % name)

    def has_resource_class(self, context: cyborg_context.RequestContext,
                           name: str) -> bool:
        answer = self._call(context, 'GET', _NESTED,
                            '/resource_classes/%s' % name, ok=(404,))
        return answer.status_code != 404

    def ping(self, context: cyborg_context.RequestContext | None = None
             ) -> None:
        """Raise unless Placement answers us and knows OWNER_CYBORG."""
        if not self.existing_traits(context, [constants.OWNER_CYBORG]):
            raise exception.PlacementRequestRefused(
                method='GET', url='/traits', status=200,
                reason='this Placement does not know the trait OWNER_CYBORG: '
                       'it is too old')

    # The wire

    def _of_provider(self, context, method, uuid, what, version, body=None):
        answer = self._call(
            context, method, version,
            '/resource_providers/%s/%s' % (uuid, what), body,
            ok=(404, 409) if method == 'PUT' else (404,))
        if answer.status_code == 404:
            raise exception.PlacementResourceProviderNotFound(
                'Resource provider %s is gone from Placement.' % uuid,
                resource_provider=uuid)
        return answer

    def _call(self, context, method, version, url, body=None, ok=()):
        """Send one request; return an answer below 300 or one in ``ok``."""
        extra = {} if body is None else {'json': body}
        try:
            answer = self._adapter.request(
                url, method, microversion=version,
                global_request_id=context.global_id if context else None,
                **extra)
        except (ks_exc.AuthorizationFailure, ks_exc.AuthPluginException,
                ks_exc.Unauthorized, ks_exc.Forbidden) as error:
            raise exception.PlacementUnauthorized(
                status=getattr(error, 'http_status', '-'),
                reason=str(error)) from error
        except ks_exc.ClientException as error:
            raise exception.PlacementAPIConnectFailure(
                reason='%s %s: %s. %s' % (
                    method, url, ' '.join(str(error).rstrip('.').split()),
                    where())) from error
        status = answer.status_code
        if status >= 500:
            raise exception.PlacementServerError(
                status=status, error='%s %s: %s' % (
                    method, url, _detail(answer)))
        if status in (401, 403):
            raise exception.PlacementUnauthorized(
                status=status, reason=_detail(answer))
        if status >= 300 and status not in ok:
            raise exception.PlacementRequestRefused(
                method=method, url=url, status=status, reason=_detail(answer))
        return answer


def parsed(answer: requests.Response, parse_body: Callable[[Any], _T]) -> _T:
    """What ``parse_body`` makes of the JSON body.

    :raises PlacementServerError: something else than Placement answered,
        such as a proxy's page, or a proxy dropped the microversion
    """
    try:
        return parse_body(answer.json())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise exception.PlacementServerError(
            status=answer.status_code,
            error='%s is not an answer of Placement (%s: %s)' % (
                answer.url, type(error).__name__, error)) from error


def _provider(record) -> Provider:
    return Provider(record['uuid'], record['name'], record['generation'],
                    record['parent_provider_uuid'],
                    record['root_provider_uuid'])


def _providers(body) -> list[Provider]:
    return [_provider(r) for r in body['resource_providers']]


def _summary(record) -> Summary:
    resources = record['resources']
    return Summary(
        {name: each['capacity'] for name, each in resources.items()},
        {name: each['used'] for name, each in resources.items()},
        frozenset(record['traits']))


def _generation(body) -> int:
    return body['resource_provider_generation']


def _inventories(body) -> Inventories:
    names = [field.name for field in dataclasses.fields(Inventory)]
    return Inventories(_generation(body), {
        name: Inventory(**{key: record[key] for key in names})
        for name, record in body['inventories'].items()})


def _amounts(record: Inventory) -> dict:
    return {key: value for key, value in dataclasses.asdict(record).items()
            if value is not None}


def _error(answer) -> dict:
    try:
        return answer.json()['errors'][0]
    except (ValueError, KeyError, IndexError, TypeError):
        return {}


def _code(answer) -> str:
    return _error(answer).get('code', '')


def _detail(answer) -> str:
    text = _error(answer).get('detail') or answer.text or ''
    # Its sentences end with a dot, and so do ours.
    return ' '.join(text.split()).rstrip('.')


def conflict(
        uuid: str, generation: int,
        answer: requests.Response) -> exception.ResourceProviderUpdateConflict:
    return exception.ResourceProviderUpdateConflict(
        uuid=uuid, generation=generation, error=_detail(answer))
