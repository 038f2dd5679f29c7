#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Grenade: stop the services of the release to upgrade from.
# shellcheck disable=SC1091,SC2154
set -o errexit

source "$GRENADE_DIR/grenaderc"
source "$GRENADE_DIR/functions"
source "$BASE_DEVSTACK_DIR/functions"
source "$BASE_DEVSTACK_DIR/stackrc"

set -o xtrace

# Agents first: nothing is to report into what is about to change.
for service in cyborg-agent cyborg-cond cyborg-api; do
    stop_process "$service"
done
ensure_services_stopped cyborg-agent cyborg-conductor
