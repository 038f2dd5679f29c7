# SPDX-License-Identifier: Apache-2.0
"""What the API shows stands in the reference and in the Tempest plugin.

The plugin is a package of its own, which tests other releases, too, so it has
its own list of microversions and of their fields.
"""

import importlib.util
import pathlib
import re

import testscenarios
import testtools
import yaml

from cyborg import objects
from cyborg.api import microversions
from cyborg.api.views import accelerator_requests
from cyborg.api.views import attributes
from cyborg.api.views import deployables
from cyborg.api.views import device_profiles
from cyborg.api.views import devices
from cyborg.conf import default
from cyborg.tests import base

load_tests = testscenarios.load_tests_apply_scenarios

ROOT = pathlib.Path(default.PACKAGE_PARENT)
REFERENCE = ROOT / 'api-ref' / 'source'
SCHEMAS = (ROOT / 'tempest_plugin' / 'cyborg_tempest_plugin' / 'common'
           / 'schemas.py')
VERSIONS = [microversions.Version(2, minor)
            for minor in range(microversions.MAXIMUM.minor + 1)]
BASE = 'http://host/accelerator'
UUID = '10000000-0000-4000-8000-000000000001'
ADDRESS = {'domain': '0000', 'bus': '3b', 'device': '00', 'function': '1'}


def plugin():
    """The plugin's schemas, which import nothing of Tempest."""
    spec = importlib.util.spec_from_file_location('schemas', SCHEMAS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def filled(cls, **values):
    """An object in which every field that has to be read is set."""
    return cls(**{**{name: None for name, field in cls.fields.items()
                     if field.nullable}, **values})


def device(version):
    return devices.single(filled(
        objects.Device, uuid=UUID, type='PCI', vendor='v', model='m',
        hostname='h', status='enabled'), version, BASE)


def deployable(_version):
    return deployables.single(filled(
        objects.Deployable, uuid=UUID, name='n', num_accelerators=1,
        device_id=1), [], BASE)


def attribute(_version):
    return attributes.single(filled(
        objects.Attribute, uuid=UUID, deployable_id=1, key='k', value='v'),
        BASE)


def profile(_version):
    return device_profiles.item(filled(
        objects.DeviceProfile, uuid=UUID, name='n', groups=[]), BASE)


def arq(version):
    return accelerator_requests.single(bound(), version, BASE)


def handle_info(version):
    return accelerator_requests.handle_info(bound(), version)


def bound():
    return filled(
        objects.ARQ, uuid=UUID, state='Bound', device_profile_name='p',
        device_profile_group_id=0, attach_handle_type='PCI',
        attach_handle_uuid=UUID, attach_handle_info=ADDRESS)


@testtools.skipUnless(SCHEMAS.exists(), 'only in a clone')
class TestPlugin(base.TestCase):

    def test_microversions(self):
        self.assertEqual(tuple(map(str, VERSIONS)), plugin().VERSIONS)


@testtools.skipUnless(SCHEMAS.exists(), 'only in a clone')
class TestDescribed(base.TestCase):

    #: What shows it, the plugin's function and its last argument, the page
    #: of the reference.
    scenarios = [(name, {'shown': shown, 'schema': schema, 'page': page})
                 for name, shown, schema, page in (
        ('device', device, ('device',), 'devices'),
        ('deployable', deployable, ('deployable',), 'deployables'),
        ('attribute', attribute, ('attribute',), 'attributes'),
        ('profile', profile, ('device_profile',), 'device_profiles'),
        ('arq', arq, ('accelerator_request', 'PCI'), 'accelerator_requests'),
        ('attach handle', handle_info, ('handle_info', 'PCI'),
         'accelerator_requests'),
    )]

    def setUp(self):
        super().setUp()
        objects.register_all()

    def test_schema_of_the_plugin(self):
        schemas = plugin()
        name, *more = self.schema
        for version in VERSIONS:
            if str(version) in schemas.VERSIONS:
                schema = getattr(schemas, name)(str(version), *more)
                self.assertEqual(set(self.shown(version)),
                                 set(schema['properties']), str(version))

    def test_reference(self):
        """Each field is in the table, with the version that brought it."""
        table = {name.rpartition('.')[2]: parameter for name, parameter
                 in re.findall(r'^   - (\S+): (\S+)$', (
                     REFERENCE / (self.page + '.inc')).read_text(), re.M)}
        parameters = yaml.safe_load(
            (REFERENCE / 'parameters.yaml').read_text())
        before = {**self.shown(VERSIONS[0]), **ADDRESS}
        for version in VERSIONS:
            for name in self.shown(version):
                if name not in before:
                    self.assertIn(name, table, self.page + '.inc')
                    self.assertEqual(
                        str(version), str(parameters[table[name]].get(
                            'min_version')), table[name])
            before.update(self.shown(version))
        self.assertEqual(set(), set(before) - {*table, *ADDRESS})
