# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# DevStack calls this file in each of its phases with the phase as $1 and $2.

# shellcheck source=devstack/lib/cyborg
source "$CYBORG_DIR/devstack/lib/cyborg"
# shellcheck source=devstack/lib/pci_sim
source "$CYBORG_DIR/devstack/lib/pci_sim"

CYBORG_BIN_DIR=$(get_python_exec_prefix)

function _cyborg_stack {
    local phase=$1
    case $phase in
        install)
            install_cyborg
            if is_pci_sim_enabled; then
                install_pci_sim
            fi
            ;;
        post-config)
            if is_pci_sim_enabled; then
                load_pci_sim
            fi
            configure_cyborg
            if is_service_enabled key && is_service_enabled cyborg-api; then
                create_cyborg_accounts
            fi
            if is_service_enabled nova; then
                configure_nova_for_cyborg "$NOVA_CONF"
                if [[ -f $NOVA_CPU_CONF ]]; then
                    configure_nova_for_cyborg "$NOVA_CPU_CONF"
                fi
            fi
            if is_pci_sim_enabled; then
                configure_pci_sim_cyborg
                configure_pci_sim_nova
            fi
            ;;
        extra)
            init_cyborg
            start_cyborg
            ;;
        test-config)
            if is_pci_sim_enabled; then
                create_pci_sim_resources
                if is_service_enabled tempest; then
                    configure_pci_sim_tempest
                fi
            fi
            ;;
    esac
}

if is_cyborg_enabled; then
    case $1 in
        stack) _cyborg_stack "$2" ;;
        unstack) stop_cyborg ;;
        clean)
            cleanup_cyborg
            if is_pci_sim_enabled; then
                unload_pci_sim
            fi
            ;;
    esac
fi
