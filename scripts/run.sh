#!/usr/bin/env bash
# Builds Quipu, fetches the embedding model, and serves ./data with a demo base.
#
#   QUIPU_DATA       another data folder
#   PROFILE=release  an optimised build
# Further words go to `quipu serve`.
set -euo pipefail
# shellcheck source=scripts/local.sh
source "$(dirname "$0")/local.sh"
cd "$root"

need cargo "the Rust toolchain, version 1.95 or newer"
need cc "a C compiler; on Debian apt-get install build-essential"

# The first start matters most here. On two cores this build takes 4 minutes and
# an optimised one over 10; the arithmetic (model, passwords, full text, SQLite)
# is optimised in both.
profile=${PROFILE:-dev}
folder=${profile/#dev/debug}
target=${CARGO_TARGET_DIR:-$root/target}
if [[ ! -x $target/$folder/quipu ]]; then
    echo "building Quipu; the first time takes some minutes"
fi
cargo build --workspace --bin quipu --profile "$profile"

quipu=$target/$folder/quipu
export QUIPU_DATA=${QUIPU_DATA:-$root/data}
"$quipu" models install || echo "Quipu searches by words alone; \`quipu models install\` tries again"
exec "$quipu" serve --demo samples "$@"
