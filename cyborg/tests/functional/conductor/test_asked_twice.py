# SPDX-License-Identifier: Apache-2.0
"""The answer of a call was lost, and it comes again."""

from cyborg.common import exception
from cyborg.db import binding
from cyborg.tests.functional.conductor import base

NAME = 'compute-1_0000:01:00.0'
OTHER = 'compute-1_0000:02:00.0'
INSTANCE = '9d2b0a3e-1111-4222-8333-444455556666'


class AskedTwiceTest(base.ConductorTestCase):

    def setUp(self):
        super().setUp()
        self.report(base.device(1), base.device(2))
        self.arqs = [self.arq(), self.arq()]

    def bind_first(self, *arqs, **where):
        return self.bind(*arqs or self.arqs[:1], **{
            'name': NAME, 'instance': INSTANCE, **where})

    def handles(self):
        return [self.arq_row(arq).attach_handle_id for arq in self.arqs]

    def test_same_bind_is_answered_as_the_first_time(self):
        """The handle stays, and Nova is told again."""
        self.bind_first()
        held = self.handles()
        self.nova.events.clear()
        for _time in range(2):
            self.bind_first(host='COMPUTE-1')
        self.assertEqual(held, self.handles())
        self.assertEqual([
            {'name': 'accelerator-request-bound', 'server_uuid': INSTANCE,
             'tag': self.arqs[0], 'status': 'completed'}] * 2,
            self.nova.events)
        self.assertEqual([False, True], sorted(
            self.handle(name).in_use for name in (NAME, OTHER)))

    def test_same_bind_when_nova_could_not_be_told(self):
        """It was bound, and the caller got an error; now it is whole."""
        self.nova.fail('.*', status=500)
        self.assertRaises(exception.InvalidAPIResponse, self.bind_first)
        self.nova.heal()
        self.bind_first()
        self.assertEqual({self.arqs[0]: 'completed'}, self.nova.statuses())

    def test_anything_else_is_another_bind(self):
        self.bind_first()
        self.nova.events.clear()
        for other in ({'name': OTHER}, {'instance': self.arqs[0]},
                      {'host': 'compute-2'}):
            error = self.assertRaises(exception.ARQBadState,
                                      self.bind_first, **other)
            self.assertEqual(409, error.code)
        self.assertEqual([], self.nova.events)

    def test_one_is_done_and_the_other_cannot_be(self):
        """A set is bound as a whole, the second time, too."""
        self.bind_first()
        self.assertRaises(exception.ResourceNotFound, self.bind_first,
                          *self.arqs)
        self.assertEqual(['Bound', 'BindFailed'],
                         [self.arq_row(arq).state for arq in self.arqs])

    def test_loser_of_the_last_handle(self):
        """There was one when it looked: no 404, somebody was faster."""
        request = binding.Request(self.arqs[0], base.HOST,
                                  self.provider(NAME), INSTANCE)
        taken = self.handle(NAME)

        def look(*args):
            found = original(*args)
            session = args[0]
            binding.execute(session, binding.sa.update(
                binding.models.AttachHandle).where(
                    binding.models.AttachHandle.id == taken.id)
                .values(in_use=True))
            return found

        original = binding._candidates
        self.addCleanup(setattr, binding, '_candidates', original)
        binding._candidates = look
        error = self.assertRaises(exception.AttachHandleTaken, binding.claim,
                                  self.context, [request])
        self.assertEqual(409, error.code)
        self.assertEqual(
            'Accelerator request %s was not bound: other requests took the '
            'last attach handles of resource provider %s on host compute-1 '
            'at the same moment. Choose another device.' % (
                self.arqs[0], self.provider(NAME)), error.message)

    def test_loser_of_one_request(self):
        """The last handle went to the same request: 409, and no 404."""
        self.bind_first()
        request = binding.Request(self.arqs[0], base.HOST,
                                  self.provider(NAME), INSTANCE)
        error = self.assertRaises(exception.ARQBadState, binding.claim,
                                  self.context, [request])
        self.assertIn('Bound', error.message)
