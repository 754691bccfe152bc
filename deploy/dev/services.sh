# The service processes of one development system. Sourced, never run.
# shellcheck shell=bash disable=SC2154

services=()              # in the order they start
services_with_database=() # the same
declare -A http_of=()     # "http+2": the port of the first instance, from http_port or ws_port on
while read -r name _ http database; do
    services+=("$name")
    http_of[$name]=$http
    [[ $database != yes ]] || services_with_database+=("$name")
done < <(grep -v '^#' "$repository/deploy/services")

port_of() { # SERVICE NUMBER
    local base=${http_of[$1]%+*}_port
    echo $((${!base} + ${http_of[$1]#*+} + 10 * $2))
}

address_of() { echo "$host:$(port_of "$1" "$2")"; }

expected_processes() { # "SERVICE NUMBER" a line
    local service number
    for service in "${services[@]}"; do
        for ((number = 0; number < instances["$service"]; number++)); do echo "$service $number"; done
    done
}

# The process that a pid file names, unless it is gone and its number is another process's.
service_pid() { # SERVICE NUMBER; empty when it is not running
    local pid
    pid=$(cat "$run_directory/$1-$2.pid" 2>/dev/null) || return 0
    if is_running "$pid" "$1" && has_environment "$pid" "PARLEY_STATE=$state"; then echo "$pid"; fi
}

running_processes() { # "SERVICE NUMBER PID" a line, in the order they start
    local service file number pid
    for service in "${services[@]}"; do
        for file in "$run_directory/$service"-*.pid; do
            number=${file##*-}
            number=${number%.pid}
            pid=$(service_pid "$service" "$number")
            [[ -z $pid ]] || echo "$service $number $pid"
        done
    done
}

# MARK: Building

build_services() {
    if [[ -n ${PARLEY_EXECUTABLES-} || ${PARLEY_NO_BUILD-} == 1 ]]; then
        say build "nothing built, using $executables"
    else
        say build "release (the first time takes some minutes)"
        (cd "$repository" && Clients/web/build >/dev/null && swift build --configuration release "${build_flags[@]}" 9>&-) ||
            die "the build failed: correct what the compiler says above and run this again."
    fi
    require_executables
}

build_flags=(--explicit-target-dependency-import-check error)

require_executables() {
    local name
    for name in "${services[@]}" media-inspector parley parley-load; do
        [[ -x $executables/$name ]] || die "$executables/$name is missing: run this without PARLEY_NO_BUILD, or make build."
    done
}

# MARK: Migrating

migrate_database() {
    local service layout=(${partitions:+--partitions "$partitions"})
    ((citus == 0)) || layout=(--citus)
    for service in "${services_with_database[@]}"; do # receipt's tables refer to store's
        PARLEY_DATABASE_URL=$(database_url "$(owner_of_tables "$service")") "$executables/$service" migrate "${layout[@]}" \
            >>"$logs/migrate.log" 2>&1 9>&- ||
            die "'$service migrate' failed. $logs/migrate.log ends:" "$(tail -n 8 "$logs/migrate.log")"
    done
    [[ -n $external_database ]] || grant_access
    say migrations applied
}

# The tables of a cluster have one owner: docs/decisions/0089-one-owner-of-a-clusters-tables.md.
owner_of_tables() { # SERVICE
    if ((citus == 0)); then echo "$1"; else echo postgres; fi
}

# As in a deployed system. Where a service owns its tables, it needs to be allowed what it reads of another.
grant_access() {
    local files=({receipt,store}-reads.sql)
    ((citus == 0)) || files=("${services_with_database[@]/%/_owner.sql}" "${files[@]}")
    # What these include is among them: the user of the database may not be able to read this directory.
    (cd "$repository/deploy/database" && sed '/^\\ir /d' "${files[@]}") |
        in_cluster psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --file=- parley >>"$logs/migrate.log" 2>&1 9>&- ||
        die "the services could not be granted access. $logs/migrate.log ends:" "$(tail -n 8 "$logs/migrate.log")"
}

# MARK: Starting

start_services() {
    local service number
    while read -r service number; do
        [[ -n $(service_pid "$service" "$number") ]] || start_service "$service" "$number"
    done < <(expected_processes)
}

# Before anything that takes time, because this is the most frequent error.
require_ports() {
    local service number
    require_distinct_ports
    while read -r service number; do
        [[ -n $(service_pid "$service" "$number") ]] || require_free_port "$service" "$number"
    done < <(expected_processes)
}

require_distinct_ports() {
    local repeated service number
    repeated=$(while read -r service number; do port_of "$service" "$number"; done < <(expected_processes) | sort | uniq -d)
    [[ -z $repeated ]] || die \
        "two services would listen on port ${repeated//$'\n'/, }: PARLEY_HTTP_PORT ($http_port) also gives +2, +3 and +4" \
        "to store, receipt and media, and each further instance adds 10; choose another PARLEY_WS_PORT ($ws_port)."
}

start_service() { # SERVICE NUMBER
    local name=$1-$2
    rm -f "$sockets/$name.sock"
    (
        cd "$state" || exit
        export PARLEY_STATE=$state PARLEY_INSTANCE=$2 PARLEY_LISTEN PARLEY_LOG_LEVEL=$log_level
        PARLEY_LISTEN=$(address_of "$1" "$2")
        export PARLEY_BUS_BIND="ipc://$sockets/$name.sock"
        for peer in "${services[@]}"; do export "PARLEY_BUS_${peer^^}=ipc://$sockets/$peer-*.sock"; done
        unset PARLEY_JWT_SECRET PARLEY_DATABASE_URL
        if [[ " ${services_with_database[*]} " == *" $1 "* ]]; then
            export PARLEY_DATABASE_URL && PARLEY_DATABASE_URL=$(database_url "$1")
        fi
        case $1 in # whom clients reach
        ingest | fanout | media) export PARLEY_JWT_SECRET_FILE=$secret_file ;;
        esac
        case $1 in
        ingest) export_web ;;
        media) export PARLEY_MEDIA_STORAGE="file://$state/media" PARLEY_MEDIA_INSPECTOR=$executables/media-inspector ;;
        esac
        # A separate session: Ctrl-C in this terminal must reach only the script, which stops the services in order.
        exec setsid "$executables/$1" >>"$logs/$name.log" 2>&1 </dev/null 9>&-
    ) &
    echo $! >"$run_directory/$name.pid"
    await_exec "$1" $!
}

# The page finds the first fanout, unless it is told another address.
export_web() {
    export PARLEY_WEB=$web PARLEY_SOCKET_URL=${socket_url:-}
    [[ -n $socket_url ]] || ((!instances[fanout])) || PARLEY_SOCKET_URL=$(fanout_url)
}

fanout_url() { echo "ws://$(address_of fanout 0)/v1/socket"; }

# Returns when the subshell has executed the service, so that a process with another name is not taken for a dead
# service.
await_exec() { # SERVICE PID
    while [[ -e /proc/$2 ]] && ! is_running "$2" "$1" && ! is_zombie "$2"; do sleep 0.01; done
}

require_free_port() { # SERVICE NUMBER
    local port
    port=$(port_of "$1" "$2")
    ! (exec 3<>"/dev/tcp/$host/$port") 2>/dev/null || die \
        "port $port, meant for $1-$2, is in use$(port_user "$port")." \
        "Stop that process, or choose other ports with PARLEY_HTTP_PORT and PARLEY_WS_PORT."
}

port_user() { # PORT
    local user
    user=$(ss -Hltnp "sport = :$1" 2>/dev/null | sed -n 's/.*users:(("\([^"]*\)",pid=\([0-9]*\).*/ by \1 (pid \2)/p' | head -1)
    echo "$user"
}

# MARK: Waiting until ready

await_services() {
    local deadline=$((SECONDS + start_seconds)) service number
    while read -r service number; do
        until is_ready "$service" "$number"; do
            [[ -n $(service_pid "$service" "$number") ]] || explain_failure "$service" "$number" "stopped while starting"
            ((SECONDS < deadline)) || explain_failure "$service" "$number" "is not ready after $start_seconds s: $(reasons "$service" "$number")"
            sleep 0.1
        done
        say "$service-$number" "ready at http://$(address_of "$service" "$number")"
    done < <(expected_processes)
}

is_ready() { # SERVICE NUMBER
    curl --silent --fail --max-time 2 --output /dev/null "http://$(address_of "$1" "$2")/readyz"
}

reasons() { # SERVICE NUMBER; why it says it is not ready
    curl --silent --max-time 2 "http://$(address_of "$1" "$2")/readyz" || echo "no response"
}

explain_failure() { # SERVICE NUMBER WHAT
    local log=$logs/$1-$2.log
    warn "$1-$2 $3. $log ends:"
    tail -n 12 "$log" >&2
    die "Correct what it says and run this again; deploy/dev/down stops what is running."
}

# MARK: Stopping

stop_services() {
    local service number pid
    while read -r service number pid; do
        say stopping "$service-$number"
        stop_process "$service" "$number" "$pid"
        rm -f "$run_directory/$service-$number.pid" "$sockets/$service-$number.sock"
    done < <(running_processes | tac)
    rm -f "$run_directory"/*-*.pid
}

# SIGTERM drains. A service that has not exited after its drain and a margin is killed, and that is reported.
has_ended() { ! is_running "$@"; } # PID NAME

stop_process() { # SERVICE NUMBER PID
    kill -TERM "$3" 2>/dev/null || return 0
    kill -CONT "$3" 2>/dev/null || true # it may have been stopped by SIGSTOP
    if await 20 has_ended "$3" "$1"; then return 0; fi
    warn "$1-$2 (pid $3) did not end within 20 s of SIGTERM and is killed: see $logs/$1-$2.log."
    kill -KILL "$3" 2>/dev/null || true
}
