# shellcheck shell=bash
# An S3-compatible store of the tests' own: started, used, ended. Sourced after local.sh.

# start_s3: sets and exports QUIPU_TEST_S3, the address of a store with a bucket `papers`.
# What is stored lies in its memory.
start_s3() {
    python_peers s3
    local port tries=0
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    # shellcheck disable=SC2154  # local.sh says where
    PYTHONPATH=$local_folder/python-s3 python3 -m moto.server --host 127.0.0.1 --port "$port" \
        >"$local_folder/s3.log" 2>&1 &
    s3_process=$!
    until curl --silent --fail --request PUT "http://127.0.0.1:$port/papers" >/dev/null 2>&1; do
        tries=$((tries + 1))
        if ((tries > 120)) || ! kill -0 "$s3_process" 2>/dev/null; then
            fail "the S3 store did not start: $(tail -n 5 "$local_folder/s3.log")"
        fi
        sleep 0.5
    done
    export QUIPU_TEST_S3=http://127.0.0.1:$port
}

stop_s3() {
    [[ -n ${s3_process:-} ]] || return 0
    kill "$s3_process" 2>/dev/null || true
    wait "$s3_process" 2>/dev/null || true
}
