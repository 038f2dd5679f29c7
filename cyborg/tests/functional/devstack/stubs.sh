# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# What the plugin uses of DevStack, without a cloud: files are edited for
# real below $SANDBOX, everything else is written to $SANDBOX/calls.

set -eu

DEST=$SANDBOX/dest
DATA_DIR=$SANDBOX/data
STACK_USER=$(id -un)
SERVICE_PROTOCOL=http
SERVICE_HOST=192.0.2.10
SERVICE_PASSWORD=secret
SERVICE_PROJECT_NAME=service
SERVICE_DOMAIN_NAME=Default
REGION_NAME=RegionOne
KEYSTONE_SERVICE_URI=http://192.0.2.10/identity
ENABLE_DEBUG_LOG_LEVEL=True
ENABLED_SERVICES=${ENABLED_SERVICES:-}
CYBORG_CONF_DIR=$SANDBOX/etc
CYBORG_UWSGI_CONF=$SANDBOX/etc/cyborg-uwsgi.ini
NOVA_CONF=$SANDBOX/nova.conf
NOVA_CPU_CONF=$SANDBOX/nova-cpu.conf
TEMPEST_CONFIG=$SANDBOX/tempest.conf

function note {
    echo "$*" >>"$SANDBOX/calls"
}

function _ini {
    "$PYTHON" "$INI" "$@"
}

function iniset { _ini set "$@"; }
function iniadd { _ini add "$@"; }
function inicomment { _ini comment "$@"; }
function sudo { "$@"; }
# As the kernel would: the driver of a device changes with what is written.
function tee {
    local file=$1 text device
    text=$(cat)
    case $file in
        */driver/unbind) rm "${file%/unbind}" ;;
        */drivers_probe)
            device=$PCI_SIM_SYSFS/bus/pci/devices/$text
            mkdir -p "$PCI_SIM_SYSFS/bus/pci/drivers/$(<"$device/driver_override")"
            ln -s "$PCI_SIM_SYSFS/bus/pci/drivers/$(<"$device/driver_override")" \
                "$device/driver"
            ;;
        *) echo "$text" >"$file" ;;
    esac
}
function git_clone {
    note git_clone "$@"
    git clone -q "$1" "$2"
    git -C "$2" checkout -q "$3"
}
function modprobe { note modprobe "$@"; }
function depmod { note depmod "$@"; }
function make { note make "$@"; }
function openstack { note openstack "$@"; }
function define_plugin { note define_plugin "$@"; }
function enable_service {
    local service
    for service in "$@"; do
        ENABLED_SERVICES+=,$service
    done
}
function disable_service {
    local service
    for service in "$@"; do
        ENABLED_SERVICES=${ENABLED_SERVICES//,$service/}
    done
}
function is_service_enabled {
    local service
    for service in "$@"; do
        [[ ,$ENABLED_SERVICES, == *,$service,* ]] && return 0
    done
    return 1
}
function trueorfalse {
    local default=$1 value
    value=${!2:-}
    case ${value,,} in
        1 | true | yes | y | enabled) echo True ;;
        0 | false | no | n | disabled) echo False ;;
        *) echo "$default" ;;
    esac
}
function die {
    shift
    echo "$*" >&2
    exit 1
}
function is_ubuntu { true; }
function install_package { note install_package "$@"; }
function setup_develop { note setup_develop "$@"; }
function create_service_user { note create_service_user "$@"; }
function get_or_create_service { note get_or_create_service "$@"; }
function get_or_create_endpoint { note get_or_create_endpoint "$@"; }
function iniset_rpc_backend {
    iniset "$2" DEFAULT transport_url rabbit://stackrabbit:secret@192.0.2.10/
}
function database_connection_url { echo "mysql+pymysql://root:secret@127.0.0.1/$1"; }
function configure_keystone_authtoken_middleware {
    iniset "$1" keystone_authtoken auth_type password
    iniset "$1" keystone_authtoken www_authenticate_uri \
        "$KEYSTONE_SERVICE_URI"
}
function write_uwsgi_config { note write_uwsgi_config "$@"; }
function remove_uwsgi_config { note remove_uwsgi_config "$@"; }
function recreate_database { note recreate_database "$@"; }
function run_process {
    if is_service_enabled "$1"; then
        note run_process "$@"
    fi
}
function stop_process { note stop_process "$@"; }
function get_python_exec_prefix { echo "$SANDBOX/bin"; }
