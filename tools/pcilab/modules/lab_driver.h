/* SPDX-License-Identifier: GPL-2.0 */
/* The common part of the lab's two VFIO drivers: virtual functions are handed
 * to vfio_pci_core as they are. They bind by driver_override alone.
 */
#include <linux/iommufd.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/vfio.h>
#include <linux/vfio_pci_core.h>

static const struct pci_device_id lab_ids[] = {
#ifdef LAB_ALIASES
	LAB_ALIASES
#endif
	{ }
};
#ifdef LAB_ALIASES
MODULE_DEVICE_TABLE(pci, lab_ids);
#endif

static int lab_open(struct vfio_device *device)
{
	struct vfio_pci_core_device *core =
		container_of(device, struct vfio_pci_core_device, vdev);
	int error = vfio_pci_core_enable(core);

	if (error)
		return error;
	vfio_pci_core_finish_enable(core);
	return 0;
}

static const struct vfio_device_ops lab_ops = {
	.name = LAB_NAME,
	.init = vfio_pci_core_init_dev,
	.release = vfio_pci_core_release_dev,
	.open_device = lab_open,
	.close_device = vfio_pci_core_close_device,
	.ioctl = vfio_pci_core_ioctl,
	.device_feature = vfio_pci_core_ioctl_feature,
	.read = vfio_pci_core_read,
	.write = vfio_pci_core_write,
	.mmap = vfio_pci_core_mmap,
	.request = vfio_pci_core_request,
	.match = vfio_pci_core_match,
	.bind_iommufd = vfio_iommufd_physical_bind,
	.unbind_iommufd = vfio_iommufd_physical_unbind,
	.attach_ioas = vfio_iommufd_physical_attach_ioas,
	.detach_ioas = vfio_iommufd_physical_detach_ioas,
};

static int lab_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct vfio_pci_core_device *core;
	int error;

	if (!pdev->is_virtfn)
		return -ENODEV;
	core = vfio_alloc_device(vfio_pci_core_device, vdev, &pdev->dev,
				 &lab_ops);
	if (IS_ERR(core))
		return PTR_ERR(core);
	dev_set_drvdata(&pdev->dev, core);
	error = vfio_pci_core_register_device(core);
	if (error)
		vfio_put_device(&core->vdev);
	return error;
}

static void lab_remove(struct pci_dev *pdev)
{
	struct vfio_pci_core_device *core = dev_get_drvdata(&pdev->dev);

	vfio_pci_core_unregister_device(core);
	vfio_put_device(&core->vdev);
}

static struct pci_driver lab_pci_driver = {
	.name = LAB_NAME,
	.id_table = lab_ids,
	.probe = lab_probe,
	.remove = lab_remove,
	.err_handler = &vfio_pci_core_err_handlers,
	.driver_managed_dma = true,
};
module_pci_driver(lab_pci_driver);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("VFIO driver of the PCI lab");
