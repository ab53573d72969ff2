#!/usr/bin/env bash
# Vectors a second beside onnxruntime, on the same model, texts and processors; see
# peers/bench/embed.py. Words such as `--rounds 9` go to it.
set -euo pipefail
# shellcheck source=scripts/local.sh
source "$(dirname "$0")/local.sh"
cd "$root"

need cargo "the Rust toolchain"
[[ -n ${QUIPU_CORPORA:-} ]] || fail "QUIPU_CORPORA must name the folder of the test corpora"
python_peers embed
cargo build --workspace --release --bin quipu --bin embed_rate
programs=${CARGO_TARGET_DIR:-$root/target}/release
embedding_model "$programs/quipu" || fail "there is nothing to measure without the model"

PYTHONPATH=$local_folder/python-embed exec python3 -m peers.bench.embed \
    --program "$programs/embed_rate" --models "$QUIPU_TEST_MODELS" "$@"
