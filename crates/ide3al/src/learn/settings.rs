//! The settings that a user gave, and the defaults of those that were left open: the one place for
//! the program, the binding and all others that read settings.

use super::algorithm::Algorithm;
use super::convergence::Convergence;
use super::experiment::Experiment;
use super::goal::Goal;
use crate::error::Result;
use crate::formulation::Formulation;
use crate::formulation::occupancy_spec::OccupancySpec;
use crate::model::Mdp;
use crate::solve::TieBreak;

/// Settings as given; `None` is left open.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Everything as in the paper.
    pub paper: bool,
    /// Names as [`Algorithm::from_name`] reads them.
    pub algorithms: Option<Vec<String>>,
    /// Name of IDE³AL's formulation.
    pub formulation: Option<String>,
    /// Least probability of every action, for IDE³AL.
    pub xi: Option<f64>,
    /// Largest entry of the target.
    pub zeta: Option<f64>,
    /// Share of random actions of MaxEnt and CountBased.
    pub epsilon: Option<f64>,
    /// Step size of MaxEnt.
    pub eta: Option<f64>,
    /// Tries after which R-MAX knows a pair.
    pub known: Option<u32>,
    /// Steps that RF-UCRL and EntGame look ahead.
    pub horizon: Option<u32>,
    /// Discount of value iteration, and of RF-UCRL.
    pub discount: Option<f64>,
    /// Relative gap at which each solve ends.
    pub relative_tolerance: Option<f64>,
    /// The same for plans towards a target of one's own, if they differ.
    pub rough_tolerance: Option<f64>,
    /// Name of the tie-break.
    pub tie_break: Option<String>,
    /// Number of batches.
    pub iterations: Option<u64>,
    /// Steps per batch.
    pub batch_size: Option<u64>,
    /// Number of runs.
    pub runs: Option<u64>,
    /// The one seed.
    pub seed: Option<u64>,
    /// Change of the policy below which a run ends early.
    pub converge: Option<f64>,
    /// Whether to evaluate for a goal.
    pub goal: bool,
    /// What else is asked of the visits of the recommended IDE³AL.
    pub visits: OccupancySpec,
}

impl Settings {
    /// On top of what is recommended or, in paper mode, of the paper's parameters, for a model that
    /// `spec` names.
    pub fn resolve(&self, spec: &str, mdp: &Mdp) -> Result<Experiment> {
        let base = match self.paper {
            true => Experiment::for_model(spec, mdp),
            false => Experiment::recommended(spec, mdp),
        };
        let algorithms = match &self.algorithms {
            Some(names) => {
                let named = names.iter().map(|name| Algorithm::from_name(name));
                named.collect::<Result<_>>()?
            }
            None => base.algorithms.clone(),
        };
        let actions = mdp.max_actions().max(1) as f64;
        let iterations = self.iterations.unwrap_or(base.iterations);
        let ends_only = !self.paper && base.gap_every == base.iterations;
        Ok(Experiment {
            algorithms,
            formulation: match &self.formulation {
                Some(name) => Formulation::from_name(name)?.name().into(),
                None => base.formulation.clone(),
            },
            // the paper takes epsilon = xi throughout; otherwise every agent has the same least
            // probability of an action
            xi: match (self.xi, self.epsilon) {
                (Some(xi), _) => xi,
                (None, Some(epsilon)) if !self.paper => epsilon / actions,
                _ => base.xi,
            },
            epsilon: match (self.epsilon, self.xi) {
                (Some(epsilon), _) => epsilon,
                (None, Some(xi)) if self.paper => xi,
                (None, Some(xi)) => (xi * actions).min(1.0),
                _ => base.epsilon,
            },
            zeta: self.zeta.unwrap_or(base.zeta),
            eta: self.eta.unwrap_or(base.eta),
            known: self.known.unwrap_or(base.known),
            horizon: self.horizon.unwrap_or(base.horizon),
            discount: self.discount.unwrap_or(base.discount),
            relative_tolerance: self.relative_tolerance.unwrap_or(base.relative_tolerance),
            rough_tolerance: self
                .rough_tolerance
                .or(self.relative_tolerance)
                .unwrap_or(base.rough_tolerance),
            tie_break: match &self.tie_break {
                Some(name) => TieBreak::from_name(name)?,
                None => base.tie_break,
            },
            gap_every: if ends_only {
                iterations.max(1)
            } else {
                base.gap_every
            },
            iterations,
            batch_size: self.batch_size.unwrap_or(base.batch_size),
            runs: self.runs.unwrap_or(base.runs),
            seed: self.seed.unwrap_or(base.seed),
            convergence: self.converge.map(|tolerance| Convergence {
                tolerance,
                ..Convergence::default()
            }),
            goal: self.goal.then(Goal::default),
            visits: self.visits.clone(),
            ..base
        })
    }
}
