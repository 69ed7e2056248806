//! Bytes into the reader `checkpoint`.
#![no_main]

#[path = "../../tests/trust/mod.rs"]
mod trust;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // with the right seal, so that damage gets past it
    let sealed = trust::readers::resealed(bytes.to_vec());
    trust::readers::feed("checkpoint", &sealed, trust::scratch());
});
