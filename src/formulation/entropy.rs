//! Dual and State Entropy: $\max H(\omega)$ and $\max H(d)$ over stationary distributions.
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
//! *Weights.* A state may stand for $q_s$ equal ones (what was never seen, lumped together), or be wanted $q_s$
//! times as often. Then $H(d) + \sum_s d_s \ln q_s = -\sum_s d_s \ln (d_s / q_s)$ is maximised, and the bound
//! becomes $\ln \sum_s q_s \exp(\psi_s - V_s)$. Weights are handed over as $\ln q$, one per state, or none at all.

use super::{Formulation, simplex};
use crate::chain::classes::Classes;
use crate::chain::stationary::long_run;
use crate::chain::{Chain, entropy};
use crate::model::{Mdp, Policy};

/// $\ln \sum_i e^{x_i}$ without overflow.
pub fn log_sum_exp(x: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = x.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest.is_infinite() {
        return largest;
    }
    largest + x.map(|v| (v - largest).exp()).sum::<f64>().ln()
}

/// The upper bound that potentials `v` prove. A constant in `v` means nothing and may be large,
/// so only differences are formed.
pub fn bound(mdp: &Mdp, formulation: Formulation, xi: f64, v: &[f64]) -> f64 {
    weighted_bound(mdp, formulation, xi, &[], v)
}

/// [`bound`] with weights $\ln q$.
pub fn weighted_bound(
    mdp: &Mdp,
    formulation: Formulation,
    xi: f64,
    log_weights: &[f64],
    v: &[f64],
) -> f64 {
    let mut q = vec![0.0; mdp.n_pairs()];
    let mut state_of = vec![0u32; mdp.n_pairs()];
    for s in 0..mdp.n_states() {
        state_of[mdp.pairs(s)].fill(s as u32);
    }
    let here = |pair: usize| v[state_of[pair] as usize];
    mdp.kernel().times_relative(v, &here, &mut q);
    let mut p = vec![0.0; mdp.max_actions()];
    let theta: Vec<f64> = (0..mdp.n_states())
        .map(|s| {
            let row = &q[mdp.pairs(s)];
            let psi = match formulation {
                Formulation::Dual => simplex::soft_maximum(row, xi, 1.0, &mut p[..row.len()]),
                _ => simplex::support(row.iter().copied(), xi),
            };
            psi + log_weight(log_weights, s)
        })
        .collect();
    log_sum_exp(theta.iter().copied())
}

/// The value of a policy: the entropy of its stationary distribution. Where its chain has
/// several recurrent classes every mixture of them is stationary, and the best one counts:
/// $\ln \sum_c e^{H_c}$. Also returns the number of recurrent classes.
pub fn value(mdp: &Mdp, formulation: Formulation, policy: &Policy) -> (f64, usize) {
    weighted_value(mdp, formulation, policy, &[])
}

/// $\ln q_s$; zero where there are no weights.
pub fn log_weight(log_weights: &[f64], s: usize) -> f64 {
    log_weights.get(s).copied().unwrap_or(0.0)
}

/// What a stationary distribution `d` of a policy is worth.
pub fn worth(
    mdp: &Mdp,
    formulation: Formulation,
    policy: &Policy,
    log_weights: &[f64],
    d: &[f64],
) -> f64 {
    let plain = match formulation {
        Formulation::Dual => entropy::state_action_entropy(mdp, policy, d),
        _ => entropy::entropy(d),
    };
    let along: f64 = log_weights.iter().zip(d).map(|(w, p)| w * p).sum();
    plain + along
}

/// Number of recurrent classes of a policy's chain.
pub fn classes(mdp: &Mdp, probabilities: &[f64]) -> usize {
    let classes = Classes::of_kernel(&mdp.mix(probabilities));
    classes.recurrent.len()
}

/// [`value`] with weights $\ln q$.
pub fn weighted_value(
    mdp: &Mdp,
    formulation: Formulation,
    policy: &Policy,
    log_weights: &[f64],
) -> (f64, usize) {
    let n = mdp.n_states();
    // started everywhere, so that every recurrent class shows
    let chain = Chain::from_parts(mdp.mix(policy.probabilities()), vec![1.0 / n as f64; n]);
    let run = long_run(&chain);
    let mut class_entropies = Vec::with_capacity(run.classes.recurrent.len());
    let mut d = vec![0.0; n];
    for class in &run.classes.recurrent {
        let states = || class.states.iter().map(|s| *s as usize);
        let total: f64 = states().map(|s| run.distribution[s]).sum();
        d.fill(0.0);
        for s in states() {
            d[s] = run.distribution[s] / total;
        }
        class_entropies.push(worth(mdp, formulation, policy, log_weights, &d));
    }
    (
        log_sum_exp(class_entropies.iter().copied()),
        class_entropies.len(),
    )
}
