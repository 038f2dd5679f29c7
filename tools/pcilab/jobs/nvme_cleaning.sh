#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Cleans emulated NVMe disks with real ioctls. The machine needs the devices
# of nvme_cleaning.qemu.
set -e
here=$(dirname "$(readlink -f "$0")")
[ -d /lab/job ] && here=/lab/job
# A guest of its own, from the parts of the lab's.
mkdir -p /tmp/guest && cd /tmp/guest
for initrd in /boot/l2.gz /boot/guest.gz; do
    [ -e "$initrd" ] && busybox zcat "$initrd" | busybox cpio -i 2>/dev/null
done
cp "$here/nvme_guest_init" init && chmod +x init
find . | busybox cpio -o -H newc 2>/dev/null | gzip -1 > /tmp/guest.gz
export PYTHONPATH=${PYTHONPATH:-/opt/cyborg}
exec python3 "$here/nvme_cleaning.py"
