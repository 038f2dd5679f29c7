# SPDX-License-Identifier: Apache-2.0
"""oslo-config-validator as the documentation calls it."""

import pathlib
import subprocess
import sys

from cyborg.tests import base
from cyborg.tests.fixtures import pages

GENERATOR = pages.ROOT / 'tools' / 'config' / 'cyborg-config-generator.conf'
_CREDENTIALS = """
auth_type = password
auth_url = http://controller:5000
username = cyborg
password = secret
project_name = service
user_domain_name = Default
project_domain_name = Default
"""
GOOD = """
[DEFAULT]
transport_url = rabbit://openstack:secret@controller:5672/
host = compute-1
debug = true
log_dir = /var/log/cyborg
[api]
host_ip = 0.0.0.0
[database]
connection = mysql+pymysql://cyborg:secret@controller/cyborg
[keystone_authtoken]
service_token_roles_required = true
memcached_servers = controller:11211
%(credentials)s
[placement]
%(credentials)s
[nova]
%(credentials)s
[service_user]
send_service_user_token = true
%(credentials)s
[oslo_messaging_rabbit]
ssl = true
rabbit_quorum_queue = true
[oslo_policy]
enforce_new_defaults = true
[oslo_middleware]
enable_proxy_headers_parsing = true
[oslo_concurrency]
lock_path = /var/lib/cyborg/tmp
[cors]
allowed_origin = https://cloud.example.org
[agent]
enabled_drivers = pci_driver
[pci]
device_spec = {"vendor_id": "10de"}
""" % {'credentials': _CREDENTIALS}


class ValidatorTest(base.TestCase):

    def setUp(self):
        super().setUp()
        if not GENERATOR.exists():
            self.skipTest('tools/ comes with a clone only')

    def validate(self, text: str) -> tuple[int, str]:
        path = pathlib.Path(self.temp_dir()) / 'cyborg.conf'
        path.write_text(text)
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-m', 'oslo_config.validator',
             '--config-file', GENERATOR, '--input-file', path],
            capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout + done.stderr

    def test_a_correct_file(self):
        status, text = self.validate(GOOD)
        self.assertEqual(0, status, text)
        self.assertNotIn('ERROR', text)

    def test_misspelt_names(self):
        for before, after in (('log_dir', 'logdirr'),
                              ('device_spec', 'device_spek'),
                              ('\nssl = true', '\nuse_ssl = true'),
                              ('enable_proxy_headers_parsing', 'enable_it')):
            status, text = self.validate(GOOD.replace(before, after))
            self.assertEqual(1, status, text)
            self.assertIn('%s is not part of the sample config'
                          % after.strip().split()[0], text)

    def test_it_comes_with_the_package(self):
        setup = (pages.ROOT / 'setup.cfg').read_text()
        self.assertIn('tools/config/cyborg-config-generator.conf', setup)
        for page in ('configuration/index.rst', 'admin/troubleshooting.rst'):
            self.assertIn('cyborg-config-generator.conf',
                          ' '.join((pages.ROOT / 'doc' / 'source' / page
                                    ).read_text().split()))
