# SPDX-License-Identifier: Apache-2.0
"""What is told of an answer of Placement."""

import json

import requests

from cyborg.common import exception
from cyborg.placement import client
from cyborg.tests import base


class DetailTestCase(base.TestCase):

    def test_a_sentence_within_ours(self):
        answer = requests.Response()
        answer.status_code = 403
        answer._content = json.dumps({'errors': [
            {'detail': 'Access was denied.\n\nNot to you.'}]}).encode()
        error = exception.PlacementUnauthorized(
            status=403, reason=client._detail(answer))
        self.assertIn('Access was denied. Not to you. The user needs',
                      error.message)
