//! The experiments as data, compiled into the program so that it works anywhere.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use ide3al::error::{Error, Result};

/// The files under `experiments/`, in the order of the page.
const FILES: [&str; 16] = [
    include_str!("../../experiments/fig-xi.toml"),
    include_str!("../../experiments/fig-zeta.toml"),
    include_str!("../../experiments/fig-iterative.toml"),
    include_str!("../../experiments/table-single-chain.toml"),
    include_str!("../../experiments/fig-formulations.toml"),
    include_str!("../../experiments/fig-double-chain.toml"),
    include_str!("../../experiments/fig-single-chain.toml"),
    include_str!("../../experiments/fig-knight-quest.toml"),
    include_str!("../../experiments/fig-river-swim.toml"),
    include_str!("../../experiments/fig-goal-conditioned.toml"),
    include_str!("../../experiments/fig-solve-time.toml"),
    include_str!("../../experiments/table-parameters.toml"),
    include_str!("../../experiments/table-optimal-values.toml"),
    include_str!("../../experiments/table-solve-times.toml"),
    include_str!("../../experiments/example-three-states.toml"),
    include_str!("../../experiments/theorems.toml"),
];

/// One experiment.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Name on the command line and in files.
    pub id: String,
    /// Which code runs it.
    pub kind: String,
    /// A heading.
    pub title: String,
    /// Where in the paper.
    pub place: String,
    /// The claim in words.
    pub claim: String,
    /// Parameters of both sets.
    #[serde(default)]
    parameters: toml::Table,
    /// Parameters of the reduced set.
    #[serde(default)]
    reduced: toml::Table,
    /// Parameters of the full set.
    #[serde(default)]
    full: toml::Table,
    /// About how many seconds each set takes on two cores, for the time left.
    seconds: Seconds,
    /// The file's text.
    #[serde(skip)]
    text: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Seconds {
    reduced: f64,
    full: f64,
}

impl Spec {
    /// Reads an experiment's file.
    pub fn parse(text: &str) -> Result<Self> {
        let mut spec: Spec = toml::from_str(text)
            .map_err(|error| Error::Unsupported(format!("experiment file: {error}")))?;
        text.clone_into(&mut spec.text);
        Ok(spec)
    }

    /// The parameters of one set, as the kind of experiment needs them.
    pub fn parameters<T: DeserializeOwned>(&self, full: bool) -> Result<T> {
        let mut all = self.parameters.clone();
        let set = if full { &self.full } else { &self.reduced };
        for (name, value) in set {
            all.insert(name.clone(), value.clone());
        }
        all.try_into()
            .map_err(|error| Error::Unsupported(format!("experiment {}: {error}", self.id)))
    }

    /// About how many seconds it takes on two cores.
    pub fn expected_seconds(&self, full: bool) -> f64 {
        let seconds = if full {
            self.seconds.full
        } else {
            self.seconds.reduced
        };
        seconds.max(0.01)
    }

    /// What a stored result must have been made from to be this experiment's: the program's
    /// version, the set, and the file.
    pub fn key(&self, full: bool) -> String {
        let set = if full { "full" } else { "reduced" };
        format!("{} {set}\n{}", env!("CARGO_PKG_VERSION"), self.text)
    }
}

/// All experiments.
pub fn all() -> Result<Vec<Spec>> {
    FILES.iter().map(|text| Spec::parse(text)).collect()
}

/// The experiments of these names, in the order of the page; all for none.
pub fn select(ids: &[String]) -> Result<Vec<Spec>> {
    let specs = all()?;
    let known: Vec<&str> = specs.iter().map(|s| s.id.as_str()).collect();
    for id in ids {
        if !known.contains(&id.as_str()) {
            return Err(Error::unknown("experiment", id, &known));
        }
    }
    Ok(specs
        .into_iter()
        .filter(|s| ids.is_empty() || ids.contains(&s.id))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_reads_and_has_a_known_kind() {
        let specs = all().unwrap();
        for spec in &specs {
            assert!(
                super::super::KINDS.contains(&spec.kind.as_str()),
                "{}",
                spec.id
            );
            for set in [false, true] {
                assert!(spec.parameters::<toml::Table>(set).is_ok());
            }
        }
        let mut ids: Vec<&str> = specs.iter().map(|s| s.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), FILES.len());
    }

    #[test]
    fn an_unknown_name_suggests_the_nearest() {
        let message = select(&["fig-zata".into()]).unwrap_err().to_string();
        assert!(message.contains("fig-zeta"), "{message}");
    }
}
