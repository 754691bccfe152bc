# The private PostgreSQL cluster of one development system. Sourced, never run.
# shellcheck shell=bash disable=SC2154

# Determines the directories of the cluster and its socket: in the state directory, unless its user cannot enter it.
locate_database() {
    if state_is_open_to_database_user; then
        cluster=$state/postgres
    else
        cluster=/var/lib/postgresql/$state_name
    fi
    database_socket=$sockets/postgres
    find_postgresql
}

start_database() {
    if [[ -n $external_database ]]; then
        say database "the server of PARLEY_DATABASE_URL"
        return 0
    fi
    locate_database
    remove_orphan
    [[ -s $cluster/PG_VERSION ]] || create_cluster
    database_responds || start_cluster
    create_roles_and_database
    say database "PostgreSQL $(<"$cluster/PG_VERSION") in $cluster"
}

stop_database() {
    [[ -e $state/postgres ]] || return 0
    locate_database
    [[ -n $(database_pid) ]] || return 0
    say stopping postgres
    stop_cluster || warn "PostgreSQL did not stop within a minute: see $logs/postgres.log."
}

# The connection string of a service. No part of it needs quoting: see locate_sockets.
database_url() { # ROLE
    echo "${external_database:-host=$database_socket port=5432 dbname=parley user=$1}"
}

database_pid() { # empty when it is not running
    local pid
    pid=$(head -1 "$state/postgres/postmaster.pid" 2>/dev/null) || return 0
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
    if [[ $cluster != "$state/postgres" && -e $cluster && ! -e $state/postgres ]]; then
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
    [[ $cluster == "$state/postgres" ]] || ln -sfn "$cluster" "$state/postgres"
}

start_cluster() {
    make_private_directory "$database_socket"
    install -m 600 -o "$database_user" "$repository/deploy/dev/postgresql.conf" "$cluster/postgresql.conf"
    # A killed server prevents a start until it is reaped and its last backends have exited.
    await 5 start_server ||
        die "PostgreSQL did not start. $logs/postgres.log ends:" "$(tail -8 "$logs/postgres.log")"
}

start_server() {
    in_cluster pg_ctl start --silent --timeout="$start_seconds" --options="-k $database_socket" \
        >>"$logs/postgres.log" 2>&1 </dev/null 9>&-
}

stop_cluster() { in_cluster pg_ctl stop --silent --mode=fast --timeout=60 >>"$logs/postgres.log" 2>&1; }

# Local access is trusted because only the cluster's user (and root) can enter the socket's directory.
make_private_directory() {
    install -d -m 700 -o "$database_user" "$1"
}

create_roles_and_database() {
    in_cluster psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --file=- postgres \
        <"$repository/deploy/dev/database.sql" >>"$logs/postgres.log" 2>&1 ||
        die "the database could not be prepared. $logs/postgres.log ends:" "$(tail -8 "$logs/postgres.log")"
    # For `parley scrub`.
    database_url postgres >"$run_directory/owner-database"
}
