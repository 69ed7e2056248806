//! Wanted samples of every pair in the fewest steps.
//!
//! With $b(s,a)$ samples wanted, the best rate is $t = \max_\omega \min_{b > 0} \omega(s,a) / b(s,a)$ over long-run visits $\omega$, and
//! $1/t$ steps bring all samples on average. Both sides are computed from the model:
//!
//! - a policy is worth the least $\omega(s,a) / b(s,a)$ of its own long run;
//! - for any $V$, $r(s,a) = 1 - V(s) + \sum_t P(t|s,a) V(t)$ sums to the number of visits along any flow. Where
//!   $r \ge -\delta$, the flow of $1/t$ visits has at least $\sum b\,(r + \delta) / (1 + \delta)$ of them, so that $t$ is at most the
//!   inverse.

use super::driver::{Candidate, Driver, Kind};
use super::{Certificate, Observer, Options, reference};
use crate::chain::stationary::long_run;
use crate::error::{Error, Result};
use crate::model::{Mdp, Policy};

/// The policy with the best rate, and the proof: rates as objective and bound.
pub fn coverage(
    mdp: &Mdp,
    wanted: &[f64],
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<(Policy, Certificate)> {
    let total: f64 = wanted.iter().sum();
    if wanted.len() != mdp.n_pairs() || !(total > 0.0 && total.is_finite()) {
        return Err(Error::Size {
            what: "wanted".into(),
            expected: format!("{} numbers, one per pair, not all of them 0", mdp.n_pairs()),
            found: format!("{} that sum to {total}", wanted.len()),
        });
    }
    if wanted.iter().any(|b| *b < 0.0) {
        return Err(Error::Unsupported(
            "wanted: a number of samples is negative".into(),
        ));
    }
    let kind = Kind {
        maximises: true,
        dual_follows_policy: false,
    };
    // numbers near one, whatever is wanted
    let scaled: Vec<f64> = wanted.iter().map(|b| b / total).collect();
    let uniform = Policy::uniform(mdp);
    let first = Candidate {
        objective: rate(mdp, &uniform, &scaled),
        policy: uniform.probabilities().to_vec(),
        // every wanted sample takes a step of its own
        bound: 1.0,
        dual: vec![0.0; mdp.n_states()],
    };
    let mut driver = Driver::new(kind, options, first, observer);
    let (flow, multipliers) = reference::coverage(mdp, &scaled, &mut driver)?;
    let policy = policy_of(mdp, &flow);
    let found = Policy::cleaned_within(mdp, 0.0, policy.clone());
    let negated: Vec<f64> = multipliers.iter().map(|v| -v).collect();
    let (steps, dual) = [multipliers, negated]
        .into_iter()
        .map(|v| (fewest(mdp, &scaled, &v), v))
        .fold(
            (0.0, Vec::new()),
            |best, next| {
                if next.0 > best.0 { next } else { best }
            },
        );
    if steps > 0.0 {
        driver.offer(
            Candidate {
                objective: rate(mdp, &found, &scaled),
                policy,
                bound: 1.0 / steps,
                dual,
            },
            "conic",
        );
    }
    let best = driver.best().clone();
    let certificate = Certificate {
        objective: best.objective / total,
        bound: best.bound / total,
        gap: (best.objective - best.bound).abs() / total,
        status: driver.status(),
        iterations: driver.iterations(),
        seconds: driver.seconds(),
    };
    Ok((Policy::cleaned_within(mdp, 0.0, best.policy), certificate))
}

/// The policy of a flow; uniform where it does not come.
fn policy_of(mdp: &Mdp, flow: &[f64]) -> Vec<f64> {
    let mut rows = vec![0.0; mdp.n_pairs()];
    let most = flow.iter().copied().fold(0.0, f64::max);
    for s in 0..mdp.n_states() {
        let pairs = mdp.pairs(s);
        let visits: f64 = flow[pairs.clone()].iter().map(|x| x.max(0.0)).sum();
        let even = 1.0 / pairs.len() as f64;
        for pair in pairs {
            // what an interior point leaves of nothing is nothing
            rows[pair] = if visits > 1e-9 * most {
                flow[pair].max(0.0) / visits
            } else {
                even
            };
        }
    }
    rows
}

/// $\min_{b > 0} \omega(s,a) / b(s,a)$ in the long run of a policy.
fn rate(mdp: &Mdp, policy: &Policy, wanted: &[f64]) -> f64 {
    let d = long_run(&mdp.chain(policy)).distribution;
    let mut least = f64::INFINITY;
    for s in 0..mdp.n_states() {
        for pair in mdp.pairs(s) {
            if wanted[pair] > 0.0 {
                least = least.min(d[s] * policy.probabilities()[pair] / wanted[pair]);
            }
        }
    }
    least
}

/// Visits that no flow with the wanted samples has fewer of, by potentials.
fn fewest(mdp: &Mdp, wanted: &[f64], potentials: &[f64]) -> f64 {
    let n = mdp.n_states() as f64;
    let mean = potentials.iter().sum::<f64>() / n;
    let mut rewards = vec![0.0; mdp.n_pairs()];
    let mut least = 0.0_f64;
    for s in 0..mdp.n_states() {
        for pair in mdp.pairs(s) {
            let row = mdp.row(pair);
            let next: f64 = row.entries().map(|(t, p)| p * potentials[t]).sum();
            let next = next + mdp.kernel().spread().get(pair).unwrap_or(&0.0) * mean;
            rewards[pair] = 1.0 - potentials[s] + next;
            least = least.min(rewards[pair]);
        }
    }
    let delta = -least;
    let sum: f64 = wanted
        .iter()
        .zip(&rewards)
        .map(|(b, r)| b * (r + delta))
        .sum();
    sum / (1.0 + delta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_takes_its_length_and_a_detour_twice() {
        // 0 -> 1 -> 0 by action 0; action 1 of 0 leads to 2, which leads back
        let mdp = Mdp::from_triplets(
            3,
            2,
            [
                (0, 0, 1, 1.0),
                (0, 1, 2, 1.0),
                (1, 0, 0, 1.0),
                (1, 1, 0, 1.0),
                (2, 0, 0, 1.0),
                (2, 1, 0, 1.0),
            ],
        )
        .unwrap();
        // ten samples of one action of 1 and thirty of one of 2: forty times there and back
        let wanted = [0.0, 0.0, 10.0, 0.0, 30.0, 0.0];
        let (policy, proof) = coverage(&mdp, &wanted, &Options::default(), &mut ()).unwrap();
        assert!((1.0 / proof.bound - 80.0).abs() < 1e-4, "{proof:?}");
        assert!((1.0 / proof.objective - 80.0).abs() < 1e-4, "{proof:?}");
        assert!(proof.bound >= proof.objective - 1e-12);
        assert!((policy.probabilities()[1] - 0.75).abs() < 1e-5);
        assert!(coverage(&mdp, &[0.0; 6], &Options::default(), &mut ()).is_err());
    }
}
