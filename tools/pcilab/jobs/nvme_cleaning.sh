#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Cleans emulated NVMe disks with real ioctls, and shows what is refused. The
# machine needs more disks than it has by itself:
#   tools/pcilab/pcilab run tools/pcilab/jobs/nvme_cleaning.sh -- \
#       $(cat tools/pcilab/jobs/nvme_cleaning.qemu)
set -e
here=$(dirname "$(readlink -f "$0")")
. "$here/nvme_guest.sh"
exec python3 "$here/nvme_cleaning.py"
