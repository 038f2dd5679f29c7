# SPDX-License-Identifier: Apache-2.0
"""Users, endpoints, image, flavor and profile of the small cloud.

catalog.py [--tempest FILE]: again with the same result; with a file also the
configuration of Tempest.
"""

import pathlib
import sys

import openstack
import settings

PATHS = {'placement': ('placement', 'placement', ''),
         'image': ('glance', 'glance', ''),
         'compute': ('nova', 'nova-api', '/v2.1'),
         'accelerator': ('cyborg', 'cyborg-api', '/v2')}


def identity(cloud):
    found = {role.name: role for role in cloud.identity.roles()}
    project = cloud.identity.find_project('service') or (
        cloud.identity.create_project(name='service', domain_id='default'))
    for name in ('nova', 'placement', 'glance', 'cyborg'):
        user = cloud.identity.find_user(name) or cloud.identity.create_user(
            name=name, password=settings.PASSWORD, domain_id='default',
            default_project_id=project.id)
        for role in ('admin', 'service'):
            if role not in found:
                found[role] = cloud.identity.create_role(name=role)
            cloud.identity.assign_project_role_to_user(project, user,
                                                       found[role])
    services = {service.type for service in cloud.identity.services()}
    for kind, (name, port, path) in PATHS.items():
        if kind in services:
            continue
        service = cloud.identity.create_service(type=kind, name=name)
        for interface in ('public', 'internal', 'admin'):
            cloud.identity.create_endpoint(
                service_id=service.id, interface=interface,
                url=settings.URLS[port] + path, region_id='RegionOne')


def resources(cloud) -> str:
    """:returns: UUID of the image"""
    image = next(iter(cloud.image.images(name='minicloud')), None)
    if image is None:
        image = cloud.image.create_image(
            name='minicloud', data=b'\0' * 65536, disk_format='raw',
            container_format='bare', visibility='public')
    if '1' not in {flavor.id for flavor in cloud.compute.flavors()}:
        cloud.compute.create_flavor(name='minicloud', id='1', ram=64, vcpus=1,
                                    disk=1)
    return image.id


def main():
    cloud = openstack.connect()
    if '--tempest' in sys.argv:
        path = pathlib.Path(sys.argv[sys.argv.index('--tempest') + 1])
        path.write_text(settings.tempest(resources(cloud),
                                         path.parent.parent))
    else:
        identity(cloud)


if __name__ == '__main__':
    main()
