//! When learning is done.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::model::Counts;

/// The paper's criterion: "the exploratory policy remains unchanged during consecutive
/// optimization sweeps and [...] all state-action pairs have been sufficiently explored".
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    /// No action's probability changes by more than this between two sweeps.
    pub tolerance: f64,
    /// Number of consecutive sweeps without a change.
    pub sweeps: u64,
    /// Least number of samples of every pair.
    pub visits: u64,
}

impl Default for Convergence {
    fn default() -> Self {
        Convergence {
            tolerance: 0.01,
            sweeps: 10,
            visits: 10,
        }
    }
}

impl Convergence {
    /// Refuses what could never or would always be met.
    pub fn validate(&self) -> Result<()> {
        let parameter = |name: &str, value: String, problem: &str| {
            Err(Error::Parameter {
                name: name.into(),
                value,
                problem: problem.into(),
            })
        };
        if !(self.tolerance >= 0.0 && self.tolerance < 1.0) {
            return parameter(
                "convergence tolerance",
                self.tolerance.to_string(),
                "must be a number from 0 to 1 (a change of a probability)",
            );
        }
        if self.sweeps == 0 {
            return parameter("convergence sweeps", "0".into(), "at least 1 is needed");
        }
        Ok(())
    }

    /// Whether the criterion is met after `unchanged` sweeps without a change.
    pub fn met(&self, unchanged: u64, counts: &Counts) -> bool {
        unchanged >= self.sweeps && counts.pair_totals().iter().all(|&n| n >= self.visits)
    }
}
