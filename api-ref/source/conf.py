# SPDX-License-Identifier: Apache-2.0
"""How Sphinx builds the API reference."""

project = 'OpenStack Cyborg API'
copyright = 'OpenStack Cyborg contributors'
version = release = ''

extensions = ['openstackdocstheme', 'os_api_ref']
root_doc = 'index'
html_theme = 'openstackdocs'
html_theme_options = {'sidebar_mode': 'toc'}
pygments_style = 'native'
openstackdocs_repo_name = 'openstack/cyborg'
openstackdocs_auto_name = False
openstackdocs_use_storyboard = False
