//! The folder of one experiment: who may write there, and what it holds.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::experiment::Experiment;
use crate::error::{Error, Result};
use crate::model::Mdp;
use crate::model::io::atomic;

/// What experiment a folder holds.
const IDENTITY: &str = "experiment.json";
const LOCK: &str = ".ide3al.lock";
/// What an experiment writes.
const PRODUCTS: [&str; 7] = [
    "checkpoint.bin",
    "runs.csv",
    "data.csv",
    "goal.csv",
    "summary.json",
    "report.html",
    "policies",
];

/// What to do with a folder that holds an experiment already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Refuse.
    New,
    /// Go on with it, if it is the same.
    Resume,
    /// Throw its results away, whatever it is.
    Overwrite,
}

#[derive(Debug, Serialize, Deserialize)]
struct Identity {
    ide3al: String,
    model: String,
    fingerprint: String,
    parameters: Value,
}

/// An output folder, locked against other processes while this lives.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Creates or enters a folder for an experiment on a model.
    pub fn enter(
        path: &Path,
        model: &str,
        mdp: &Mdp,
        experiment: &Experiment,
        entry: Entry,
    ) -> Result<Self> {
        let io = |path: &Path, action: &'static str| {
            let path = path.to_owned();
            move |source| Error::Io {
                path,
                action,
                source,
            }
        };
        if entry == Entry::Resume && !path.join(IDENTITY).is_file() {
            return Err(refusal(
                path,
                "there is no experiment to resume here; to begin one, do not resume (parameter 'resume')".into(),
            ));
        }
        std::fs::create_dir_all(path).map_err(io(path, "create the folder"))?;
        let lock_path = path.join(LOCK);
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock_path)
            .map_err(io(&lock_path, "write"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(refusal(
                    path,
                    "another ide3al process is writing here; wait for it, stop it, or choose \
                     another folder (parameter 'out')"
                        .into(),
                ));
            }
            Err(TryLockError::Error(source)) => return Err(io(&lock_path, "lock")(source)),
        }
        let folder = Folder {
            path: path.to_owned(),
            _lock: lock,
        };
        folder.admit(model, mdp, experiment, entry)?;
        Ok(folder)
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the checkpoint lies.
    pub fn checkpoint(&self) -> PathBuf {
        self.path.join(PRODUCTS[0])
    }

    /// Whether the experiment's results are complete.
    pub fn is_finished(&self) -> bool {
        !self.checkpoint().exists() && self.path.join("summary.json").exists()
    }

    /// Marks the experiment as finished: the results are written, the checkpoint has served.
    pub fn finish(&self) -> Result<()> {
        let path = self.checkpoint();
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(Error::Io {
                path,
                action: "remove",
                source,
            }),
            _ => Ok(()),
        }
    }

    fn admit(&self, model: &str, mdp: &Mdp, experiment: &Experiment, entry: Entry) -> Result<()> {
        let path = self.path.join(IDENTITY);
        let parameters = serde_json::to_value(experiment)
            .map_err(|error| Error::Unsupported(format!("cannot write JSON: {error}")))?;
        let own = Identity {
            ide3al: env!("CARGO_PKG_VERSION").into(),
            model: model.into(),
            fingerprint: format!("{:016x}", experiment.fingerprint(mdp)),
            parameters,
        };
        if entry != Entry::Overwrite {
            match std::fs::read_to_string(&path) {
                Ok(text) => return self.compare(&text, &own, entry),
                Err(source) if source.kind() == std::io::ErrorKind::NotFound => {}
                Err(source) => {
                    return Err(Error::Io {
                        path,
                        action: "read",
                        source,
                    });
                }
            }
            if let Some(name) = PRODUCTS.iter().find(|name| self.path.join(name).exists()) {
                return Err(refusal(
                    &self.path,
                    format!(
                        "the folder holds '{name}' but no {IDENTITY}, so it would be overwritten; \
                         choose another folder (parameter 'out'), or replace it \
                         (parameter 'overwrite')"
                    ),
                ));
            }
        }
        // nothing of an experiment that is gone may be taken for this one's, and one that was
        // killed before it had a name leaves no trace
        self.clear(&path)?;
        atomic::sweep_file(&self.path, IDENTITY);
        let text = serde_json::to_string_pretty(&own)
            .map_err(|error| Error::Unsupported(format!("cannot write JSON: {error}")))?;
        atomic::write_bytes(&path, format!("{text}\n").as_bytes())
    }

    /// Removes what an earlier experiment wrote, its identity last.
    fn clear(&self, identity: &Path) -> Result<()> {
        let mut old: Vec<PathBuf> = PRODUCTS
            .iter()
            .map(|name| self.path.join(name))
            .filter(|path| path.is_file())
            .collect();
        if identity.is_file() {
            // only then is the folder of policies ours
            let policies = std::fs::read_dir(self.path.join("policies"));
            let files = policies.into_iter().flatten().flatten();
            old.extend(files.map(|entry| entry.path()));
            old.push(identity.to_owned());
        }
        for path in old {
            std::fs::remove_file(&path).map_err(|source| Error::Io {
                path,
                action: "remove",
                source,
            })?;
        }
        Ok(())
    }

    fn compare(&self, text: &str, own: &Identity, entry: Entry) -> Result<()> {
        let found: Identity = serde_json::from_str(text).map_err(|error| {
            refusal(
                &self.path.join(IDENTITY),
                format!(
                    "not readable as an experiment ({error}); choose another folder \
                     (parameter 'out'), or replace it (parameter 'overwrite')"
                ),
            )
        })?;
        let same = found.fingerprint == own.fingerprint;
        match entry {
            Entry::Resume if same => {
                self.sweep();
                Ok(())
            }
            Entry::Resume => Err(refusal(
                &self.path,
                format!(
                    "the folder holds another experiment ({}); resume it with its own \
                     parameters, or choose another folder (parameter 'out')",
                    difference(&found, own)
                ),
            )),
            _ => Err(refusal(
                &self.path,
                format!(
                    "the folder holds an experiment already ({}); go on with it \
                     (parameter 'resume'), replace it (parameter 'overwrite'), or choose another \
                     folder (parameter 'out')",
                    if same {
                        "this very one".to_owned()
                    } else {
                        difference(&found, own)
                    }
                ),
            )),
        }
    }

    /// Removes temporary files that a killed process left behind; nobody else writes here.
    fn sweep(&self) {
        atomic::sweep(&self.path);
        atomic::sweep(&self.path.join("policies"));
    }
}

fn refusal(path: &Path, problem: String) -> Error {
    Error::Format {
        path: path.to_owned(),
        problem,
    }
}

/// The first few differences in words.
fn difference(found: &Identity, own: &Identity) -> String {
    let mut words = Vec::new();
    if found.model != own.model {
        words.push(format!("model {} there, {} here", found.model, own.model));
    }
    if found.ide3al != own.ide3al {
        words.push(format!(
            "version {} there, {} here",
            found.ide3al, own.ide3al
        ));
    }
    if let (Value::Object(there), Value::Object(here)) = (&found.parameters, &own.parameters) {
        for (name, value) in here {
            if there.get(name) != Some(value) {
                let other = there.get(name).map_or("none".into(), Value::to_string);
                words.push(format!("{name} {other} there, {value} here"));
            }
        }
    }
    if words.is_empty() {
        words.push("a model of the same name with other contents".into());
    }
    words.truncate(4);
    words.join("; ")
}
