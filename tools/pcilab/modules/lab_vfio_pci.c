// SPDX-License-Identifier: GPL-2.0
/* A variant of vfio-pci with vfio_pci: aliases, as mlx5_vfio_pci: libvirt
 * prefers it to vfio-pci.
 */
#define LAB_NAME "lab_vfio_pci"
#define LAB_ALIASES \
	{ PCI_DRIVER_OVERRIDE_DEVICE_VFIO(0x8086, 0x10ca) }, \
	{ PCI_DRIVER_OVERRIDE_DEVICE_VFIO(0x1af4, 0x1041) }, \
	{ PCI_DRIVER_OVERRIDE_DEVICE_VFIO(0x1b36, 0x0010) },
#include "lab_driver.h"
