# SPDX-License-Identifier: Apache-2.0
"""Every configuration example of the documentation is a valid one.

A block counts as an example when its language is ``ini``; what shows a
mistake on purpose is a ``text`` block, a file of another service is ``cfg``.
"""

import copy
import pathlib
import re
import textwrap

from keystoneauth1 import loading as ks_loading
from oslo_config import cfg
from oslo_config import generator
import testtools

from cyborg.conf import default
from cyborg.tests import base
from cyborg.tests.unit.conf import test_options

ROOT = pathlib.Path(default.PACKAGE_PARENT)
BLOCK = re.compile(r'^( *)\.\. code-block:: ini\n((?:\1 +[^\n]*\n|\n)+)',
                   re.M)
NAMESPACE = re.compile(r'^namespace = (\S+)$', re.M)


# First line of a block that is no configuration of ours.
OTHERS = re.compile(r'# nova\.conf\n|\[Unit\]\n')


def examples():
    """(where, text) of each block in the documentation."""
    for path in sorted((ROOT / 'doc').rglob('*.rst')):
        for number, match in enumerate(BLOCK.finditer(path.read_text()), 1):
            text = textwrap.dedent(match[2]).strip() + '\n'
            if not OTHERS.match(text):
                yield '%s, block %d' % (path.relative_to(ROOT), number), text


def known_options():
    """What the sample has, and the credentials of Keystone's middleware."""
    text = (ROOT / 'tools/config/cyborg-config-generator.conf').read_text()
    conf = cfg.ConfigOpts()
    for _namespace, groups in generator._list_opts(NAMESPACE.findall(text)):
        for group, options in groups:
            name = getattr(group, 'name', group) or 'DEFAULT'
            register(conf, name, options)
    register(conf, 'keystone_authtoken',
             ks_loading.get_auth_common_conf_options() +
             ks_loading.get_auth_plugin_conf_options('password'))
    return conf


def register(conf, group, options):
    for option in options:
        option = copy.copy(option)
        # An example shows a part; what a plugin needs besides is its matter.
        option.required = False
        conf.register_opt(option, None if group == 'DEFAULT' else group)


@testtools.skipUnless((ROOT / 'doc').exists(), 'only in a clone')
class ExamplesTest(base.TestCase):

    def faults(self, text):
        """What is wrong in one example."""
        path = pathlib.Path(self.temp_dir()) / 'example.conf'
        path.write_text(text)
        conf = known_options()
        conf(['--config-file', str(path)], project='cyborg',
             default_config_dirs=[])
        sections = {}
        cfg.ConfigParser(str(path), sections).parse()
        for section, entries in sections.items():
            options = (conf._opts if section == 'DEFAULT' else
                       conf._groups[section]._opts
                       if section in conf._groups else {})
            names = {former.name: option['opt'].dest
                     for option in options.values()
                     for former in option['opt'].deprecated_opts}
            for name, values in entries.items():
                dest = names.get(name, name)
                if dest not in options:
                    yield '[%s] %s is not known' % (section, name)
                    continue
                check = test_options.CHECKS.get((section, dest))
                try:
                    (conf if section == 'DEFAULT' else conf[section])[dest]
                    for value in values if check else ():
                        check(value)
                except ValueError as error:
                    yield '[%s] %s: %s' % (section, name, error)

    def test_examples_are_valid(self):
        found = list(examples())
        self.assertGreater(len(found), 3)
        for where, text in found:
            self.assertEqual([], list(self.faults(text)), where)

    def test_a_wrong_example_would_be_seen(self):
        self.assertEqual(
            ['[pci] device_specs is not known'],
            list(self.faults('[pci]\ndevice_specs = {}\n')))
        self.assertEqual(1, len(list(self.faults('[api]\nport = x\n'))))
        self.assertEqual(1, len(list(self.faults(
            '[pci]\ndevice_spec = {"vendor": "10de"}\n'))))
