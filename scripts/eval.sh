#!/usr/bin/env bash
# How good the search is: with words alone, then with the embedding model.
#
#   QUIPU_CORPORA  folder of the test corpora
# Words such as `--only cranfield` go to peers/eval/run.py.
set -euo pipefail
# shellcheck source=scripts/local.sh
source "$(dirname "$0")/local.sh"
cd "$root"

need cargo "the Rust toolchain"
[[ -n ${QUIPU_CORPORA:-} ]] || fail "QUIPU_CORPORA must name the folder of the test corpora"
cargo build --workspace --bin quipu --release
quipu=${CARGO_TARGET_DIR:-$root/target}/release/quipu

echo "== words alone"
python3 -m peers.eval.run --quipu "$quipu" --output target/eval-words.jsonl "$@"
echo "== with the embedding model"
python3 -m peers.eval.run --quipu "$quipu" --output target/eval-model.jsonl --model "$@"
