//! Bytes into the reader `experiment-json`.
#![no_main]

#[path = "../../tests/trust/mod.rs"]
mod trust;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    trust::readers::feed("experiment-json", bytes, trust::scratch());
});
