# SPDX-License-Identifier: Apache-2.0
"""Objects with a database under them, and a conductor to ask."""

import oslo_messaging as messaging

from cyborg import objects
from cyborg.common import constants
from cyborg.common import exception
from cyborg.conductor import object_dispatch
from cyborg.objects import base as objects_base
from cyborg.rpcapi import conductor as conductor_rpcapi
from cyborg.tests import base
from cyborg.tests.fixtures import database
from cyborg.tests.fixtures import rpc as rpc_fixture

objects.register_all()


class ObjectTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.db = self.useFixture(database.SqliteDatabase())


class Conductor:
    """The calls of a conductor that objects need; counts them."""

    target = messaging.Target(version='1.1')

    def __init__(self):
        self.calls = []

    @messaging.expected_exceptions(exception.CyborgException)
    def object_class_action_versions(self, context, objname, objmethod,
                                     object_versions, args, kwargs):
        self.calls.append((objname, objmethod))
        return object_dispatch.class_action(
            context, objname, objmethod, object_versions, args, kwargs)

    @messaging.expected_exceptions(exception.CyborgException)
    def object_action(self, context, objinst, objmethod, args, kwargs):
        self.calls.append((objinst.obj_name(), objmethod))
        return object_dispatch.action(
            context, objinst, objmethod, args, kwargs)

    def object_backport_versions(self, context, objinst, object_versions):
        return object_dispatch.backport(objinst, object_versions)


class RemoteMixin:
    """Runs a test class once more, as an agent that asks a conductor.

    Objects travel through oslo.messaging, serialized.
    """

    def setUp(self):
        super().setUp()
        self.conductor = Conductor()
        self.useFixture(rpc_fixture.RPCFixture()).serve(
            constants.CONDUCTOR_TOPIC, self.conductor,
            serializer=objects_base.CyborgObjectSerializer())
        self.api = conductor_rpcapi.IndirectionAPI()
        block = objects_base.indirection(self.api)
        block.__enter__()
        self.addCleanup(block.__exit__, None, None, None)
