#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Grenade: from the former release to this one, on its database and with its
# configuration, as an operator would.
# shellcheck disable=SC1091,SC2154
set -o errexit

source "$GRENADE_DIR/grenaderc"
source "$GRENADE_DIR/functions"
source "$TARGET_DEVSTACK_DIR/functions"
source "$TARGET_DEVSTACK_DIR/stackrc"
source "$TARGET_DEVSTACK_DIR/lib/tls"
source "$TARGET_DEVSTACK_DIR/lib/apache"
source "$TARGET_DEVSTACK_DIR/lib/keystone"

CYBORG_DIR=$TARGET_RELEASE_DIR/cyborg
source "$CYBORG_DIR/devstack/settings"
source "$CYBORG_DIR/devstack/lib/cyborg"
CYBORG_BIN_DIR=$(get_python_exec_prefix)

set -o xtrace

install_cyborg
# The paste file of this release, which has no options of its own; the rest of
# the configuration stays as it was.
install -m 644 "$CYBORG_DIR/etc/cyborg/api-paste.ini" "$CYBORG_API_PASTE_INI"
write_uwsgi_config "$CYBORG_UWSGI_CONF" "$CYBORG_UWSGI" /accelerator '' \
    cyborg-api
"$CYBORG_BIN_DIR/cyborg-dbsync" --config-file "$CYBORG_CONF_FILE" upgrade
"$CYBORG_BIN_DIR/cyborg-status" --config-file "$CYBORG_CONF_FILE" upgrade check
start_cyborg
ensure_services_started cyborg-conductor cyborg-agent
