.PHONY: test test-rust test-python bench lint lint-python docs

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

lint: lint-python
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings

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
