//! The transitions as one follower expects them.

use super::transitions::{FEW, NONE, RESTART, Transitions};

/// The transitions as they look to one follower: with its memory of the episode.
pub(super) struct View<'a> {
    pub(super) transitions: &'a Transitions,
    /// Last outcome of each pair in the episode at hand.
    last: &'a [u32],
    memory: f64,
    pub(super) truncation: f64,
    /// Probability that a pair tried a few times, always with one outcome, shows another one next,
    /// by the number of tries less one.
    missing_mass: [f64; FEW],
    expects_unseen_outcomes: bool,
}

impl<'a> View<'a> {
    /// `remembers`: whether outcomes are expected to repeat within an episode as they did so far.
    pub(super) fn new(transitions: &'a Transitions, last: &'a [u32], remembers: bool) -> Self {
        let missing_mass = transitions.missing_mass();
        View {
            transitions,
            last,
            missing_mass,
            expects_unseen_outcomes: remembers && missing_mass.iter().any(|h| *h > 0.0),
            memory: if remembers { transitions.memory() } else { 0.0 },
            truncation: transitions.truncation(),
        }
    }

    /// The share of tries that are expected to repeat the outcome before in their episode.
    pub(super) fn memory(&self) -> f64 {
        self.memory
    }

    /// $(1 - \rho) \sum_t p_t V_t + \rho V_{\text{restart}}$ of a pair that was tried, and the
    /// number of outcomes in the sum.
    #[inline]
    pub(super) fn expect(&self, pair: usize, value: impl Fn(usize) -> f64) -> (f64, usize) {
        let row = &self.transitions.rows[pair];
        let mut mean = value(row.first.0 as usize);
        if !row.others.is_empty() {
            mean *= f64::from(row.first.1);
            for &(t, count) in &row.others {
                mean += f64::from(count) * value(t as usize);
            }
            mean /= f64::from(self.transitions.tries[pair]);
        }
        if self.memory > 0.0 && self.last[pair] != NONE {
            mean += self.memory * (value(self.last[pair] as usize) - mean);
        }
        let rho = self.truncation;
        if rho > 0.0 {
            mean += rho * (value(RESTART) - mean);
        }
        (mean, 1 + row.others.len())
    }

    /// The largest value of an outcome seen of any action of a node, which
    /// [`optimism_bonus`](Self::optimism_bonus) needs where outcomes never seen are expected.
    #[inline]
    pub(super) fn best_outcome(&self, node: usize, value: impl Fn(usize) -> f64) -> f64 {
        if !self.expects_unseen_outcomes {
            return f64::NEG_INFINITY;
        }
        let outcomes = self
            .transitions
            .pairs(node)
            .flat_map(|pair| self.transitions.outcomes(pair));
        outcomes.fold(f64::NEG_INFINITY, |best, (t, _)| {
            best.max(value(t as usize))
        })
    }

    /// What is added to [`expect`](Self::expect) for outcomes never seen of the pair: with the
    /// chance of one it is taken for the best outcome that any action of the node had.
    #[inline]
    pub(super) fn optimism_bonus(
        &self,
        pair: usize,
        best: f64,
        value: impl Fn(usize) -> f64,
    ) -> f64 {
        let few = self
            .transitions
            .single_outcome_class(pair)
            .filter(|_| self.expects_unseen_outcomes);
        few.map_or(0.0, |few| {
            let outcome = self.transitions.rows[pair].first.0 as usize;
            self.missing_mass[few] * (best - value(outcome))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_that_repeat_within_episodes_are_memory_and_chance_is_none() {
        // a pair whose outcome is drawn once per episode, and one whose outcome is drawn each time
        let mut coin = 1u32;
        let mut toss = || {
            coin = coin.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            coin >> 31
        };
        for once_per_episode in [true, false] {
            let mut seen = Transitions::new();
            let (here, a, b) = (seen.meet(0, 1), seen.meet(1, 1), seen.meet(2, 1));
            for _ in 0..100 {
                let drawn = toss();
                let mut last = None;
                for _ in 0..10 {
                    let outcome = if once_per_episode { drawn } else { toss() };
                    let next = if outcome == 0 { a } else { b };
                    seen.record(here, 0, next, false, last, false);
                    last = Some(next as u32);
                }
            }
            let memory = seen.memory();
            assert!(
                if once_per_episode {
                    memory > 0.95
                } else {
                    memory < 0.1
                },
                "{memory}"
            );
        }
    }
}
