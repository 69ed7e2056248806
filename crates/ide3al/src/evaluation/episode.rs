//! An episode solved, judged: the certificate and what the episode sees.

use serde::Serialize;

use super::explained;
use crate::chain::episode::{EpisodeAnalysis, analyze_episode};
use crate::error::Result;
use crate::formulation::episode::Episode;
use crate::model::Mdp;
use crate::solve::episode::{EpisodeSolution, solve};
use crate::solve::{Observer, Options, Status};

/// Most steps times transitions of an episode that is solved for the share without being asked.
const SHARE_LIMIT: usize = 5_000_000;

/// Everything `ide3al solve --formulation episode` reports. Serialises with these names as keys,
/// those of [`EpisodeAnalysis`] beside them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EpisodeReport {
    /// "episode".
    pub formulation: &'static str,
    /// Least probability of every action.
    pub xi: f64,
    /// Always `None`: there is no target.
    pub zeta: Option<f64>,
    /// Name of the solver that ran.
    pub solver: &'static str,
    /// How the solve ended.
    pub status: &'static str,
    /// Entropy of the average distribution in nats.
    pub objective: f64,
    /// What a feasible dual point proves of the optimum.
    pub bound: f64,
    /// `|objective - bound|`.
    pub gap: f64,
    /// Iterations of the solver.
    pub iterations: usize,
    /// Wall-clock seconds of the solve.
    pub seconds: f64,
    /// One table per step, one row per state, one probability per action of that state.
    pub policy: Vec<Vec<Vec<f64>>>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// What the episode sees.
    #[serde(flatten)]
    pub analysis: EpisodeAnalysis,
}

/// Judges the solution of an episode.
pub fn report(mdp: &Mdp, solution: &EpisodeSolution) -> Result<EpisodeReport> {
    let analysis = analyze_episode(mdp, &solution.policy)?;
    let certificate = &solution.certificate;
    let mut notes = solution.notes.clone();
    notes.extend(explained(certificate));
    Ok(EpisodeReport {
        formulation: Episode::NAME,
        xi: solution.episode.xi,
        zeta: None,
        solver: solution.solver,
        status: certificate.status.name(),
        objective: certificate.objective,
        bound: certificate.bound,
        gap: certificate.gap,
        iterations: certificate.iterations,
        seconds: certificate.seconds,
        policy: solution.policy.rows(mdp),
        notes,
        analysis,
    })
}

/// The largest entropy that any policy, of memory or not, reaches within a horizon; `None` where
/// that would take long and nobody asked.
pub(super) fn optimum(
    mdp: &Mdp,
    steps: u64,
    xi: f64,
    asked: bool,
    observer: &mut dyn Observer,
    notes: &mut Vec<String>,
) -> Result<Option<f64>> {
    let work = usize::try_from(steps)
        .unwrap_or(usize::MAX)
        .saturating_mul(mdp.kernel().nnz());
    if !asked && work > SHARE_LIMIT {
        notes.push(
            "the share of the best possible within the horizon is left out on large models and long horizons: solve \
             the episode by itself, or ask for it (parameter 'compare' = always)"
                .into(),
        );
        return Ok(None);
    }
    let episode = Episode {
        steps: usize::try_from(steps).unwrap_or(usize::MAX),
        xi,
    };
    let options = Options {
        tolerance: 1e-6,
        ..Options::default()
    };
    if let Err(problem) = episode.validate(mdp) {
        // what was asked for first has its answer
        notes.push(format!(
            "no share of the best possible within the horizon: {problem}"
        ));
        return Ok(None);
    }
    let found = solve(mdp, &episode, &options, observer)?.certificate;
    if found.status == Status::Interrupted {
        return Ok(None);
    }
    if found.gap > options.tolerance {
        notes.push(format!(
            "the best possible within the horizon is known to {:.1e} nats only; the share counts from its upper bound",
            found.gap
        ));
        return Ok(Some(found.bound));
    }
    Ok(Some(found.objective))
}
