.PHONY: test test-rust test-python bench lint lint-python lint-dependencies docs soak fuzz determinism

# Python that the virtual environment is made from
PYTHON ?= python3
VENV := .venv

test: test-rust test-python

# the whole workspace, so that the package finds its dependencies compiled with the same features
test-rust:
	cargo test --release --workspace

# The package lives in its own virtual environment, built in place from the same target folder as
# the program. Made anew only when something it is built from changes.
PYTHON_SOURCES := Cargo.toml Cargo.lock python/Cargo.toml python/pyproject.toml \
	$(shell find src python/src -name '*.rs')

test-python: $(VENV)/built
	cd python && ../$(VENV)/bin/python -m pytest -q

$(VENV)/tools: python/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install -q --disable-pip-version-check 'maturin>=1.9,<2'
	touch $@

$(VENV)/built: $(VENV)/tools $(PYTHON_SOURCES)
	$(VENV)/bin/maturin develop --release -q --extras test -m python/Cargo.toml
	touch $@

lint: lint-python lint-dependencies
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings

# Licences, sources and advisories. The list of advisories comes from the network; without it the
# rest is still checked, and the line above says so.
lint-dependencies:
	@command -v cargo-deny >/dev/null || cargo install --quiet --locked cargo-deny
	cargo deny check bans licenses sources
	cargo deny check advisories || { cargo deny fetch db >/dev/null 2>&1 && exit 1; \
		echo "advisories: not checked, the list cannot be fetched from here"; }

lint-python: $(VENV)/built
	$(VENV)/bin/pip install -q --disable-pip-version-check 'mypy>=1.11'
	cd python && ../$(VENV)/bin/mypy --strict ide3al

# The solvers against CVXPY and by size, chain analysis by part and by size, then against QuantEcon;
# peers live in virtual environments of their own. About half an hour, most of it the largest models.
bench:
	PYTHON=$(PYTHON) cargo bench --bench solve
	cargo bench --bench parts
	cargo bench --bench scale
	$(PYTHON) bench/peers/quantecon_stationary.py

docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps

# Random models by both roads against the definitions, then damaged files into every reader, from
# a fresh seed: make soak [MINUTES=30] [SEED=number]. Failing models are written as JSON.
MINUTES ?= 30
soak:
	SOAK_MINUTES=$(MINUTES) $(if $(SEED),SOAK_SEED=$(SEED)) \
		cargo test --release --test differential long -- --ignored --nocapture
	SMOKE_SECONDS=$$(( 6 * $(MINUTES) )) SMOKE_SEED=$(or $(SEED),$(shell date +%s)) \
		cargo test --release --test fuzz_smoke damaged -- --nocapture

# The fuzzer proper: make fuzz TARGET=model_json [SECONDS=60]. Needs a nightly toolchain and cargo-fuzz.
TARGET ?= model_json
SECONDS ?= 60
fuzz:
	cargo +nightly fuzz run $(TARGET) tests/corpus/$(subst _,-,$(TARGET)) -- -max_total_time=$(SECONDS) -rss_limit_mb=600

# Debug and release give the same bytes. The debug build takes minutes, so this is no part of `make test`.
DETERMINISM := target/determinism
determinism:
	cargo build --release
	cargo build
	rm -rf $(DETERMINISM)
	for profile in debug release; do \
		target/$$profile/ide3al learn double-chain --runs 2 --iterations 40 --seed 3 --goal \
			--algorithm ideal,ideal:infinity,ideal:column-sum,ideal:dual,ideal:state-entropy,max-ent,count-based,random,non-iterative \
			--out $(DETERMINISM)/$$profile >/dev/null && \
		target/$$profile/ide3al learn four-rooms --runs 1 --iterations 5 --seed 3 --out $(DETERMINISM)/$$profile/rooms >/dev/null && \
		target/$$profile/ide3al convert garnet:states=200 $(DETERMINISM)/$$profile/model.npz >/dev/null || exit 1; \
	done
	cd $(DETERMINISM) && for file in runs.csv goal.csv rooms/runs.csv model.npz; do \
		cmp debug/$$file release/$$file && echo "$$file: equal" || exit 1; done
