//! `state-entropy`, `dual`, `target` and all between:
//! $(1 - \tau) H(d) + \tau H(\omega) + \sum \omega \ln w$.
//!
//! *Conjugate.* Let $\omega = d \cdot p$. For a reward $r$ on pairs
//! $\max_\omega f(\omega) - \langle r, \omega \rangle = \ln \sum_s \exp \psi_s$ with
//! $\psi_s = \max_p \sum_a p_a (\ln w - r)_a + \tau H(p)$, which is
//! $\tau \ln \sum_a \exp ((\ln w - r)_a / \tau)$, the largest of the $\ln w - r$ at $\tau = 0$. So
//! $f^*(r) = - \ln \sum_s \exp \psi_s$.
//!
//! *Bound.* Beside potentials the best reward needs not be known: the bound that it proves is that
//! of [`entropy`](crate::formulation::entropy), with the prices of limits in the advantages.

use std::ops::Range;

use super::{Conjugate, Form, Linear, Utility, dot};
use crate::formulation::entropy::{self, log_sum_exp};
use crate::formulation::occupancy::Occupancies;
use crate::model::Mdp;

/// Entropies of states and actions, with weights.
#[derive(Debug, Clone)]
pub struct Entropies {
    first_pair: Vec<usize>,
    /// $\ln w$ per pair.
    log_weights: Vec<f64>,
    tau: f64,
}

impl Entropies {
    /// $(1 - \tau) H(d) + \tau H(\omega)$.
    pub fn new(mdp: &Mdp, tau: f64) -> Self {
        Entropies {
            first_pair: mdp.first_pair().to_vec(),
            log_weights: vec![0.0; mdp.n_pairs()],
            tau,
        }
    }

    /// $H(d) + \sum_s d_s \ln q_s = -\mathrm{KL}(d, q)$. States with $q_s = 0$ must not be visited;
    /// theirs is the smallest positive weight that a number can be.
    pub fn towards(mdp: &Mdp, q: &[f64]) -> Self {
        let mut entropies = Entropies::new(mdp, 0.0);
        let sum: f64 = q.iter().sum();
        for (s, q) in q.iter().enumerate() {
            entropies.log_weights[mdp.pairs(s)].fill((q / sum).max(f64::MIN_POSITIVE).ln());
        }
        entropies
    }

    /// The pairs of every state.
    fn states(&self) -> impl Iterator<Item = Range<usize>> + Clone {
        self.first_pair.windows(2).map(|w| w[0]..w[1])
    }

    /// $\tau \ln \sum_a e^{x_a / \tau}$, the largest $x_a$ at $\tau = 0$.
    fn psi(&self, row: impl Iterator<Item = f64> + Clone) -> f64 {
        if self.tau > 0.0 {
            self.tau * log_sum_exp(row.map(|x| x / self.tau))
        } else {
            row.fold(f64::NEG_INFINITY, f64::max)
        }
    }
}

/// $-x \ln x$.
fn entropy_of(x: f64) -> f64 {
    if x > 0.0 { -x * x.ln() } else { 0.0 }
}

impl Utility for Entropies {
    fn value(&self, omega: &[f64]) -> f64 {
        let mut value = dot(omega, &self.log_weights);
        for pairs in self.states() {
            let row = &omega[pairs];
            value += (1.0 - self.tau) * entropy_of(row.iter().sum());
            if self.tau > 0.0 {
                value += self.tau * row.iter().map(|x| entropy_of(*x)).sum::<f64>();
            }
        }
        value
    }

    fn gradient(&self, omega: &[f64], out: &mut [f64]) {
        let log = |x: f64| -x.max(f64::MIN_POSITIVE).ln();
        for pairs in self.states() {
            let state = (1.0 - self.tau) * log(omega[pairs.clone()].iter().sum());
            for pair in pairs {
                let own = self.tau * log(omega[pair]);
                out[pair] = state + own - 1.0 + self.log_weights[pair];
            }
        }
    }
}

impl Conjugate for Entropies {
    fn conjugate(&self, r: &[f64]) -> f64 {
        let psi = |pairs: Range<usize>| self.psi(pairs.map(|i| self.log_weights[i] - r[i]));
        -log_sum_exp(self.states().map(psi))
    }

    fn bound(&self, part: &Occupancies, advantage: &[f64], budgets: f64, _r: &[f64]) -> f64 {
        let weighted: Vec<f64> = (advantage.iter().zip(&self.log_weights))
            .map(|(x, w)| x + w)
            .collect();
        budgets + entropy::bound(part.mdp(), &weighted, part.xi(), self.tau)
    }

    fn preferred(&self, out: &mut [f64]) {
        let all = self.conjugate(&vec![0.0; out.len()]);
        for pairs in self.states() {
            let row = &self.log_weights[pairs.clone()];
            let psi = self.psi(row.iter().copied());
            let (d, even) = ((psi + all).exp(), 1.0 / row.len() as f64);
            let soft = |w: &f64| ((w - psi) / self.tau).exp();
            for (x, w) in out[pairs].iter_mut().zip(row) {
                *x = d * if self.tau > 0.0 { soft(w) } else { even };
            }
        }
    }

    fn within(&self, part: &Occupancies) -> Box<dyn Conjugate> {
        // n merged pairs are played evenly, which adds ln n to the entropy of the state's actions
        let mut log_weights = part.reduced().means(&self.log_weights);
        for (pair, w) in log_weights.iter_mut().enumerate() {
            *w += self.tau * (part.reduced().group(pair).len() as f64).ln();
        }
        Box::new(Entropies {
            first_pair: part.mdp().first_pair().to_vec(),
            log_weights,
            tau: self.tau,
        })
    }

    fn linearise(&self, omega: &[f64], d: &[f64], _r: &[f64], out: &mut Linear) {
        for (s, pairs) in self.states().enumerate() {
            out.state[s] = (1.0 - self.tau) * (-d[s].ln() - 1.0);
            out.state_slope[s] = (1.0 - self.tau) / d[s];
            for pair in pairs {
                out.pair[pair] = self.tau * (-omega[pair].ln() - 1.0) + self.log_weights[pair];
                out.pair_slope[pair] = self.tau / omega[pair];
            }
        }
    }

    fn form(&self) -> Form<'_> {
        Form::Entropies(&self.log_weights, self.tau)
    }
}
