# Functions about processes. Sourced, never run.
# shellcheck shell=bash

# Whether the process is alive and has that name. A zombie is not alive, although `kill -0` succeeds: the init of some
# containers reaps only every few seconds.
is_running() { # PID NAME
    local status
    [[ $1 =~ ^[0-9]+$ ]] || return 1
    status=$(grep -E '^(Name|State):' "/proc/$1/status" 2>/dev/null) || return 1
    [[ $status == "Name:"$'\t'"$2"$'\n'* && $status != *$'\t'Z* ]]
}

# Whether the process was started with NAME=VALUE in its environment.
has_environment() { # PID NAME=VALUE
    { tr '\0' '\n' <"/proc/$1/environ" | grep -Fxq "$2"; } 2>/dev/null
}

is_zombie() { grep -Eqs '^State:\s+Z' "/proc/$1/status"; } # PID

await() { # SECONDS COMMAND…; whether the command succeeded in time
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < deadline)) || return 1
        sleep 0.05
    done
}
