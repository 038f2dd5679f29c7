# SPDX-License-Identifier: Apache-2.0
"""How Sphinx builds the release notes."""

project = 'OpenStack Cyborg Release Notes'
copyright = 'OpenStack Cyborg contributors'
version = release = ''

extensions = ['openstackdocstheme', 'reno.sphinxext']
root_doc = 'index'
html_theme = 'openstackdocs'
pygments_style = 'native'
openstackdocs_repo_name = 'openstack/cyborg'
openstackdocs_auto_name = False
openstackdocs_use_storyboard = False
