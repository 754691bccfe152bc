# A development system: the functions that `up`, `run`, `down` and `status` share. Sourced, never run.
# shellcheck shell=bash disable=SC2154

source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
source "$(dirname "${BASH_SOURCE[0]}")/processes.sh"
source "$(dirname "${BASH_SOURCE[0]}")/database.sh"
source "$(dirname "${BASH_SOURCE[0]}")/services.sh"
source "$(dirname "${BASH_SOURCE[0]}")/demo.sh"

# Starts the processes that are not running and returns when all are ready.
start_system() {
    local started=$SECONDS
    "$repository/deploy/bootstrap"
    open_state
    lock_state
    require_ports
    build_services
    start_database
    migrate_database
    remember_settings
    start_services
    await_services
    create_demo
    unlock_state
    say ready "after $((SECONDS - started)) s"
}

stop_system() {
    [[ -d $run_directory ]] || return 0
    locate_sockets
    lock_state
    stop_services
    stop_database
    forget_settings
    [[ $sockets == "$run_directory" ]] || rm -rf "$sockets"
    unlock_state
}

# Removes a stopped system with its data.
erase_system() {
    [[ -d $state ]] || return 0
    locate_sockets
    remove_database
    rm -rf "$state"
}
