//! Dual, the paper's (10), and State Entropy, its (3): $\max H(\omega)$ and $\max H(d)$ over
//! stationary distributions.
//!
//! The Lagrangian dual is unconstrained with one potential $V$ per state: for any $V$
//!
//! $$\text{optimum} \le \ln \sum_s \exp\big(\psi_s(V) - V_s\big), \qquad
//!   \psi_s = \max_{p \in \Delta_\xi} p \cdot (PV)_s + \tau H(p),$$
//!
//! with $\tau = 1$ for Dual and $\tau = 0$ for State Entropy. (Write $\omega = d \cdot p$; the
//! multiplier of the flow constraint at $t$ is $V_t$; maximise over $p$ state by state, then
//! over $d$ on the simplex.)
//!
//! *Weights.* A state may stand for $q_s$ equal ones (what was never seen, lumped together), or be
//! wanted $q_s$ times as often. Then $H(d) + \sum_s d_s \ln q_s = -\sum_s d_s \ln (d_s / q_s)$ is
//! maximised, and the bound becomes $\ln \sum_s q_s \exp(\psi_s - V_s)$. And between Dual and State
//! Entropy lie all $H(d) + \tau \sum_s d_s H(p_s)$ with $0 < \tau < 1$. See [`EntropyWeights`].

use super::{Formulation, occupancy, parameter, simplex};
use crate::chain::classes::Classes;
use crate::chain::stationary::long_run_for_sums;
use crate::chain::{Chain, entropy};
use crate::error::Result;
use crate::model::{Mdp, Policy};

/// Weights of states and of the entropy of actions; the default is the plain formulation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EntropyWeights {
    /// $\ln q$ per state; empty: all alike.
    pub log_weights: Vec<f64>,
    /// $\tau$ of State Entropy: weight of the entropy of actions.
    pub actions: f64,
}

impl EntropyWeights {
    /// Whether it is the plain formulation.
    pub fn is_plain(&self) -> bool {
        self.log_weights.is_empty() && self.actions == 0.0
    }

    /// Checks the weights against a model; only Dual and State Entropy take any.
    pub fn validate(&self, mdp: &Mdp, formulation: Formulation) -> Result<()> {
        let bad = |value: &dyn ToString, problem: &str| {
            Err(parameter("weights of states", value.to_string(), problem))
        };
        let (given, states) = (self.log_weights.len(), mdp.n_states());
        if !self.is_plain() && !formulation.is_entropy() {
            return bad(&formulation.name(), "only dual and state-entropy take them");
        }
        if !(0.0..=1.0).contains(&self.actions) {
            return bad(&self.actions, "that of actions lies between 0 and 1");
        }
        if given > 0 && given != states {
            return bad(&given, &format!("{states}, one per state, are needed"));
        }
        match self.log_weights.iter().find(|w| !w.is_finite()) {
            Some(weight) => bad(weight, "must be positive and finite"),
            None => Ok(()),
        }
    }

    /// $\ln q_s$.
    pub fn log_weight(&self, s: usize) -> f64 {
        self.log_weights.get(s).copied().unwrap_or(0.0)
    }

    /// $\ln q$ of some of the states; empty where all are alike.
    pub(crate) fn of_states(&self, states: &[usize]) -> Vec<f64> {
        let weights = states.iter().filter_map(|s| self.log_weights.get(*s));
        weights.copied().collect()
    }

    /// $\tau$ of a formulation: 1 for Dual, [`actions`](Self::actions) for State Entropy.
    pub fn temperature(&self, formulation: Formulation) -> f64 {
        match formulation {
            Formulation::Dual => 1.0,
            _ => self.actions,
        }
    }

    /// The largest value if every distribution were stationary: $\ln \sum_s q_s A_s^\tau$.
    pub fn most(&self, mdp: &Mdp, formulation: Formulation) -> f64 {
        let tau = self.temperature(formulation);
        let of = |s: usize| self.log_weight(s) + tau * (mdp.n_actions(s) as f64).ln();
        log_sum_exp((0..mdp.n_states()).map(of))
    }
}

/// $\ln \sum_i e^{x_i}$ without overflow.
pub fn log_sum_exp(x: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = x.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest.is_infinite() {
        return largest;
    }
    largest + x.map(|v| (v - largest).exp()).sum::<f64>().ln()
}

/// The upper bound that potentials `v` prove, the [module's](self) first formula.
pub fn bound_towards(
    mdp: &Mdp,
    formulation: Formulation,
    target: &EntropyWeights,
    xi: f64,
    v: &[f64],
) -> f64 {
    let mut advantage = vec![0.0; mdp.n_pairs()];
    occupancy::expected_gains(mdp, v, &mut advantage);
    for s in (0..mdp.n_states()).filter(|_| !target.log_weights.is_empty()) {
        for x in &mut advantage[mdp.pairs(s)] {
            *x += target.log_weights[s];
        }
    }
    bound(mdp, &advantage, xi, target.temperature(formulation))
}

/// $\ln \sum_s \exp \max_{p \in \Delta_\xi} p \cdot x_s + \tau H(p)$ for numbers $x$ per pair:
/// advantages $PV - V$ with the logarithms of weights added, and the prices of limits taken off.
pub(super) fn bound(mdp: &Mdp, x: &[f64], xi: f64, tau: f64) -> f64 {
    if x.iter().any(|x| x.is_nan()) {
        // no number proves nothing
        return f64::INFINITY;
    }
    let mut p = vec![0.0; mdp.max_actions()];
    let theta = (0..mdp.n_states()).map(|s| {
        let row = &x[mdp.pairs(s)];
        simplex::soft_maximum(row, xi, tau, &mut p[..row.len()])
    });
    let theta: Vec<f64> = theta.collect();
    log_sum_exp(theta.iter().copied())
}

/// The value of a policy with its stationary distribution `d`:
/// $H(d) + \tau \sum_s d_s H(\pi_s) + \sum_s d_s \ln q_s$.
pub fn worth(
    mdp: &Mdp,
    formulation: Formulation,
    target: &EntropyWeights,
    policy: &Policy,
    d: &[f64],
) -> f64 {
    let tau = target.temperature(formulation);
    let rows = policy.probabilities();
    let within = |s: usize| tau * entropy::entropy(&rows[mdp.pairs(s)]) + target.log_weight(s);
    entropy::entropy(d) + (0..d.len()).map(|s| d[s] * within(s)).sum::<f64>()
}

/// Number of recurrent classes of a policy's chain.
pub fn classes(mdp: &Mdp, probabilities: &[f64]) -> usize {
    Classes::of_kernel(&mdp.mix(probabilities)).recurrent.len()
}

/// The value of a policy: that of its stationary distribution. Where its chain has
/// several recurrent classes every mixture of them is stationary, and the best one counts:
/// $\ln \sum_c e^{H_c}$. Also returns the number of recurrent classes.
pub fn value_towards(
    mdp: &Mdp,
    formulation: Formulation,
    target: &EntropyWeights,
    policy: &Policy,
) -> (f64, usize) {
    let n = mdp.n_states();
    // started everywhere, so that every recurrent class shows
    let chain = Chain::from_parts(mdp.mix(policy.probabilities()), vec![1.0 / n as f64; n]);
    let run = long_run_for_sums(&chain);
    let of_class = |states: &[u32]| {
        let share = |s: &u32| run.distribution[*s as usize];
        let total: f64 = states.iter().map(share).sum();
        let mut d = vec![0.0; n];
        states
            .iter()
            .for_each(|s| d[*s as usize] = share(s) / total);
        worth(mdp, formulation, target, policy, &d)
    };
    let classes = run.classes.recurrent.iter();
    let values: Vec<f64> = classes.map(|class| of_class(&class.states)).collect();
    (log_sum_exp(values.iter().copied()), values.len())
}
