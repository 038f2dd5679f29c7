#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The cleaner of a host between two guests, with a disk that QEMU emulates:
#   tools/pcilab/pcilab run tools/pcilab/jobs/nvme_cleaner.sh
set -e
here=$(dirname "$(readlink -f "$0")")
. "$here/nvme_guest.sh"
exec python3 "$here/nvme_cleaner.py"
