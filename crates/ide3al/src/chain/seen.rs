//! How much of the world is seen within so many steps.
//!
//! The expected share of the states that can be reached from the start under *some* policy and are
//! visited within $n$ steps (the start counts as one). On small chains it is exact,
//! $\sum_j P(\tau_j < n)$ by letting the chain run until it meets $j$; on others it is the average
//! over random walks, with its standard error.

use ide3al_numerics::parallel::share;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::Chain;
use crate::model::{Mdp, Row};

/// Steps, in numbers of states that can be reached.
const LENGTHS: [usize; 3] = [1, 2, 4];
/// Most transitions that are looked at for exact shares.
const EXACT: usize = 50_000_000;
/// Steps of all random walks together, about, and their least and largest number.
const STEPS: usize = 4_000_000;
const WALKS: (usize, usize) = (10, 400);
const SEED: u64 = 0x5ee4;

/// The share of states seen within a number of steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Seen {
    /// Number of steps.
    pub steps: usize,
    /// Expected share of the states that can be reached.
    pub share: f64,
    /// Standard error of the share; `None` where it is exact.
    pub standard_error: Option<f64>,
}

/// The shares seen within once, twice and four times as many steps as states can be reached.
pub fn seen(mdp: &Mdp, chain: &Chain) -> Vec<Seen> {
    let n = reachable(mdp).iter().filter(|here| **here).count();
    curve(mdp, chain, &LENGTHS.map(|length| length * n))
}

/// The shares seen within these numbers of steps, ascending from 1 or more.
pub fn curve(mdp: &Mdp, chain: &Chain, steps: &[usize]) -> Vec<Seen> {
    let counted = reachable(mdp);
    let n = counted.iter().filter(|here| **here).count();
    let longest = steps.last().copied().unwrap_or(0);
    let kernel = chain.kernel();
    let each = kernel.nnz() + kernel.n_rows();
    if n.saturating_mul(longest).saturating_mul(each) <= EXACT {
        return exact(chain, &counted, n, steps);
    }
    sampled(chain, &counted, n, steps)
}

/// States that some policy reaches from the start.
fn reachable(mdp: &Mdp) -> Vec<bool> {
    let mut met: Vec<bool> = mdp.start().iter().map(|p| *p > 0.0).collect();
    let mut next: Vec<usize> = (0..met.len()).filter(|s| met[*s]).collect();
    while let Some(s) = next.pop() {
        for pair in mdp.pairs(s) {
            let row = mdp.row(pair);
            if row.spread > 0.0 {
                return vec![true; met.len()];
            }
            for (t, _) in row.entries() {
                if !met[t] {
                    met[t] = true;
                    next.push(t);
                }
            }
        }
    }
    met
}

fn exact(chain: &Chain, counted: &[bool], n: usize, steps: &[usize]) -> Vec<Seen> {
    let size = counted.len();
    let mut missed = vec![Vec::new(); size];
    share(missed.iter_mut().enumerate(), |(target, missed)| {
        if !counted[target] {
            return;
        }
        // where the walk is if it has not met the target yet
        let mut now = chain.start().to_vec();
        now[target] = 0.0;
        let mut next = vec![0.0; size];
        let mut step = 1;
        for &end in steps {
            while step < end {
                chain.kernel().transpose_times(&now, &mut next);
                next[target] = 0.0;
                std::mem::swap(&mut now, &mut next);
                step += 1;
            }
            missed.push(now.iter().sum::<f64>());
        }
    });
    let of = |(k, &steps): (usize, &usize)| {
        let counted = missed.iter().filter(|missed| !missed.is_empty());
        Seen {
            steps,
            share: 1.0 - counted.map(|missed| missed[k]).sum::<f64>() / n as f64,
            standard_error: None,
        }
    };
    steps.iter().enumerate().map(of).collect()
}

fn sampled(chain: &Chain, counted: &[bool], n: usize, steps: &[usize]) -> Vec<Seen> {
    let longest = steps.last().copied().unwrap_or(0);
    let walks = (STEPS / longest.max(1)).clamp(WALKS.0, WALKS.1);
    let size = counted.len();
    // running sums of the rows, so that a step is a search
    let kernel = chain.kernel();
    let mut sums = kernel.values().to_vec();
    for s in 0..size {
        let mut sum = 0.0;
        for x in &mut sums[kernel.offsets()[s]..kernel.offsets()[s + 1]] {
            sum += *x;
            *x = sum;
        }
    }
    let mut found = vec![Vec::new(); walks];
    share(found.iter_mut().enumerate(), |(walk, found)| {
        let mut rng = ChaCha8Rng::seed_from_u64(SEED);
        rng.set_stream(walk as u64);
        let mut seen = vec![false; size];
        let (mut count, mut step) = (0usize, 0);
        let mut at = begin(chain.start(), rng.random());
        for &end in steps {
            while step < end {
                if !std::mem::replace(&mut seen[at], true) {
                    count += usize::from(counted[at]);
                }
                let range = kernel.offsets()[at]..kernel.offsets()[at + 1];
                at = after(kernel.row(at), &sums[range], size, &mut rng);
                step += 1;
            }
            found.push(count);
        }
    });
    let of = |(k, &steps): (usize, &usize)| {
        let shares = found.iter().map(|found| found[k] as f64 / n as f64);
        let mean = shares.clone().sum::<f64>() / walks as f64;
        let squares = shares.map(|x| (x - mean) * (x - mean)).sum::<f64>();
        Seen {
            steps,
            share: mean,
            standard_error: Some((squares / ((walks - 1) * walks) as f64).sqrt()),
        }
    };
    steps.iter().enumerate().map(of).collect()
}

fn begin(start: &[f64], mut left: f64) -> usize {
    let mut last = 0;
    for (s, &p) in start.iter().enumerate() {
        if p > 0.0 {
            last = s;
            left -= p;
            if left < 0.0 {
                break;
            }
        }
    }
    last
}

/// The state after a step; `sums` are the running sums of the row.
fn after(row: Row<'_>, sums: &[f64], size: usize, rng: &mut ChaCha8Rng) -> usize {
    let u: f64 = rng.random();
    let k = sums.partition_point(|sum| *sum <= u);
    match row.indices.get(k) {
        Some(&t) => t as usize,
        None if row.spread > 0.0 => rng.random_range(0..size),
        // the row's sum is one but for rounding
        None => row.indices.last().map_or(0, |t| *t as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Policy;

    #[test]
    fn sampled_shares_agree_with_exact_ones() {
        for name in ["four-rooms:slip=0.1", "double-chain", "garnet:states=40"] {
            let mdp = crate::domains::load(name).unwrap();
            let chain = mdp.chain(&Policy::uniform(&mdp));
            let counted = reachable(&mdp);
            let n = counted.iter().filter(|here| **here).count();
            let steps = LENGTHS.map(|length| length * n);
            let exact = exact(&chain, &counted, n, &steps);
            let pairs = exact.into_iter().zip(sampled(&chain, &counted, n, &steps));
            for (exact, sampled) in pairs {
                let error = sampled.standard_error.unwrap();
                assert!(
                    (exact.share - sampled.share).abs() < 4.5 * error,
                    "{name}: {exact:?} {sampled:?}"
                );
            }
        }
    }

    #[test]
    fn a_walk_round_a_ring_sees_all_in_as_many_steps() {
        let ring = Mdp::from_fn(7, 1, |s, _, next| {
            next.push(((s + 1) % 7, 1.0));
            true
        });
        let ring = ring.unwrap().with_start_state(3).unwrap();
        let chain = ring.chain(&Policy::uniform(&ring));
        for found in [
            seen(&ring, &chain),
            sampled(&chain, &[true; 7], 7, &[7, 14, 28]),
        ] {
            assert_eq!(found[0].steps, 7);
            assert!(found.iter().all(|seen| (seen.share - 1.0).abs() < 1e-15));
        }
    }
}
