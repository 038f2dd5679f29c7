#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Cleans emulated NVMe disks with real ioctls, and shows what is refused. The
# machine needs more disks than it has by itself:
#   tools/pcilab/pcilab run tools/pcilab/jobs/nvme_cleaning.sh -- \
#       $(cat tools/pcilab/jobs/nvme_cleaning.qemu)
set -e
here=$(dirname "$(readlink -f "$0")")
# A guest of its own, from the parts of the lab's.
mkdir -p /tmp/guest && cd /tmp/guest
busybox zcat /boot/guest.gz | busybox cpio -i 2>/dev/null
cp "$here/nvme_guest_init" init && chmod +x init
find . | busybox cpio -o -H newc 2>/dev/null | gzip -1 > /tmp/guest.gz
exec python3 "$here/nvme_cleaning.py"
