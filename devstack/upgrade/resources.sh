#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Grenade: what is there before the upgrade has to be there after it.
# shellcheck disable=SC1091,SC2154
set -o errexit

source "$GRENADE_DIR/grenaderc"
source "$GRENADE_DIR/functions"
source "$TOP_DIR/openrc" admin admin

set -o xtrace

PROFILE=grenade-profile
GROUPS_OF_PROFILE='[{"resources:FPGA": "1", "trait:CUSTOM_FAKE_DEVICE": "required"}]'

function early_create {
    :
}

function create {
    openstack accelerator device profile create "$PROFILE" \
        "$GROUPS_OF_PROFILE"
    resource_save cyborg profile "$(_cyborg_profile)"
    resource_save cyborg devices "$(_cyborg_devices)"
}

function _cyborg_profile {
    openstack accelerator device profile show "$PROFILE" -f value -c uuid
}

function _cyborg_devices {
    openstack accelerator device list -f value -c uuid | sort | paste -sd ' '
}

function verify {
    local side=$1
    [[ "$(_cyborg_profile)" == "$(resource_get cyborg profile)" ]] ||
        die $LINENO "The device profile is another one $side the upgrade"
    [[ "$(_cyborg_devices)" == "$(resource_get cyborg devices)" ]] ||
        die $LINENO "The devices are others $side the upgrade"
}

function verify_noapi {
    # Nothing of Cyborg works without its API.
    :
}

function destroy {
    openstack accelerator device profile delete "$PROFILE"
}

case $1 in
    early_create) early_create ;;
    create) create ;;
    verify_noapi) verify_noapi ;;
    verify) verify "$2" ;;
    destroy) destroy ;;
esac
