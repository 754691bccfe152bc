# The private PostgreSQL of one development system: a server, or with PARLEY_CITUS a coordinator and its workers. Sourced,
# never run.
# shellcheck shell=bash disable=SC2154

# The coordinator, or the only server, has no number.
mapfile -t workers < <(seq "$citus")
nodes=('' "${workers[@]}")

# Determines the directories of a node and its socket: in the state directory, unless its user cannot enter it.
locate_database() { # [NUMBER]
    local name=postgres${1:+-$1}
    link=$state/$name
    if state_is_open_to_database_user; then
        cluster=$link
    else
        cluster=/var/lib/postgresql/$state_name${1:+-$1}
    fi
    database_socket=$sockets/$name
    database_log=$logs/$name.log
    find_postgresql
}

start_database() {
    local number
    if [[ -n $external_database ]]; then
        say database "the server of PARLEY_DATABASE_URL"
        return 0
    fi
    require_present_nodes
    for number in "${nodes[@]}"; do start_node "$number"; done
    ((citus == 0)) || join_nodes
    locate_database
    create_roles_and_database
    say database "PostgreSQL $(<"$cluster/PG_VERSION") in $cluster"
    ((citus == 0)) || say database "which is the coordinator of $citus workers"
}

start_node() { # NUMBER
    locate_database "$1"
    ((citus == 0)) || require_citus
    remove_orphan
    [[ -s $cluster/PG_VERSION ]] || create_cluster
    database_responds || start_cluster
}

stop_database() {
    local number
    for number in "${nodes[@]}"; do
        [[ -e $state/postgres${number:+-$number} ]] || continue
        locate_database "$number"
        [[ -n $(database_pid "$number") ]] || continue
        say stopping "${link##*/}"
        stop_cluster || warn "PostgreSQL did not stop within a minute: see $database_log."
    done
}

remove_database() {
    local present
    for present in "$state"/postgres{,-[1-9]}; do
        [[ -e $present ]] || continue
        locate_database "$(sed -n 's/^postgres-//p' <<<"${present##*/}")"
        remove_cluster
    done
}

# The connection string of a service. No part of it needs quoting: see locate_sockets.
database_url() { # ROLE
    echo "${external_database:-host=$database_socket port=5432 dbname=parley user=$1}"
}

database_pid() { # [NUMBER]; empty when it is not running
    local pid
    pid=$(head -1 "$state/postgres${1:+-$1}/postmaster.pid" 2>/dev/null) || return 0
    ! is_running "$pid" postgres || echo "$pid"
}

database_responds() { in_cluster psql --command='' postgres >/dev/null 2>&1; }

# A cluster is served by the major version that created it, a new one by the latest installed version.
find_postgresql() {
    local version='*'
    [[ ! -s $cluster/PG_VERSION ]] || version=$(<"$cluster/PG_VERSION")
    postgresql=$(find /usr/lib/postgresql -maxdepth 2 -path "*/$version/bin" 2>/dev/null | sort --version-sort | tail -1)
    [[ -n $postgresql ]] || die "no PostgreSQL ($version) in /usr/lib/postgresql: run deploy/bootstrap."
}

# Runs a program of PostgreSQL as the cluster's user, connected as its superuser.
in_cluster() { # PROGRAM ARGUMENT…
    local program=$1
    shift
    as_database_user env PGDATA="$cluster" PGHOST="$database_socket" PGPORT=5432 PGUSER=postgres PGOPTIONS= \
        "$postgresql/$program" "$@"
}

# A cluster outside the state directory survives the removal of the state directory. Its data does not belong to a new
# one.
remove_orphan() {
    if [[ $cluster != "$link" && -e $cluster && ! -e $link ]]; then
        say database "removing $cluster, whose state directory is gone"
        remove_cluster
    fi
}

remove_cluster() {
    [[ ! -e $cluster/postmaster.pid ]] || stop_cluster || true
    rm -rf "$cluster" "$cluster.new"
}

# Created under another name and renamed when complete, so that the remains of an interrupted attempt are not taken for
# a cluster.
create_cluster() {
    say database "creating a cluster in $cluster"
    rm -rf "$cluster" "$cluster.new"
    make_private_directory "$cluster.new"
    as_database_user "$postgresql/initdb" --pgdata="$cluster.new" --username=postgres --encoding=UTF8 \
        --locale=C.UTF-8 --auth-local=trust --auth-host=reject --data-checksums >"$logs/initdb.log" 2>&1 ||
        die "initdb failed:" "$(tail -5 "$logs/initdb.log")"
    mv "$cluster.new" "$cluster"
    [[ $cluster == "$link" ]] || ln -sfn "$cluster" "$link"
}

start_cluster() {
    make_private_directory "$database_socket"
    install -m 600 -o "$database_user" "$repository/deploy/dev/postgresql.conf" "$cluster/postgresql.conf"
    # A killed server prevents a start until it is reaped and its last backends have exited.
    await 5 start_server ||
        die "PostgreSQL did not start. $database_log ends:" "$(tail -8 "$database_log")"
}

start_server() {
    in_cluster pg_ctl start --silent --timeout="$start_seconds" --options="$(server_options)" \
        >>"$database_log" 2>&1 </dev/null 9>&-
}

# The nodes reach each other as everybody does, through the directories of the sockets, so they need no passwords.
server_options() {
    printf -- '-k %s' "$database_socket"
    ((citus == 0)) || printf -- ' -c %s' shared_preload_libraries=citus "citus.local_hostname=$database_socket" \
        max_connections=500 max_prepared_transactions=500 max_worker_processes=32 wal_level=logical citus.recover_2pc_interval=5s
}

stop_cluster() { in_cluster pg_ctl stop --silent --mode=fast --timeout=60 >>"$database_log" 2>&1; }

# Local access is trusted because only the cluster's user (and root) can enter the socket's directory.
make_private_directory() {
    install -d -m 700 -o "$database_user" "$1"
}

create_roles_and_database() {
    local database=postgres
    ((citus == 0)) || database=parley # From there roles are made on every node.
    run_sql "$database" <"$repository/deploy/dev/database.sql"
    # For `parley scrub`.
    database_url postgres >"$run_directory/owner-database"
}

run_sql() { # DATABASE; the statements come from standard input
    in_cluster psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --file=- "$1" >>"$database_log" 2>&1 ||
        die "the database could not be prepared. $database_log ends:" "$(tail -8 "$database_log")"
}

# MARK: Citus

require_citus() {
    local version control
    version=$(basename "$(dirname "$postgresql")")
    control=/usr/share/postgresql/$version/extension/citus.control
    [[ -f $control ]] || die \
        "PARLEY_CITUS needs the extension citus, and PostgreSQL $version has none ($control is missing)." \
        "Install Citus 13.1 or later for it, or leave PARLEY_CITUS out."
}

# How many workers there are is decided when the database is created.
require_present_nodes() {
    local present
    [[ -e $state/postgres ]] || return 0
    present=$(find "$state" -maxdepth 1 -name 'postgres-[1-9]' | wc -l)
    ((present == citus)) || die \
        "the database in $state has $present workers: set PARLEY_CITUS=$present, or choose another PARLEY_STATE."
}

# Makes one cluster of the nodes. Each has the database, and the extension in it, before it joins.
join_nodes() {
    local number
    for number in "${nodes[@]}"; do
        locate_database "$number"
        run_sql postgres <<-'END'
			SELECT 'CREATE DATABASE parley' WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'parley') \gexec
			\connect parley
			CREATE EXTENSION IF NOT EXISTS citus;
		END
    done
    locate_database
    run_sql parley < <(
        echo "SELECT citus_set_coordinator_host('$database_socket', 5432);"
        for number in "${workers[@]}"; do
            echo "SELECT citus_add_node('$sockets/postgres-$number', 5432) WHERE NOT EXISTS (
                SELECT FROM pg_dist_node WHERE nodename = '$sockets/postgres-$number');"
        done
    )
}
