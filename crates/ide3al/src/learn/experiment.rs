//! A set of runs as plain data: everything that decides the results.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::algorithm::{Algorithm, Kind};
use super::codec::Hash;
use super::convergence::Convergence;
use super::goal::Goal;
use super::learner::{Learner, Planner, Solver};
use super::value_iteration::ValueIteration;
use super::{Bound, Constrained, CountBased, Explorer, FiniteHorizon, Ideal, MaxEnt, RMax, Random};
use crate::domains::default_parameters;
use crate::error::{Error, Result};
use crate::formulation::occupancy_spec::OccupancySpec;
use crate::formulation::{Formulation, Problem};
use crate::model::{Mdp, Policy};
use crate::solve::{Options, SolverChoice, TieBreak};

/// Share of random actions of all agents, as recommended.
const LEAST_SHARE: f64 = 0.1;
/// Models with more states than this are compared without the paper's IDE³AL and MaxEnt, which take
/// their time there.
const LARGE: usize = 500;

/// R-MAX knows a pair after one try, unless told otherwise.
fn once() -> u32 {
    1
}

/// RF-UCRL and EntGame look this many steps ahead, unless told otherwise.
fn ahead() -> u32 {
    20
}

/// The parameters of a set of runs. Two sets with equal parameters on equal models have
/// equal results, whatever the number of threads and interruptions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// What to compare.
    pub algorithms: Vec<Algorithm>,
    /// Formulation of IDE³AL, by name.
    pub formulation: String,
    /// Whether everything is done as the paper does it: IDE³AL and its rivals plan for one
    /// continuing trajectory over all declared states. Otherwise they plan for the
    /// states seen and for episodes, and `ideal` is the [recommended](super::Explorer) one.
    pub paper: bool,
    /// Least probability of every action, for IDE³AL.
    pub xi: f64,
    /// Largest entry of the target, for IDE³AL with Infinity or Frobenius.
    pub zeta: f64,
    /// Share of random actions of MaxEnt and CountBased.
    pub epsilon: f64,
    /// Step size of MaxEnt.
    pub eta: f64,
    /// Tries after which R-MAX knows a pair.
    #[serde(default = "once")]
    pub known: u32,
    /// Steps that RF-UCRL and EntGame look ahead.
    #[serde(default = "ahead")]
    pub horizon: u32,
    /// Discount of value iteration, and of RF-UCRL.
    pub discount: f64,
    /// Tolerance of value iteration.
    pub value_tolerance: f64,
    /// Relative gap at which a solve inside the loop ends.
    pub relative_tolerance: f64,
    /// The same for the plans of the recommended IDE³AL, each of which is one of many steps.
    pub rough_tolerance: f64,
    /// Which of several optimal policies the solves inside the loop choose.
    pub tie_break: TieBreak,
    /// Number of batches.
    pub iterations: u64,
    /// Steps per batch, $N$.
    pub batch_size: u64,
    /// Number of independent runs of each algorithm.
    pub runs: u64,
    /// The one seed of all random numbers.
    pub seed: u64,
    /// The spectral gap is computed in every so many iterations, and in the last.
    pub gap_every: u64,
    /// Ends a run early.
    pub convergence: Option<Convergence>,
    /// Goal-conditioned evaluation at the end of each run.
    pub goal: Option<Goal>,
    /// What else is asked of the visits of the recommended IDE³AL.
    #[serde(default, skip_serializing_if = "OccupancySpec::is_plain")]
    pub visits: OccupancySpec,
}

impl Default for Experiment {
    /// The paper's parameters for its chains, and 20 runs.
    fn default() -> Self {
        let method = ValueIteration::default();
        Experiment {
            algorithms: [Kind::Ideal, Kind::MaxEnt, Kind::CountBased, Kind::Random]
                .map(Algorithm::new)
                .to_vec(),
            formulation: Formulation::Frobenius.name().into(),
            paper: true,
            xi: 0.1,
            zeta: 0.7,
            epsilon: 0.1,
            eta: 0.1,
            known: once(),
            horizon: ahead(),
            discount: method.discount,
            value_tolerance: method.tolerance,
            relative_tolerance: 1e-4,
            rough_tolerance: 2e-3,
            tie_break: TieBreak::None,
            iterations: 300,
            batch_size: 10,
            runs: 20,
            seed: 0,
            gap_every: 1,
            convergence: None,
            goal: None,
            visits: OccupancySpec::default(),
        }
    }
}

impl Experiment {
    /// The paper's parameters for the domain that `spec` names, feasible ones for any other
    /// model (see [`default_parameters`]).
    pub fn for_model(spec: &str, mdp: &Mdp) -> Self {
        let parameters = default_parameters(spec, mdp);
        Experiment {
            xi: parameters.xi,
            zeta: parameters.zeta,
            epsilon: parameters.epsilon,
            iterations: parameters.iterations as u64,
            batch_size: parameters.batch as u64,
            // the eigenvalue problem of a large chain would cost more than the learning
            gap_every: if mdp.n_states() <= 64 { 1 } else { 20 },
            ..Experiment::default()
        }
    }

    /// What is recommended for any model and any environment: IDE³AL [for
    /// episodes](super::Explorer) and rivals with the same least probability of every action.
    /// Iterations and batch are the paper's, for the domains it names.
    pub fn recommended(spec: &str, mdp: &Mdp) -> Self {
        let base = Experiment::for_model(spec, mdp);
        let epsilon = LEAST_SHARE;
        let mut algorithms = vec![Kind::Ideal];
        if mdp.n_states() <= LARGE {
            algorithms.extend([Kind::Paper, Kind::MaxEnt]);
        }
        algorithms.extend([Kind::CountBased, Kind::Random]);
        Experiment {
            paper: false,
            formulation: Formulation::StateEntropy.name().into(),
            xi: epsilon / mdp.max_actions().max(1) as f64,
            epsilon,
            algorithms: algorithms
                .iter()
                .map(|kind| Algorithm::new(*kind))
                .collect(),
            // two spectral gaps are all that a large model is given the time for
            gap_every: if mdp.n_states() > LARGE {
                base.iterations
            } else {
                base.gap_every
            },
            ..base
        }
    }

    /// Refuses parameters that make no sense for a model, naming each.
    pub fn validate(&self, mdp: &Mdp) -> Result<()> {
        let bad = |name: &str, value: String, problem: &str| {
            Err(Error::Parameter {
                name: name.into(),
                value,
                problem: problem.into(),
            })
        };
        if self.algorithms.is_empty() {
            return bad("algorithm", "none".into(), "name at least one");
        }
        for (k, algorithm) in self.algorithms.iter().enumerate() {
            if self.algorithms[..k].contains(algorithm) {
                return bad("algorithm", algorithm.label(), "is named twice");
            }
            if algorithm.kind.takes_formulation() {
                let problem = self.problem(algorithm)?;
                problem.validate(mdp)?;
                self.validate_visits(algorithm, problem.formulation, mdp)?;
            }
        }
        if !self.visits.is_plain() && !self.algorithms.iter().any(|a| self.is_recommended(a)) {
            return bad(
                "algorithm",
                self.algorithms[0].label(),
                "takes no target, wanted samples, restart or limits; only the recommended 'ideal' does",
            );
        }
        for (name, value) in [
            ("runs", self.runs),
            ("batch_size", self.batch_size),
            ("iterations", self.iterations),
            ("known", u64::from(self.known)),
            ("horizon", u64::from(self.horizon)),
        ] {
            if value == 0 {
                return bad(name, "0".into(), "at least 1 is needed");
            }
        }
        // the results of all runs are held at once
        if self.runs > 10_000_000 {
            return bad(
                "runs",
                self.runs.to_string(),
                "at most 10 million are possible",
            );
        }
        if self
            .iterations
            .checked_mul(self.batch_size)
            .is_none_or(|n| n >= 1 << 47)
        {
            return bad(
                "batch_size",
                self.batch_size.to_string(),
                "more than 10^14 samples per run cannot be counted; take fewer iterations or \
                 smaller batches",
            );
        }
        for (name, value) in [("epsilon", self.epsilon), ("eta", self.eta)] {
            if !(0.0..=1.0).contains(&value) {
                return bad(name, value.to_string(), "must be a number from 0 to 1");
            }
        }
        if !(self.discount > 0.0 && self.discount < 1.0) {
            return bad(
                "discount",
                self.discount.to_string(),
                "must be a number between 0 and 1, both excluded",
            );
        }
        for (name, value) in [
            ("value tolerance", self.value_tolerance),
            ("solve tolerance", self.relative_tolerance),
            ("rough tolerance", self.rough_tolerance),
        ] {
            if !(value > 0.0 && value < 1.0) {
                return bad(name, value.to_string(), "must be a number between 0 and 1");
            }
        }
        if self.gap_every == 0 {
            return bad("gap interval", "0".into(), "at least 1 is needed");
        }
        if let Some(convergence) = &self.convergence {
            convergence.validate()?;
        }
        if let Some(goal) = &self.goal {
            goal.validate()?;
        }
        Ok(())
    }

    fn is_recommended(&self, algorithm: &Algorithm) -> bool {
        algorithm.kind == Kind::Ideal && !self.paper
    }

    /// The recommended IDE³AL alone knows what is uncertain in its estimate, and what else is asked
    /// of the visits.
    fn validate_visits(
        &self,
        algorithm: &Algorithm,
        formulation: Formulation,
        mdp: &Mdp,
    ) -> Result<()> {
        if self.is_recommended(algorithm) {
            return self.visits.validate(mdp, formulation);
        }
        let bad = |problem: &str| {
            Err(Error::Parameter {
                name: "formulation".into(),
                value: formulation.name().into(),
                problem: problem.into(),
            })
        };
        if Formulation::VISITS.contains(&formulation) {
            return bad(
                "is learned by the recommended IDE3AL alone: choose the algorithm 'ideal', and not the paper's parameters",
            );
        }
        Ok(())
    }

    /// The problem an algorithm solves.
    pub fn problem(&self, algorithm: &Algorithm) -> Result<Problem> {
        let formulation = match algorithm.formulation {
            Some(formulation) => formulation,
            // in company of the recommended one it stands for what the paper recommends
            None if algorithm.kind == Kind::Paper && !self.paper => Formulation::Frobenius,
            None => Formulation::from_name(&self.formulation)?,
        };
        Ok(Problem {
            formulation,
            xi: self.xi,
            zeta: if formulation.takes_zeta() {
                self.zeta
            } else {
                1.0
            },
        })
    }

    /// How value iteration is done.
    pub fn value_iteration(&self) -> ValueIteration {
        ValueIteration {
            discount: self.discount,
            tolerance: self.value_tolerance,
            ..ValueIteration::default()
        }
    }

    /// The production planner.
    pub fn planner(&self) -> Arc<dyn Planner> {
        Arc::new(Solver {
            options: Options {
                solver: SolverChoice::Auto,
                tie_break: self.tie_break,
                relative_tolerance: self.relative_tolerance,
                ..Options::default()
            },
            rough: self.rough_tolerance,
        })
    }

    /// A fresh learner for an environment with the pairs of `shape`.
    pub fn learner(
        &self,
        algorithm: &Algorithm,
        shape: &Mdp,
        planner: &Arc<dyn Planner>,
    ) -> Result<Box<dyn Learner>> {
        let uniform = Policy::uniform(shape);
        let n = shape.n_states();
        let method = self.value_iteration();
        let episodic = !self.paper;
        Ok(match algorithm.kind {
            Kind::Ideal if episodic && !self.visits.is_plain() => Box::new(Constrained::new(
                uniform,
                self.problem(algorithm)?,
                self.visits.clone(),
                Arc::clone(planner),
            )),
            Kind::Ideal if episodic => Box::new(Explorer::new(
                uniform,
                self.problem(algorithm)?,
                Arc::clone(planner),
            )),
            Kind::MaxEnt if episodic => {
                Box::new(MaxEnt::new(uniform, n, self.epsilon, self.eta, method).episodic())
            }
            Kind::CountBased if episodic => {
                Box::new(CountBased::new(uniform, n, self.epsilon, method).episodic())
            }
            Kind::Ideal | Kind::Paper => Box::new(Ideal::new(
                uniform,
                self.problem(algorithm)?,
                Arc::clone(planner),
            )),
            Kind::NonIterative => Box::new(Ideal::non_iterative(
                uniform,
                self.problem(algorithm)?,
                Arc::clone(planner),
            )),
            Kind::MaxEnt => Box::new(MaxEnt::new(uniform, n, self.epsilon, self.eta, method)),
            Kind::CountBased => Box::new(CountBased::new(uniform, n, self.epsilon, method)),
            Kind::Random => Box::new(Random::new(uniform)),
            Kind::RMax => Box::new(RMax::new(uniform, self.known, false)),
            Kind::RMaxLevels => Box::new(RMax::new(uniform, self.known, true)),
            Kind::RfUcrl => {
                let discount = self.discount;
                let bound = Bound::Error { discount };
                Box::new(FiniteHorizon::new(uniform, bound, self.horizon))
            }
            Kind::EntGame => Box::new(FiniteHorizon::new(uniform, Bound::Surprise, self.horizon)),
        })
    }

    /// A number that tells this experiment on this model from any other: a hash of every
    /// parameter, of the model's rows and start bit by bit, and of the program's version
    /// (another version may compute other bits).
    pub fn fingerprint(&self, mdp: &Mdp) -> u64 {
        let mut hash = Hash::new();
        hash.bytes(env!("CARGO_PKG_VERSION").as_bytes());
        // serialisation of plain numbers and names cannot fail
        hash.bytes(serde_json::to_string(self).unwrap_or_default().as_bytes());
        for &first in mdp.first_pair() {
            hash.number(first as u64);
        }
        let kernel = mdp.kernel();
        for &offset in kernel.offsets() {
            hash.number(offset as u64);
        }
        for &index in kernel.indices() {
            hash.number(u64::from(index));
        }
        for reals in [kernel.values(), kernel.spread(), mdp.start()] {
            for value in reals {
                hash.number(value.to_bits());
            }
        }
        hash.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Mdp {
        Mdp::from_triplets(2, 1, [(0, 0, 1, 1.0), (1, 0, 0, 1.0)]).unwrap()
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        let base = Experiment::default();
        base.validate(&two()).unwrap();
        let cases: [(&str, Experiment); 8] = [
            (
                "runs = 0",
                Experiment {
                    runs: 0,
                    ..base.clone()
                },
            ),
            (
                "batch_size = 0",
                Experiment {
                    batch_size: 0,
                    ..base.clone()
                },
            ),
            (
                "iterations = 0",
                Experiment {
                    iterations: 0,
                    ..base.clone()
                },
            ),
            (
                "epsilon = 2",
                Experiment {
                    epsilon: 2.0,
                    ..base.clone()
                },
            ),
            (
                "eta = NaN",
                Experiment {
                    eta: f64::NAN,
                    ..base.clone()
                },
            ),
            (
                "zeta = 0.1",
                Experiment {
                    zeta: 0.1,
                    ..base.clone()
                },
            ),
            (
                "discount = 1",
                Experiment {
                    discount: 1.0,
                    ..base.clone()
                },
            ),
            (
                "named twice",
                Experiment {
                    algorithms: vec![Algorithm::new(Kind::Random); 2],
                    ..base.clone()
                },
            ),
        ];
        for (expected, experiment) in cases {
            let error = experiment.validate(&two()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn every_parameter_and_the_model_change_the_fingerprint() {
        let base = Experiment::default();
        let print = base.fingerprint(&two());
        assert_eq!(print, base.clone().fingerprint(&two()));
        let other = Experiment {
            seed: 1,
            ..base.clone()
        };
        assert_ne!(print, other.fingerprint(&two()));
        assert_ne!(print, base.fingerprint(&two().with_start_state(1).unwrap()));
    }
}
