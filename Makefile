.PHONY: mutants test test-rust test-python bench worlds rivals multi-reward tasks continuous promise lint lint-python lint-page lint-dependencies lint-workflows semver docs soak fuzz coverage determinism environments

# Python that the virtual environment is made from
PYTHON ?= python3
VENV := .venv

# Packages for Python are fetched while the compiler works.
test:
	$(MAKE) -j2 compiled $(VENV)/browser
	$(MAKE) test-rust
	$(MAKE) test-python

.PHONY: compiled
compiled:
	cargo test --profile checked --workspace --no-run -q

# the whole workspace, so that the package finds the library and its dependencies compiled with the same features
test-rust:
	cargo test --profile checked --workspace

# The package lives in its own virtual environment, built in place from the same target folder as
# the program. Made anew only when something it is built from changes.
PYTHON_SOURCES := Cargo.toml Cargo.lock python/Cargo.toml python/pyproject.toml \
	$(shell find crates python/src -name '*.rs') $(wildcard crates/studio/src/page/*)

test-python: $(VENV)/built $(VENV)/browser
	cd python && ../$(VENV)/bin/python -m pytest -q -n 2 --dist worksteal

$(VENV)/tools: python/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install -q --disable-pip-version-check 'pip>=25.1' 'maturin>=1.9,<2'
	cd python && ../$(VENV)/bin/pip install -q --disable-pip-version-check --group test
	touch $@

# The studio's page is tested in a Chromium: the machine's own, or one that can be fetched; without any the tests say so.
$(VENV)/browser: $(VENV)/tools
	@cd python/tests && ../../$(VENV)/bin/python -c 'import browser, sys; sys.exit(browser.find() is None)' \
		|| timeout 120 ../../$(VENV)/bin/playwright install chromium || echo "no Chromium: the studio's page will not be tested"
	touch $@

$(VENV)/built: $(VENV)/tools $(PYTHON_SOURCES)
	$(VENV)/bin/maturin develop --profile checked -q -m python/Cargo.toml
	touch $@

lint: lint-python lint-page lint-dependencies lint-workflows
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --quiet

# Licences, sources and advisories. The list of advisories comes from the network; without it the
# rest is still checked, and the line above says so.
lint-dependencies:
	@command -v cargo-deny >/dev/null || cargo install --quiet --locked cargo-deny
	cargo deny check bans licenses sources
	cargo deny check advisories || { cargo deny fetch db >/dev/null 2>&1 && exit 1; \
		echo "advisories: not checked, the list cannot be fetched from here"; }

# what runs elsewhere: unpinned actions, too many rights, text that becomes code
lint-workflows: $(VENV)/tools
	$(VENV)/bin/pip install -q --disable-pip-version-check 'zizmor>=1.20'
	$(VENV)/bin/zizmor --offline -q .github

# The studio's page. ESLint is a tool of development only; without Node.js the page is not checked.
lint-page:
	@command -v npx >/dev/null && (cd crates/studio && npx --yes eslint@9 src/page) \
		|| { command -v npx >/dev/null && exit 1; echo "no Node.js: the studio's page is not linted"; }

# Formatting, likely bugs, types, one-way imports, private fields and docstrings.
lint-python: $(VENV)/built
	$(VENV)/bin/pip install -q --disable-pip-version-check 'mypy>=1.11' 'ruff>=0.12'
	$(VENV)/bin/ruff format --check --config python/pyproject.toml python benches
	$(VENV)/bin/ruff check --config python/pyproject.toml python benches
	cd python && ../$(VENV)/bin/mypy --strict ide3al
	cd python && ../$(VENV)/bin/python -m pytest -q tests/test_structure.py tests/test_interface.py

# What changed for users of the library since a revision, the last tag unless told otherwise: make semver [SINCE=revision].
SINCE ?= $(shell git describe --tags --abbrev=0 --match 'v*' HEAD^ 2>/dev/null)
semver:
	@test -n "$(SINCE)" || echo "no tag yet: nothing to compare with (make semver SINCE=revision)"
	@test -z "$(SINCE)" || command -v cargo-semver-checks >/dev/null || cargo install --quiet --locked cargo-semver-checks
	test -z "$(SINCE)" || cargo semver-checks --package ide3al --baseline-rev "$(SINCE)"

# The solvers against CVXPY and by size, chain analysis by part and by size, then against QuantEcon;
# peers live in virtual environments of their own. About half an hour.
bench:
	PYTHON=$(PYTHON) cargo bench --bench solve
	cargo bench --bench parts
	cargo bench --bench scale
	$(PYTHON) benches/peers/quantecon_stationary.py

# The agents on environments of Gymnasium and MiniGrid, 10 runs each: table, figures, picture. Some twenty minutes.
worlds: $(VENV)/built
	$(VENV)/bin/pip install -q --disable-pip-version-check 'gymnasium[toy-text,classic-control]>=1.3' 'minigrid>=3.0' matplotlib
	$(VENV)/bin/python benches/worlds.py --picture python/examples/worlds.png

# Rivals against their authors' programs, which are fetched from GitHub (RIVALS="--ucrl FOLDER
# --entropy FOLDER": checkouts at hand), in a virtual environment of its own. Some ten minutes.
RIVALS ?=
rivals: $(VENV)/built target/peers/ready
	PYTHONPATH=python target/peers/bin/python benches/peers/rivals.py $(RIVALS)

# The published comparison that has an IDE3AL in it (MULTI_REWARD="--checkout FOLDER"), with that one
# mended, and with ours. Some two hours of one core for 3 runs; what is done is not done again.
MULTI_REWARD ?= --runs 3
multi-reward: $(VENV)/built target/peers/ready
	PYTHONPATH=python target/peers/bin/python benches/peers/multi_reward.py $(MULTI_REWARD)

target/peers/ready:
	$(PYTHON) -m venv target/peers
	target/peers/bin/pip install -q --disable-pip-version-check 'gymnasium>=1.3' 'gym==0.26.2' 'numpy<2' \
		'setuptools<80' cython scipy pandas joblib numba matplotlib seaborn cvxpy clarabel
	touch $@

# Sparse rewards: steps until the greedy policy earns 95 % of the best, against R-MAX and Q-learning
# (TASKS_OPTIONS=--deep: against DQN and PPO, too, where Stable-Baselines3 is installed); and ten
# goals named after one exploration.
TASKS_OPTIONS ?=
tasks: $(VENV)/built
	$(VENV)/bin/pip install -q --disable-pip-version-check 'gymnasium[toy-text]>=1.3' 'minigrid>=3.0' matplotlib scipy
	$(VENV)/bin/python benches/tasks.py --out python/examples/tasks.png $(TASKS_OPTIONS)

# The same raw in continuous environments, with gymnasium-robotics' maze.
continuous: $(VENV)/built
	$(VENV)/bin/pip install -q --disable-pip-version-check 'gymnasium[classic-control]>=1.3' 'gymnasium-robotics>=1.4' matplotlib
	$(VENV)/bin/python benches/continuous.py

# Environments of other people's packages, in a virtual environment of its own (Box2D needs a C++
# compiler): everything must work, and who explores how far. Some two hours; fewer with
# ENVIRONMENTS="--runs 2 --scale 0.3".
ENVIRONMENTS ?=
environments: $(VENV)/built
	test -d target/environments || $(PYTHON) -m venv target/environments
	target/environments/bin/pip install -q --disable-pip-version-check 'setuptools<80' wheel swig numpy
	PATH="$(CURDIR)/target/environments/bin:$$PATH" target/environments/bin/pip install -q \
		--disable-pip-version-check --no-build-isolation box2d
	target/environments/bin/pip install -q --disable-pip-version-check \
		'gymnasium[classic-control,toy-text,mujoco]>=1.3' 'pygame>=2.5' 'minigrid>=3.0' \
		'mo-gymnasium>=1.3' 'highway-env>=1.10' 'gymnasium-robotics>=1.4' 'minari[hdf5]>=0.5.4'
	PYTHONPATH=python target/environments/bin/python benches/environments.py $(ENVIRONMENTS)

# Data sets with a promise: steps against the certified minimum and a random policy, some ten minutes; then what a step costs.
promise: $(VENV)/built
	$(VENV)/bin/pip install -q --disable-pip-version-check 'gymnasium[toy-text]>=1.3' 'minigrid>=3.0'
	$(VENV)/bin/python benches/promise.py
	$(VENV)/bin/python benches/stepping.py

# One site in target/site: the guide and the Python reference with one search, links checked, and the
# Rust reference beside it.
docs: $(VENV)/tools
	RUSTDOCFLAGS="-D warnings --html-in-header $(CURDIR)/crates/ide3al/katex-header.html" cargo doc --no-deps
	$(VENV)/bin/pip install -q --disable-pip-version-check 'mkdocs-material>=9.6,<10' 'mkdocstrings[python]>=0.30' ruff
	$(VENV)/bin/mkdocs build --strict -q
	rm -rf target/site/rust && cp -r target/doc target/site/rust
	@echo "target/site/index.html; Rust: target/site/rust/ide3al"

# Random models by both solvers against the definitions, then damaged files into every reader, from
# a fresh seed: make soak [MINUTES=30] [SEED=number]. Failing models are written as JSON.
MINUTES ?= 30
soak:
	SOAK_MINUTES=$(MINUTES) $(if $(SEED),SOAK_SEED=$(SEED)) \
		cargo test --release --test solving differential::long -- --ignored --nocapture
	SMOKE_SECONDS=$$(( 6 * $(MINUTES) )) SMOKE_SEED=$(or $(SEED),$(shell date +%s)) \
		cargo test --release --test fuzz_smoke damaged -- --nocapture

# Changes of the engines that none of their own tests sees: a drawn shard, some twenty minutes.
# make mutants [SHARD=0/7], the first of seven by default, some 330. What was missed is listed in
# target/mutants.out/missed.txt. Little optimisation: each mutant is compiled in two seconds, in
# thirty with the profile `checked`.
SHARD ?= 0/7
mutants:
	@command -v cargo-mutants >/dev/null || cargo install --quiet --locked cargo-mutants
	CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_DEV_DEBUG=0 cargo mutants \
		--package ide3al-numerics --shard $(SHARD) --sharding round-robin \
		--output target --timeout 60 -- --lib

# The fuzzer proper: make fuzz TARGET=model_json [SECONDS=60], or TARGET=all, one after the other.
# Needs cargo-fuzz and a nightly toolchain; without one: RUSTC_BOOTSTRAP=1 make fuzz TOOLCHAIN=
# No sanitizer: there is no unsafe code here to be watched. What it finds by itself stays in
# fuzz/corpus; the stored corpus is only read.
TARGET ?= model_json
SECONDS ?= 60
TOOLCHAIN ?= +nightly
fuzz:
	cargo $(TOOLCHAIN) fuzz build --sanitizer none $(if $(filter all,$(TARGET)),,$(TARGET))
	for target in $(if $(filter all,$(TARGET)),$$(cargo $(TOOLCHAIN) fuzz list),$(TARGET)); do \
		stored=tests/corpus/$$(echo $$target | tr _ -); mkdir -p fuzz/corpus/$$target; \
		cargo $(TOOLCHAIN) fuzz run --sanitizer none $$target fuzz/corpus/$$target \
			$$(ls -d $$stored 2>/dev/null) -- -max_total_time=$(SECONDS) -rss_limit_mb=600 \
			-timeout=20 -print_final_stats=1 -verbosity=0 || exit 1; \
	done

# Lines of the library and the program that the Rust tests run, file by file; some twelve minutes.
# Needs cargo-llvm-cov and the toolchain's llvm-tools. Processes that tests kill or starve of disk
# leave torn profiles: these are passed over.
coverage:
	cargo llvm-cov --release --no-report
	cargo llvm-cov report --release --failure-mode all --summary-only --ignore-filename-regex 'tests?\.rs$$'

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
		target/$$profile/ide3al convert garnet:states=200 $(DETERMINISM)/$$profile/model.npz >/dev/null && \
		target/$$profile/ide3al analyze garnet:states=150 --json > $(DETERMINISM)/$$profile/analysis.json || exit 1; \
		for formulation in frobenius infinity column-sum dual state-entropy; do \
			target/$$profile/ide3al solve river-swim --formulation $$formulation --xi 0.05 \
				--out $(DETERMINISM)/$$profile/$$formulation.json >/dev/null || exit 1; \
		done; \
	done
	cd $(DETERMINISM) && for file in runs.csv goal.csv rooms/runs.csv model.npz analysis.json frobenius.json \
			infinity.json column-sum.json dual.json state-entropy.json; do \
		cmp debug/$$file release/$$file && echo "$$file: equal" || exit 1; done
