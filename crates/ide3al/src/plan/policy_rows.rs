//! The rows of a model that a policy chooses, in an array of their own.
//!
//! A policy is multiplied with many times before it changes. Where its rows stand in the model, the
//! rows of all other actions lie between them.

use ide3al_numerics::parallel::share;

use super::sweep::{CHUNK, Change, SHARED, Sweeper, mean, merged};

/// $\gamma P_\pi$ and $r_\pi$.
#[derive(Default)]
pub(super) struct PolicyRows {
    offsets: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    rewards: Vec<f64>,
    /// $\gamma$ times the uniform share of each row.
    uniform: Vec<f64>,
}

impl PolicyRows {
    /// Copies the rows of the pairs chosen. Those of ended states are empty and earn nothing.
    pub(super) fn copy(&mut self, sweeper: &Sweeper<'_>, choice: &[u32]) {
        let kernel = sweeper.mdp.kernel();
        let entries = |s: usize| match sweeper.ended[s] {
            true => 0..0,
            false => kernel.offsets()[choice[s] as usize]..kernel.offsets()[choice[s] as usize + 1],
        };
        self.offsets.clear();
        self.offsets.push(0);
        let mut end = 0;
        for s in 0..choice.len() {
            end += entries(s).len();
            self.offsets.push(end);
        }
        self.columns.resize(end, 0);
        self.values.resize(end, 0.0);
        self.rewards.resize(choice.len(), 0.0);
        self.uniform.resize(choice.len(), 0.0);
        let mut parts = Vec::with_capacity(choice.len().div_ceil(CHUNK));
        let (mut columns, mut values) = (&mut self.columns[..], &mut self.values[..]);
        let states = self
            .rewards
            .chunks_mut(CHUNK)
            .zip(self.uniform.chunks_mut(CHUNK));
        for (c, (rewards, uniform)) in states.enumerate() {
            let first = c * CHUNK;
            let size = self.offsets[first + rewards.len()] - self.offsets[first];
            let (own_columns, later_columns) = columns.split_at_mut(size);
            let (own_values, later_values) = values.split_at_mut(size);
            (columns, values) = (later_columns, later_values);
            parts.push((first, (rewards, uniform), own_columns, own_values));
        }
        share(
            parts.into_iter(),
            |(first, (rewards, uniform), columns, values)| {
                let mut at = 0;
                for (k, (reward, uniform)) in rewards.iter_mut().zip(uniform).enumerate() {
                    let s = first + k;
                    let (from, pair) = (entries(s), choice[s] as usize);
                    let to = at..at + from.len();
                    at = to.end;
                    columns[to.clone()].copy_from_slice(&kernel.indices()[from.clone()]);
                    for (to, p) in values[to].iter_mut().zip(&kernel.values()[from]) {
                        *to = sweeper.discount * p;
                    }
                    (*reward, *uniform) = match sweeper.ended[s] {
                        true => (0.0, 0.0),
                        false => (
                            sweeper.reward[pair],
                            sweeper.discount * kernel.spread_of(pair),
                        ),
                    };
                }
            },
        );
    }

    /// $r_\pi + \gamma P_\pi V$ into `out`, and the least and largest change.
    pub(super) fn follow(&self, sweeper: &Sweeper<'_>, values: &[f64], out: &mut [f64]) -> Change {
        let mean = mean(sweeper.mdp, values);
        let run = |first: usize, out: &mut [f64]| {
            let mut change = Change::default();
            let states = first..first + out.len();
            let offsets = self.offsets[first..=states.end].windows(2);
            let earned = self.rewards[states.clone()].iter();
            let earned = earned
                .zip(&self.uniform[states.clone()])
                .zip(&values[states]);
            for ((out, range), ((reward, uniform), before)) in
                out.iter_mut().zip(offsets).zip(earned)
            {
                let mut sum = reward + uniform * mean;
                let entries = range[0]..range[1];
                for (&t, &p) in self.columns[entries.clone()]
                    .iter()
                    .zip(&self.values[entries])
                {
                    sum += p * values[t as usize];
                }
                *out = sum;
                change.add(sum - before);
            }
            change
        };
        if sweeper.mdp.kernel().nnz() < SHARED {
            return run(0, out);
        }
        let mut changes = vec![Change::default(); out.len().div_ceil(CHUNK)];
        let parts = out.chunks_mut(CHUNK).zip(changes.iter_mut()).enumerate();
        share(parts, |(c, (out, change))| *change = run(c * CHUNK, out));
        merged(&changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Mdp;

    #[test]
    fn following_copied_rows_is_following_the_policy() {
        let garnet = crate::domains::load("garnet:states=300,actions=3,branching=4").unwrap();
        let partly_uniform = {
            let mut counts = crate::model::Counts::new(&[2, 2, 2]);
            counts.record_start(0);
            counts.record(0, 0, 1);
            counts.record(1, 1, 2);
            counts.estimate(crate::model::Unvisited::Uniform, &[1.0, 0.0, 0.0])
        };
        for (mdp, last_ended) in [(&garnet, false), (&garnet, true), (&partly_uniform, false)] {
            check(mdp, last_ended);
        }
    }

    fn check(mdp: &Mdp, last_ended: bool) {
        let n = mdp.n_states();
        let mut ended = vec![false; n];
        ended[n - 1] = last_ended;
        let reward: Vec<f64> = (0..mdp.n_pairs()).map(|k| (k as f64).sin()).collect();
        let sweeper = Sweeper {
            mdp,
            reward: &reward,
            discount: 0.9,
            ended: &ended,
            allowed: &[],
        };
        let mut choice: Vec<u32> = (0..n).map(|s| mdp.pairs(s).end as u32 - 1).collect();
        let mut values: Vec<f64> = (0..n).map(|s| (s as f64).cos()).collect();
        for (v, _) in values.iter_mut().zip(&ended).filter(|(_, ended)| **ended) {
            *v = 0.0;
        }
        let (mut plain, mut copied) = (vec![0.0; n], vec![0.0; n]);
        let expected = sweeper.follow(&values, &mut plain, &mut choice);
        let mut rows = PolicyRows::default();
        rows.copy(&sweeper, &choice);
        let change = rows.follow(&sweeper, &values, &mut copied);
        for (a, b) in plain.iter().zip(&copied) {
            assert!((a - b).abs() < 1e-14, "{a} {b}");
        }
        assert!((change.span() - expected.span()).abs() < 1e-13);
    }
}
