//! Models as NumPy archives: a dense array `P`, or a sparse matrix as SciPy saves it.

use std::collections::BTreeSet;
use std::io::{Seek, Write};
use std::path::Path;

use zip::ZipWriter;

use super::archive::{Archive, member_options};
use super::enduring::Enduring;
use super::npy::{self, Array};
use super::{atomic, bridge, checked_layout, malformed};
use crate::error::{Error, Result};
use crate::model::{Mdp, Rewards};

/// Most numbers a dense array may have when written (2 GiB).
const MAX_DENSE: usize = 1 << 28;

/// Single-precision rows may miss one by this much; they are rescaled.
const SINGLE_TOLERANCE: f64 = 1e-5;

/// Reads a model.
pub(super) fn read(path: &Path) -> Result<Mdp> {
    let mut archive = Archive::open(path)?;
    let mut mdp = if archive.has("P") {
        read_dense(path, &mut archive)?
    } else if archive.has("indptr") {
        read_sparse(path, &mut archive)?
    } else if bridge::is_one(&archive) {
        return bridge::read(path, &mut archive);
    } else {
        return Err(malformed(
            path,
            format!(
                "it holds neither a dense array 'P' of shape (S, A, S) nor a sparse matrix ('data', 'indices', 'indptr', 'shape') nor BRIDGE's 'transitions', only: {}",
                archive.names().join(", ")
            ),
        ));
    };
    let n = mdp.n_states();
    if archive.has("start") {
        let start = archive.floats("start")?;
        let index = start.shape.is_empty() || (start.shape == [1] && n > 1);
        mdp = match start.data.as_slice() {
            &[value] if index => {
                if value < 0.0 || value.fract() != 0.0 {
                    return Err(Error::BadStart {
                        problem: format!("{value} is not a state number"),
                    });
                }
                mdp.with_start_state(value as usize)?
            }
            _ => mdp.with_start(start.data)?,
        };
    }
    if archive.has("state_names") {
        mdp = mdp.with_state_names(archive.text("state_names")?.data)?;
    }
    if archive.has("action_names") {
        mdp = mdp.with_action_names(archive.text("action_names")?.data)?;
    }
    if archive.has("layout_shape") && archive.has("layout_cells") {
        let shape = archive.integers::<usize>("layout_shape")?.data;
        let cells = archive.integers::<usize>("layout_cells")?.data;
        let &[rows, columns] = shape.as_slice() else {
            return Err(malformed(
                path,
                "'layout_shape' must be two numbers: rows, columns",
            ));
        };
        mdp = mdp.with_layout(checked_layout(rows, columns, cells, n)?);
    }
    if archive.has("times") {
        mdp = mdp.with_times(archive.floats("times")?.data)?;
    }
    mdp = with_rewards(path, &mut archive, mdp)?;
    if archive.has("terminal") {
        mdp = mdp.with_terminal(archive.integers::<usize>("terminal")?.data)?;
    }
    Ok(mdp)
}

/// Sets the rewards of an archive, if it has any.
pub(super) fn with_rewards(path: &Path, archive: &mut Archive, mdp: Mdp) -> Result<Mdp> {
    if !archive.has("rewards") {
        return Ok(mdp);
    }
    let array = archive.floats("rewards")?;
    if array.fortran && array.shape.len() > 1 {
        return Err(malformed(
            path,
            "'rewards' is stored column by column; save numpy.ascontiguousarray of it",
        ));
    }
    let rewards = Rewards::of(&mdp, &array.data)?;
    mdp.with_rewards(rewards)
}

/// Rescales a row that was rounded to single precision.
pub(super) fn rescale_single(values: &mut [f64]) {
    let sum: f64 = values.iter().sum();
    if (sum - 1.0).abs() <= SINGLE_TOLERANCE {
        values.iter_mut().for_each(|p| *p /= sum);
    }
}

fn read_dense(path: &Path, archive: &mut Archive) -> Result<Mdp> {
    let array = archive.floats("P")?;
    let &[states, actions, next] = array.shape.as_slice() else {
        return Err(malformed(
            path,
            format!("'P' has shape {:?}; it must be (S, A, S)", array.shape),
        ));
    };
    if states != next {
        return Err(malformed(
            path,
            format!(
                "'P' has shape {:?}; the first and the last size, both the number of states, disagree",
                array.shape
            ),
        ));
    }
    let strides = array.strides();
    let mut numbers = Vec::new();
    Mdp::from_fn(states, actions, |s, a, row| {
        let first = s * strides[0] + a * strides[1];
        numbers.clear();
        numbers.extend((0..states).map(|t| array.data[first + t * strides[2]]));
        if array.single {
            rescale_single(&mut numbers);
        }
        let entries = numbers.iter().enumerate().filter(|(_, p)| **p != 0.0);
        row.extend(entries.map(|(t, &p)| (t, p)));
        !row.is_empty()
    })
}

fn read_sparse(path: &Path, archive: &mut Archive) -> Result<Mdp> {
    if archive.has("format") {
        let format = archive.text("format")?.data;
        if format.first().map(String::as_str) != Some("csr") {
            return Err(malformed(
                path,
                format!("the sparse matrix is saved as {format:?}; save matrix.tocsr()"),
            ));
        }
    }
    let shape = archive.integers::<usize>("shape")?.data;
    let &[rows, states] = shape.as_slice() else {
        return Err(malformed(path, "'shape' must be two numbers: rows, states"));
    };
    let offsets = archive.integers::<usize>("indptr")?.data;
    let indices = archive.integers::<u32>("indices")?.data;
    let mut values: Array<f64> = archive.floats("data")?;
    if rows == 0 || states == 0 {
        return Err(Error::Empty);
    }
    if offsets.len().checked_sub(1) != Some(rows) {
        return Err(Error::Size {
            what: "'indptr'".into(),
            expected: format!(
                "{} numbers, one more than the {rows} rows of 'shape'",
                rows as u128 + 1
            ),
            found: offsets.len().to_string(),
        });
    }
    if values.single && offsets.is_sorted() && offsets.last() == Some(&values.data.len()) {
        for w in offsets.windows(2) {
            rescale_single(&mut values.data[w[0]..w[1]]);
        }
    }
    let spread = if archive.has("spread") {
        archive.floats("spread")?.data
    } else {
        Vec::new()
    };
    if archive.has("first_pair") {
        let first_pair = archive.integers::<usize>("first_pair")?.data;
        let actions = if archive.has("actions") {
            archive.integers::<u32>("actions")?.data
        } else {
            let within = first_pair
                .windows(2)
                .flat_map(|w| 0..w[1].saturating_sub(w[0]));
            within.take(rows + 1).map(|a| a as u32).collect()
        };
        if actions.len() != rows {
            return Err(Error::Size {
                what: "actions ('first_pair', 'actions')".into(),
                expected: format!("{rows}, one per row of the matrix"),
                found: actions.len().to_string(),
            });
        }
        return Mdp::from_rows_and_spread(
            states,
            &first_pair,
            &actions,
            &offsets,
            &indices,
            &values.data,
            &spread,
        );
    }
    read_scipy(path, rows, states, &offsets, &indices, &values.data)
}

/// A matrix of shape (S * A, S) with nothing else: row `s * A + a`; an empty row is an
/// action that the state does not have.
fn read_scipy(
    path: &Path,
    rows: usize,
    states: usize,
    offsets: &[usize],
    indices: &[u32],
    values: &[f64],
) -> Result<Mdp> {
    if !rows.is_multiple_of(states) {
        return Err(malformed(
            path,
            format!(
                "the matrix has {rows} rows and {states} columns; without 'first_pair' it needs S * A rows, row s * A + a for action a in state s"
            ),
        ));
    }
    let per_state = rows / states;
    let ordered = offsets.first() == Some(&0) && offsets.is_sorted();
    if !ordered || offsets.last() != Some(&indices.len()) {
        return Err(malformed(
            path,
            format!(
                "'indptr' must ascend from 0 to {}, the number of 'indices'",
                indices.len()
            ),
        ));
    }
    let mut first_pair = Vec::with_capacity(states + 1);
    let (mut actions, mut kept) = (Vec::with_capacity(rows), Vec::with_capacity(rows + 1));
    first_pair.push(0);
    kept.push(0);
    for state in 0..states {
        for action in 0..per_state {
            let row = state * per_state + action;
            if offsets[row] < offsets[row + 1] {
                actions.push(action as u32);
                kept.push(offsets[row + 1]);
            }
        }
        if first_pair.last() == Some(&actions.len()) {
            return Err(Error::NoAction { state });
        }
        first_pair.push(actions.len());
    }
    Mdp::from_rows(states, &first_pair, &actions, &kept, indices, values)
}

/// Writes the sparse layout; SciPy's `load_npz` reads it as well.
pub(super) fn write(path: &Path, mdp: &Mdp) -> Result<()> {
    check_names(mdp)?;
    let kernel = mdp.kernel();
    atomic::write(path, |file| {
        let mut zip = ZipWriter::new(Enduring::new(file));
        // SciPy needs signed indices, all of one width
        let narrow = kernel.nnz() < i32::MAX as usize && kernel.n_columns() < i32::MAX as usize;
        if narrow {
            let indices = kernel.indices().iter().map(|&t| (t as i32).to_le_bytes());
            member(&mut zip, "indices", "<i4", &[kernel.nnz()], indices)?;
            let offsets = kernel.offsets().iter().map(|&k| (k as i32).to_le_bytes());
            member(
                &mut zip,
                "indptr",
                "<i4",
                &[kernel.offsets().len()],
                offsets,
            )?;
        } else {
            let indices = kernel.indices().iter().map(|&t| i64::from(t).to_le_bytes());
            member(&mut zip, "indices", "<i8", &[kernel.nnz()], indices)?;
            whole(&mut zip, "indptr", kernel.offsets())?;
        }
        member(&mut zip, "format", "|S3", &[], std::iter::once(*b"csr"))?;
        whole(&mut zip, "shape", &[kernel.n_rows(), kernel.n_columns()])?;
        let values = kernel.values().iter().map(|p| p.to_le_bytes());
        member(&mut zip, "data", "<f8", &[kernel.nnz()], values)?;
        whole(&mut zip, "first_pair", mdp.first_pair())?;
        let actions = mdp.actions().iter().map(|a| i64::from(*a).to_le_bytes());
        member(&mut zip, "actions", "<i8", &[mdp.n_pairs()], actions)?;
        if kernel.has_spread() {
            let spread = kernel.spread().iter().map(|p| p.to_le_bytes());
            member(&mut zip, "spread", "<f8", &[mdp.n_pairs()], spread)?;
        }
        write_rest(&mut zip, mdp)?;
        zip.finish()?.end()
    })
}

/// Writes `P` of shape (S, A, S), number by number.
pub(super) fn write_dense(path: &Path, mdp: &Mdp) -> Result<()> {
    check_names(mdp)?;
    let (n, actions) = (mdp.n_states(), mdp.n_action_labels());
    let size = n.checked_mul(actions).and_then(|k| k.checked_mul(n));
    if size.is_none_or(|k| k > MAX_DENSE) {
        return Err(Error::Unsupported(format!(
            "a dense array of {n} x {actions} x {n} numbers is too large; write the sparse layout (leave out the dense one)"
        )));
    }
    atomic::write(path, |file| {
        let mut zip = ZipWriter::new(Enduring::new(file));
        let rows = (0..n).flat_map(|s| {
            let mut pairs = mdp.pairs(s).peekable();
            (0..actions as u32).map(move |a| pairs.next_if(|&pair| mdp.actions()[pair] == a))
        });
        let numbers = rows.flat_map(|pair| {
            let mut dense = vec![0.0f64; n];
            if let Some(pair) = pair {
                let row = mdp.row(pair);
                dense.fill(row.spread / n as f64);
                row.entries().for_each(|(t, p)| dense[t] += p);
            }
            dense.into_iter().map(f64::to_le_bytes)
        });
        member(&mut zip, "P", "<f8", &[n, actions, n], numbers)?;
        write_rest(&mut zip, mdp)?;
        zip.finish()?.end()
    })
}

/// Start, names and layout.
fn write_rest<W: Write + Seek>(zip: &mut ZipWriter<W>, mdp: &Mdp) -> std::io::Result<()> {
    let start = mdp.start().iter().map(|p| p.to_le_bytes());
    member(zip, "start", "<f8", &[mdp.n_states()], start)?;
    if let Some(layout) = mdp.layout() {
        whole(zip, "layout_shape", &[layout.rows, layout.columns])?;
        whole(zip, "layout_cells", &layout.cells)?;
    }
    if let Some(times) = mdp.times() {
        let items = times.iter().map(|w| w.to_le_bytes());
        member(zip, "times", "<f8", &[times.len()], items)?;
    }
    if let Some(rewards) = mdp.rewards() {
        let items = rewards.iter().map(|r| r.to_le_bytes());
        member(zip, "rewards", "<f8", &[rewards.len()], items)?;
    }
    if !mdp.terminal().is_empty() {
        whole(zip, "terminal", mdp.terminal())?;
    }
    if let Some(names) = mdp.state_names() {
        text(zip, "state_names", names)?;
    }
    if let Some(names) = mdp.action_names() {
        text(zip, "action_names", names)?;
    }
    Ok(())
}

/// NumPy pads text with NULs and cannot tell them from a name's own.
fn check_names(mdp: &Mdp) -> Result<()> {
    for (what, names) in [("state", mdp.state_names()), ("action", mdp.action_names())] {
        for (k, name) in names.unwrap_or_default().iter().enumerate() {
            if name.ends_with('\0') {
                return Err(Error::Unsupported(format!(
                    "the name of {what} {k} ends in a NUL character, which .npz cannot hold; rename it or use .json"
                )));
            }
        }
    }
    Ok(())
}

/// Writes one array of the archive.
pub(super) fn member<W: Write + Seek, const N: usize>(
    zip: &mut ZipWriter<W>,
    name: &str,
    description: &str,
    shape: &[usize],
    items: impl Iterator<Item = [u8; N]>,
) -> std::io::Result<()> {
    let count: u64 = shape.iter().map(|&n| n as u64).product();
    let bytes = count * N as u64 + npy::HEADER_BYTES;
    zip.start_file(format!("{name}.npy"), member_options(bytes))?;
    npy::write_header(zip, description, shape)?;
    npy::write_items(zip, items)
}

fn whole<W: Write + Seek>(
    zip: &mut ZipWriter<W>,
    name: &str,
    list: &[usize],
) -> std::io::Result<()> {
    let items = list.iter().map(|&k| (k as u64).to_le_bytes());
    member(zip, name, "<i8", &[list.len()], items)
}

fn text<W: Write + Seek>(
    zip: &mut ZipWriter<W>,
    name: &str,
    list: &[String],
) -> std::io::Result<()> {
    let width = list
        .iter()
        .map(|t| t.chars().count())
        .max()
        .unwrap_or(0)
        .max(1);
    let bytes = (list.len() * width) as u64 * 4 + npy::HEADER_BYTES;
    zip.start_file(format!("{name}.npy"), member_options(bytes))?;
    npy::write_header(zip, &format!("<U{width}"), &[list.len()])?;
    let letters = list.iter().flat_map(|t| {
        let padding = width - t.chars().count();
        let letters = t.chars().map(u32::from);
        letters
            .chain(std::iter::repeat_n(0, padding))
            .map(u32::to_le_bytes)
    });
    npy::write_items(zip, letters)
}

/// Distinct member names without their extension, for messages.
pub(super) fn listed(names: impl Iterator<Item = String>) -> Vec<String> {
    names
        .map(|name| name.strip_suffix(".npy").unwrap_or(&name).to_owned())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}
