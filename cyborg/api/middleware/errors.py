# SPDX-License-Identifier: Apache-2.0
"""Gives every error of the application its documented body.

Clients parse ``{"error_message": TEXT}``, where TEXT is a JSON document for
errors of a controller and plain text for errors of routing.
"""

import logging

import webob
import webob.exc

from cyborg.api import bodies
from cyborg.api import faults
from cyborg.api.middleware import readable

LOG = logging.getLogger(__name__)

_JSON = 'application/json'


class ErrorBody:
    """WSGI middleware around the application."""

    def __init__(self, app):
        self._app = app

    def __call__(self, environ, start_response):
        request = webob.Request(environ)
        try:
            answer = request.get_response(self._answering(request))
        # The last place where a fault of ours can become an answer.
        except Exception as error:  # noqa: BLE001
            answer = self._answer_to(error, environ)
        if answer.status_int >= 400:
            self._wrap(answer, request.method == 'HEAD')
        return answer(environ, start_response)

    def _answering(self, request: webob.Request):
        """What answers: a refusal, or the application."""
        refusal = readable.refusal(request)
        if refusal is None and not bodies.is_form(request):
            bodies.hide(request)
        return refusal or self._app

    @staticmethod
    def _answer_to(error: Exception, environ) -> webob.Response:
        found = faults.fault(error, environ.get('openstack.request_id'))
        faults.report(error, found)
        return webob.Response(status=found.status, json_body=found.document())

    @staticmethod
    def _wrap(answer: webob.Response, is_head: bool) -> None:
        text = answer.body.decode('utf-8', 'replace')
        answer.content_type = _JSON
        # With a charset, the header would differ from that of good answers.
        answer.charset = None
        answer.body = b'' if is_head else faults.envelope(text)
