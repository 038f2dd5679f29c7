# SPDX-License-Identifier: Apache-2.0
"""Telling Nova how a bind ended, and asking whose an instance is."""

from collections.abc import Mapping

from keystoneauth1 import exceptions as ks_exc
from oslo_log import log as logging

from cyborg.common import constants
from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.common import sdk

LOG = logging.getLogger(__name__)

_SERVICE_TYPE = 'compute'
_URL = '/os-server-external-events'
# Nova knows the event accelerator-request-bound since this one.
_MICROVERSION = '2.82'

_TAKEN = 200
# The instance has no host yet: Nova asks for the ARQs itself later (B48).
_NO_HOST_YET = 422


class NovaClient:
    """The calls to Nova, with the options of ``[nova]``."""

    def __init__(self, adapter=None):
        self._given = adapter

    @property
    def _adapter(self):
        if self._given is None:
            self._given = sdk.adapter('nova', _SERVICE_TYPE,
                                      service_user=True)
        return self._given

    def notify_bind(self, context: cyborg_context.RequestContext,
                    instance_uuid: str, statuses: Mapping[str, str]) -> None:
        """Send one event for each ARQ of an instance, in one request.

        :param statuses: ARQ uuid -> ``completed`` or ``failed``
        :raises InvalidAPIResponse: Nova did not take every event, or did
            not answer. What was bound stays bound.
        """
        if not statuses:
            return
        for arq, status in statuses.items():
            if status not in constants.ARQ_BIND_STATUS:
                raise exception.InvalidParameterValue(
                    err='%s is no status of an event (of accelerator '
                        'request %s)' % (status, arq))
        body = {'events': [
            {'name': 'accelerator-request-bound',
             'server_uuid': instance_uuid, 'tag': arq, 'status': status}
            for arq, status in statuses.items()]}
        try:
            answer = self._adapter.post(
                _URL, json=body, microversion=_MICROVERSION,
                global_request_id=context.global_id if context else None)
        except ks_exc.ClientException as error:
            raise _failed(instance_uuid, 'no answer: %s' % error) from error
        self._check(instance_uuid, answer)

    def project_of(self, instance_uuid: str) -> str | None:
        """The project of an instance; None when Nova has no such instance.

        The credentials of ``[nova]`` have to see every project's instances.

        :raises InvalidAPIResponse: Nova did not answer, or not this.
        """
        url = '/servers/%s' % instance_uuid
        try:
            answer = self._adapter.get(url)
        except ks_exc.ClientException as error:
            raise _unusable('GET ' + url, 'no answer: %s' % error) from error
        if answer.status_code == 404:
            return None
        try:
            if answer.status_code == 200:
                return answer.json()['server']['tenant_id']
        except (ValueError, KeyError, TypeError):
            pass
        raise _unusable('GET ' + url, 'status %s, without the project'
                        % answer.status_code)

    def _check(self, instance_uuid, answer):
        status = answer.status_code
        if status == 200:
            LOG.debug('Nova took the events of instance %s', instance_uuid)
            return
        if status != 207:
            text = ' '.join((answer.text or '').split())[:200]
            raise _failed(instance_uuid, 'status %s: %s' % (status, text))
        codes = _codes(answer)
        if codes and codes <= {_TAKEN, _NO_HOST_YET}:
            LOG.debug('Instance %s has no host yet; Nova will ask for its '
                      'accelerator requests', instance_uuid)
            return
        raise _failed(instance_uuid, 'event codes %s' % (
            ', '.join(map(str, sorted(codes, key=str))) or 'missing'))


def _codes(answer) -> set:
    try:
        return {event.get('code') for event in answer.json()['events']}
    except (ValueError, KeyError, TypeError, AttributeError):
        return set()


def _failed(instance_uuid, text):
    return _unusable('POST %s for instance %s' % (_URL, instance_uuid), text)


def _unusable(api, text):
    return exception.InvalidAPIResponse(service='Nova', api=api, msg=text)
