//! Bytes into the reader `policy-npz`.
#![no_main]

#[path = "../../tests/trust/mod.rs"]
mod trust;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    trust::readers::feed("policy-npz", bytes, trust::scratch());
});
