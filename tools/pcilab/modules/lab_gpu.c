// SPDX-License-Identifier: GPL-2.0
/* A GPU that offers virtual ones: a PCI device 10de:1eb8 in domain 1, of which
 * there is nothing but its configuration space, with a driver that makes
 * mediated devices of it as a vendor's does. What those do is in the kernel's
 * own sample, mtty.c, with another parent.
 */
#include <linux/init.h>
#include <linux/mdev.h>
#include <linux/module.h>
#include <linux/pci.h>

#define LAB_DOMAIN 1
#define LAB_NODE 1

static struct device *lab_parent;

static int lab_register(struct mdev_parent *parent, struct device *sample,
			struct mdev_driver *driver, struct mdev_type **types,
			unsigned int number)
{
	return mdev_register_parent(parent, lab_parent, driver, types, number);
}

/* The sample starts with our device, not with a module of its own. */
#pragma push_macro("module_init")
#pragma push_macro("module_exit")
#pragma push_macro("__init")
#pragma push_macro("__exit")
#undef module_init
#undef module_exit
#undef __init
#undef __exit
#define module_init(function)
#define module_exit(function)
#define __init
#define __exit
#define mdev_register_parent lab_register
#include "mtty.c"
#undef mdev_register_parent
#pragma pop_macro("module_init")
#pragma pop_macro("module_exit")
#pragma pop_macro("__init")
#pragma pop_macro("__exit")

static u8 lab_space[256] = {
	[PCI_VENDOR_ID] = 0xde, 0x10, 0xb8, 0x1e,
	[PCI_REVISION_ID] = 0xa1, 0x00, 0x02, 0x03,
	[PCI_SUBSYSTEM_VENDOR_ID] = 0xde, 0x10, 0xa2, 0x12,
};

static int lab_read(struct pci_bus *bus, unsigned int function, int where,
		    int size, u32 *value)
{
	int byte;

	*value = ~0;
	if (function || where + size > sizeof(lab_space))
		return PCIBIOS_DEVICE_NOT_FOUND;
	*value = 0;
	for (byte = size; byte--;)
		*value = *value << 8 | lab_space[where + byte];
	return PCIBIOS_SUCCESSFUL;
}

static int lab_write(struct pci_bus *bus, unsigned int function, int where,
		     int size, u32 value)
{
	/* There are no resources; all else is read-only. */
	if (!function && where == PCI_COMMAND && size == 2) {
		lab_space[where] = value;
		lab_space[where + 1] = value >> 8;
	}
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops lab_ops = { .read = lab_read, .write = lab_write };
static struct pci_sysdata lab_sysdata = {
	.domain = LAB_DOMAIN, .node = LAB_NODE,
};
static struct resource lab_buses = {
	.name = "lab", .start = 0, .end = 0, .flags = IORESOURCE_BUS,
};
static struct pci_bus *lab_bus;

static int lab_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	lab_parent = &pdev->dev;
	return mtty_dev_init();
}

static void lab_remove(struct pci_dev *pdev)
{
	mtty_dev_exit();
}

static const struct pci_device_id lab_ids[] = {
	{ PCI_DEVICE(0x10de, 0x1eb8) },
	{ }
};

/* The name makes that of the types: nvidia-1. */
static struct pci_driver lab_gpu_driver = {
	.name = "nvidia",
	.id_table = lab_ids,
	.probe = lab_probe,
	.remove = lab_remove,
};

static int __init lab_init(void)
{
	LIST_HEAD(resources);
	int error = pci_register_driver(&lab_gpu_driver);

	if (error)
		return error;
	pci_add_resource(&resources, &lab_buses);
	pci_lock_rescan_remove();
	lab_bus = pci_scan_root_bus(NULL, 0, &lab_ops, &lab_sysdata,
				    &resources);
	if (lab_bus)
		pci_bus_add_devices(lab_bus);
	pci_unlock_rescan_remove();
	if (lab_bus)
		return 0;
	pci_free_resource_list(&resources);
	pci_unregister_driver(&lab_gpu_driver);
	return -ENODEV;
}

static void __exit lab_exit(void)
{
	pci_lock_rescan_remove();
	pci_stop_root_bus(lab_bus);
	pci_remove_root_bus(lab_bus);
	pci_unlock_rescan_remove();
	pci_unregister_driver(&lab_gpu_driver);
}

module_init(lab_init);
module_exit(lab_exit);
