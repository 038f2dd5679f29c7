# SPDX-License-Identifier: Apache-2.0
"""What of a body is read, and by whom."""

import webob
import wsme.exc

from cyborg.api import bodies
from cyborg.tests import base


class TestBodies(base.TestCase):

    def refused(self, raw, charset='utf-8'):
        return self.assertRaises(wsme.exc.ClientSideError,
                                 bodies.check_json, raw, charset)

    def test_frameworks_do_not_see_it(self):
        request = webob.Request.blank('/', method='POST', body=b'[1]')
        bodies.hide(request)
        self.assertEqual((b'', b'[1]'), (request.body, bodies.kept(request)))

    def test_sizes(self):
        bodies.check_json(b'[' * 8000 + b',' * 70000, 'utf-8')
        for raw in (b'[' * 8001, b'{' * 4000 + b'[' * 4001, b',' * 70001):
            error = self.refused(raw)
            self.assertEqual(413, error.code)
            self.assertIn('8000 lists and objects, or more than 70000',
                          error.faultstring)

    def test_not_utf_8(self):
        bodies.check_json('"é"'.encode(), 'utf-8')
        for raw, charset in ((b'"\xff"', 'utf-8'),
                             ('[]'.encode('utf-16'), 'utf-8'),
                             ('"é"'.encode(), 'ascii'),
                             (b'[1]', 'utf-16-le')):
            error = self.refused(raw, charset)
            self.assertEqual(400, error.code)
            self.assertIn('not UTF-8', error.faultstring)
