# SPDX-License-Identifier: Apache-2.0
"""Names, ports and configuration files of the small cloud."""

from collections.abc import Sequence
import dataclasses
import json
import pathlib

PASSWORD = 'minicloud'
PORTS = {'keystone': 15000, 'placement': 15778, 'glance': 15292,
         'nova-api': 15774, 'cyborg-api': 17666, 'neutron': 15696}
URLS = {name: 'http://127.0.0.1:%d' % port for name, port in PORTS.items()}
URLS['keystone'] += '/v3'
DATABASES = ('keystone', 'placement', 'glance', 'nova_api', 'nova_cell0',
             'nova_cell1', 'cyborg')
VHOSTS = ('minicloud-nova', 'minicloud-cyborg')
VENDOR, PRODUCT = '1d0f', 'efa1'
RULE = {'vendor_id': VENDOR, 'product_id': PRODUCT, 'managed': False}


@dataclasses.dataclass(frozen=True)
class Host:
    """A compute host.

    :ivar name: of its services
    :ivar node: what its hypervisor says, as Nova and Placement know it
    :ivar devices: product of each made-up accelerator by address; two on one
        NUMA node
    :ivar rules: of ``[pci] device_spec``
    """

    name: str
    node: str
    devices: dict[str, str]
    rules: tuple[dict, ...]


#: With Nova's fake driver.
FAKE = Host('minicloud', 'minicloud', dict.fromkeys(
    ('0000:%02x:00.0' % bus for bus in (0xc1, 0xc2, 0xc3, 0xc4)), PRODUCT),
    (RULE,))
#: With libvirt: managed false, true and absent; each a product of its own.
LIBVIRT = Host(
    'minicloud-libvirt', 'minicloud-node',
    {'0000:d1:00.0': PRODUCT, '0000:d2:00.0': 'efa2',
     '0000:d3:00.0': 'efa3'},
    (RULE, {'vendor_id': VENDOR, 'product_id': 'efa2', 'managed': True},
     {'vendor_id': VENDOR, 'product_id': 'efa3'}))


class CloudError(Exception):
    """Something did not start or is missing; the text says what to do."""


def database(name: str) -> str:
    return 'minicloud_' + name


def database_url(name: str) -> str:
    return 'mysql+pymysql://root@127.0.0.1:3306/%s?charset=utf8mb3' % (
        database(name))


def transport_url(name: str) -> str:
    return 'rabbit://guest:guest@127.0.0.1:5672/minicloud-' + name


def _user(name: str) -> dict:
    return {'auth_type': 'password', 'auth_url': URLS['keystone'],
            'username': name, 'password': PASSWORD,
            'project_name': 'service', 'user_domain_name': 'Default',
            'project_domain_name': 'Default', 'region_name': 'RegionOne'}


def _tokens(name: str) -> dict:
    return {**_user(name), 'www_authenticate_uri': URLS['keystone'],
            'service_token_roles': 'service',
            'service_token_roles_required': True}


def _ini(groups: dict[str, dict]) -> str:
    lines = []
    for group, options in groups.items():
        lines.append('[%s]' % group)
        for key, value in options.items():
            values = value if isinstance(value, list) else [value]
            lines.extend('%s = %s' % (key, one) for one in values)
    return '\n'.join(lines) + '\n'


class Settings:
    """Writes the files below ``etc`` of a state directory."""

    def __init__(self, state: pathlib.Path):
        self.state = state
        self.etc, self.data = state / 'etc', state / 'data'
        #: A line for each time that 2026.2 looked for devices.
        self.asked = self.data / 'lspci-asked'

    @staticmethod
    def credentials() -> dict[str, str]:
        return {'OS_AUTH_URL': URLS['keystone'], 'OS_USERNAME': 'admin',
                'OS_PASSWORD': PASSWORD, 'OS_PROJECT_NAME': 'admin',
                'OS_USER_DOMAIN_NAME': 'Default',
                'OS_PROJECT_DOMAIN_NAME': 'Default',
                'OS_REGION_NAME': 'RegionOne', 'OS_IDENTITY_API_VERSION': '3'}

    def _folder(self, *names: str) -> str:
        path = self.data.joinpath(*names)
        path.mkdir(parents=True, exist_ok=True)
        return str(path)

    def write(self, venv: pathlib.Path) -> None:
        files = {'keystone.conf': self._keystone(),
                 'placement.conf': self._placement(),
                 'glance-api.conf': self._glance(venv),
                 'nova.conf': self._nova(),
                 'nova-libvirt.conf': self._nova_libvirt(venv),
                 'cyborg.conf': self.cyborg(FAKE, FAKE.rules),
                 'cyborg-libvirt.conf': self.cyborg(LIBVIRT, LIBVIRT.rules)}
        for name, groups in files.items():
            (self.etc / name).write_text(_ini(groups))
        paste = venv / 'etc' / 'nova' / 'api-paste.ini'
        (self.etc / 'nova-api-paste.ini').write_text(paste.read_text())
        (self.etc / 'api-paste.ini').write_text(
            (venv / 'etc' / 'cyborg' / 'api-paste.ini').read_text())
        for host in (FAKE, LIBVIRT):
            self._sysfs(host)
        self._lspci()

    def _sysfs(self, host: Host) -> None:
        """Its accelerators, two on each NUMA node."""
        top = 'sys-' + host.name
        bus = pathlib.Path(self._folder(top, 'bus', 'pci', 'devices'))
        for number, (address, product) in enumerate(host.devices.items()):
            folder = pathlib.Path(self._folder(top, 'devices',
                                               'pci0000:c0', address))
            for name, value in {
                    'vendor': '0x' + VENDOR, 'device': '0x' + product,
                    'class': '0x120000', 'subsystem_vendor': '0x' + VENDOR,
                    'subsystem_device': '0x0001', 'revision': '0x01',
                    'numa_node': str(number // 2)}.items():
                (folder / name).write_text(value + '\n')
            link = bus / address
            if not link.is_symlink():
                link.symlink_to('../../../devices/pci0000:c0/' + address)

    def _lspci(self) -> None:
        """What 2026.2 reads in place of sysfs; it notes each call."""
        commands = pathlib.Path(self._folder('bin'))
        script = commands / 'lspci'
        script.write_text('#!/bin/sh\necho >> %s\n' % self.asked + ''.join(
            'echo "%s Processing accelerators [1200]: Made up [%s:%s]"\n'
            % (address, VENDOR, product)
            for address, product in FAKE.devices.items()))
        script.chmod(0o755)

    def _keystone(self) -> dict:
        return {
            'DEFAULT': {'log_file': self.state / 'logs' / 'keystone.log'},
            'database': {'connection': database_url('keystone')},
            'token': {'provider': 'fernet', 'expiration': 86400},
            'fernet_tokens': {'key_repository': self._folder('fernet')},
            'fernet_receipts': {'key_repository': self._folder('fernet')},
            'credential': {'key_repository': self._folder('credential')},
            # One process serves, so its own memory will do.
            'cache': {'enabled': True, 'backend': 'oslo_cache.dict'},
            'identity': {'password_hash_algorithm': 'bcrypt',
                         'password_hash_rounds': 4},
            'oslo_policy': {'enforce_scope': True}}

    def _placement(self) -> dict:
        return {
            'api': {'auth_strategy': 'keystone'},
            'placement_database': {'connection': database_url('placement')},
            'keystone_authtoken': _tokens('placement')}

    def _glance(self, venv: pathlib.Path) -> dict:
        return {
            'DEFAULT': {'enabled_backends': 'fs:file',
                        'enabled_import_methods': '[]'},
            'database': {'connection': database_url('glance')},
            'glance_store': {'default_backend': 'fs'},
            'fs': {'filesystem_store_datadir': self._folder('images')},
            'os_glance_staging_store': {
                'filesystem_store_datadir': self._folder('staging')},
            'os_glance_tasks_store': {
                'filesystem_store_datadir': self._folder('tasks')},
            'paste_deploy': {
                'flavor': 'keystone',
                'config_file': venv / 'etc/glance/glance-api-paste.ini'},
            'keystone_authtoken': _tokens('glance'),
            'oslo_concurrency': {'lock_path': self._folder('lock')}}

    def _nova(self) -> dict:
        service = {**_user('nova'), 'send_service_user_token': True}
        return {
            'DEFAULT': {
                'host': FAKE.name, 'my_ip': '127.0.0.1',
                'state_path': self._folder('nova'),
                'instances_path': self._folder('nova', 'instances'),
                'transport_url': transport_url('nova'),
                'compute_driver': 'fake.FakeDriverWithoutFakeNodes',
                # Without Neutron there is nothing to heal or to wait for.
                'heal_instance_info_cache_interval': -1,
                'vif_plugging_is_fatal': False, 'vif_plugging_timeout': 0,
                'report_interval': 5, 'update_resources_interval': 10,
                # Shelved servers leave their host at once.
                'shelved_offload_time': 0},
            'api': {'auth_strategy': 'keystone'},
            'api_database': {'connection': database_url('nova_api')},
            'database': {'connection': database_url('nova_cell1')},
            'keystone_authtoken': _tokens('nova'),
            'service_user': service,
            'placement': _user('placement'),
            'glance': {'region_name': 'RegionOne'},
            'cyborg': {'region_name': 'RegionOne',
                       'service_type': 'accelerator',
                       'valid_interfaces': 'internal,public'},
            'neutron': {**_user('nova'), 'endpoint_override':
                        URLS['neutron']},
            'scheduler': {'workers': 1}, 'conductor': {'workers': 1},
            'compute': {'resource_provider_association_refresh': 10},
            'filter_scheduler': {'enabled_filters':
                                 'ComputeFilter,ComputeCapabilitiesFilter,'
                                 'ImagePropertiesFilter'},
            'vnc': {'enabled': False}, 'cache': {'enabled': False},
            'oslo_concurrency': {'lock_path': self._folder('lock')},
            'wsgi': {'api_paste_config': self.etc / 'nova-api-paste.ini'}}

    def _nova_libvirt(self, venv: pathlib.Path) -> dict:
        """What is other than in ``nova.conf``."""
        helper = {'helper_command': '%s --config-file %s --config-file %s' % (
            venv / 'bin' / 'privsep-helper', self.etc / 'nova.conf',
            self.etc / 'nova-libvirt.conf')}
        return {
            'DEFAULT': {
                'host': LIBVIRT.name,
                'state_path': self._folder('nova-libvirt'),
                'instances_path': self._folder('nova-libvirt', 'instances'),
                'compute_driver': 'libvirt.LibvirtDriver',
                'force_raw_images': False,
                # Nothing in the guests hears that it should end.
                'shutdown_timeout': 2},
            'libvirt': {
                'virt_type': 'qemu', 'cpu_mode': 'none',
                'connection_uri': 'qemu:///system?socket=%s' % (
                    self.state / 'host/socket/libvirt-sock'),
                'inject_partition': -2, 'wait_soft_reboot_seconds': 2},
            'spice': {'enabled': False},
            'nova_sys_admin': helper, 'privsep_osbrick': helper,
            'oslo_concurrency': {
                'lock_path': self._folder('nova-libvirt', 'lock')}}

    def cyborg(self, host: Host, rules: Sequence[dict] = (),
               released: bool = False) -> dict:
        """:param rules: of ``[pci] device_spec``
        :param released: for an agent of 2026.2
        """
        pci: dict = {'device_spec': [json.dumps(rule) for rule in rules],
                     'sysfs_path': self.data / ('sys-' + host.name)}
        if released:
            pci = {'passthrough_whitelist': json.dumps(
                {'vendor_id': VENDOR, 'product_id': PRODUCT})}
        return {
            'DEFAULT': {'host': host.name,
                        'state_path': self._folder('cyborg', host.name),
                        'transport_url': transport_url('cyborg'),
                        'periodic_interval': 5, 'use_stderr': True},
            'agent': {'enabled_drivers': 'fake_driver,pci_driver',
                      'resource_provider_name': host.node},
            'api': {'api_paste_config': self.etc / 'api-paste.ini'},
            'database': {'connection': database_url('cyborg')},
            'keystone_authtoken': _tokens('cyborg'),
            'placement': _user('placement'), 'nova': _user('nova'),
            'service_catalog': _user('cyborg'),
            'pci': pci,
            'oslo_policy': {'enforce_new_defaults': True},
            'oslo_concurrency': {'lock_path': self._folder('lock')}}

    def write_cyborg(self, rules: Sequence[dict]) -> None:
        """Other rules for the agent of the first host."""
        (self.etc / 'cyborg.conf').write_text(_ini(self.cyborg(FAKE, rules)))


    def write_released(self, commands: pathlib.Path) -> pathlib.Path:
        """For an agent of 2026.2, whose commands are there."""
        path = self.etc / 'cyborg-released.conf'
        path.write_text(_ini({
            **self.cyborg(FAKE, released=True), 'cyborg_sys_admin': {
                'helper_command': '%s --config-file %s' % (
                    commands / 'privsep-helper', path)}}))
        return path


def tempest(image: str, state: pathlib.Path) -> str:
    """``tempest.conf`` for this cloud, which has no network."""
    return _ini({
        'oslo_concurrency': {'lock_path': state / 'data' / 'lock'},
        'auth': {'use_dynamic_credentials': True, 'admin_username': 'admin',
                 'admin_password': PASSWORD, 'admin_project_name': 'admin',
                 'admin_domain_name': 'Default',
                 'create_isolated_networks': False},
        'identity': {'uri_v3': URLS['keystone'], 'auth_version': 'v3',
                     'region': 'RegionOne'},
        'identity-feature-enabled': {'api_v2': False, 'api_v3': True},
        'service_available': {'nova': True, 'glance': True, 'neutron': False,
                              'cinder': False, 'swift': False,
                              'horizon': False, 'cyborg': True},
        'compute': {'image_ref': image, 'image_ref_alt': image,
                    'flavor_ref': '1', 'flavor_ref_alt': '1',
                    'build_timeout': 120, 'build_interval': 1},
        'validation': {'run_validation': False},
        'cyborg_pci': {'device_profile_name': 'minicloud-pci',
                       'vendor_id': VENDOR, 'product_id': PRODUCT},
        'cyborg_policy': {'enforce_new_defaults': True}})
