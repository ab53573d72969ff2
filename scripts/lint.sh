#!/usr/bin/env bash
# Everything that is checked without running it.
set -euo pipefail
# shellcheck source=scripts/local.sh
source "$(dirname "$0")/local.sh"
cd "$root"

cargo fmt --all --check
cargo clippy --workspace --all-targets --quiet -- --deny warnings
cargo xtask tidy
RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --quiet
cargo fmt --check --manifest-path peers/rmcp/Cargo.toml
if command -v shellcheck >/dev/null; then
    shellcheck scripts/*.sh .ci/run
else
    echo "shellcheck is not installed: the scripts were not checked"
fi
