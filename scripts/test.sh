#!/usr/bin/env bash
# The whole test run, on a fresh machine too: installs what the tests need,
# starts a PostgreSQL and an S3 store of its own, and ends with one line `N passed, N failed`.
#
#   QUIPU_CORPORA   folder of the test corpora; tests that need it skip without
#   QUIPU_OFFLINE=1 leaves out the peers that come from package registries
set -euo pipefail
# shellcheck source=scripts/local.sh
source "$(dirname "$0")/local.sh"
# shellcheck source=scripts/postgres.sh
source "$(dirname "$0")/postgres.sh"
# shellcheck source=scripts/s3.sh
source "$(dirname "$0")/s3.sh"
cd "$root"

need cargo "the Rust toolchain"
need cc "a C compiler; on Debian apt-get install build-essential"
need python3 "the tests drive their clients with it"

logs=$local_folder/logs
rm -rf "$logs"
mkdir -p "$logs"
passed=0
failed=0

# check NAME COMMAND...: one check that counts as one.
check() {
    echo
    echo "== $1"
    if "${@:2}"; then
        passed=$((passed + 1))
    else
        echo "FAILED: $1"
        failed=$((failed + 1))
    fi
}

# suite NAME COMMAND...: a test runner that counts for itself. One that ends
# badly without having counted a failure counts as one.
suite() {
    echo
    echo "== $1"
    local code=0 counts
    "${@:2}" 2>&1 | tee "$logs/${1// /-}" || code=$?
    counts=$(count "$logs/${1// /-}")
    local suite_passed=${counts% *} suite_failed=${counts#* }
    if ((code != 0 && suite_failed == 0)); then
        suite_failed=1
    fi
    if ((suite_failed > 0)); then
        echo "FAILED: $1"
    elif ((suite_passed == 0)); then
        echo "FAILED: $1 ran no test"
        suite_failed=1
    fi
    passed=$((passed + suite_passed))
    failed=$((failed + suite_failed))
}

# "PASSED FAILED" over the closing lines of nextest, cargo test and our drivers.
count() {
    python3 - "$1" <<'PROGRAM'
import re, sys

passed = failed = 0
for line in open(sys.argv[1], errors="replace"):
    line = re.sub(r"\x1b\[[0-9;]*m", "", line)
    closing = re.match(r"\s*Summary \[|test result: |\d+ passed, \d+ failed", line)
    if closing:
        passed += sum(int(n) for n in re.findall(r"(\d+) passed", line))
        failed += sum(int(n) for n in re.findall(r"(\d+) (?:failed|timed out)", line))
print(passed, failed)
PROGRAM
}

rust_tests() {
    if cargo nextest --version >/dev/null 2>&1; then
        cargo nextest run --workspace --no-fail-fast --status-level fail
    else
        cargo test --workspace --no-fail-fast
    fi
}

[[ $(id -u) != 0 ]] || debian_packages shellcheck curl
trap 'stop_s3; stop_postgres' EXIT
start_postgres

check "format, lints, floors, documentation" scripts/lint.sh
# All targets at once: what is built is what the tests then run.
check "build" cargo build --workspace --all-targets --quiet
quipu=${CARGO_TARGET_DIR:-$root/target}/debug/quipu

online=yes
if [[ ${QUIPU_OFFLINE:-} == 1 ]]; then
    online=
fi
[[ -z $online ]] || check "embedding model" embedding_model "$quipu"
# Without the registry the tests bring a small store of their own.
[[ -z $online ]] || start_s3
suite "rust tests" rust_tests
check "16 writers and kill -9, SQLite" python3 -m peers.soak.run --quipu "$quipu"
check "16 writers and kill -9, PostgreSQL" python3 -m peers.soak.run --quipu "$quipu" \
    --database "$(postgres_database soak)" --documents 20
check "history of facts and kill -9, SQLite" python3 -m peers.soak.facts --quipu "$quipu"
check "history of facts and kill -9, PostgreSQL" python3 -m peers.soak.facts --quipu "$quipu" \
    --database "$(postgres_database soak_facts)"

if [[ -z $online ]]; then
    echo
    echo "QUIPU_OFFLINE=1: the model, the S3 store, the real clients and the conformance suite were left out"
else
    python_peers v1
    python_peers v2
    node_peers
    check "rmcp peer" rmcp_peer dev
    suite "real clients" python3 -m peers.clients.run --quipu "$quipu"
    suite "conformance" python3 -m peers.conformance.run --quipu "$quipu"
    python_peers rdf
    suite "exports, read by rdflib" python3 -m peers.rdf.run --quipu "$quipu"
fi

echo
echo "$passed passed, $failed failed"
((failed == 0))
