# SPDX-License-Identifier: Apache-2.0
"""Options of tempest.conf for these tests."""

from oslo_config import cfg

service_available_group = cfg.OptGroup('service_available')
ServiceAvailableGroup = [
    cfg.BoolOpt('cyborg', default=True,
                help='Whether the accelerator service is there.'),
]

cyborg_group = cfg.OptGroup('cyborg', title='Accelerator service')
CyborgGroup = [
    cfg.StrOpt('image_ref', default='',
               help='UUID of the image that servers with accelerators boot; '
                    '[compute] image_ref when empty.'),
    cfg.StrOpt('flavor_ref', default='',
               help='UUID of the flavor that those of the tests are like; '
                    '[compute] flavor_ref when empty.'),
    cfg.StrOpt('max_microversion', default='latest',
               help='The newest microversion of the service under test, such '
                    'as 2.3 for 2026.2. Tests that need a newer one are left '
                    'out, and what it adds must then not be there.'),
]

cyborg_pci_group = cfg.OptGroup('cyborg_pci', title='PCI accelerators')
CyborgPCIGroup = [
    cfg.StrOpt('device_profile_name', default='',
               help='Device profile of the PCI devices. The scenarios are '
                    'skipped when it is empty.'),
    cfg.StrOpt('vendor_id', default='',
               help='Vendor of the devices as a guest sees it, four '
                    'hexadecimal digits, with or without 0x.'),
    cfg.StrOpt('product_id', default='',
               help='Product of the devices, in the same form.'),
    cfg.BoolOpt('expected_managed',
                help='What "managed" of their attach handles has to be. '
                     'When not set it has to be a boolean.'),
]

cyborg_policy_group = cfg.OptGroup('cyborg_policy', title='Access rules')
CyborgPolicyGroup = [
    cfg.BoolOpt('enforce_new_defaults', default=False,
                help='Whether [oslo_policy] enforce_new_defaults is set in '
                     'the service under test.'),
]

#: Groups and options, in the order of the sample file.
OPTIONS = [
    (service_available_group, ServiceAvailableGroup),
    (cyborg_group, CyborgGroup),
    (cyborg_pci_group, CyborgPCIGroup),
    (cyborg_policy_group, CyborgPolicyGroup),
]
