#!/usr/bin/env bash
# Quipu's figures beside servers of other makers; see peers/bench/README.md.
# Words such as `--rounds 3 --any-load` go to peers/bench/run.py.
set -euo pipefail
# shellcheck source=scripts/local.sh
source "$(dirname "$0")/local.sh"
cd "$root"

need cargo "the Rust toolchain"
debian_packages wrk util-linux
python_peers v2
node_peers
cargo build --workspace --bin quipu --release
rmcp_peer release

exec python3 -m peers.bench.run \
    --quipu "${CARGO_TARGET_DIR:-$root/target}/release/quipu" \
    --rmcp "$local_folder/target-rmcp/release/bench" "$@"
