//! A small model and a problem from the fuzzer's bytes, solved and checked against the definitions.
#![no_main]

#[path = "../../tests/trust/mod.rs"]
mod trust;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| trust::solve_bytes(bytes));
