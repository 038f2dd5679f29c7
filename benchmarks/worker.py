# SPDX-License-Identifier: Apache-2.0
"""Measures one release of the service, in the environment that holds it.

Started by ``run`` under the interpreter of either release. Conductor and API
run in this process over the in-process transport; Placement is a server of
its own, named in the configuration file. Prints one JSON document.
"""

import argparse
import contextlib
import io
import json
import sys
import threading
import time
import uuid
from wsgiref import util

from requests import adapters
import sqlalchemy as sa

HOST = 'compute-1'
ADMIN = {'X-User-Id': 'u', 'X-Roles': 'admin,member,reader',
         'X-Project-Id': 'adadadadadad4dad8dadadadadadadad',
         'X-Service-Roles': 'service'}


class Meter:
    """Counts SQL statements and HTTP calls of this process."""

    def __init__(self):
        self.statements = self.calls = 0
        self._lock = threading.Lock()
        sa.event.listen(sa.Engine, 'before_cursor_execute', self._statement)
        self._send = adapters.HTTPAdapter.send
        adapters.HTTPAdapter.send = self._counted_send()

    def _statement(self, conn, cursor, statement, *rest):
        if not statement.upper().startswith(('PRAGMA', 'BEGIN', 'SET ')):
            with self._lock:
                self.statements += 1

    def _counted_send(self):
        send, meter = self._send, self

        def counted(adapter, *args, **kwargs):
            with meter._lock:
                meter.calls += 1
            return send(adapter, *args, **kwargs)
        return counted

    @contextlib.contextmanager
    def of(self, result, name):
        before = self.statements, self.calls
        start = time.perf_counter()
        yield
        result[name] = {
            'seconds': time.perf_counter() - start,
            'sql': self.statements - before[0],
            'calls': self.calls - before[1]}


def devices(count):
    """``count`` one-function PCI devices as a 2026.2 driver reports them."""
    from cyborg.objects.driver_objects import driver_attach_handle
    from cyborg.objects.driver_objects import driver_attribute
    from cyborg.objects.driver_objects import driver_controlpath_id
    from cyborg.objects.driver_objects import driver_deployable
    from cyborg.objects.driver_objects import driver_device
    found = []
    for number in range(count):
        parts = {'bus': '%02x' % (number // 256 + 16),
                 'device': '%02x' % (number // 8 % 32),
                 'domain': '0000', 'function': '%x' % (number % 8)}
        info = json.dumps(parts, sort_keys=True)
        address = '{domain}:{bus}:{device}.{function}'.format(**parts)
        attributes = [('rc', 'CUSTOM_PCI'), ('trait0', 'OWNER_CYBORG'),
                      ('trait1', 'CUSTOM_PCI_NVIDIA'),
                      ('trait2', 'CUSTOM_PCI_PRODUCT_ID_1EB8')]
        found.append(driver_device.DriverDevice(
            vendor='10de', model='1eb8', type='PCI', stub=False,
            std_board_info='{"product_id": "1eb8", "controller": null}',
            vendor_board_info='miss_vb_info',
            controlpath_id=driver_controlpath_id.DriverControlPathID(
                cpid_type='PCI', cpid_info=info),
            deployable_list=[driver_deployable.DriverDeployable(
                name='%s_%s' % (HOST, address), num_accelerators=1,
                driver_name='NVIDIA',
                attribute_list=[driver_attribute.DriverAttribute(
                    key=key, value=value) for key, value in attributes],
                attach_handle_list=[
                    driver_attach_handle.DriverAttachHandle(
                        attach_type='PCI', attach_info=info,
                        in_use=False)])]))
    return found


class Service:
    """Conductor and API of the release this interpreter has."""

    def __init__(self, config, connection):
        self.engine = sa.create_engine(connection)
        from cyborg.db.sqlalchemy import models
        models.Base.metadata.create_all(self.engine)
        self.models = models
        sys.argv[1:] = ['--config-file', config]
        from cyborg.conf import CONF
        from cyborg.wsgi import api  # reads the configuration in sys.argv
        self.app = api.application
        import oslo_messaging as messaging

        from cyborg.common import rpc
        from cyborg.conductor import manager
        from cyborg.objects import base
        with contextlib.suppress(AttributeError):
            from cyborg import objects
            objects.register_all()
        if not getattr(rpc, 'TRANSPORT', None):
            rpc.init(CONF)
        try:
            self.manager = manager.ConductorManager()
        except TypeError:
            self.manager = manager.ConductorManager('cyborg-conductor', HOST)
        self.context = self._context()
        self.server = rpc.get_server(
            messaging.Target(topic='cyborg-conductor', server=HOST,
                             version='1.0'),
            [self.manager], base.CyborgObjectSerializer())
        self.server.start()

    @staticmethod
    def _context():
        try:
            from cyborg import context
            return context.get_admin_context()
        except ImportError:
            from cyborg.common import context
            return context.get_admin_context()

    def report(self, found):
        self.manager.report_data(self.context, HOST, found)

    def fill_arqs(self, count):
        """``count`` ARQs, every other one bound, straight into the tables."""
        tables = self.models.Base.metadata.tables
        handle_t, arq_t = tables['attach_handles'], tables[
            'extended_accelerator_requests']
        with self.engine.begin() as connection:
            row = connection.execute(sa.select(tables['device_profiles'].c.id))
            profile = row.scalars().first()
            deployable = connection.execute(sa.select(
                tables['deployables'].c.id, tables['deployables'].c.rp_uuid,
                tables['controlpath_ids'].c.id).join_from(
                    tables['deployables'], tables['controlpath_ids'],
                    tables['controlpath_ids'].c.device_id
                    == tables['deployables'].c.device_id)).first()
            for number in range(count):
                values = {'uuid': str(uuid.uuid4()), 'state': 'Initial',
                          'substate': 'Initial',
                          'device_profile_id': profile,
                          'device_profile_group_id': 0,
                          'project_id': ADMIN['X-Project-Id']}
                if number % 2:
                    handle = connection.execute(handle_t.insert().values(
                        uuid=str(uuid.uuid4()), deployable_id=deployable[0],
                        cpid_id=deployable[2], in_use=True,
                        attach_type='TEST_PCI', attach_info=json.dumps({
                            'domain': '%04x' % (1 + number // 256),
                            'bus': '%02x' % (number % 256), 'device': '00',
                            'function': '0'}))).inserted_primary_key[0]
                    values.update(
                        state='Bound', attach_handle_id=handle,
                        deployable_id=deployable[0], hostname=HOST,
                        device_rp_uuid=deployable[1],
                        instance_uuid=str(uuid.uuid4()))
                connection.execute(arq_t.insert().values(**values))

    def free_provider(self):
        tables = self.models.Base.metadata.tables
        with self.engine.connect() as connection:
            return connection.execute(sa.select(
                tables['deployables'].c.rp_uuid).order_by(
                    tables['deployables'].c.id.desc())).scalars().first()

    def call(self, method, path, body=None, version='2.3'):
        """The JSON answer to one request, which has to succeed."""
        data = json.dumps(body).encode() if body is not None else b''
        environ = {'REQUEST_METHOD': method, 'PATH_INFO': path,
                   'CONTENT_TYPE': 'application/json',
                   'CONTENT_LENGTH': str(len(data)),
                   'wsgi.input': io.BytesIO(data)}
        util.setup_testing_defaults(environ)
        headers = dict(ADMIN, **{
            'OpenStack-API-Version': 'accelerator ' + version})
        for name, value in headers.items():
            environ['HTTP_' + name.upper().replace('-', '_')] = value
        status = []
        answer = b''.join(self.app(
            environ, lambda line, headers, exc=None: status.append(line)))
        if status[0][0] != '2':
            raise RuntimeError('%s %s: %s %s' % (
                method, path, status[0], answer.decode()))
        return json.loads(answer or b'null')

    def list(self, version):
        return self.call('GET', '/v2/accelerator_requests', version=version)


def measure(service, meter, options):
    result = {}
    found = devices(options.devices)
    with meter.of(result, 'first report'):
        service.report(found)
    seconds = []
    for _ in range(options.repeat):
        with meter.of(result, 'unchanged report'):
            service.report(devices(options.devices))
        seconds.append(result['unchanged report']['seconds'])
    result['unchanged report']['seconds'] = sorted(seconds)[
        len(seconds) // 2]
    service.call('POST', '/v2/device_profiles', [
        {'name': 'gpu', 'groups': [{'resources:CUSTOM_PCI': '1'}]}])
    filled = 0
    for count in options.arqs:
        service.fill_arqs(count - filled)
        filled = count
        service.list(options.version)
        seconds = []
        name = 'list of %d' % count
        for _ in range(options.lists):
            with meter.of(result, name):
                service.list(options.version)
            seconds.append(result[name]['seconds'])
        seconds.sort()
        result[name].update(
            seconds=seconds[len(seconds) // 2],
            p99=seconds[min(len(seconds) - 1, int(len(seconds) * .99))])
    if options.arqs:
        bind(service, meter, result, 'bind beside %d' % filled)
    return result


def bind(service, meter, result, name):
    arq = service.call('POST', '/v2/accelerator_requests', {
        'device_profile_name': 'gpu'})['arqs'][0]['uuid']
    body = {arq: [{'op': 'add', 'path': '/' + key, 'value': value}
                  for key, value in (
                      ('hostname', HOST),
                      ('device_rp_uuid', service.free_provider()),
                      ('instance_uuid', str(uuid.uuid4())))]}
    with meter.of(result, name):
        service.call('PATCH', '/v2/accelerator_requests', body)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--config', required=True)
    parser.add_argument('--connection', required=True)
    parser.add_argument('--devices', type=int, required=True)
    parser.add_argument('--arqs', type=int, nargs='*', default=[])
    parser.add_argument('--repeat', type=int, default=3)
    parser.add_argument('--lists', type=int, default=5)
    parser.add_argument('--version', default='2.3',
                        help='API version of the lists')
    options = parser.parse_args()
    meter = Meter()
    service = Service(options.config, options.connection)
    result = measure(service, meter, options)
    print('RESULT ' + json.dumps(result))
    sys.stdout.flush()
    # Neither release needs an orderly end here.
    import os
    os._exit(0)


if __name__ == '__main__':
    main()
