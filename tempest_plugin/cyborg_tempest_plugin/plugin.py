# SPDX-License-Identifier: Apache-2.0
"""The entry point that Tempest looks for."""

import os

from tempest import config
from tempest.test_discover import plugins

from cyborg_tempest_plugin import config as options


class CyborgTempestPlugin(plugins.TempestPlugin):

    def load_tests(self):
        top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        return os.path.join(top, 'cyborg_tempest_plugin', 'tests'), top

    def register_opts(self, conf):
        for group, members in options.OPTIONS:
            config.register_opt_group(conf, group, members)

    def get_opt_lists(self):
        return [(group.name, members) for group, members in options.OPTIONS]
