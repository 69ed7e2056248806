//! A policy that sees much soon, judged: the certificate, what is seen, the long run.

use serde::Serialize;

use super::{Compare, SolveReport, report as report_any};
use crate::chain::AnalyzeOptions;
use crate::error::Result;
use crate::formulation::reach::Reach;
use crate::formulation::{Formulation, Problem};
use crate::model::Mdp;
use crate::solve::{Observer, Solution};

/// Everything `ide3al solve --formulation reach` reports. Serialises with these names as keys,
/// those of [`SolveReport`] beside them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReachReport {
    /// Mean time of the walk; `None` for the mean hitting time.
    pub within: Option<f64>,
    /// "start" or "anywhere".
    pub origin: &'static str,
    /// Least entropy of the steady state that was asked for, as a share of the largest.
    pub evenness: f64,
    /// Probability of starting over.
    pub restart: f64,
    /// The objective as a share of the bound; for mean hitting times the bound as a share of the
    /// objective.
    pub share_of_bound: f64,
    /// All that is reported of any solution.
    #[serde(flatten)]
    pub solved: SolveReport,
}

/// Judges a solution of [`solve::reach`](crate::solve::reach).
pub fn report(
    mdp: &Mdp,
    reach: &Reach,
    solution: &Solution,
    analyze_options: &AnalyzeOptions,
    compare: Compare,
    observer: &mut dyn Observer,
) -> Result<ReachReport> {
    let problem = Problem {
        xi: reach.xi,
        ..Problem::new(Formulation::Reach)
    };
    let solved = report_any(mdp, &problem, solution, analyze_options, compare, observer)?;
    Ok(ReachReport::new(mdp, reach, solved))
}

impl ReachReport {
    /// What was asked for, beside what is reported of any solution.
    pub fn new(mdp: &Mdp, reach: &Reach, solved: SolveReport) -> Self {
        let within = reach.time(mdp);
        ReachReport {
            within: within.is_finite().then_some(within),
            origin: reach.begins().name(),
            evenness: reach.evenness,
            restart: reach.restart,
            share_of_bound: share_of_bound(within.is_infinite(), solved.objective, solved.bound),
            solved,
        }
    }
}

/// What share of the bound an objective is, whichever way is better; 1 where both are zero.
pub fn share_of_bound(is_hitting: bool, objective: f64, bound: f64) -> f64 {
    if objective == bound {
        1.0
    } else if is_hitting {
        bound / objective
    } else {
        objective / bound
    }
}
