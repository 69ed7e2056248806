//! The algorithms by name.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::formulation::Formulation;

/// Which algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// [`Explorer`](super::Explorer), or in an experiment in paper mode [`Ideal`](super::Ideal).
    Ideal,
    /// [`MaxEnt`](super::MaxEnt).
    MaxEnt,
    /// [`CountBased`](super::CountBased).
    CountBased,
    /// [`Random`](super::Random).
    Random,
    /// [`Ideal::non_iterative`](super::Ideal::non_iterative).
    NonIterative,
    /// [`Ideal`](super::Ideal): IDE³AL as the paper has it, in any experiment.
    Paper,
    /// [`RMax`](super::RMax): pairs are known after so many tries.
    RMax,
    /// [`RMax`](super::RMax) by levels.
    RMaxLevels,
    /// [`FiniteHorizon`](super::FiniteHorizon) with [`Bound::Error`](super::Bound::Error).
    RfUcrl,
    /// [`FiniteHorizon`](super::FiniteHorizon) with [`Bound::Surprise`](super::Bound::Surprise).
    EntGame,
}

impl Kind {
    /// All of them. The order fixes the random streams: append, never reorder.
    pub const ALL: [Kind; 10] = [
        Kind::Ideal,
        Kind::MaxEnt,
        Kind::CountBased,
        Kind::Random,
        Kind::NonIterative,
        Kind::Paper,
        Kind::RMax,
        Kind::RMaxLevels,
        Kind::RfUcrl,
        Kind::EntGame,
    ];

    /// Name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Ideal => "ideal",
            Kind::MaxEnt => "max-ent",
            Kind::CountBased => "count-based",
            Kind::Random => "random",
            Kind::NonIterative => "non-iterative",
            Kind::Paper => "paper",
            Kind::RMax => "rmax",
            Kind::RMaxLevels => "rmax-levels",
            Kind::RfUcrl => "rf-ucrl",
            Kind::EntGame => "ent-game",
        }
    }

    /// Number of the algorithm's random streams.
    pub fn stream(self) -> u64 {
        match self {
            Kind::Ideal => 0,
            Kind::MaxEnt => 1,
            Kind::CountBased => 2,
            Kind::Random => 3,
            Kind::NonIterative => 4,
            Kind::Paper => 5,
            Kind::RMax => 6,
            Kind::RMaxLevels => 7,
            Kind::RfUcrl => 8,
            Kind::EntGame => 9,
        }
    }

    /// Whether it solves a formulation.
    pub fn takes_formulation(self) -> bool {
        matches!(self, Kind::Ideal | Kind::NonIterative | Kind::Paper)
    }
}

/// An algorithm, with a formulation of its own where it takes one and differs from the
/// experiment's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Algorithm {
    /// Which.
    pub kind: Kind,
    /// Instead of the experiment's formulation.
    pub formulation: Option<Formulation>,
}

impl Algorithm {
    /// With the experiment's formulation.
    pub fn new(kind: Kind) -> Self {
        Algorithm {
            kind,
            formulation: None,
        }
    }

    /// By name: `ideal`, `max-ent`, ..., or `ideal:FORMULATION`. Underscores count as
    /// hyphens.
    pub fn from_name(name: &str) -> Result<Self> {
        let plain = name.replace('_', "-").to_lowercase();
        let (kind, formulation) = match plain.split_once(':') {
            Some((kind, formulation)) => (kind, Some(Formulation::from_name(formulation)?)),
            None => (plain.as_str(), None),
        };
        let kind = match kind {
            // as the paper spells them
            "ide3al" => "ideal",
            "maxent" => "max-ent",
            "countbased" => "count-based",
            "r-max" => "rmax",
            "r-max-levels" => "rmax-levels",
            "rfucrl" => "rf-ucrl",
            "entgame" => "ent-game",
            other => other,
        };
        let kind = Kind::ALL
            .into_iter()
            .find(|k| k.name() == kind)
            .ok_or_else(|| Error::unknown("algorithm", name, &Kind::ALL.map(Kind::name)))?;
        if formulation.is_some() && !kind.takes_formulation() {
            return Err(Error::Parameter {
                name: "algorithm".into(),
                value: name.into(),
                problem: format!(
                    "{} solves no formulation; only ideal, paper and non-iterative do",
                    kind.name()
                ),
            });
        }
        Ok(Algorithm { kind, formulation })
    }

    /// Name in tables and files, as [`from_name`](Self::from_name) reads it.
    pub fn label(&self) -> String {
        match self.formulation {
            Some(formulation) => format!("{}:{}", self.kind.name(), formulation.name()),
            None => self.kind.name().to_owned(),
        }
    }
}

impl TryFrom<String> for Algorithm {
    type Error = Error;
    fn try_from(name: String) -> Result<Self> {
        Algorithm::from_name(&name)
    }
}

impl From<Algorithm> for String {
    fn from(algorithm: Algorithm) -> String {
        algorithm.label()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_typos_are_met_with_a_suggestion() {
        for name in [
            "ideal",
            "max-ent",
            "count-based",
            "random",
            "non-iterative",
            "ideal:column-sum",
            "paper:dual",
            "rf-ucrl",
            "ent-game",
        ] {
            assert_eq!(Algorithm::from_name(name).unwrap().label(), name);
        }
        assert_eq!(Algorithm::from_name("Max_Ent").unwrap().kind, Kind::MaxEnt);
        let error = Algorithm::from_name("coutn-based").unwrap_err().to_string();
        assert!(error.contains("did you mean 'count-based'?"), "{error}");
        assert!(Algorithm::from_name("random:dual").is_err());
        assert!(Algorithm::from_name("ideal:nothing").is_err());
    }
}
