# SPDX-License-Identifier: Apache-2.0
"""Takes Nova's external events and writes them down, one JSON a line."""

import json
import os


def application(environ, start_response):
    length = int(environ.get('CONTENT_LENGTH') or 0)
    body = json.loads(environ['wsgi.input'].read(length) or '{}')
    events = body.get('events', [])
    with open(os.environ['NOVA_EVENTS'], 'a') as target:
        for event in events:
            target.write(json.dumps(event) + '\n')
    answer = json.dumps({'events': [dict(event, code=200)
                                    for event in events]}).encode()
    if environ['REQUEST_METHOD'] == 'GET':
        answer = json.dumps({'version': {
            'id': 'v2.1', 'status': 'CURRENT', 'version': '2.100',
            'min_version': '2.1', 'links': [{
                'rel': 'self', 'href': 'http://%s/v2.1/'
                % environ['HTTP_HOST']}]}}).encode()
    start_response('200 OK', [('Content-Type', 'application/json'),
                              ('Content-Length', str(len(answer)))])
    return [answer]
