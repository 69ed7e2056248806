.PHONY: test lint docs

test:
	cargo test --release

lint:
	cargo fmt --all --check
	cargo clippy --release --all-targets -- -D warnings

docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps
