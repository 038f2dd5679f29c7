# SPDX-License-Identifier: Apache-2.0
"""What tests send."""

#: One device of the fake driver.
FAKE_GROUPS = ({'resources:FPGA': '1',
                'trait:CUSTOM_FAKE_DEVICE': 'required'},)


def make_device_profile_data(name, description=None, groups=FAKE_GROUPS):
    """The body that creates a device profile.

    :param groups: for each an object with resources and traits
    """
    profile = {'name': name, 'groups': [dict(group) for group in groups]}
    if description is not None:
        profile['description'] = description
    return [profile]
