//! What is to be visited: given proportions, wanted samples, restarts, limits.
//!
//! $\omega$ is the long-run distribution over state-action pairs, $d$ its state marginal. With the *restart* probability
//! $\rho$ and the start distribution $\mu$ of the model, $P_\rho = (1 - \rho) P + \rho \mu$ and
//!
//! $$\Omega_\xi = \Big\\{ \omega \ge 0, \; \sum \omega = 1, \; d(t) = \sum_{s,a} \omega(s,a) P_\rho(t|s,a), \;
//!   \omega(s,a) \ge \xi d(s) \Big\\} .$$
//!
//! All problems of the family are: maximise a concave [utility](super::utility) $f(\omega)$ over $\Omega_\xi$ subject to
//! $\sum \omega\, c_j \le b_j$ for every [`Limit`]. $\rho = 1 - \gamma$ is discounting by $\gamma$.

use super::Formulation;
use crate::error::{Error, Result};
use crate::model::Mdp;

/// How far the sum of a target may be from one.
const SUM: f64 = 1e-6;

/// A long-run average that is to stay within a budget: $\sum \omega\, c \le b$.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// $c$, one number per state-action pair.
    pub cost: Vec<f64>,
    /// $b$.
    pub budget: f64,
}

/// What is wanted beside the formulation's name; the default is nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Visits {
    /// $q$ of `target`: one probability per state.
    pub target: Vec<f64>,
    /// $b$ of `coverage`: wanted samples per pair, up to a factor. Empty: all alike.
    pub wanted: Vec<f64>,
    /// $\rho$: probability of starting over, at every step.
    pub restart: f64,
    /// Linear limits.
    pub limits: Vec<Limit>,
    /// $c$ of `model-error` per pair. Empty: that of the model's own rows.
    pub errors: Vec<f64>,
    /// $m$ of `model-error`: samples had of each pair, per step to come. Empty: none.
    pub had: Vec<f64>,
}

impl Visits {
    /// Whether nothing is asked for.
    pub fn is_plain(&self) -> bool {
        self.target.is_empty()
            && self.wanted.is_empty()
            && self.errors.is_empty()
            && self.had.is_empty()
            && self.is_unbounded()
    }

    /// Whether there are neither restarts nor limits.
    pub fn is_unbounded(&self) -> bool {
        self.restart == 0.0 && self.limits.is_empty()
    }

    /// Checks everything against a model and a formulation.
    pub fn validate(&self, mdp: &Mdp, formulation: Formulation) -> Result<()> {
        let name = formulation.name();
        if !formulation.is_occupancy() && !(self.is_plain()) {
            return Err(bad(
                "formulation",
                name,
                "takes no target, wanted samples, restart or limits; choose state-entropy, dual, target, coverage or \
                 model-error",
            ));
        }
        if !(0.0..=1.0).contains(&self.restart) {
            return Err(bad(
                "restart",
                self.restart,
                "must be a probability, from 0 to 1",
            ));
        }
        if formulation == Formulation::Target {
            if self.target.is_empty() {
                return Err(bad(
                    "target",
                    "none",
                    "the formulation 'target' needs one probability per state",
                ));
            }
            length("target", self.target.len(), mdp.n_states(), "state")?;
            not_negative("target", &self.target)?;
            let sum: f64 = self.target.iter().sum();
            if !((sum - 1.0).abs() <= SUM) {
                return Err(bad(
                    "target",
                    format!("sum {sum}"),
                    "the proportions must sum to 1; divide them by their sum",
                ));
            }
        } else if !self.target.is_empty() {
            return Err(bad(
                "target",
                "given",
                format!("{name} takes none; choose the formulation 'target'"),
            ));
        }
        if !self.wanted.is_empty() {
            if formulation != Formulation::Coverage {
                return Err(bad(
                    "wanted",
                    "given",
                    format!("{name} takes none; choose the formulation 'coverage'"),
                ));
            }
            length(
                "wanted",
                self.wanted.len(),
                mdp.n_pairs(),
                "state-action pair",
            )?;
            not_negative("wanted", &self.wanted)?;
            if self.wanted.iter().all(|b| *b == 0.0) {
                return Err(bad("wanted", 0, "some pair must be wanted"));
            }
        }
        for (what, numbers) in [("errors", &self.errors), ("had", &self.had)] {
            if numbers.is_empty() {
                continue;
            }
            if formulation != Formulation::ModelError {
                let problem = format!("{name} takes none; choose the formulation 'model-error'");
                return Err(bad(what, "given", problem));
            }
            length(what, numbers.len(), mdp.n_pairs(), "state-action pair")?;
            not_negative(what, numbers)?;
        }
        for (j, limit) in self.limits.iter().enumerate() {
            let what = format!("limit {}", j + 1);
            length(&what, limit.cost.len(), mdp.n_pairs(), "state-action pair")?;
            if let Some(pair) = limit.cost.iter().position(|c| !c.is_finite()) {
                let value = format!("cost {} of pair {pair}", limit.cost[pair]);
                return Err(bad(&what, value, "costs must be finite numbers"));
            }
            if !limit.budget.is_finite() {
                let value = format!("budget {}", limit.budget);
                return Err(bad(&what, value, "must be a finite number"));
            }
        }
        Ok(())
    }
}

/// One number per state-action pair from `S` numbers (the same for all actions of a state), `S x A` of them in rows (those of
/// actions that a state lacks are not read), or one per pair.
pub fn per_pair(mdp: &Mdp, what: &str, numbers: &[f64]) -> Result<Vec<f64>> {
    let (n, labels) = (mdp.n_states(), mdp.n_action_labels());
    if numbers.len() == mdp.n_pairs() && numbers.len() != n {
        return Ok(numbers.to_vec());
    }
    let place = |s: usize, pair: usize| {
        if numbers.len() == n {
            s
        } else {
            s * labels + mdp.actions()[pair] as usize
        }
    };
    if numbers.len() != n && numbers.len() != n * labels {
        return Err(Error::Size {
            what: what.to_owned(),
            expected: format!(
                "{n} numbers, one per state, or {n} x {labels}, one per state and action"
            ),
            found: numbers.len().to_string(),
        });
    }
    let states = (0..n).flat_map(|s| mdp.pairs(s).map(move |pair| (s, pair)));
    Ok(states.map(|(s, pair)| numbers[place(s, pair)]).collect())
}

fn bad(name: &str, value: impl ToString, problem: impl Into<String>) -> Error {
    Error::Parameter {
        name: name.to_owned(),
        value: value.to_string(),
        problem: problem.into(),
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

fn not_negative(what: &str, numbers: &[f64]) -> Result<()> {
    match numbers.iter().position(|x| !(*x >= 0.0 && x.is_finite())) {
        None => Ok(()),
        Some(place) => Err(bad(
            what,
            format!("{} at place {place}", numbers[place]),
            "must be numbers, 0 or more",
        )),
    }
}
