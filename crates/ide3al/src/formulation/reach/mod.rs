//! Reach: see all states soon.
//!
//! $M$ is the chain of a policy, $\mu$ where it begins, $w$ weights of states that sum to one, and
//! $\tau_j$ the time at which state $j$ is first visited. A walk that ends after every step with
//! probability $1/T$ lasts $T$ steps on average, and
//!
//! $$\operatorname{seen}_T(\pi) = \sum_j w_j\, E\, g^{\tau_j}
//! = \sum_j w_j \frac{(\mu G)_j}{G_{jj}},
//! \qquad g = 1 - \tfrac1T, \quad G = (I - g M)^{-1},$$
//!
//! is the share of the states, by weight, that it can expect to see. As $T$ grows,
//! $T (1 - \operatorname{seen}_T)$ tends to the mean hitting time $\sum_j w_j E \tau_j$, which is
//! what `within` = infinity asks for. Neither is concave: a solver finds a local optimum, and the
//! [bounds](counting) say what share of the best possible it is. Steps that take the time $t$ count
//! $g^t$.
//!
//! Reference for the expression: Kemeny and Snell, *Finite Markov Chains* (1960); for the mean
//! hitting time as an objective: Patel, Agharkar and Bullo (2015), *IEEE Transactions on Automatic
//! Control* 60, 3151-3167.

pub mod arrivals;
pub mod counting;
pub mod entropy;
pub mod hitting;
pub mod sampled;
pub mod seen;
pub mod single;
pub mod world;

#[cfg(test)]
mod bound_tests;
#[cfg(test)]
mod tests;

use super::{Formulation, Problem, parameter};
use crate::error::{Error, Result};
use crate::model::Mdp;

/// Where the walk begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// At the model's start.
    Start,
    /// At any state that can be reached from the start, all alike, or drawn from the steady state
    /// if that is given.
    Anywhere,
}

impl Origin {
    /// By name: start or anywhere.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "start" => Ok(Origin::Start),
            "anywhere" => Ok(Origin::Anywhere),
            _ => Err(Error::unknown("origin", name, &["start", "anywhere"])),
        }
    }

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Start => "start",
            Origin::Anywhere => "anywhere",
        }
    }
}

/// The problem with its parameters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reach {
    /// Mean time $T$ of the walk, in steps or in the model's travel times; infinity for the mean
    /// hitting time; `None` for four times the number of states that can be reached (times the mean
    /// travel time).
    pub within: Option<f64>,
    /// Where the walk begins; `None` for the start, and for a mean hitting time anywhere.
    pub origin: Option<Origin>,
    /// Least probability of every action.
    pub xi: f64,
    /// Least entropy of the steady state, as a share of the logarithm of the number of states that
    /// can be reached; 0 asks for none.
    pub evenness: f64,
    /// $w$, up to a factor; empty: all states alike, or the proportions if given.
    pub weights: Vec<f64>,
    /// What the steady state must be, up to a factor, for chains that visit every state again and
    /// again; empty: whatever it is. With a mean hitting time from anywhere this asks for the least
    /// Kemeny constant, weighted by travel times.
    pub proportions: Vec<f64>,
    /// Probability of starting over, at every step.
    pub restart: f64,
}

impl Reach {
    /// With these least probabilities of the actions, and the defaults.
    pub fn with_xi(xi: f64) -> Self {
        Reach {
            xi,
            ..Reach::default()
        }
    }

    /// Where the walk begins: as asked for, or the default.
    pub fn begins(&self) -> Origin {
        self.origin.unwrap_or(match self.within {
            Some(time) if time.is_infinite() => Origin::Anywhere,
            _ => Origin::Start,
        })
    }

    /// Mean time of the walk: the one given, or the default for a model.
    pub fn time(&self, mdp: &Mdp) -> f64 {
        self.within.unwrap_or_else(|| {
            let reached = super::episode::reached(mdp, usize::MAX);
            let (mut states, mut pairs, mut sum) = (0.0, 0.0, 0.0);
            for s in (0..mdp.n_states()).filter(|s| reached[*s]) {
                states += 1.0;
                for pair in mdp.pairs(s) {
                    pairs += 1.0;
                    sum += mdp.times().map_or(1.0, |times| times[pair]);
                }
            }
            (4.0 * states * sum / pairs).max(1.0)
        })
    }

    /// Checks the parameters against a model.
    pub fn validate(&self, mdp: &Mdp) -> Result<()> {
        Problem {
            xi: self.xi,
            ..Problem::new(Formulation::Reach)
        }
        .validate(mdp)?;
        if let Some(within) = self.within
            && !(within >= 1.0)
        {
            let problem = "must be a number of steps, 1 or more, or inf for the mean hitting time";
            return Err(parameter("within", within, problem));
        }
        if !(0.0..=1.0).contains(&self.evenness) {
            let problem = "must be a share of the largest entropy, from 0 to 1";
            return Err(parameter("evenness", self.evenness, problem));
        }
        if !(0.0..=1.0).contains(&self.restart) {
            let problem = "must be a probability, from 0 to 1";
            return Err(parameter("restart", self.restart, problem));
        }
        for (name, numbers) in [
            ("target", &self.weights),
            ("proportions", &self.proportions),
        ] {
            check_numbers(mdp, name, numbers)?;
        }
        Ok(())
    }
}

/// One number for each state, none below zero and some above, or no numbers at all.
fn check_numbers(mdp: &Mdp, name: &str, numbers: &[f64]) -> Result<()> {
    if numbers.is_empty() {
        return Ok(());
    }
    if numbers.len() != mdp.n_states() {
        return Err(Error::Size {
            what: name.into(),
            expected: format!("{} numbers, one per state", mdp.n_states()),
            found: numbers.len().to_string(),
        });
    }
    let bad = |w: &f64| !(*w >= 0.0 && w.is_finite());
    if let Some(place) = numbers.iter().position(bad) {
        let value = format!("{} at place {place}", numbers[place]);
        return Err(parameter(name, value, "must be numbers, 0 or more"));
    }
    if numbers.iter().all(|w| *w == 0.0) {
        return Err(parameter(name, 0, "some state must have a weight"));
    }
    Ok(())
}
