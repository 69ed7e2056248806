//! Policy files: JSON, NPY and NPZ.

use std::fmt;
use std::io::{BufReader, Write};
use std::path::Path;

use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use zip::ZipWriter;

use super::archive::Archive;
use super::enduring::Enduring;
use super::npy::{Array, Header};
use super::{atomic, cannot_read, extension, json, malformed, npy, npz, open, unknown_format};
use crate::error::{Error, Result};
use crate::model::{Mdp, Policy};

const KNOWN: &str = ".json, .npz or .npy";

/// Reads a policy for a model; the format is told by the extension.
///
/// Accepted shapes: one row per state with as many numbers as that state has actions; one
/// row per state with a column per action number (zero where a state lacks that action); or
/// one flat list with a number per state-action pair. JSON holds it under the key `policy`
/// (what `solve --json` prints is such a file) or is the list itself; NPZ has an array
/// `policy`.
pub fn read_policy(path: &Path, mdp: &Mdp) -> Result<Policy> {
    let policy = match extension(path).as_str() {
        "json" => from_json(json::parse(path)?, mdp),
        "npz" => {
            let mut archive = Archive::open(path)?;
            if !archive.has("policy") {
                let names = archive.names().join(", ");
                return Err(malformed(
                    path,
                    format!("it has no array 'policy', only: {names}"),
                ));
            }
            from_array(&archive.floats("policy")?, mdp)
        }
        "npy" => from_array(&read_npy(path)?, mdp),
        _ => return Err(unknown_format(path, KNOWN)),
    };
    policy.map_err(|error| error.in_file(path))
}

fn read_npy(path: &Path) -> Result<Array<f64>> {
    let file = open(path)?;
    let bytes = file.metadata().map_err(|e| cannot_read(path, e))?.len();
    let mut reader = BufReader::new(file);
    Header::read(&mut reader)
        .and_then(|header| header.read_floats(&mut reader, bytes))
        .map_err(|problem| malformed(path, format!("the array: {problem}")))
}

/// Numbers as the file gave them: flat, or in rows.
enum Numbers {
    Flat(Vec<f64>),
    Rows(Vec<Vec<f64>>),
}

/// A document with the key `policy`, or the bare list.
struct Document(Option<Numbers>);

/// One number or one row.
enum Item {
    Number(f64),
    Row(Vec<f64>),
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Seed;
        impl<'de> Visitor<'de> for Seed {
            type Value = Item;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a probability or a list of probabilities")
            }

            fn visit_f64<E>(self, value: f64) -> std::result::Result<Item, E> {
                Ok(Item::Number(value))
            }

            fn visit_u64<E>(self, value: u64) -> std::result::Result<Item, E> {
                Ok(Item::Number(value as f64))
            }

            fn visit_i64<E>(self, value: i64) -> std::result::Result<Item, E> {
                Ok(Item::Number(value as f64))
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> std::result::Result<Item, A::Error> {
                let mut row = Vec::new();
                while let Some(p) = list.next_element()? {
                    row.push(p);
                }
                Ok(Item::Row(row))
            }
        }
        from.deserialize_any(Seed)
    }
}

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Seed;
        impl<'de> Visitor<'de> for Seed {
            type Value = Numbers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a policy: one list of probabilities per state")
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> std::result::Result<Numbers, A::Error> {
                let (mut flat, mut rows) = (Vec::new(), Vec::new());
                while let Some(item) = list.next_element()? {
                    match item {
                        Item::Number(p) => flat.push(p),
                        Item::Row(row) => rows.push(row),
                    }
                    if !flat.is_empty() && !rows.is_empty() {
                        return Err(A::Error::custom(
                            "numbers and lists are mixed in the policy",
                        ));
                    }
                }
                Ok(if flat.is_empty() {
                    Numbers::Rows(rows)
                } else {
                    Numbers::Flat(flat)
                })
            }
        }
        from.deserialize_seq(Seed)
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Seed;
        impl<'de> Visitor<'de> for Seed {
            type Value = Document;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with the key 'policy', or one list per state")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Document, A::Error> {
                let mut found = None;
                while let Some(key) = map.next_key::<String>()? {
                    if key == "policy" {
                        found = Some(map.next_value()?);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Document(found))
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                list: A,
            ) -> std::result::Result<Document, A::Error> {
                let list = serde::de::value::SeqAccessDeserializer::new(list);
                Ok(Document(Some(Numbers::deserialize(list)?)))
            }
        }
        from.deserialize_any(Seed)
    }
}

fn from_json(document: Document, mdp: &Mdp) -> Result<Policy> {
    match document.0 {
        None => Err(Error::Unsupported(
            "the key 'policy' is missing; add one list of probabilities per state".into(),
        )),
        Some(Numbers::Flat(flat)) => Policy::new(mdp, flat),
        Some(Numbers::Rows(rows)) => {
            check_rows(rows.len(), mdp)?;
            let rows = rows.iter().enumerate();
            let rows: Result<Vec<Vec<f64>>> = rows.map(|(s, row)| state_row(mdp, s, row)).collect();
            Policy::from_rows(mdp, &rows?)
        }
    }
}

fn from_array(array: &Array<f64>, mdp: &Mdp) -> Result<Policy> {
    let mut data = array.data.clone();
    let rows = match array.shape.as_slice() {
        [_] => None,
        &[rows, columns] => Some((rows, columns)),
        other => {
            return Err(Error::Size {
                what: "policy".into(),
                expected: "an array of shape (S, A), or a number per pair".into(),
                found: format!("shape {other:?}"),
            });
        }
    };
    if let Some((rows, columns)) = rows {
        check_rows(rows, mdp)?;
        let strides = array.strides();
        data.clear();
        for s in 0..rows {
            let row: Vec<f64> = (0..columns)
                .map(|a| array.data[s * strides[0] + a * strides[1]])
                .collect();
            data.extend(state_row(mdp, s, &row)?);
        }
    }
    if array.single {
        // rounded to single precision: within 1e-5 of one it is meant to be one
        let bounds = mdp.first_pair();
        if bounds.last() == Some(&data.len()) {
            for w in bounds.windows(2) {
                npz::rescale_single(&mut data[w[0]..w[1]]);
            }
        }
    }
    Policy::new(mdp, data)
}

fn check_rows(rows: usize, mdp: &Mdp) -> Result<()> {
    if rows == mdp.n_states() {
        return Ok(());
    }
    Err(Error::Size {
        what: "policy".into(),
        expected: format!("{} rows, one per state of the model", mdp.n_states()),
        found: rows.to_string(),
    })
}

/// A row as the state's own actions, from either of the two shapes.
fn state_row(mdp: &Mdp, state: usize, row: &[f64]) -> Result<Vec<f64>> {
    let own = mdp.n_actions(state);
    if row.len() == own {
        return Ok(row.to_vec());
    }
    let labels = mdp.n_action_labels();
    // names may cover actions that no state has
    if row.len() != labels && row.len() != json::declared_actions(mdp) {
        let or = if own == labels {
            String::new()
        } else {
            format!(" (or {labels} with zeros for the missing ones)")
        };
        return Err(Error::BadPolicy {
            state,
            problem: format!("{} probabilities for {own} actions{or}", row.len()),
        });
    }
    let actions = &mdp.actions()[mdp.pairs(state)];
    for (action, p) in row.iter().enumerate() {
        if *p != 0.0 && !actions.contains(&(action as u32)) {
            return Err(Error::BadPolicy {
                state,
                problem: format!("{p} for action {action}, which this state does not have"),
            });
        }
    }
    Ok(actions.iter().map(|&a| row[a as usize]).collect())
}

/// Writes a policy; the format is told by the extension. An existing file is replaced.
///
/// JSON gets one row per state with that state's own actions; NPZ and NPY an array of shape
/// $(S, A)$ with zeros where a state lacks an action, or one number per pair where that
/// would be mostly zeros.
pub fn write_policy(path: &Path, mdp: &Mdp, policy: &Policy) -> Result<()> {
    if policy.probabilities().len() != mdp.n_pairs() {
        return Err(Error::Size {
            what: "policy".into(),
            expected: format!("{} state-action pairs as in the model", mdp.n_pairs()),
            found: policy.probabilities().len().to_string(),
        });
    }
    match extension(path).as_str() {
        "json" => write_json(path, mdp, policy),
        "npz" => atomic::write(path, |file| {
            let mut zip = ZipWriter::new(Enduring::new(file));
            let (shape, numbers) = as_array(mdp, policy);
            let bytes = numbers.map(f64::to_le_bytes);
            npz::member(&mut zip, "policy", "<f8", &shape, bytes)?;
            zip.finish()?.end()
        }),
        "npy" => atomic::write(path, |file| {
            let (shape, numbers) = as_array(mdp, policy);
            npy::write_header(file, "<f8", &shape)?;
            npy::write_items(file, numbers.map(f64::to_le_bytes))
        }),
        _ => Err(unknown_format(path, KNOWN)),
    }
}

fn write_json(path: &Path, mdp: &Mdp, policy: &Policy) -> Result<()> {
    #[derive(Serialize)]
    struct Row<'a>(&'a [f64]);
    atomic::write(path, |file| {
        writeln!(file, "{{\n\"states\": {},", mdp.n_states())?;
        writeln!(file, "\"actions\": {},", json::declared_actions(mdp))?;
        write!(file, "\"policy\": [")?;
        for state in 0..mdp.n_states() {
            file.write_all(if state == 0 { b"\n" } else { b",\n" })?;
            let row = Row(&policy.probabilities()[mdp.pairs(state)]);
            serde_json::to_writer(&mut *file, &row)?;
        }
        writeln!(file, "\n]\n}}")
    })
}

fn as_array<'a>(
    mdp: &'a Mdp,
    policy: &'a Policy,
) -> (Vec<usize>, Box<dyn Iterator<Item = f64> + 'a>) {
    let (n, labels) = (mdp.n_states(), mdp.n_action_labels());
    let probabilities = policy.probabilities();
    let most = mdp.n_pairs().saturating_mul(16).saturating_add(1 << 20);
    if n.saturating_mul(labels) > most {
        return (vec![mdp.n_pairs()], Box::new(probabilities.iter().copied()));
    }
    let numbers = (0..n).flat_map(move |s| {
        let mut pairs = mdp.pairs(s).peekable();
        (0..labels as u32).map(move |a| {
            let pair = pairs.next_if(|&pair| mdp.actions()[pair] == a);
            pair.map_or(0.0, |pair| probabilities[pair])
        })
    });
    (vec![n, labels], Box::new(numbers))
}
