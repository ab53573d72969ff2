# shellcheck shell=bash
# A PostgreSQL of the tests' own: started, used, removed. Sourced.

# start_postgres: sets and exports QUIPU_TEST_POSTGRES, an URL that may create databases.
start_postgres() {
    start_postgres_with "fsync = off
synchronous_commit = off
full_page_writes = off"
}

# start_durable_postgres: the same for measuring: what is committed is on disk, as in earnest.
start_durable_postgres() {
    start_postgres_with "max_wal_size = 4GB"
}

# start_postgres_with SETTINGS
start_postgres_with() {
    local programs
    programs=$(postgres_programs)
    if [[ -z $programs ]]; then
        debian_packages postgresql
        programs=$(postgres_programs)
    fi
    [[ -n $programs ]] || fail "no initdb of PostgreSQL 15 or newer was found"

    # Not under .local/: PostgreSQL refuses to run as root, and its own user may
    # be unable to enter the folder that the checkout is in.
    postgres_folder=$(mktemp -d "${TMPDIR:-/tmp}/quipu-postgres-XXXXXX")
    postgres_programs_folder=$programs
    local port password
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    password=$(python3 -c 'import secrets; print(secrets.token_hex(16))')
    printf '%s\n' "$password" >"$postgres_folder/password"
    [[ $(id -u) != 0 ]] || chown -R postgres "$postgres_folder"

    as_postgres "$programs/initdb" --pgdata "$postgres_folder/data" --username quipu \
        --pwfile "$postgres_folder/password" --auth scram-sha-256 \
        --encoding UTF8 --locale C.UTF-8 --no-sync >/dev/null
    # The tests' own does without the disk: durability is tested by killing Quipu, not the machine.
    cat >>"$postgres_folder/data/postgresql.conf" <<SETTINGS
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = ''
max_connections = 200
$1
SETTINGS
    as_postgres "$programs/pg_ctl" start --silent --wait --pgdata "$postgres_folder/data" \
        --log "$postgres_folder/log" || fail "PostgreSQL did not start: $(cat "$postgres_folder/log")"
    export QUIPU_TEST_POSTGRES=postgres://quipu:$password@127.0.0.1:$port/postgres
}

# postgres_program NAME: where a program of the server's lies.
postgres_program() {
    echo "$postgres_programs_folder/$1"
}

# postgres_database NAME: makes an empty database and prints its URL.
postgres_database() {
    local port password
    port=$(sed -n 's/^port = //p' "$postgres_folder/data/postgresql.conf" | tail -n 1)
    password=$(<"$postgres_folder/password")
    PGPASSWORD=$password "$postgres_programs_folder/createdb" --host 127.0.0.1 --port "$port" --username quipu "$1"
    echo "${QUIPU_TEST_POSTGRES%/*}/$1"
}

stop_postgres() {
    [[ -n ${postgres_folder:-} ]] || return 0
    as_postgres "$postgres_programs_folder/pg_ctl" stop --silent --mode immediate --pgdata "$postgres_folder/data" || true
    rm -rf "${postgres_folder:?}"
}

postgres_programs() {
    local folder
    for folder in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort --version-sort --reverse); do
        if [[ -x $folder/initdb && $(basename "$(dirname "$folder")") -ge 15 ]]; then
            echo "$folder"
            return
        fi
    done
}

as_postgres() {
    if [[ $(id -u) == 0 ]]; then
        # From a folder it may enter, or each command begins with a warning.
        (cd / && runuser -u postgres -- "$@")
    else
        "$@"
    fi
}
