# The settings of a development system and the output functions of its scripts. Sourced, never run.
# shellcheck shell=bash disable=SC2034

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

say() { printf '  %-11s %s\n' "$1" "$2"; }

warn() { printf 'parley: %s\n' "$@" >&2; }

die() {
    warn "$@"
    exit 1
}

# The environment takes precedence; then the settings that the running system was started with, so that `status`, `down`
# and a second `up` in another terminal mean the same system; then the default.
setting() { # NAME DEFAULT
    local remembered
    if [[ -n ${!1-} ]]; then
        echo "${!1}"
    elif remembered=$(grep -s "^$1=" "$settings_file"); then
        echo "${remembered#*=}"
    else
        echo "$2"
    fi
}

number_setting() { # NAME DEFAULT MINIMUM MAXIMUM
    local value
    value=$(setting "$1" "$2")
    if [[ ! $value =~ ^[0-9]{1,5}$ ]] || ((10#$value < $3 || 10#$value > $4)); then
        die "$1 must be a number from $3 to $4, not '$value'."
    fi
    echo "$value"
}

state=$(realpath --canonicalize-missing "${PARLEY_STATE:-$repository/.parley}")
run_directory=$state/run
logs=$state/logs
secret_file=$state/jwt-secret
settings_file=$run_directory/settings

host=$(setting PARLEY_HOST 127.0.0.1)
http_port=$(number_setting PARLEY_HTTP_PORT 8080 1 65000)
front_port=$((http_port + 5)) # of the page, beside the ports of the services
ws_port=$(number_setting PARLEY_WS_PORT 8081 1 65000)
external_database=$(setting PARLEY_DATABASE_URL '')
partitions=$(setting PARLEY_PARTITIONS '')
citus=$(number_setting PARLEY_CITUS 0 0 9) # workers
log_level=$(setting PARLEY_LOG_LEVEL info)
web=$(setting PARLEY_WEB 1)
socket_url=$(setting PARLEY_SOCKET_URL '')
declare -A instances
instances[ingest]=$(number_setting PARLEY_INGESTS 1 0 20)
instances[store]=$(number_setting PARLEY_STORES 1 0 20)
instances[receipt]=$(number_setting PARLEY_RECEIPTS 1 0 20)
instances[fanout]=$(number_setting PARLEY_FANOUTS 1 0 20)
instances[media]=$(number_setting PARLEY_MEDIAS 1 0 20)
if ((citus)); then
    [[ -z $external_database$partitions ]] || die "PARLEY_CITUS goes with neither PARLEY_DATABASE_URL nor PARLEY_PARTITIONS."
fi

# A directory with the executables. If set, it is used unchanged and nothing is built.
executables=${PARLEY_EXECUTABLES:-$repository/.build/release}

start_seconds=$(number_setting PARLEY_START_SECONDS 60 1 3600)

remember_settings() {
    (
        umask 077
        cat >"$settings_file" <<-END
		PARLEY_HOST=$host
		PARLEY_HTTP_PORT=$http_port
		PARLEY_WS_PORT=$ws_port
		PARLEY_DATABASE_URL=$external_database
		PARLEY_PARTITIONS=$partitions
		PARLEY_CITUS=$citus
		PARLEY_LOG_LEVEL=$log_level
		PARLEY_WEB=$web
		PARLEY_SOCKET_URL=$socket_url
		PARLEY_INGESTS=${instances[ingest]}
		PARLEY_STORES=${instances[store]}
		PARLEY_RECEIPTS=${instances[receipt]}
		PARLEY_FANOUTS=${instances[fanout]}
		PARLEY_MEDIAS=${instances[media]}
		END
    )
}

forget_settings() { rm -f "$settings_file"; }

# A short name for this state directory, for directories that must be outside it.
state_name=parley-$EUID-$(printf '%s' "$state" | sha256sum | cut -c1-12)

# PostgreSQL refuses to run as root, so root's server belongs to the user that Debian's package made for it.
if ((EUID == 0)); then database_user=postgres; else database_user=$(id -un); fi

as_database_user() {
    if ((EUID == 0)); then
        # From a directory that everybody may enter: that user may not be allowed in the caller's.
        (cd / && exec runuser -u "$database_user" -- "$@")
    else
        "$@"
    fi
}

# Root's state directory is often below one that only root may enter, such as /root.
state_is_open_to_database_user() { as_database_user test -x "$state" 2>/dev/null; }

# Determines the directory of the unix sockets: beside the pid files, unless the path is too long (the kernel allows 107
# bytes, our longest name adds 25), needs quoting (endpoints and connection strings have none) or is inaccessible to the
# database's user.
locate_sockets() {
    if ((${#run_directory} <= 80)) && [[ $run_directory =~ ^[A-Za-z0-9/._-]+$ ]] && state_is_open_to_database_user; then
        sockets=$run_directory
    else
        sockets=/tmp/$state_name
    fi
}

open_state() {
    mkdir -p "$run_directory" "$logs" 2>/dev/null ||
        die "cannot create the state directory $state: choose another with PARLEY_STATE."
    # The database server's user may only pass through to its own directories.
    chmod 711 "$state" "$run_directory"
    chmod 700 "$logs"
    locate_sockets
    [[ $sockets == "$run_directory" ]] || create_socket_directory
    create_secret
}

create_socket_directory() {
    mkdir -m 711 "$sockets" 2>/dev/null || [[ -d $sockets && ! -L $sockets && -O $sockets ]] ||
        die "$sockets belongs to somebody else: choose a shorter PARLEY_STATE."
}

# The secret that signs and checks tokens. If PARLEY_JWT_SECRET is set it is stored in the file too, so that `parley
# token` and the services agree whatever the next terminal's environment is.
create_secret() (
    umask 077
    if [[ -n ${PARLEY_JWT_SECRET-} ]]; then
        printf '%s' "$PARLEY_JWT_SECRET" >"$secret_file"
    elif [[ ! -s $secret_file ]]; then
        head -c 32 /dev/urandom | base64 --wrap=0 >"$secret_file"
    fi
)

# Only one command at a time may change a system. The lock ends with the process that holds it; processes that it starts
# must not inherit descriptor 9.
lock_state() {
    exec 9>"$run_directory/lock"
    flock --timeout 600 9 || die "another command has been working on $state for ten minutes."
}

unlock_state() { exec 9>&-; }
