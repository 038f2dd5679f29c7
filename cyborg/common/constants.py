# SPDX-License-Identifier: Apache-2.0
"""Names that other services, drivers and stored rows know."""

CONDUCTOR_TOPIC = 'cyborg-conductor'
AGENT_TOPIC = 'cyborg-agent'

# Device types, in the order of the database's enum.
DEVICE_TYPE = ('GPU', 'FPGA', 'AICHIP', 'QAT', 'NIC', 'SSD', 'MDEV', 'PCI',
               'NVME')
(DEVICE_GPU, DEVICE_FPGA, DEVICE_AICHIP, DEVICE_QAT, DEVICE_NIC, DEVICE_SSD,
 DEVICE_MDEV, DEVICE_PCI, DEVICE_NVME) = DEVICE_TYPE

DEVICE_STATE_AVAILABLE = 'available'
DEVICE_STATE_ALLOCATED = 'allocated'
DEVICE_STATE_PENDING_CLEANING = 'pending_cleaning'
DEVICE_STATE_CLEANING = 'cleaning'
DEVICE_STATE_ERROR = 'error'
DEVICE_STATES = (DEVICE_STATE_AVAILABLE, DEVICE_STATE_ALLOCATED,
                 DEVICE_STATE_PENDING_CLEANING, DEVICE_STATE_CLEANING,
                 DEVICE_STATE_ERROR)

DEVICE_ENABLED = 'enabled'
DEVICE_MAINTAINING = 'maintaining'
DEVICE_STATUS = (DEVICE_ENABLED, DEVICE_MAINTAINING)

AH_TYPE_PCI = 'PCI'
AH_TYPE_MDEV = 'MDEV'
AH_TYPE_TEST_PCI = 'TEST_PCI'
ATTACH_HANDLE_TYPES = (AH_TYPE_PCI, AH_TYPE_MDEV, AH_TYPE_TEST_PCI)

CPID_TYPE_PCI = 'PCI'
CPID_TYPE = CPID_TYPE_PCI

# States of an accelerator request. UnbindFailed is in the object's enum only:
# no database of any release can store it.
ARQ_INITIAL = 'Initial'
ARQ_BIND_STARTED = 'BindStarted'
ARQ_BOUND = 'Bound'
ARQ_UNBOUND = 'Unbound'
ARQ_BIND_FAILED = 'BindFailed'
ARQ_UNBIND_FAILED = 'UnbindFailed'
ARQ_DELETING = 'Deleting'
ARQ_STATES = (ARQ_INITIAL, ARQ_BIND_STARTED, ARQ_BOUND, ARQ_UNBOUND,
              ARQ_BIND_FAILED, ARQ_UNBIND_FAILED, ARQ_DELETING)

# New state -> the states it may be entered from.
ARQ_STATES_TRANSFORM_MATRIX = {
    ARQ_INITIAL: (),
    ARQ_BIND_STARTED: (ARQ_INITIAL, ARQ_UNBOUND),
    ARQ_BOUND: (ARQ_BIND_STARTED,),
    ARQ_BIND_FAILED: (ARQ_INITIAL, ARQ_UNBOUND, ARQ_BIND_STARTED, ARQ_BOUND),
    ARQ_UNBOUND: (ARQ_INITIAL, ARQ_BIND_STARTED, ARQ_BOUND, ARQ_UNBOUND,
                  ARQ_BIND_FAILED),
    ARQ_DELETING: (ARQ_INITIAL, ARQ_BIND_STARTED, ARQ_BOUND, ARQ_UNBOUND,
                   ARQ_BIND_FAILED),
}

# What Nova is told for a state an ARQ may end a bind in.
ARQ_BIND_STATUS_FINISH = 'completed'
ARQ_BIND_STATUS_FAILED = 'failed'
ARQ_BIND_STATUS = (ARQ_BIND_STATUS_FINISH, ARQ_BIND_STATUS_FAILED)
ARQ_BIND_STATES_STATUS_MAP = {
    ARQ_BOUND: ARQ_BIND_STATUS_FINISH,
    ARQ_BIND_FAILED: ARQ_BIND_STATUS_FAILED,
    ARQ_DELETING: ARQ_BIND_STATUS_FAILED,
}
# States in which a bind is over; filter ``bind_state=resolved`` asks for it.
ARQ_RESOLVED_STATES = (ARQ_BOUND, ARQ_BIND_FAILED, ARQ_DELETING)

# Keys of a device profile's groups.
RESOURCES_PREFIX = 'resources:'
TRAIT_PREFIX = 'trait:'
ACCEL_PREFIX = 'accel:'
ACCEL_BITSTREAM_ID = 'accel:bitstream_id'
ACCEL_FUNCTION_ID = 'accel:function_id'
ACCEL_SPECS = (ACCEL_BITSTREAM_ID, ACCEL_FUNCTION_ID)

# Resource classes in Placement by the kind of device.
FPGA = 'FPGA'
PGPU = 'PGPU'
VGPU = 'VGPU'
QAT = 'CUSTOM_QAT'
NIC = 'CUSTOM_NIC'
SSD = 'CUSTOM_SSD'
PCI = 'CUSTOM_PCI'
RESOURCES = {'FPGA': FPGA, 'PGPU': PGPU, 'VGPU': VGPU, 'QAT': QAT,
             'NIC': NIC, 'SSD': SSD, 'PCI': PCI}

# Traits
OWNER_CYBORG = 'OWNER_CYBORG'
# Marks a provider of ours whose allocated devices the host does not show.
MISSING_TRAIT = 'CUSTOM_CYBORG_MISSING'
# Marks one whose units an operator's disable has reserved; the number behind
# it says how many of them others had reserved before.
DISABLED_TRAIT_PREFIX = 'CUSTOM_CYBORG_DISABLED_OVER_'
FPGA_FUNCTION_ID = 'CUSTOM_FPGA_FUNCTION_ID'
FPGA_TRAITS = (FPGA_FUNCTION_ID,)

# Drivers that the 2026.2 release had and this one has not, with what to use
# instead. An agent that still names one says so instead of "unknown".
DROPPED_DRIVERS = {
    'huawei_ascend_driver':
        'For Ascend cards enable pci_driver, with [pci] device_spec = '
        '{"vendor_id": "19e5", "product_id": "d100"} for an Ascend 310',
    'nvmf_spdk_driver':
        'For NVMe controllers that go to guests as PCI devices enable '
        'pci_driver, with [pci] device_spec = {"vendor_id": "...", '
        '"product_id": "..."} of the controllers',
}
