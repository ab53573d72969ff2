#!/usr/bin/env bash
# Each fuzz target for a while: with libFuzzer where cargo-fuzz and a nightly
# toolchain are there, else with the mutations of our own on stable Rust.
# Findings are left in fuzz/findings/; make one small (`cargo fuzz tmin`) and
# keep it in fuzz/corpus/<target>/.
#
#   scripts/fuzz.sh [TARGET...]     all targets if none is named
#   QUIPU_FUZZ_SECONDS              seconds for each target, 60 if not said
set -euo pipefail
# shellcheck source=scripts/local.sh
source "$(dirname "$0")/local.sh"
cd "$root"

seconds=${QUIPU_FUZZ_SECONDS:-60}
targets=("$@")
if ((${#targets[@]} == 0)); then
    mapfile -t targets < <(ls fuzz/corpus)
fi

if ! cargo +nightly fuzz --version >/dev/null 2>&1; then
    echo "cargo-fuzz or a nightly toolchain is not installed: mutating on stable Rust"
    for target in "${targets[@]}"; do
        QUIPU_FUZZ_SECONDS=$seconds cargo test --workspace --quiet --test corpora -- --exact "$target"
    done
    exit
fi

mkdir -p fuzz/findings
cargo +nightly fuzz build --fuzz-dir fuzz/libfuzzer any
failed=()
for target in "${targets[@]}"; do
    echo "== $target"
    # What libFuzzer adds goes into a folder of its own, not among the kept seeds.
    mkdir -p "$local_folder/fuzz/$target"
    QUIPU_FUZZ_TARGET=$target cargo +nightly fuzz run --fuzz-dir fuzz/libfuzzer any \
        "$local_folder/fuzz/$target" "fuzz/corpus/$target" -- \
        -max_total_time="$seconds" -max_len=65536 -timeout=20 -rss_limit_mb=4096 \
        -print_final_stats=1 -artifact_prefix="fuzz/findings/$target-" || failed+=("$target")
done
if ((${#failed[@]})); then
    echo "findings: ${failed[*]}"
    exit 1
fi
