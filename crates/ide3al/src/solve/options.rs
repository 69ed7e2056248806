//! How to solve: which solver, which of several optimal policies, and when to stop.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::formulation::parameter;

/// Which solver to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SolverChoice {
    /// The project's own methods, chosen by formulation and size.
    #[default]
    Auto,
    /// The general conic solver Clarabel: the reference.
    Conic,
}

impl SolverChoice {
    /// By name: auto or conic.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "auto" => Ok(SolverChoice::Auto),
            "conic" => Ok(SolverChoice::Conic),
            _ => Err(Error::unknown("solver", name, &["auto", "conic"])),
        }
    }
}

/// Which of several optimal policies to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TieBreak {
    /// For the three distances the optimal policy nearest to uniform in the Euclidean norm; for
    /// State Entropy without restarts and limits the one with the largest entropy of actions, of
    /// what `xi` leaves free of them; those of Dual are unique wherever they go. Elsewhere no tie
    /// is broken: a policy from the interior of the optimal ones is returned.
    #[default]
    Uniform,
    /// Whichever the solver ends on.
    None,
}

impl TieBreak {
    /// By name: uniform or none.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "uniform" => Ok(TieBreak::Uniform),
            "none" => Ok(TieBreak::None),
            _ => Err(Error::unknown("tie-break", name, &["uniform", "none"])),
        }
    }

    /// Name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            TieBreak::Uniform => "uniform",
            TieBreak::None => "none",
        }
    }
}

/// How to solve.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which solver.
    pub solver: SolverChoice,
    /// Which of several optimal policies.
    pub tie_break: TieBreak,
    /// Wanted gap, absolute. Gaps below 1e-12 count as none: that is rounding. Formulations whose
    /// values have a unit of their own ([relative](crate::formulation::Formulation::is_relative)
    /// ones) take it as a share of the objective.
    pub tolerance: f64,
    /// Wanted gap as a share of the objective; the solve ends when either is reached.
    pub relative_tolerance: f64,
    /// Most iterations.
    pub max_iterations: usize,
    /// Most wall-clock time.
    pub time_limit: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            solver: SolverChoice::Auto,
            tie_break: TieBreak::Uniform,
            tolerance: 5e-8,
            relative_tolerance: 0.0,
            max_iterations: 1_000_000,
            time_limit: None,
        }
    }
}

impl Options {
    /// Gaps are numbers, zero or more: an infinite one would call any answer optimal.
    pub fn validate(&self) -> Result<()> {
        for (name, gap) in [
            ("tolerance", self.tolerance),
            ("relative_tolerance", self.relative_tolerance),
        ] {
            if !(gap >= 0.0 && gap.is_finite()) {
                return Err(parameter(name, gap, "must be a number, 0 or more"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_that_mean_nothing_are_refused() {
        assert!(Options::default().validate().is_ok());
        for gap in [f64::NAN, f64::INFINITY, -1e-9] {
            let (mut absolute, mut relative) = (Options::default(), Options::default());
            absolute.tolerance = gap;
            relative.relative_tolerance = gap;
            for options in [absolute, relative] {
                let told = options.validate().unwrap_err().to_string();
                assert!(told.contains("tolerance") && told.contains("0 or more"));
            }
        }
    }
}
