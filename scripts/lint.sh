#!/usr/bin/env bash
# Everything that is checked without running it. Goes on after a fault, so that
# one run names them all.
set -euo pipefail
# shellcheck source=scripts/local.sh
source "$(dirname "$0")/local.sh"
cd "$root"

faults=()
lint() {
    "${@:2}" || faults+=("$1")
}

lint "format" cargo fmt --all --check
lint "format of the rmcp peer" cargo fmt --check --manifest-path peers/rmcp/Cargo.toml
lint "clippy" cargo clippy --workspace --all-targets --quiet -- --deny warnings
lint "floors" cargo xtask tidy
lint "documentation" env RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --quiet
# optional TOOL NAME COMMAND...: a lint whose tool need not be there.
optional() {
    if command -v "$1" >/dev/null; then
        lint "${@:2}"
    else
        echo "$1 is not installed, skipped: $2"
    fi
}
optional cargo-deny "licences and bans" cargo deny --log-level error check bans licenses sources
optional cargo-machete "unused dependencies" cargo machete --with-metadata
optional typos "spelling" typos
if command -v shellcheck >/dev/null; then
    lint "shell scripts" shellcheck --external-sources scripts/*.sh .ci/run
else
    echo "shellcheck is not installed: the scripts were not checked"
fi

if ((${#faults[@]})); then
    printf 'faults: %s\n' "$(printf '%s, ' "${faults[@]}" | sed 's/, $//')"
    exit 1
fi
