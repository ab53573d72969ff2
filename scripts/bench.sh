#!/usr/bin/env bash
# How fast Quipu is; peers/bench/README.md has what is measured, and how long it takes.
#
#   scripts/bench.sh                         all parts
#   scripts/bench.sh --wire [WORD...]        beside MCP servers of other makers
#   scripts/bench.sh --beside [WORD...]      beside other searches, on judged sets
#   scripts/bench.sh --scale 10k,100k,1m [WORD...]   from ten thousand passages to a million
#   scripts/bench.sh --facts 10k,100k,1m [WORD...]   from ten thousand facts to a million
#
# Further words go to the part's program (peers/bench): `--any-load`, `--rounds 3`. Figures are
# gathered in target/bench.jsonl.
set -euo pipefail
# shellcheck source=scripts/local.sh
source "$(dirname "$0")/local.sh"
# shellcheck source=scripts/postgres.sh
source "$(dirname "$0")/postgres.sh"
cd "$root"

need cargo "the Rust toolchain"
programs=${CARGO_TARGET_DIR:-$root/target}/release
cargo build --workspace --bin quipu --bin scale --bin ledger --release

wire() {
    debian_packages wrk util-linux
    python_peers v2
    node_peers
    rmcp_peer release
    python3 -m peers.bench.run --quipu "$programs/quipu" \
        --rmcp "$local_folder/target-rmcp/release/bench" "$@"
}

beside() {
    if [[ -z ${QUIPU_CORPORA:-} ]]; then
        echo "not measured beside other searches: QUIPU_CORPORA names no folder of judged sets"
        return
    fi
    embedding_model "$programs/quipu" || return 0
    python_peers beside
    basic_memory_peer || set -- --without-basic-memory "it needs Python 3.12, which is not installed" "$@"
    python3 -m peers.bench.beside --quipu "$programs/quipu" --corpora "$QUIPU_CORPORA" \
        --models "$QUIPU_TEST_MODELS" "$@"
}

scale() {
    local sizes=$1 models=()
    shift
    if embedding_model "$programs/quipu"; then
        models=(--models "$QUIPU_TEST_MODELS")
    fi
    trap stop_postgres EXIT
    start_durable_postgres
    python3 -m peers.bench.scale --quipu "$programs/quipu" --load "$programs/scale" \
        --sizes "$sizes" --postgres "${QUIPU_TEST_POSTGRES%/*}/{name}" \
        --psql "$(postgres_program psql)" "${models[@]}" "$@"
}

facts() {
    local sizes=$1
    shift
    trap stop_postgres EXIT
    start_durable_postgres
    python3 -m peers.bench.facts --quipu "$programs/quipu" --fill "$programs/ledger" \
        --sizes "$sizes" --postgres "${QUIPU_TEST_POSTGRES%/*}/{name}" \
        --psql "$(postgres_program psql)" "$@"
}

case ${1:-} in
--wire) wire "${@:2}" ;;
--beside) beside "${@:2}" ;;
--scale) scale "${2:?sizes such as 10k,100k,1m}" "${@:3}" ;;
--facts) facts "${2:?sizes such as 10k,100k,1m}" "${@:3}" ;;
*)
    wire "$@"
    beside
    scale 10k,100k,1m
    facts 10k,100k,1m
    python3 -m peers.bench.growth
    ;;
esac
