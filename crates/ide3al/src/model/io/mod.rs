//! Model and policy files, by extension.
//!
//! | extension | model | policy |
//! |---|---|---|
//! | `.json` | yes | yes |
//! | `.npz` | yes, dense, sparse or BRIDGE's table | yes |
//! | `.npy` | | yes |
//! | `.tra` | yes, with `.lab`, `.sta`, `.srew` and `.trew` beside it | |
//! | `.umb` | yes | |
//!
//! `docs/reference/formats.md` describes each. What is read is never trusted: memory is bounded by
//! the bytes that are there, not by what a header claims. What is written appears whole or not at
//! all ([`atomic`]).

mod archive;
pub mod atomic;
mod bridge;
mod columns;
mod enduring;
mod json;
mod npy;
mod npz;
mod numbers;
mod policy;
mod rows;
mod tar;
mod tra;
mod tra_rewards;
mod tra_side;
mod umb;
mod umb_rewards;
mod umb_write;

use std::path::{Path, PathBuf};

pub use columns::read_numbers;
pub use policy::{read_plan, read_policy, write_plan, write_policy, write_timed_policy};

use super::{Layout, Mdp};
use crate::error::{Error, Result};

const MODEL_EXTENSIONS: [&str; 4] = ["json", "npz", "tra", "umb"];

/// For messages.
const KNOWN: &str = ".json, .npz, .tra or .umb";

/// Extension in lower case.
fn extension(path: &Path) -> String {
    let extension = path.extension().unwrap_or_default();
    extension.to_string_lossy().to_lowercase()
}

/// Whether a path has the extension of a model file.
pub fn is_model_file(path: &Path) -> bool {
    MODEL_EXTENSIONS.contains(&extension(path).as_str())
}

fn unknown_format(path: &Path, known: &str) -> Error {
    let extension = extension(path);
    Error::Format {
        path: path.to_owned(),
        problem: if extension.is_empty() {
            format!("the name has no extension to tell the format by; use {known}")
        } else {
            format!("unknown format '.{extension}'; use {known}")
        },
    }
}

/// Reads a model; the format is told by the extension.
pub fn read_model(path: &Path) -> Result<Mdp> {
    match extension(path).as_str() {
        "json" => json::read(path),
        "npz" => npz::read(path),
        "tra" => tra::read(path),
        "umb" => umb::read(path),
        _ => Err(unknown_format(path, KNOWN)),
    }
    .map_err(|error| error.in_file(path))
}

/// Writes a model; the format is told by the extension. An existing file is replaced.
pub fn write_model(path: &Path, mdp: &Mdp) -> Result<()> {
    match extension(path).as_str() {
        "json" => json::write(path, mdp),
        "npz" => npz::write(path, mdp),
        "tra" => tra::write(path, mdp),
        "umb" => umb_write::write(path, mdp),
        _ => Err(unknown_format(path, KNOWN)),
    }
    .map_err(|error| error.in_file(path))
}

/// Writes a model as a dense NPZ array `P` of shape $(S, A, S)$; absent actions are rows of
/// zeros.
pub fn write_dense_model(path: &Path, mdp: &Mdp) -> Result<()> {
    if extension(path) != "npz" {
        return Err(unknown_format(path, ".npz for a dense array"));
    }
    npz::write_dense(path, mdp).map_err(|error| error.in_file(path))
}

/// The files that [`write_model`] would make, the one named first.
pub fn model_files(path: &Path) -> Vec<PathBuf> {
    let mut files = vec![path.to_owned()];
    if extension(path) == "tra" {
        files.extend(tra_side::paths(path));
        files.extend(tra_rewards::paths(path));
    }
    files
}

/// Opens a file for reading.
fn open(path: &Path) -> Result<std::fs::File> {
    std::fs::File::open(path).map_err(|source| cannot_read(path, source))
}

fn cannot_read(path: &Path, source: std::io::Error) -> Error {
    Error::Io {
        path: path.to_owned(),
        action: "read",
        source,
    }
}

fn malformed(path: &Path, problem: impl Into<String>) -> Error {
    Error::Format {
        path: path.to_owned(),
        problem: problem.into(),
    }
}

/// A layout from a file, checked: one cell per state, on a map of sensible size.
fn checked_layout(
    rows: usize,
    columns: usize,
    cells: Vec<usize>,
    n_states: usize,
) -> Result<Layout> {
    if cells.len() != n_states {
        return Err(Error::Size {
            what: "layout cells".into(),
            expected: format!("{n_states}, one per state"),
            found: cells.len().to_string(),
        });
    }
    // a map is drawn cell by cell: its size must not be an empty claim
    let most = n_states.saturating_mul(100).saturating_add(1_000_000);
    let size = rows.checked_mul(columns).filter(|size| *size <= most);
    let Some(size) = size else {
        return Err(Error::Size {
            what: "layout".into(),
            expected: format!("at most {most} cells for {n_states} states"),
            found: format!("{rows} x {columns}"),
        });
    };
    match cells.iter().position(|cell| *cell >= size) {
        None => Ok(Layout {
            rows,
            columns,
            cells,
        }),
        Some(state) => Err(Error::OutOfRange {
            what: "layout cell",
            index: cells[state],
            limit: size,
            place: format!(" (state {state})"),
        }),
    }
}

#[cfg(test)]
mod plan_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod umb_tests;
