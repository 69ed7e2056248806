//! What is best: the paper's optimisation problems and those of [what to visit](occupancy), stated
//! once, apart from any solver.
//!
//! Each problem has a file with its objective for a policy and the bound that any dual point
//! proves; the other files hold what these share.

pub mod column_sum;
pub mod entropy;
pub mod episode;
pub mod frobenius;
pub mod infinity;
pub mod occupancy;
pub mod occupancy_spec;
pub mod reach;
pub mod reduction;
pub mod simplex;
pub mod support;
pub mod utility;

use crate::error::{Error, Result};
use crate::model::Mdp;

/// By how much of its size a parameter may exceed its limit: a user's $1/A$ or $1/S$ is rounded.
const ROUNDING: f64 = 1e-12;

/// Which problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Formulation {
    /// $\min_{\pi, U} \|U - M(\pi)\|_\infty$, the paper's problem (4).
    Infinity,
    /// $\min_{\pi, U} \|U - M(\pi)\|_F$, the paper's problem (5).
    Frobenius,
    /// $\min_\pi \sum_t |1 - \sum_s M_{st}|$, the paper's problem (6).
    ColumnSum,
    /// $\max_\omega H(\omega)$ over stationary state-action distributions, the paper's (10).
    Dual,
    /// $\max_\omega H(d)$, $d$ the state marginal of $\omega$: the paper's (3) made concave.
    StateEntropy,
    /// $\min_\omega \mathrm{KL}(d, q)$: states in given proportions.
    Target,
    /// $\max t$ with $\omega \ge t\, b$: samples of every pair in the fewest steps.
    Coverage,
    /// $\min_\omega \sum c / \omega$: the least expected error of the estimated model.
    ModelError,
    /// $\max_\pi$ of the share of states [seen](reach) within a random time, or $\min_\pi$ of the
    /// mean hitting time.
    Reach,
    /// $\max_\omega f(\omega)$ with a concave [utility](utility::Utility) of the user's own.
    Own,
}

impl Formulation {
    /// The paper's problems, all about evenness, in the order of the documentation.
    pub const ALL: [Formulation; 5] = [
        Formulation::Infinity,
        Formulation::Frobenius,
        Formulation::ColumnSum,
        Formulation::Dual,
        Formulation::StateEntropy,
    ];

    /// Those of [what to visit](occupancy), beyond evenness.
    pub const VISITS: [Formulation; 3] = [
        Formulation::Target,
        Formulation::Coverage,
        Formulation::ModelError,
    ];

    /// Every formulation that has a name to be chosen by.
    pub fn every() -> impl Iterator<Item = Formulation> {
        let visits = Formulation::ALL.into_iter().chain(Formulation::VISITS);
        visits.chain([Formulation::Reach])
    }

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Formulation::Infinity => "infinity",
            Formulation::Frobenius => "frobenius",
            Formulation::ColumnSum => "column-sum",
            Formulation::Dual => "dual",
            Formulation::StateEntropy => "state-entropy",
            Formulation::Target => "target",
            Formulation::Coverage => "coverage",
            Formulation::ModelError => "model-error",
            Formulation::Reach => "reach",
            Formulation::Own => "own",
        }
    }

    /// By name; underscores count as hyphens.
    pub fn from_name(name: &str) -> Result<Self> {
        let plain = name.replace('_', "-");
        Formulation::every()
            .find(|f| f.name() == plain)
            .ok_or_else(|| {
                let names: Vec<&str> = Formulation::every().map(Formulation::name).collect();
                Error::unknown("formulation", name, &names)
            })
    }

    /// Whether the problem has a doubly stochastic target $U$ and so takes `zeta`.
    pub fn takes_zeta(self) -> bool {
        matches!(self, Formulation::Infinity | Formulation::Frobenius)
    }

    /// Whether the objective is to be maximised rather than minimised.
    pub fn maximises(self) -> bool {
        matches!(
            self,
            Formulation::Dual
                | Formulation::StateEntropy
                | Formulation::Coverage
                | Formulation::Reach
                | Formulation::Own
        )
    }

    /// Whether the objective is an entropy, in nats.
    pub fn is_entropy(self) -> bool {
        matches!(self, Formulation::Dual | Formulation::StateEntropy)
    }

    /// Whether the objective is a function of what is [visited](occupancy), so that restarts and
    /// limits make sense.
    pub fn is_occupancy(self) -> bool {
        self.is_entropy() || Formulation::VISITS.contains(&self) || self == Formulation::Own
    }

    /// Whether gaps are measured as a share of the objective, whose size depends on the model's.
    pub fn is_relative(self) -> bool {
        matches!(self, Formulation::Coverage | Formulation::ModelError)
    }
}

/// A problem with its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Problem {
    /// Which.
    pub formulation: Formulation,
    /// Least probability of every action: $\pi(a|s) \ge \xi$, the paper's (7).
    pub xi: f64,
    /// Largest entry of the target $U$, the paper's (9); 1 where the formulation has no target.
    pub zeta: f64,
}

impl Problem {
    /// With `xi` = 0 and `zeta` = 1.
    pub fn new(formulation: Formulation) -> Self {
        Problem {
            formulation,
            xi: 0.0,
            zeta: 1.0,
        }
    }

    /// Checks the parameters against a model: $0 \le \xi \le 1/A_s$ for every state,
    /// $1/S \le \zeta \le 1$, as in the paper's (7) and (9), up to the rounding of a division.
    pub fn validate(&self, mdp: &Mdp) -> Result<()> {
        if !(self.xi >= 0.0 && self.xi <= 1.0) {
            let problem = "must be a number from 0 to 1 / (number of actions)";
            return Err(parameter("xi", self.xi, problem));
        }
        for s in 0..mdp.n_states() {
            let n = mdp.n_actions(s);
            if self.xi * n as f64 > 1.0 + ROUNDING {
                let problem = format!(
                    "state {} has {n} actions, so xi can be at most {}",
                    mdp.state_name(s),
                    1.0 / n as f64
                );
                return Err(parameter("xi", self.xi, problem));
            }
        }
        let least = 1.0 / mdp.n_states() as f64;
        if !(self.zeta >= least * (1.0 - ROUNDING) && self.zeta <= 1.0) {
            let problem = format!("must lie between 1 / (number of states) = {least} and 1");
            return Err(parameter("zeta", self.zeta, problem));
        }
        Ok(())
    }
}

/// A parameter that is not what it must be.
pub(crate) fn parameter(name: &str, value: impl ToString, problem: impl Into<String>) -> Error {
    Error::Parameter {
        name: name.to_owned(),
        value: value.to_string(),
        problem: problem.into(),
    }
}
