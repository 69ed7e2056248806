//! Bytes into the reader `policy-json`.
#![no_main]

#[path = "../../tests/trust/mod.rs"]
mod trust;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    trust::readers::feed("policy-json", bytes, trust::scratch());
});
