// SPDX-License-Identifier: GPL-2.0
/* A vendor's driver that offers its virtual functions to VFIO without saying
 * so in its aliases, as those of virtual GPUs do: libvirt does not know it.
 */
#define LAB_NAME "lab_vendor"
#include "lab_driver.h"
