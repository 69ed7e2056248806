//! Shared by the differential test, the smoke fuzzer and the fuzz targets under `fuzz/`.
#![allow(dead_code, clippy::unwrap_used)]

pub(crate) mod arbitrary;
pub(crate) mod definition;
pub(crate) mod flow;
pub(crate) mod mutate;
pub(crate) mod readers;
pub(crate) mod verdict;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use arbitrary::Source as _;

/// A folder of this process for files that readers are fed: in memory if there is such a place.
pub(crate) fn scratch() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let root = if memory.is_dir() {
            memory.to_owned()
        } else {
            std::env::temp_dir()
        };
        let folder = root.join(format!("ide3al-smoke-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    })
}

/// A model and a problem from bytes, solved and checked.
pub(crate) fn solve_bytes(bytes: &[u8]) {
    let mut source = arbitrary::Bytes(bytes);
    let formulation = ide3al::formulation::Formulation::ALL[source.below(5)];
    let (mdp, family) = arbitrary::model(&mut source, 8);
    let problem = arbitrary::problem(&mut source, &mdp, formulation);
    let verdict = verdict::judge(&mut source, &mdp, family, &problem, false);
    assert!(
        verdict.failures.is_empty(),
        "{problem:?}: {:?}",
        verdict.failures
    );
}
