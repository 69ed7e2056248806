//! Every reader behind one door: bytes in, no panic out.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ide3al::domains::GridMap;
use ide3al::learn::{Algorithm, Entry, Experiment, Folder, Goal, Kind, Runs};
use ide3al::model::io::{read_model, read_policy, write_model};
use ide3al::model::{Mdp, Policy};
use ide3al_report::reproduce::registry::Spec;

/// The readers, by the name of their folder under `tests/corpus/`.
pub(crate) const READERS: [&str; 12] = [
    "model-json",
    "model-npz",
    "model-tra",
    "model-umb",
    "model-bridge",
    "policy-json",
    "policy-npz",
    "policy-npy",
    "checkpoint",
    "experiment-json",
    "experiment-toml",
    "map",
];

/// What separates the parts of an input that is several files (`.tra`, `.lab`, `.sta`).
pub(crate) const SEPARATOR: &[u8] = b"\n=====\n";

/// The model that policies and checkpoints of the corpus belong to.
pub(crate) fn model() -> Mdp {
    Mdp::from_triplets(
        3,
        2,
        [
            (0, 0, 1, 0.5),
            (0, 0, 2, 0.5),
            (0, 1, 0, 1.0),
            (1, 0, 2, 1.0),
            (1, 1, 0, 0.25),
            (1, 1, 1, 0.75),
            (2, 0, 0, 1.0),
        ],
    )
    .unwrap()
    .with_start_state(0)
    .unwrap()
}

/// The experiment that checkpoints of the corpus belong to.
pub(crate) fn experiment() -> Experiment {
    Experiment {
        algorithms: [
            Kind::Ideal,
            Kind::MaxEnt,
            Kind::CountBased,
            Kind::Random,
            Kind::NonIterative,
        ]
        .map(Algorithm::new)
        .to_vec(),
        iterations: 6,
        batch_size: 5,
        runs: 1,
        goal: Some(Goal {
            horizons: vec![5],
            within: 5,
            repetitions: 1,
        }),
        ..Experiment::default()
    }
}

/// The hash that seals a checkpoint, so that damage gets past it.
fn seal(bytes: &[u8]) -> u64 {
    fn number(hash: u64, value: u64) -> u64 {
        let hash = (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3);
        hash ^ hash >> 32
    }
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        hash = number(hash, u64::from_le_bytes(word.try_into().unwrap()));
    }
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    number(number(hash, u64::from_le_bytes(last)), bytes.len() as u64)
}

/// Puts the right checksum (and, where damaged, the fingerprint) back on a checkpoint.
pub(crate) fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() < 32 {
        return bytes;
    }
    let print = experiment().fingerprint(&model());
    bytes[16..24].copy_from_slice(&print.to_le_bytes());
    let end = bytes.len() - 8;
    let sum = seal(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// What came of feeding a reader.
pub(crate) enum Fed {
    /// It was refused with this message.
    Refused(String),
    /// It was taken.
    Taken,
}

/// Feeds bytes to a reader through files in a folder of the caller's.
///
/// # Panics
/// If the reader does, if an accepted model does not survive writing and reading, or if a
/// message does not name the file.
pub(crate) fn feed(reader: &str, bytes: &[u8], folder: &Path) -> Fed {
    let put = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let named = |result: ide3al::Result<()>, name: &str| match result {
        Ok(()) => Fed::Taken,
        Err(error) => {
            let message = error.to_string();
            assert!(message.contains(name), "no file named in: {message}");
            Fed::Refused(message)
        }
    };
    let plain = |result: ide3al::Result<()>| match result {
        Ok(()) => Fed::Taken,
        Err(error) => Fed::Refused(error.to_string()),
    };
    match reader {
        "model-json" => named(read_and_write(&put("m.json", bytes)), "m.json"),
        "model-npz" => named(read_and_write(&put("m.npz", bytes)), "m.npz"),
        "model-umb" => named(read_and_write(&put("m.umb", bytes)), "m.umb"),
        "model-bridge" => named(read_and_write(&put("b.npz", bytes)), "b.npz"),
        "model-tra" => {
            let mut parts = split(bytes);
            for ending in ["lab", "sta"] {
                let path = folder.join("m").with_extension(ending);
                let _ = std::fs::remove_file(path);
            }
            for (ending, part) in ["tra", "lab", "sta"].iter().zip(&mut parts) {
                put(&format!("m.{ending}"), part);
            }
            named(read_and_write(&folder.join("m.tra")), "m.")
        }
        "policy-json" => named(policy(&put("p.json", bytes)), "p.json"),
        "policy-npz" => named(policy(&put("p.npz", bytes)), "p.npz"),
        "policy-npy" => named(policy(&put("p.npy", bytes)), "p.npy"),
        "checkpoint" => {
            let path = put("c.bin", bytes);
            named(checkpoint(&path), "c.bin")
        }
        "experiment-json" => {
            put("experiment.json", bytes);
            let entered = Folder::enter(folder, "tiny", &model(), &experiment(), Entry::Resume);
            plain(entered.map(|_| ()))
        }
        "experiment-toml" => {
            let Ok(text) = std::str::from_utf8(bytes) else {
                return Fed::Refused("not text".into());
            };
            plain(Spec::parse(text).map(|spec| {
                let _ = spec.key(false);
                let _ = spec.expected_seconds(true);
                let _ = spec.parameters::<toml::Table>(true);
            }))
        }
        "map" => {
            let path = put("m.txt", bytes);
            named(
                GridMap::read(&path).and_then(|map| map.build().map(|_| ())),
                "m.txt",
            )
        }
        other => panic!("no reader is called {other}"),
    }
}

fn split(bytes: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = bytes;
    while parts.len() < 2
        && let Some(at) = rest.windows(SEPARATOR.len()).position(|w| w == SEPARATOR)
    {
        parts.push(&rest[..at]);
        rest = &rest[at + SEPARATOR.len()..];
    }
    parts.push(rest);
    parts
}

/// Reads a model; what is accepted must be a model and survive being written.
fn read_and_write(path: &Path) -> ide3al::Result<()> {
    let mdp = read_model(path)?;
    for pair in 0..mdp.n_pairs() {
        let row = mdp.row(pair);
        let sum = row.spread + row.values.iter().sum::<f64>();
        assert!((sum - 1.0).abs() < 1e-9, "row {pair} sums to {sum}");
    }
    let again = path.with_file_name("again.json");
    write_model(&again, &mdp)?;
    let read = read_model(&again)?;
    assert!(same(&read, &mdp), "writing and reading changed the model");
    if mdp.n_states() <= 64 {
        let _ = ide3al::chain::analyze(&mdp, &Policy::uniform(&mdp), &Default::default())?;
    }
    Ok(())
}

/// Equal but for the last bit of probabilities, which are rescaled when read.
fn same(a: &Mdp, b: &Mdp) -> bool {
    a.first_pair() == b.first_pair()
        && a.actions() == b.actions()
        && a.kernel().indices() == b.kernel().indices()
        && a.state_names() == b.state_names()
        && a.action_names() == b.action_names()
        && a.layout() == b.layout()
        && [
            (a.kernel().values(), b.kernel().values()),
            (a.start(), b.start()),
        ]
        .iter()
        .all(|(x, y)| x.len() == y.len() && x.iter().zip(*y).all(|(x, y)| (x - y).abs() <= 1e-15))
}

fn policy(path: &Path) -> ide3al::Result<()> {
    let mdp = model();
    let policy = read_policy(path, &mdp)?;
    assert_eq!(policy.probabilities().len(), mdp.n_pairs());
    Ok(())
}

/// Resumes a checkpoint and goes on from it to the end.
fn checkpoint(path: &Path) -> ide3al::Result<()> {
    let (mdp, experiment) = (model(), experiment());
    let mut runs = Runs::new(&experiment, &mdp)?;
    runs.resume(path)?;
    let stop = AtomicBool::new(false);
    runs.execute(1, None, &stop, &|_| {})
        .map(|_| ())
        .map_err(|error| error.in_file(path))
}
