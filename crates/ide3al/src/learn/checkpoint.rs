//! The complete state of a set of runs in one file.
//!
//! Layout, all numbers little-endian: the magic bytes, the format's version, the
//! experiment's [fingerprint](super::Experiment::fingerprint), the number of runs, one entry
//! per run, and a checksum of everything before it. The file is replaced in one step, so
//! that a kill at any moment leaves the old one or the new one.

use std::path::Path;

use super::codec::{Damage, Hash, Reader, Writer};
use super::goal::Success;
use super::run::{read_curve, write_curve};
use super::runs::{RunResult, Stage};
use crate::error::{Error, Result};
use crate::model::Mdp;

const MAGIC: &[u8; 8] = b"IDE3ALCK";
const VERSION: u64 = 5;

/// Writes the stages of all runs.
pub(crate) fn encode<'s>(
    fingerprint: u64,
    stages: impl ExactSizeIterator<Item = &'s Stage>,
) -> Vec<u8> {
    let mut writer = Writer::default();
    for byte in MAGIC {
        writer.byte(*byte);
    }
    writer.number(VERSION);
    writer.number(fingerprint);
    writer.number(stages.len() as u64);
    for stage in stages {
        match stage {
            Stage::Waiting => writer.byte(0),
            Stage::Running(bytes) => {
                writer.byte(1);
                writer.blob(bytes);
            }
            Stage::Done(result) => {
                writer.byte(2);
                write_result(&mut writer, result);
            }
        }
    }
    let mut bytes = writer.into_bytes();
    let checksum = checksum(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Reads the stages of `expected` runs of the experiment with that fingerprint. Anything
/// else is refused with an explanation that names the file.
pub(crate) fn decode(
    path: &Path,
    bytes: &[u8],
    fingerprint: u64,
    expected: usize,
    shape: &Mdp,
) -> Result<Vec<Stage>> {
    let refuse = |problem: String| Error::Format {
        path: path.to_owned(),
        problem,
    };
    let damaged = |damage: Damage| {
        refuse(format!(
            "the checkpoint is damaged ({damage}); delete it to start over, the results already \
             written stay"
        ))
    };
    let Some(content) = bytes.strip_prefix(MAGIC) else {
        return Err(refuse(
            "this is no checkpoint of ide3al; name another folder (parameter 'out'), or delete the \
             file"
                .into(),
        ));
    };
    let mut reader = Reader::new(content);
    let version = reader.number().map_err(damaged)?;
    if version != VERSION {
        return Err(refuse(format!(
            "the checkpoint has format {version}, this program reads format {VERSION}; go on with \
             the version of ide3al that wrote it, or delete it to start over"
        )));
    }
    let (sealed, seal) = bytes
        .split_last_chunk::<8>()
        .ok_or_else(|| damaged("it ends early".into()))?;
    if checksum(sealed) != u64::from_le_bytes(*seal) {
        return Err(damaged("its checksum does not fit its contents".into()));
    }
    if reader.number().map_err(damaged)? != fingerprint {
        return Err(refuse(
            "the checkpoint belongs to another experiment (other parameters, another model or \
             another version of ide3al); resume with the original parameters, or choose \
             another folder (parameter 'out')"
                .into(),
        ));
    }
    let read = |mut reader: Reader<'_>| -> std::result::Result<Vec<Stage>, Damage> {
        if reader.number()? != expected as u64 {
            return Err(format!("it does not hold {expected} runs"));
        }
        let stages = (0..expected)
            .map(|_| match reader.byte()? {
                0 => Ok(Stage::Waiting),
                1 => Ok(Stage::Running(reader.blob()?.to_vec())),
                2 => Ok(Stage::Done(read_result(&mut reader, shape)?)),
                other => Err(format!("{other} is no stage of a run")),
            })
            .collect::<std::result::Result<_, Damage>>()?;
        reader.number()?; // the checksum
        reader.end()?;
        Ok(stages)
    };
    read(reader).map_err(damaged)
}

fn checksum(bytes: &[u8]) -> u64 {
    let mut hash = Hash::new();
    hash.bytes(bytes);
    hash.value()
}

fn write_result(writer: &mut Writer, result: &RunResult) {
    write_curve(writer, &result.curve);
    writer.reals(result.policy.probabilities());
    writer.reals(&result.distribution);
    for &visits in &result.visits {
        writer.number(visits);
    }
    writer.byte(u8::from(result.converged));
    writer.real(result.seconds);
    writer.number(result.goal.len() as u64);
    for success in &result.goal {
        writer.real(success.probability);
        writer.real(success.value_share);
    }
    writer.texts(&result.notes);
}

fn read_result(reader: &mut Reader<'_>, shape: &Mdp) -> std::result::Result<RunResult, Damage> {
    let curve = read_curve(reader)?;
    let policy = reader.policy(shape.n_pairs())?;
    let distribution = reader.reals()?;
    if distribution.len() != shape.n_states() {
        return Err("a state distribution is of another size".into());
    }
    let visits = (0..shape.n_states())
        .map(|_| reader.number())
        .collect::<std::result::Result<_, _>>()?;
    let converged = reader.byte()? != 0;
    let seconds = reader.real()?;
    let goal = (0..reader.length(16)?)
        .map(|_| {
            Ok(Success {
                probability: reader.real()?,
                value_share: reader.real()?,
            })
        })
        .collect::<std::result::Result<_, Damage>>()?;
    let notes = reader.texts()?;
    Ok(RunResult {
        curve,
        policy,
        distribution,
        visits,
        converged,
        seconds,
        goal,
        notes,
    })
}
