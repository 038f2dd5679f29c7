# SPDX-License-Identifier: Apache-2.0
"""The cleaner and the listener of a host, in a process beside Nova's tests.

``compute_host.py DIRECTORY PLACEMENT`` answers one JSON object a line: the
options of both services have one global place, so they cannot share a process.
The disk is simulated; what a guest does to it is told by the test.
"""

import json
import sys

from cyborg.cleaner import listener
from cyborg.cleaner import service
from cyborg.conf import CONF
from cyborg.nvme.simulate import world as sim_world
from cyborg.placement import tree

ADDRESS = '0000:81:00.0'
HOST = 'compute1'
SECRET = b'what the guest wrote'.ljust(512, b'.')


class ComputeHost:

    def __init__(self, directory: str, placement: str):
        self.world = sim_world.World(directory)
        self.world.add(ADDRESS, 'SN0001')
        for group, values in (
                ('cleaner', {
                    'device_spec': ['{"vendor_id": "144d"}'],
                    'journal_path': self.world.at('journal'),
                    'unknown': 'clean', 'settle_seconds': 0}),
                ('pci', {'sysfs_path': self.world.at('sys')}),
                ('agent', {'resource_provider_name': HOST}),
                ('placement', {'auth_type': 'none',
                               'endpoint_override': placement}),
                (None, {'host': HOST})):
            for name, value in values.items():
                CONF.set_override(name, value, group=group)
        self.guest = None
        self.hints: list = []
        self.endpoint = listener.Endpoint(tree.TreeClient(),
                                          self.hints.append)
        self.cleaner = service.build(CONF, self.world.host(),
                                     spawn=_at_once)
        self.cleaner.start()

    def hear(self, event, content, priority):
        getattr(self.endpoint, priority.lower())({}, 'nova', event, content,
                                                 {})
        return self.state()

    def look(self):
        for _look in range(2):
            self.cleaner.hint()
            self.cleaner.look()
        return self.state()

    def start_guest(self):
        self.guest = self.world.guest(ADDRESS)
        before = self.guest.read(1, 0, 512)
        self.guest.write(1, 0, SECRET)
        return {'before': before.strip(b'\0').decode()}

    def end_guest(self):
        self.guest.leave()
        return self.state()

    def state(self):
        entry = next(iter(self.cleaner.entries.values()), None)
        media = self.world.media(ADDRESS)
        return {'state': entry and entry.state.value,
                'reason': entry and entry.reason,
                'consumer': entry and entry.consumer,
                'secret': SECRET in media.read(0, 4096),
                'touched': len(self.world.touched(ADDRESS)),
                'counts': dict(self.endpoint.counts), 'hints': self.hints}


class _Ran:
    def is_alive(self):
        return False

    def join(self, timeout=None):
        pass


def _at_once(target, job):
    target(job)
    return _Ran()


def main() -> None:
    CONF([], project='cyborg', default_config_files=[],
         default_config_dirs=[])
    host = ComputeHost(*sys.argv[1:])
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(host, request.pop('do'))(**request)
        sys.stdout.write(json.dumps(answer) + '\n')
        sys.stdout.flush()


if __name__ == '__main__':
    main()
