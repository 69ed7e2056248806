//! What an unknown environment is known to be worth, from what was tried there.
//!
//! With [confidence sets](super::RowSet) for the rows of all pairs and for the start, the value of
//! a policy in the true environment lies between those of the worst and the best environment of the
//! sets, at the same time for all policies and rewards. The extremes over the sets are found row by
//! row (robust dynamic programming); Gauss-Seidel sweeps with the rows held follow, and the bounds
//! are read from one more sweep over the sets.
//!
//! References: Iyengar (2005) and Nilim and El Ghaoui (2005), robust dynamic programming; for all
//! rewards at once Kaufmann et al. (2021), *Adaptive reward-free exploration*.

use super::row_set::RowSet;
use crate::error::{Error, Result};

/// Outcomes of pairs, as they were tried. Pairs never tried are not listed.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// Pairs of each state: `first_pair[s]..first_pair[s + 1]`, perhaps none.
    pub first_pair: Vec<usize>,
    /// Action of each pair.
    pub actions: Vec<u32>,
    /// Outcomes of each pair: `offsets[k]..offsets[k + 1]`.
    pub offsets: Vec<usize>,
    /// Next state of each outcome.
    pub next: Vec<u32>,
    /// How often it came, at least once.
    pub counts: Vec<u64>,
    /// Mean reward with it, or the reward that is known to come with it.
    pub reward: Vec<f64>,
    /// Mean squared deviation of the reward from that; empty where rewards are known, not sampled.
    pub variance: Vec<f64>,
    /// States in which episodes end.
    pub ended: Vec<bool>,
    /// First states of episodes, and how often.
    pub starts: Vec<(u32, u64)>,
    /// Number of actions of every state.
    pub n_actions: usize,
    /// Number of states, if it was known before anything was tried.
    pub declared: Option<usize>,
}

/// Which side of the sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Lower,
    Upper,
}

/// How a value is bounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounding {
    /// $\gamma$.
    pub discount: f64,
    /// Least and largest reward that there may be.
    pub rewards: (f64, f64),
    /// Least and largest value that there may be, where more is known than follows from the
    /// rewards.
    pub values: Option<(f64, f64)>,
    /// Probability with which the bounds hold.
    pub confidence: f64,
}

/// Width that is left between sweeps, as a share of the largest value.
const TOLERANCE: f64 = 1e-6;
/// Sweeps between two choices of the extreme rows, and most choices.
const SWEEPS_PER_ROUND: usize = 60;
const ROUNDS: usize = 400;
/// A variance below this share of the squared range of rewards is rounding.
const EXACT: f64 = 1e-18;

impl Bounding {
    fn validate(&self) -> Result<()> {
        let (low, _) = self.rewards;
        let ordered = |(a, b): (f64, f64)| a.is_finite() && b.is_finite() && a <= b;
        let problem = if !(0.0..1.0).contains(&self.discount) {
            (
                "discount",
                self.discount,
                "it must be at least 0 and less than 1",
            )
        } else if !(self.confidence > 0.0 && self.confidence < 1.0) {
            (
                "confidence",
                self.confidence,
                "a probability between 0 and 1 is needed",
            )
        } else if !ordered(self.rewards) {
            (
                "reward_range",
                low,
                "two finite numbers are needed, the smaller one first",
            )
        } else if !self.values.is_none_or(ordered) {
            (
                "values",
                self.values.map_or(f64::NAN, |(low, _)| low),
                "two finite numbers are needed, the smaller one first",
            )
        } else {
            return Ok(());
        };
        Err(Error::Parameter {
            name: problem.0.into(),
            value: problem.1.to_string(),
            problem: problem.2.into(),
        })
    }

    /// No value lies outside of these; an unknown state may also end the episode.
    fn extremes(&self) -> (f64, f64) {
        if let Some(values) = self.values {
            return values;
        }
        let most = 1.0 / (1.0 - self.discount);
        (
            (self.rewards.0 * most).min(0.0),
            (self.rewards.1 * most).max(0.0),
        )
    }
}

/// The sets of all pairs, ready to be asked.
struct Sets<'a> {
    evidence: &'a Evidence,
    how: Bounding,
    rows: Vec<RowSet>,
    /// Rewards known to lie in this interval, where they vary with the same outcome.
    noisy: Vec<Option<(f64, f64)>>,
    start: RowSet,
}

impl Evidence {
    fn n_states(&self) -> usize {
        self.first_pair.len().saturating_sub(1)
    }

    fn outcomes(&self, pair: usize) -> std::ops::Range<usize> {
        self.offsets[pair]..self.offsets[pair + 1]
    }

    /// $\ln \frac{1}{\delta_k}$ of pair number $k$ (the start is number 0), where the $\delta_k$
    /// add up to $\delta$: in equal parts where the number of pairs was known before, else such
    /// that pairs met later have less.
    fn log_inverse_delta(&self, confidence: f64, number: usize) -> f64 {
        let share = match self.declared {
            Some(states) => (states * self.n_actions + 1) as f64,
            // 1 / (x ln^2 x) for x from 2 adds up to 2.1098
            None => {
                let x = number as f64 + 2.0;
                2.11 * x * x.ln() * x.ln()
            }
        };
        (share / (1.0 - confidence)).ln()
    }

    /// Sets for all pairs. Where rewards are sampled three statements may fail in equal shares: of
    /// the next states, of the mean reward, and of next states together with a reward that was the
    /// same whenever one came, which then is an outcome like any other that is not seen.
    fn sets(&self, how: Bounding, sampled: bool) -> Sets<'_> {
        let statements = if sampled { 3f64.ln() } else { 0.0 };
        let (low, high) = how.rewards;
        let range = high - low;
        let (mut rows, mut noisy) = (Vec::new(), Vec::new());
        for s in 0..self.n_states() {
            for pair in self.first_pair[s]..self.first_pair[s + 1] {
                let number = 1 + s * self.n_actions + self.actions[pair] as usize;
                let log_inverse_delta = self.log_inverse_delta(how.confidence, number) + statements;
                let outcomes = self.outcomes(pair);
                let varies = sampled
                    && self.variance[outcomes.clone()]
                        .iter()
                        .any(|v| *v > EXACT * range * range);
                let counts = &self.counts[outcomes.clone()];
                noisy.push(varies.then(|| {
                    let n: u64 = counts.iter().sum();
                    let n = n as f64;
                    let sum = counts.iter().zip(&self.reward[outcomes]);
                    let mean = sum.map(|(c, r)| *c as f64 * r).sum::<f64>() / n;
                    // Robbins' mixture for bounded rewards
                    let half = 0.5
                        * range
                        * ((n + 1.0) * ((n + 1.0).ln() + 2.0 * log_inverse_delta)).sqrt()
                        / n;
                    ((mean - half).max(low), (mean + half).min(high))
                }));
                rows.push(RowSet::new(counts, log_inverse_delta));
            }
        }
        let counts: Vec<u64> = self.starts.iter().map(|x| x.1).collect();
        Sets {
            evidence: self,
            how,
            rows,
            noisy,
            start: RowSet::new(&counts, self.log_inverse_delta(how.confidence, 0)),
        }
    }

    /// Bounds of the value, from the start, of the policy that takes `choice[s]`, a number of a
    /// pair, in every state (`None` where nothing that was tried is taken), valid in the true
    /// environment with the stated probability; and a bound that no policy exceeds.
    pub fn value_interval(&self, choice: &[Option<usize>], how: Bounding) -> Result<[f64; 3]> {
        how.validate()?;
        let sets = self.sets(how, !self.variance.is_empty());
        let lower = sets.bound(Some(choice), Side::Lower);
        let upper = sets.bound(Some(choice), Side::Upper);
        let most = sets.bound(None, Side::Upper);
        Ok([lower, upper, most.max(upper)])
    }

    /// With the stated probability, for every reward in $[0, 1]$ (one number per pair) and every
    /// policy, the discounted value from the start in the model of the counts differs from that in
    /// the true environment by at most this share of $1 / (1 - \gamma)$. Also the same for each
    /// pair listed.
    ///
    /// $e(s,a) = \min\big(1, \gamma (D(s,a) + \sum_t \hat P(t|s,a) \max_b e(t,b))\big)$ with the
    /// largest distance $D$ of a row of the set from the shares seen, and 1 where nothing was
    /// tried.
    pub fn reward_free_error(&self, how: Bounding) -> Result<(f64, Vec<f64>)> {
        how.validate()?;
        let sets = self.sets(how, false);
        let distance: Vec<f64> = sets.rows.iter().map(RowSet::distance).collect();
        let n = self.n_states();
        let mut error: Vec<f64> = vec![1.0; self.actions.len()];
        let mut worst: Vec<f64> = self.ended.iter().map(|e| f64::from(u8::from(!e))).collect();
        // from above: a bound at any time
        loop {
            let mut change = 0.0f64;
            for s in (0..n).filter(|s| !self.ended[*s]) {
                let pairs = self.first_pair[s]..self.first_pair[s + 1];
                let untried = pairs.len() < self.n_actions;
                let mut most = if untried { 1.0 } else { 0.0f64 };
                for pair in pairs {
                    let (mut sum, mut total) = (0.0, 0.0);
                    for k in self.outcomes(pair) {
                        sum += self.counts[k] as f64 * worst[self.next[k] as usize];
                        total += self.counts[k] as f64;
                    }
                    error[pair] = (how.discount * (distance[pair] + sum / total)).min(1.0);
                    most = most.max(error[pair]);
                }
                change = change.max(worst[s] - most);
                worst[s] = most;
            }
            if change <= TOLERANCE {
                break;
            }
        }
        let total: f64 = self.starts.iter().map(|x| x.1 as f64).sum();
        let sum: f64 = self
            .starts
            .iter()
            .map(|x| x.1 as f64 * worst[x.0 as usize])
            .sum();
        let mean = if total > 0.0 { sum / total } else { 1.0 };
        Ok(((mean + sets.start.distance()).min(1.0), error))
    }
}

impl Sets<'_> {
    /// What outcomes of a pair are worth, what the rest is, and what is earned in any case.
    fn worths(&self, pair: usize, values: &[f64], side: Side, worth: &mut Vec<f64>) -> (f64, f64) {
        let (floor, ceiling) = self.how.extremes();
        let (low, high) = self.how.rewards;
        let (extreme, reward) = match side {
            Side::Lower => (floor, low),
            Side::Upper => (ceiling, high),
        };
        let gamma = self.how.discount;
        worth.clear();
        let outcomes = self.evidence.outcomes(pair);
        match self.noisy[pair] {
            Some((least, most)) => {
                worth.extend(outcomes.map(|k| gamma * values[self.evidence.next[k] as usize]));
                (
                    gamma * extreme,
                    if side == Side::Lower { least } else { most },
                )
            }
            None => {
                let of = |k: usize| {
                    self.evidence.reward[k] + gamma * values[self.evidence.next[k] as usize]
                };
                worth.extend(outcomes.map(of));
                ((reward + gamma * extreme).clamp(floor, ceiling), 0.0)
            }
        }
    }

    /// The bound of one policy's value from the start, or of the best one's.
    fn bound(&self, choice: Option<&[Option<usize>]>, side: Side) -> f64 {
        let evidence = self.evidence;
        let n = evidence.n_states();
        let (floor, ceiling) = self.how.extremes();
        let extreme = if side == Side::Lower { floor } else { ceiling };
        let gamma = self.how.discount;
        // pairs to look at in each state; where nothing tried is taken the value is the extreme
        let pairs_of = |s: usize| -> (std::ops::Range<usize>, bool) {
            let pairs = evidence.first_pair[s]..evidence.first_pair[s + 1];
            match choice {
                Some(choice) => match choice[s] {
                    Some(pair) => (pair..pair + 1, false),
                    None => (0..0, true),
                },
                None => (pairs.clone(), pairs.len() < evidence.n_actions),
            }
        };
        let mut values: Vec<f64> = evidence
            .ended
            .iter()
            .map(|e| if *e { 0.0 } else { extreme })
            .collect();
        let mut held = vec![0.0; evidence.next.len()];
        // what does not depend on the values: reward and the rest, of each pair with its row held
        let mut fixed = vec![0.0; evidence.actions.len()];
        let mut worth = Vec::new();
        let wanted = TOLERANCE * (ceiling - floor) * (1.0 - gamma);
        let mut shift = 0.0;
        for round in 1..=ROUNDS {
            let (mut least, mut most) = (0.0f64, 0.0f64);
            for s in (0..n).filter(|s| !evidence.ended[*s]) {
                let (pairs, open) = pairs_of(s);
                if open {
                    continue;
                }
                let mut best = f64::NEG_INFINITY;
                for pair in pairs {
                    let (rest, earned) = self.worths(pair, &values, side, &mut worth);
                    let p = &mut held[evidence.outcomes(pair)];
                    let value = earned
                        + match side {
                            Side::Lower => self.rows[pair].least(&worth, rest, p),
                            Side::Upper => self.rows[pair].most(&worth, rest, p),
                        };
                    let outcomes = evidence.outcomes(pair);
                    let next =
                        outcomes.map(|k| held[k] * gamma * values[evidence.next[k] as usize]);
                    fixed[pair] = value - next.sum::<f64>();
                    best = best.max(value);
                }
                least = least.min(best - values[s]);
                most = most.max(best - values[s]);
            }
            shift = if side == Side::Lower { least } else { most } / (1.0 - gamma);
            // the shift holds for the values that it came from: they stay as they are at the end
            if most.max(-least) <= wanted || round == ROUNDS {
                break;
            }
            for sweep in 0..SWEEPS_PER_ROUND {
                for k in 0..n {
                    let s = if sweep % 2 == 0 { n - 1 - k } else { k };
                    let (pairs, open) = pairs_of(s);
                    if open || evidence.ended[s] {
                        continue;
                    }
                    let mut best = f64::NEG_INFINITY;
                    for pair in pairs {
                        let outcomes = evidence.outcomes(pair);
                        let next = outcomes.map(|k| held[k] * values[evidence.next[k] as usize]);
                        best = best.max(fixed[pair] + gamma * next.sum::<f64>());
                    }
                    values[s] = best;
                }
            }
        }
        let worth: Vec<f64> = evidence
            .starts
            .iter()
            .map(|x| {
                let value = values[x.0 as usize];
                let over = evidence.ended[x.0 as usize];
                if over {
                    value
                } else {
                    (value + shift).clamp(floor, ceiling)
                }
            })
            .collect();
        let mut p = vec![0.0; worth.len()];
        let value = match side {
            Side::Lower => self.start.least(&worth, floor, &mut p),
            Side::Upper => self.start.most(&worth, ceiling, &mut p),
        };
        value.clamp(floor, ceiling)
    }
}
