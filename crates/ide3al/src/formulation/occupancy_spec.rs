//! What is to be visited: given proportions, wanted samples, restarts, limits.
//!
//! $\omega$ is the long-run distribution over state-action pairs, $d$ its state marginal. With the
//! *restart* probability $\rho$ and the start distribution $\mu$ of the model,
//! $P_\rho = (1 - \rho) P + \rho \mu$ and
//!
//! $$\Omega_\xi = \Big\\{ \omega \ge 0, \; \sum \omega = 1, \; d(t) = \sum_{s,a} \omega(s,a) P_\rho(t|s,a), \;
//!   \omega(s,a) \ge \xi d(s) \Big\\} .$$
//!
//! All problems of the family are: maximise a concave [utility](super::utility) $f(\omega)$ over
//! $\Omega_\xi$ subject to $\sum \omega\, c_j \le b_j$ for every [`Limit`]. $\rho = 1 - \gamma$ is
//! discounting by $\gamma$.

use serde::{Deserialize, Serialize};

use super::{Formulation, parameter};
use crate::error::{Error, Result};
use crate::model::Mdp;

/// How far the sum of a target may be from one: proportions written with six digits will do.
const SUM: f64 = 1e-6;

/// A long-run average that is to stay within a budget: $\sum \omega\, c \le b$.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// $c$, one number per state-action pair.
    pub cost: Vec<f64>,
    /// $b$.
    pub budget: f64,
}

/// What is wanted beside the formulation's name; the default is nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OccupancySpec {
    /// $q$ of `target`: one probability per state.
    pub target: Vec<f64>,
    /// $b$ of `coverage`: wanted samples per pair, up to a factor. Empty: all alike.
    pub wanted: Vec<f64>,
    /// $\rho$: probability of starting over, at every step.
    pub restart: f64,
    /// Linear limits.
    pub limits: Vec<Limit>,
    /// $c$ of `model-error` per pair. Empty: $1 - \sum_t P(t|s,a)^2$ of the model's own rows.
    #[serde(skip)]
    pub errors: Vec<f64>,
    /// $m$ of `model-error`: samples of each pair that are at hand already, divided by the number
    /// of steps to come. Empty: none.
    #[serde(skip)]
    pub had: Vec<f64>,
}

impl OccupancySpec {
    /// Whether nothing is asked for.
    pub fn is_plain(&self) -> bool {
        self.target.is_empty()
            && self.wanted.is_empty()
            && self.errors.is_empty()
            && self.had.is_empty()
            && self.restart == 0.0
            && self.limits.is_empty()
    }

    /// Checks everything against a model and a formulation.
    pub fn validate(&self, mdp: &Mdp, formulation: Formulation) -> Result<()> {
        let name = formulation.name();
        if !formulation.is_occupancy() && !self.is_plain() {
            return Err(parameter(
                "formulation",
                name,
                "takes no target, wanted samples, restart or limits; choose state-entropy, dual, target, coverage or \
                 model-error",
            ));
        }
        if !(0.0..=1.0).contains(&self.restart) {
            let problem = "must be a probability, from 0 to 1";
            return Err(parameter("restart", self.restart, problem));
        }
        if formulation == Formulation::Target && self.target.is_empty() {
            let problem = "the formulation 'target' needs one probability per state";
            return Err(parameter("target", "none", problem));
        }
        let (state, pair) = (
            (mdp.n_states(), "state"),
            (mdp.n_pairs(), "state-action pair"),
        );
        for (what, numbers, taker, (expected, each)) in [
            ("target", &self.target, Formulation::Target, state),
            ("wanted", &self.wanted, Formulation::Coverage, pair),
            ("errors", &self.errors, Formulation::ModelError, pair),
            ("had", &self.had, Formulation::ModelError, pair),
        ] {
            if numbers.is_empty() {
                continue;
            }
            if formulation != taker {
                let taker = taker.name();
                let problem = format!("{name} takes none; choose the formulation '{taker}'");
                return Err(parameter(what, "given", problem));
            }
            length(what, numbers.len(), expected, each)?;
            if let Some(place) = numbers.iter().position(|x| !(*x >= 0.0 && x.is_finite())) {
                let value = format!("{} at place {place}", numbers[place]);
                return Err(parameter(what, value, "must be numbers, 0 or more"));
            }
        }
        let sum: f64 = self.target.iter().sum();
        if formulation == Formulation::Target && !((sum - 1.0).abs() <= SUM) {
            let problem = "the proportions must sum to 1; divide them by their sum";
            return Err(parameter("target", format!("sum {sum}"), problem));
        }
        if !self.wanted.is_empty() && self.wanted.iter().all(|b| *b == 0.0) {
            return Err(parameter("wanted", 0, "some pair must be wanted"));
        }
        for (j, limit) in self.limits.iter().enumerate() {
            let what = format!("limit {}", j + 1);
            length(&what, limit.cost.len(), mdp.n_pairs(), "state-action pair")?;
            if let Some(pair) = limit.cost.iter().position(|c| !c.is_finite()) {
                let value = format!("cost {} of pair {pair}", limit.cost[pair]);
                return Err(parameter(&what, value, "costs must be finite numbers"));
            }
            if !limit.budget.is_finite() {
                let value = format!("budget {}", limit.budget);
                return Err(parameter(&what, value, "must be a finite number"));
            }
        }
        Ok(())
    }
}

/// One number per state-action pair from `S` numbers (the same for all actions of a state), `S x A`
/// of them in rows (those of actions that a state lacks are not read), or one per pair.
pub fn per_pair(mdp: &Mdp, what: &str, numbers: &[f64]) -> Result<Vec<f64>> {
    let (n, labels) = (mdp.n_states(), mdp.n_action_labels());
    let pairs = (0..n).flat_map(|s| mdp.pairs(s).map(move |pair| (s, pair)));
    if numbers.len() == n {
        Ok(pairs.map(|(s, _)| numbers[s]).collect())
    } else if numbers.len() == mdp.n_pairs() {
        Ok(numbers.to_vec())
    } else if numbers.len() == n * labels {
        let place = |(s, pair)| s * labels + mdp.actions()[pair] as usize;
        Ok(pairs.map(|at| numbers[place(at)]).collect())
    } else {
        Err(Error::Size {
            what: what.to_owned(),
            expected: format!(
                "{n} numbers, one per state, or {n} x {labels}, one per state and action"
            ),
            found: numbers.len().to_string(),
        })
    }
}

fn length(what: &str, found: usize, expected: usize, each: &str) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Size {
        what: what.to_owned(),
        expected: format!("{expected} numbers, one per {each}"),
        found: found.to_string(),
    })
}
