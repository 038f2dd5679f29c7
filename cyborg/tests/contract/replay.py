# SPDX-License-Identifier: Apache-2.0
"""Replay recorded HTTP against an accelerator API and report what differs.

The records and the starting state they need are described in README.md. The
state (``api/_setup.json``) is prepared by the caller, who also provides the
Nova and agent stand-ins that ``environment`` names.

As a library::

    replayer = Replayer(records, send)      # send(method, path, headers, body)
    replayer.bind_inventory()               # -> (status, headers, text)
    for outcome in replayer.run(): ...

From a shell, against a running service::

    replay.py --url http://127.0.0.1:6666 --stream m [--records DIR ...]

One line a mismatch, then ``N passed, N failed, N skipped``; exit 1 when any
failed. Successful bodies are compared as JSON. Of an error, status, headers
and shape count (``error_message``, fault code), not its wording, unless
``--strict``. ``internal_error`` records only have to answer with any error;
``upstream_bug`` records are not compared. The records were made by a service
whose newest microversion was 2.3: where ours (``--maximum``) is newer, the
version headers and documents are expected to say so, and requests for 2.4 or
``latest`` are not compared.
"""

import argparse
import dataclasses
import glob
import http.client
import json
import pathlib
import re
import sys
import urllib.parse

ADMIN = {'X-User-Id': 'u', 'X-Project-Id': 'p', 'X-Roles': 'admin'}
PLACEHOLDER = re.compile(r'\{\{([\w.:+-]+)\}\}')
UUID = '[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}'
RECORDED_MAXIMUM = '2.3'
MAXIMUM_KEYS = {'max_version', 'openstack-api-maximum-version'}
COLLECTIONS = (('devices', {'dev': 'uuid'}),
               ('deployables', {'dep': 'uuid', 'rp': 'rp_uuid'}),
               ('attributes', {'attr': 'uuid'}))


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What one record gave: ``ok`` None means skipped."""

    record_id: str
    ok: bool | None
    detail: str = ''


def load(stream, *folders):
    """Records of one stream from every folder, in replay order."""
    records = []
    for folder in folders:
        for name in glob.glob(str(pathlib.Path(folder) / '*.json')):
            data = json.loads(pathlib.Path(name).read_text())
            if data.get('stream') == stream:
                records += data['records']
    return sorted(records, key=lambda record: record['seq'])


def http_sender(url):
    """A ``send`` function over real HTTP, one connection a request."""
    parts = urllib.parse.urlsplit(url)

    def send(method, path, headers, body):
        connection = http.client.HTTPConnection(
            parts.hostname, parts.port, timeout=90)
        try:
            connection.request(method, path, body=body, headers=headers)
            answer = connection.getresponse()
            return (answer.status,
                    {k.lower(): v for k, v in answer.getheaders()},
                    answer.read().decode('utf-8', 'replace'))
        except http.client.RemoteDisconnected:
            return 500, {}, ''
        finally:
            connection.close()
    return send


class Replayer:
    def __init__(self, records, send, base_url='http://127.0.0.1:6666',
                 before=None, maximum='2.4', strict=False):
        """``before(record)`` is called first, to set up its environment."""
        self.records, self.send, self.before = records, send, before
        self.maximum, self.strict = maximum, strict
        self.names = {'base_url': base_url.rstrip('/')}

    def bind_inventory(self):
        """Bind dev1, dep1, rp1, attr1… in the order the API lists them."""
        for collection, prefixes in COLLECTIONS:
            status, _, text = self.send('GET', '/v2/' + collection, ADMIN,
                                        None)
            if status != 200:
                raise RuntimeError('GET /v2/%s: %s' % (collection, status))
            for number, item in enumerate(json.loads(text)[collection], 1):
                for prefix, key in prefixes.items():
                    self.names['%s%d' % (prefix, number)] = item[key]

    def run(self):
        for record in self.records:
            yield self._replay(record)

    def _replay(self, record):
        skip = bool(record.get('upstream_bug')) or self._newer(record)
        if skip and not record.get('mutates'):
            return Outcome(record['id'], None)
        if self.before:
            self.before(record)
        request = record['request']
        body = request.get('raw_body')
        if body is None and request.get('body') is not None:
            body = json.dumps(self._fill(request['body']))
        status, headers, text = self.send(
            request['method'], self._fill(request['path']),
            {k: self._fill(v) for k, v in request['headers'].items()},
            body.encode() if body is not None else None)
        try:
            actual = json.loads(text) if text else None
        except ValueError:
            actual = text
        for name, path in (record.get('bind') or {}).items():
            try:
                value = actual
                for step in path.split('.'):
                    value = value[int(step) if isinstance(value, list)
                                  else step]
                self.names[name] = value
            except (KeyError, IndexError, TypeError, ValueError):
                pass
        if skip:
            return Outcome(record['id'], None)
        fault = self._compare(record, status, headers, actual)
        return Outcome(record['id'], not fault, fault)

    def _newer(self, record):
        asked = record['request']['headers'].get('OpenStack-API-Version', '')
        return self.maximum != RECORDED_MAXIMUM and (
            'latest' in asked or any(
                '2.%d' % minor in asked.split() for minor in range(
                    int(RECORDED_MAXIMUM[2:]) + 1, int(self.maximum[2:]) + 1)))

    def _raise_maximum(self, value):
        if isinstance(value, dict):
            return {key: self.maximum if key in MAXIMUM_KEYS
                    and item == RECORDED_MAXIMUM else self._raise_maximum(item)
                    for key, item in value.items()}
        if isinstance(value, list):
            return [self._raise_maximum(item) for item in value]
        return value

    @staticmethod
    def _error_shape(body):
        """What of an error's body is contract: its keys and fault code."""
        if not isinstance(body, dict):
            return type(body).__name__
        try:
            return sorted(body), json.loads(body['error_message'])['faultcode']
        except (KeyError, TypeError, ValueError):
            return sorted(body), None

    def _compare(self, record, status, headers, actual):
        expected = self._raise_maximum(record['response'])
        if record.get('internal_error') or expected.get('no_http_response'):
            return '' if status >= 400 else 'status %s, wanted an error' % (
                status)
        if status != expected['status']:
            return 'status %s, wanted %s: %s' % (
                status, expected['status'], json.dumps(actual)[:200])
        for name, value in expected['headers'].items():
            if name != 'x-openstack-request-id' and not self._match(
                    value, headers.get(name)):
                return 'header %s is %r, wanted %r' % (
                    name, headers.get(name), value)
        if status >= 400 and not self.strict:
            wanted, got = (self._error_shape(body)
                           for body in (expected['body'], actual))
            return '' if wanted == got else 'error of shape %s, wanted %s' % (
                got, wanted)
        if not (record.get('unordered_list_in_text')
                or record.get('body_text_not_contractual')
                or self._match(expected['body'], actual)):
            return 'body %s, wanted %s' % (json.dumps(actual)[:300],
                                           json.dumps(expected['body'])[:300])
        return ''

    def _fill(self, value):
        if isinstance(value, str):
            return PLACEHOLDER.sub(
                lambda m: str(self.names.get(m.group(1), m.group(0))), value)
        if isinstance(value, dict):
            return {self._fill(k): self._fill(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self._fill(item) for item in value]
        return value

    def _match(self, expected, actual):
        if isinstance(expected, str) and isinstance(actual, str):
            return self._match_text(expected, actual)
        if type(expected) is not type(actual):
            return False
        if isinstance(expected, dict):
            return expected.keys() == actual.keys() and all(
                self._match(expected[key], actual[key]) for key in expected)
        if isinstance(expected, list):
            return len(expected) == len(actual) and all(
                self._match(*pair) for pair in zip(expected, actual))
        return expected == actual

    def _match_text(self, expected, actual):
        pattern, position, fresh = '', 0, []
        for found in PLACEHOLDER.finditer(expected):
            pattern += re.escape(expected[position:found.start()])
            position, name = found.end(), found.group(1)
            if name.startswith('datetime:'):
                pattern += r'\d{4}-\d\d-\d\d%s\d\d:\d\d:\d\d(?:\.\d+)?' % (
                    ' ' if 'space' in name else 'T')
                pattern += (r'\+00:00' if name.endswith('+00:00') else
                            'Z' if name.endswith('Z') else '')
            elif name == 'any_int':
                pattern += r'\d+'
            elif name == 'request_id':
                pattern += r'req-[0-9a-f-]{36}'
            elif name == 'database_error_text':
                pattern += '.*'
            elif name in self.names:
                pattern += re.escape(str(self.names[name]))
            elif name in fresh:
                pattern += '(?P=n%d)' % fresh.index(name)
            else:
                pattern += '(?P<n%d>%s)' % (len(fresh), UUID)
                fresh.append(name)
        pattern += re.escape(expected[position:])
        found = re.fullmatch(pattern, actual, re.S)
        if found:
            for number, name in enumerate(fresh):
                self.names[name] = found.group('n%d' % number)
        return bool(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--url', required=True)
    parser.add_argument('--stream', default='m', choices=list('monk'))
    parser.add_argument('--maximum', default='2.4')
    parser.add_argument('--strict', action='store_true')
    parser.add_argument('--records', nargs='+', default=[
        str(pathlib.Path(__file__).resolve().parent / 'api')])
    args = parser.parse_args()
    replayer = Replayer(load(args.stream, *args.records),
                        http_sender(args.url), args.url,
                        maximum=args.maximum, strict=args.strict)
    if args.stream != 'k':
        replayer.bind_inventory()
    counts = {True: 0, False: 0, None: 0}
    for outcome in replayer.run():
        counts[outcome.ok] += 1
        if outcome.ok is False:
            print('%s: %s' % (outcome.record_id, outcome.detail))
    print('%d passed, %d failed, %d skipped' % (
        counts[True], counts[False], counts[None]))
    return 1 if counts[False] else 0


if __name__ == '__main__':
    sys.exit(main())
