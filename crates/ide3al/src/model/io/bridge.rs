//! Deterministic models of the BRIDGE data set: `consolidated.npz` with `transitions` and
//! `rewards`.
//!
//! Source: Laidlaw, Russell and Dragan (2023), "Bridging RL Theory and Practice with the
//! Effective Horizon", the data set's own description.

use std::path::Path;

use super::archive::Archive;
use super::{malformed, npz};
use crate::error::{Error, Result};
use crate::model::Mdp;

/// Whether an archive looks like one.
pub(super) fn is_one(archive: &Archive) -> bool {
    archive.has("transitions")
}

/// Reads `transitions[s, a]`, the next state, or -1 where the episode ends: there the next one
/// begins, in state 0. `rewards[s, a]` are kept, where they are there.
pub(super) fn read(path: &Path, archive: &mut Archive) -> Result<Mdp> {
    let array = archive.floats("transitions")?;
    let &[states, actions] = array.shape.as_slice() else {
        return Err(malformed(
            path,
            format!(
                "'transitions' has shape {:?}; it must be (states, actions)",
                array.shape
            ),
        ));
    };
    let strides = array.strides();
    let mut problem = None;
    let mdp = Mdp::from_fn(states, actions, |s, a, row| {
        let next = array.data[s * strides[0] + a * strides[1]];
        let inside = next >= 0.0 && next < states as f64 && next.fract() == 0.0;
        if !inside && next != -1.0 {
            problem.get_or_insert(format!(
                "transitions[{s}, {a}] is {next}; it must be a state from 0 to {}, or -1 where \
                 the episode ends",
                states - 1
            ));
        }
        row.push((if inside { next as usize } else { 0 }, 1.0));
        true
    });
    match problem {
        Some(problem) => Err(malformed(path, problem)),
        None if states == 0 => Err(Error::Empty),
        None => npz::with_rewards(path, archive, mdp?.with_start_state(0)?),
    }
}
