# SPDX-License-Identifier: Apache-2.0
"""The OpenStack SDK against a running service.

``sdk_probe.py OUTPUT ENDPOINT ACTION [KEY=VALUE…]`` runs with the
interpreter and the source tree of an SDK and writes what it saw to OUTPUT.
``version=2.4`` asks for a microversion as ``clouds.yaml`` would.
"""

import json
import sys

import openstack
from openstack import exceptions

OUTPUT, ENDPOINT, ACTION = sys.argv[1:4]
ARGUMENTS = dict(word.split('=', 1) for word in sys.argv[4:])


def plain(resource):
    return {key: value for key, value in resource.to_dict().items()
            if key != 'location'}


def read(cloud):
    shown = {arq.id: plain(cloud.get_accelerator_request(arq.id))
             for arq in cloud.accelerator_requests()}
    listed = {arq.id: plain(arq) for arq in cloud.accelerator_requests()}
    return {'shown': shown, 'listed': listed,
            'devices': [plain(device) for device in cloud.devices()]}


def profile(cloud):
    return plain(cloud.get_device_profile(ARGUMENTS['name']))


def bind(cloud):
    """Create, bind, unbind and delete an accelerator request."""
    arq = cloud.create_accelerator_request(
        device_profile_name=ARGUMENTS['profile'])
    cloud.patch_accelerator_request(arq.id, [
        {'op': 'add', 'path': '/' + name, 'value': ARGUMENTS[name]}
        for name in ('hostname', 'instance_uuid', 'device_rp_uuid')])
    bound = plain(cloud.get_accelerator_request(arq.id))
    cloud.patch_accelerator_request(arq.id, [
        {'op': 'remove', 'path': '/' + name}
        for name in ('hostname', 'instance_uuid', 'device_rp_uuid')])
    unbound = plain(cloud.get_accelerator_request(arq.id))
    cloud.delete_accelerator_request(arq.id, ignore_missing=False)
    return {'bound': bound, 'unbound': unbound}


def main():
    options = {}
    if 'version' in ARGUMENTS:
        options['accelerator_api_version'] = ARGUMENTS['version']
    try:
        cloud = openstack.connect(
            auth_type='none', endpoint=ENDPOINT, **options).accelerator
        seen = globals()[ACTION](cloud)
    except (exceptions.SDKException, exceptions.ConfigException) as error:
        seen = {'error': '%s: %s' % (type(error).__name__, error)}
    with open(OUTPUT, 'w') as stream:
        json.dump(seen, stream)


if __name__ == '__main__':
    main()
