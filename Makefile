# The two commands of the README are `make run` and `make test`.
# The work is done by scripts/; each script says what it does and needs.

.PHONY: run test lint fmt soak fuzz bench bench-embed eval

run:
	@scripts/run.sh $(ARGS)

test:
	@scripts/test.sh

lint:
	@scripts/lint.sh

fmt:
	cargo fmt --all
	cargo fmt --manifest-path peers/rmcp/Cargo.toml

# Longer and slower than a test run may be.
soak:
	@scripts/soak.sh

# Strangers' bytes, a minute for each target.
fuzz:
	@scripts/fuzz.sh $(ARGS)

bench:
	@scripts/bench.sh $(ARGS)

bench-embed:
	@scripts/bench-embed.sh

eval:
	@scripts/eval.sh
