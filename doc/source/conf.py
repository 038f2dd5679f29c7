# SPDX-License-Identifier: Apache-2.0
"""How Sphinx builds the documentation."""

from cyborg import version

project = 'OpenStack Cyborg'
copyright = 'OpenStack Cyborg contributors'
version = version.release_string()
release = version

extensions = [
    'openstackdocstheme',
    'oslo_config.sphinxconfiggen',
    'oslo_config.sphinxext',
    'oslo_policy.sphinxext',
    'oslo_policy.sphinxpolicygen',
]
needs_sphinx = '7.3'
root_doc = 'index'
exclude_patterns = ['_static']

html_theme = 'openstackdocs'
pygments_style = 'native'
openstackdocs_repo_name = 'openstack/cyborg'
openstackdocs_use_storyboard = False
openstackdocs_auto_name = False

config_generator_config_file = [
    ('../../tools/config/cyborg-config-generator.conf', '_static/cyborg'),
]
policy_generator_config_file = [
    ('../../tools/config/cyborg-policy-generator.conf', '_static/cyborg'),
]
