#!/usr/bin/env bash
# How good the search is, on the judged sets of QUIPU_CORPORA; see crates/eval.
#
# The embedding model is measured too if it can be installed.
# Words such as `--only cranfield` go to the program.
set -euo pipefail
# shellcheck source=scripts/local.sh
source "$(dirname "$0")/local.sh"
cd "$root"

need cargo "the Rust toolchain"
[[ -n ${QUIPU_CORPORA:-} ]] || fail "QUIPU_CORPORA must name the folder of the test corpora"
cargo build --workspace --release --bin quipu --bin eval
programs=${CARGO_TARGET_DIR:-$root/target}/release

if embedding_model "$programs/quipu"; then
    exec "$programs/eval" --models "$QUIPU_TEST_MODELS" "$@"
fi
exec "$programs/eval" "$@"
