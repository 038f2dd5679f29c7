# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Makes /tmp/guest.gz: the lab's guest with another first process.
mkdir -p /tmp/guest
cp "$here/nvme_guest_init" /tmp/guest/init.new
(
    cd /tmp/guest
    busybox zcat /boot/guest.gz | busybox cpio -i 2>/dev/null
    mv init.new init && chmod +x init
    find . | busybox cpio -o -H newc 2>/dev/null | gzip -1 > /tmp/guest.gz
)
