# SPDX-License-Identifier: Apache-2.0
"""What Nova asks of Neutron for servers without networks. neutron.py PORT

Nova asks for a server's ports and security groups whenever it shows or
deletes one. Every collection is empty here, except security groups, of which
tests make one for each server.
"""

import http.server
import json
import sys
import urllib.parse
import uuid


class Handler(http.server.BaseHTTPRequestHandler):

    groups: dict[str, dict] = {}

    def answer(self, status, document=None):
        body = b'' if document is None else json.dumps(document).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def words(self):
        path = urllib.parse.urlsplit(self.path).path
        return [word for word in path.split('/') if word not in ('', 'v2.0')]

    def missing(self):
        self.answer(404, {'NeutronError': {
            'type': 'NotFound', 'message': self.path, 'detail': ''}})

    def do_GET(self):
        words = self.words()
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        if not words:
            self.answer(200, {'versions': [
                {'id': 'v2.0', 'status': 'CURRENT', 'links': []}]})
        elif words[0] == 'security-groups' and len(words) == 2:
            if words[1] in self.groups:
                self.answer(200, {'security_group': self.groups[words[1]]})
            else:
                self.missing()
        elif words[0] == 'quotas':
            self.answer(200, {'quota': dict.fromkeys(
                ('network', 'subnet', 'port', 'router', 'floatingip',
                 'security_group', 'security_group_rule'), -1)})
        elif len(words) == 1:
            name = words[0].replace('-', '_')
            found = []
            if name == 'security_groups':
                found = [group for group in self.groups.values() if all(
                    group[key] in query[key] for key in ('id', 'name')
                    if key in query)]
            self.answer(200, {name: found})
        else:
            self.missing()

    def do_POST(self):
        length = int(self.headers.get('Content-Length') or 0)
        document = json.loads(self.rfile.read(length) or b'{}')
        words = self.words()
        if words == ['security-groups']:
            group = {'id': str(uuid.uuid4()), 'description': '',
                     'project_id': '', 'tenant_id': '', 'stateful': True,
                     'security_group_rules': [], **document['security_group']}
            self.groups[group['id']] = group
            self.answer(201, {'security_group': group})
        elif words == ['security-group-rules']:
            self.answer(201, {'security_group_rule': {
                'id': str(uuid.uuid4()), **document['security_group_rule']}})
        else:
            self.missing()

    def do_DELETE(self):
        words = self.words()
        if len(words) == 2 and self.groups.pop(words[1], None):
            self.answer(204)
        else:
            self.missing()

    def log_message(self, text, *arguments):
        pass


http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])),
                                Handler).serve_forever()
