# SPDX-License-Identifier: Apache-2.0
"""Nova's Cyborg client and libvirt driver against a running service.

``nova_probe.py OUTPUT ENDPOINT INSTANCE`` runs with the interpreter and the
source tree of a Nova and writes what it saw to OUTPUT: ``arqs`` as the client
returned them, ``hostdevs`` as they stand in the domain XML, or ``error``.
Only libvirt itself is a stand-in, Nova's own.
"""

import json
import sys
import unittest

from nova import monkey_patch

# Decides between threads and greenlets, before anything else of Nova.
monkey_patch.patch()

from lxml import etree  # noqa: E402
from nova import context  # noqa: E402
from nova import objects  # noqa: E402
from nova.accelerator import cyborg  # noqa: E402
from nova.tests.unit.virt.libvirt import test_driver  # noqa: E402
from nova.virt import fake  # noqa: E402
from nova.virt.libvirt import driver  # noqa: E402

OUTPUT, ENDPOINT, INSTANCE = sys.argv[1:4]


class Probe(test_driver.LibvirtConnTestCase):

    def runTest(self):
        self.flags(virt_type='kvm', group='libvirt')
        seen = {}
        caller = context.RequestContext(
            'user', 'project', auth_token='token', service_catalog=[{
                'type': 'accelerator', 'name': 'cyborg', 'endpoints': [
                    dict.fromkeys(('publicURL', 'internalURL', 'adminURL'),
                                  ENDPOINT)]}])
        try:
            client = cyborg.get_client(caller)
            arqs = client.get_arqs_for_instance(INSTANCE)
            seen['arqs'] = arqs
            seen['by_uuid'] = [client.get_arq_by_uuid(arq['uuid'])
                               for arq in arqs]
            seen['hostdevs'] = self._hostdevs(arqs)
        except Exception as error:
            seen['error'] = '%s: %s' % (type(error).__name__, error)
        with open(OUTPUT, 'w') as stream:
            json.dump(seen, stream)

    def _hostdevs(self, arqs):
        connection = driver.LibvirtDriver(fake.FakeVirtAPI(), False)
        instance = objects.Instance(**self.test_instance)
        instance.config_drive = ''
        config = connection._get_guest_config(
            instance, network_info=[],
            image_meta=objects.ImageMeta.from_dict(self.test_image_meta),
            disk_info={'mapping': {}}, accel_info=arqs)
        domain = etree.fromstring(config.to_xml())
        return [etree.tostring(node, method='c14n').decode()
                for node in domain.findall('./devices/hostdev')]


if __name__ == '__main__':
    result = unittest.TextTestRunner().run(Probe())
    sys.exit(not result.wasSuccessful())
