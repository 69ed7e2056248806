//! Evenness within an episode.
//!
//! $T$ steps $s_1, \dots, s_T$ from the start; the policy may depend on the step:
//!
//! $$\max_{\pi_1, \dots, \pi_T \in \Delta_\xi} \; H(\bar d), \qquad \bar d = \frac1T \sum_{t=1}^T d_t .$$
//!
//! $\bar d$ is linear in the flows $\omega_t(s,a) = d_t(s) \pi_t(a|s)$, so this is a concave
//! problem. Policies with memory reach no more: their flows are flows of Markov policies. By
//! Jensen's inequality the optimum also bounds the entropy of the visits of one episode that any
//! policy can expect.
//!
//! For any $u$ over states, $H(\bar d) \le \langle u, \bar d\rangle + \ln \sum_s e^{-u(s)}$, and
//! the largest $\langle u, \bar d\rangle$ is found by backward induction:
//!
//! $$H \le \ln \sum_s e^{-u(s)} + \frac1T \langle d_1, V_1\rangle, \qquad
//! V_t(s) = u(s) + \max_{p \in \Delta_\xi} \sum_a p_a (P V_{t+1})(s,a), \quad V_{T+1} = 0.$$
//!
//! States that no policy reaches within the episode have $\bar d(s) = 0$ and are left out of the
//! sum ($u = +\infty$ there).

use super::{Formulation, Problem, entropy, parameter, simplex};
use crate::chain::episode::{average_flow, state_marginal};
use crate::error::Result;
use crate::model::{Mdp, TimedPolicy};
use ide3al_numerics::parallel;

/// Most probabilities of a time-dependent policy, two gigabytes of them: a mistyped number of steps
/// should give an error, not an exhausted machine.
const MOST_PROBABILITIES: usize = 250_000_000;

/// Evenness within an episode, with its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Episode {
    /// Number of steps $T$; the start counts as the first.
    pub steps: usize,
    /// Least probability of every action at every step.
    pub xi: f64,
}

impl Episode {
    /// Name on the command line.
    pub const NAME: &'static str = "episode";

    /// Checks the parameters against a model.
    pub fn validate(&self, mdp: &Mdp) -> Result<()> {
        if self.steps == 0 {
            return Err(parameter("steps", 0, "an episode has at least one step"));
        }
        let size = self.steps.checked_mul(mdp.n_pairs());
        if size.is_none_or(|size| size > MOST_PROBABILITIES) {
            let most = MOST_PROBABILITIES / mdp.n_pairs();
            let problem = format!(
                "a policy for that many steps of {} state-action pairs is too large to hold; at most {most} steps \
                 are possible, and in the long run state-entropy is the same question",
                mdp.n_pairs()
            );
            return Err(parameter("steps", self.steps, problem));
        }
        let xi = Problem {
            xi: self.xi,
            ..Problem::new(Formulation::StateEntropy)
        };
        xi.validate(mdp)
    }
}

/// States that some policy reaches within `steps` steps.
pub fn reached(mdp: &Mdp, steps: usize) -> Vec<bool> {
    reached_by(mdp, steps, |_| true)
}

/// States that are reached within `steps` steps by playing allowed pairs.
pub(super) fn reached_by(mdp: &Mdp, steps: usize, allowed: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut seen: Vec<bool> = mdp.start().iter().map(|p| *p > 0.0).collect();
    let mut fresh: Vec<usize> = (0..seen.len()).filter(|&s| seen[s]).collect();
    for _ in 1..steps {
        let mut next = Vec::new();
        for pair in fresh.into_iter().flat_map(|s| mdp.pairs(s)) {
            if !allowed(pair) {
                continue;
            }
            let row = mdp.row(pair);
            if row.spread > 0.0 {
                seen.fill(true);
                return seen;
            }
            for (t, _) in row.entries() {
                if !seen[t] {
                    seen[t] = true;
                    next.push(t);
                }
            }
        }
        if next.is_empty() {
            break;
        }
        fresh = next;
    }
    seen
}

/// $\max \langle u, \bar d\rangle$ over all policies of the episode, by backward induction.
pub fn best_average(mdp: &Mdp, episode: &Episode, u: &[f64]) -> f64 {
    let kernel = mdp.kernel();
    let mut q = vec![0.0; mdp.n_pairs()];
    let mut v = u.to_vec();
    for _ in 1..episode.steps {
        kernel.times(&v, &mut q);
        parallel::update(&mut v, |s, _| {
            u[s] + simplex::support(q[mdp.pairs(s)].iter().copied(), episode.xi)
        });
    }
    let start = mdp.start();
    let at_start = |s: usize| if start[s] > 0.0 { start[s] * v[s] } else { 0.0 };
    parallel::sum(v.len(), at_start) / episode.steps as f64
}

/// The bound that $u$ proves; `reached` are the states of [`reached`].
pub fn bound(mdp: &Mdp, episode: &Episode, reached: &[bool], u: &[f64]) -> f64 {
    // what is never reached has no part in any value, so that any finite number will do there
    let seen = || u.iter().zip(reached);
    let finite: Vec<f64> = seen()
        .map(|(u, here)| if *here { *u } else { 0.0 })
        .collect();
    let terms = seen().filter(|(_, here)| **here).map(|(u, _)| -u);
    entropy::log_sum_exp(terms) + best_average(mdp, episode, &finite)
}

/// $H(\bar d)$ of a policy, and $\bar d$.
pub fn value(mdp: &Mdp, policy: &TimedPolicy) -> (f64, Vec<f64>) {
    let d = state_marginal(mdp, &average_flow(mdp, policy));
    (crate::chain::entropy::entropy(&d), d)
}
