#!/usr/bin/env bash
# Longer than a test run may be: many writers on both engines, the server killed
# again and again. Words such as `--kills 50` go to peers/soak/run.py. `QUIPU_CORPORA` names the
# folder of the public sets; those that are not there are left out.
set -euo pipefail
# shellcheck source=scripts/local.sh
source "$(dirname "$0")/local.sh"
# shellcheck source=scripts/postgres.sh
source "$(dirname "$0")/postgres.sh"
cd "$root"

need cargo "the Rust toolchain"
cargo build --workspace --bin quipu --release
quipu=${CARGO_TARGET_DIR:-$root/target}/release/quipu

trap stop_postgres EXIT
start_postgres
url=$(postgres_database soak)

echo "== SQLite"
python3 -m peers.soak.run --quipu "$quipu" --writers 16 --documents 500 --kills 20 "$@"
echo "== PostgreSQL"
python3 -m peers.soak.run --quipu "$quipu" --database "$url" --writers 16 --documents 500 --kills 20 "$@"

echo "== facts, SQLite"
python3 -m peers.soak.facts --quipu "$quipu" --steps 400 --kills 20
echo "== facts, PostgreSQL"
python3 -m peers.soak.facts --quipu "$quipu" --database "$(postgres_database soak_facts)" --steps 400 --kills 20

# From here on the tests' own build: SQLite and PostgreSQL in one run each.
echo "== backups while writing"
export QUIPU_SOAK_CYCLES=50
cargo test --workspace --test it --quiet a_backup_made_while_fifty_writes_a_second_go_on -- --nocapture
cargo test --workspace --test it --quiet what_was_acknowledged_before_a_kill -- --nocapture

echo "== histories of the ledger, and public facts in random order"
QUIPU_SOAK_CASES=10000 cargo test --workspace --test it --quiet the_ledger_shows_at_any_two_times -- --nocapture
QUIPU_SOAK_READS=10000 cargo test --workspace --test it --quiet public_facts_in_random_order -- --nocapture
