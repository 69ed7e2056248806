//! The library's errors as Python exceptions.

use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    ide3al,
    Error,
    PyValueError,
    "Something is wrong with the input: the message says what, where and how to mend it."
);

/// The exception for an error of the library, with its message.
pub(crate) fn exception(error: ide3al::Error) -> PyErr {
    match error {
        ide3al::Error::Interrupted => PyKeyboardInterrupt::new_err("interrupted"),
        other => Error::new_err(other.to_string()),
    }
}

/// An [`Error`] of the binding's own.
pub(crate) fn error(message: impl Into<String>) -> PyErr {
    Error::new_err(message.into())
}
