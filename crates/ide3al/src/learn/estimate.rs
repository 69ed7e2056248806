//! The model that experience suggests, with the restarts of its episodes.
//!
//! It differs from the maximum-likelihood model on all declared states in three ways:
//!
//! *What was seen.* Only states that occurred are states of the estimate. Where a rival assumes
//! something of states never seen, one more state, the unknown state, stands for all of them; it
//! leads evenly to all states of the estimate.
//!
//! *Ends.* A state in which every episode that came there ended leads to the start distribution
//! $\mu$ as observed, whatever the action. Of the starts that were seen only once there are as many
//! as of those still to be seen (Good and Turing): that share of $\mu$ goes to all states alike.
//!
//! *Cuts.* If a share $\rho$ of the steps was cut short, then what an agent meets is the long run
//! of $(1 - \rho) P + \rho \mu$. Every row leads with probability $\rho$ to one more state, the
//! restart, which leads to $\mu$: $\mu$ is written once instead of once per row. The restart is
//! visited equally often under every policy (up to the way back from the unknown state), so that it
//! moves no optimum.

use crate::model::{Counts, Kernel, Mdp, Policy, Unvisited};

/// What is assumed of pairs that were never tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Untried {
    /// They do what the tried pairs of their state do on average, so that they are neither better
    /// nor worse. Where none was tried the episode starts over. States never seen are no states of
    /// the estimate.
    Siblings,
    /// As the rivals assume: uniform over all declared states (those never seen are alike, so the
    /// unknown state stands for them), or a self-loop.
    Rival(Unvisited),
}

/// A model of the states seen, the unknown state where there is one, and the restart.
#[derive(Debug, Clone)]
pub(crate) struct Estimate {
    pub(crate) model: Mdp,
    /// The environment's number of each state seen, ascending.
    pub(crate) known: Vec<u32>,
    unknown_state: bool,
}

impl Estimate {
    /// Costs $O(\text{distinct transitions} + \text{pairs})$.
    pub(crate) fn new(counts: &Counts, untried: Untried) -> Self {
        let known = known(counts);
        let mut place = vec![u32::MAX; counts.n_states()];
        for (i, &s) in known.iter().enumerate() {
            place[s as usize] = i as u32;
        }
        let has_unknown_state = untried != Untried::Siblings;
        let unknown_state = known.len() as u32;
        let restart = unknown_state + u32::from(has_unknown_state);
        let n = restart as usize + 1;
        let (start, new) = starts(counts, &known);
        let mut rows = Rows {
            // the trajectory at hand will end as well, and may do so now
            stay: 1.0 - (counts.cuts() as f64 + 1.0) / (counts.total() as f64 + 1.0),
            restart,
            offsets: vec![0],
            ..Rows::default()
        };
        let (mut first_pair, mut actions) = (vec![0], Vec::new());
        let mut average: Vec<(u32, f64)> = Vec::new();
        for (i, &s) in known.iter().enumerate() {
            let s = s as usize;
            let over = counts.ends()[s] > 0 && counts.ends()[s] == counts.state_totals()[s];
            average.clear();
            for (action, pair) in counts.pairs(s).enumerate() {
                actions.push(action as u32);
                let total = counts.pair_totals()[pair] as f64;
                if over {
                    rows.push(start.iter().copied(), new);
                    continue;
                }
                if total > 0.0 {
                    let seen = counts.seen(pair).iter();
                    let seen = seen.map(|&(t, c)| (place[t as usize], c as f64 / total));
                    rows.push(seen, 0.0);
                    continue;
                }
                match untried {
                    Untried::Siblings => {
                        if average.is_empty() {
                            siblings(counts, s, &place, &mut average);
                        }
                        match average.is_empty() {
                            true => rows.push([(restart, 1.0)], 0.0),
                            false => rows.push(average.iter().copied(), 0.0),
                        }
                    }
                    Untried::Rival(Unvisited::SelfLoop) => rows.push([(i as u32, 1.0)], 0.0),
                    Untried::Rival(Unvisited::Uniform) => {
                        // one share per declared state, all unseen ones together in the unknown
                        // state
                        let share = (n as f64 / counts.n_states() as f64).min(1.0);
                        rows.push((share < 1.0).then_some((unknown_state, 1.0 - share)), share);
                    }
                }
            }
            first_pair.push(actions.len());
        }
        if has_unknown_state {
            rows.push([], 1.0);
            actions.push(0);
            first_pair.push(actions.len());
        }
        rows.push_restart(&start, new);
        actions.push(0);
        first_pair.push(actions.len());
        if rows.spread.iter().all(|c| *c == 0.0) {
            rows.spread.clear();
        }
        let kernel = Kernel::from_raw(n, rows.offsets, rows.indices, rows.values, rows.spread);
        let mut from = vec![new / n as f64; n];
        for (i, p) in start {
            from[i as usize] += p;
        }
        Estimate {
            model: Mdp::from_parts(first_pair, actions, kernel, from),
            known,
            unknown_state: has_unknown_state,
        }
    }

    /// The number of the unknown state.
    pub(crate) fn unknown_state(&self) -> Option<usize> {
        self.unknown_state.then_some(self.known.len())
    }

    /// The restart's number.
    pub(crate) fn restart(&self) -> usize {
        self.model.n_states() - 1
    }

    /// A plan for the estimate as a policy of the environment: uniform where it has never been.
    pub(crate) fn policy(&self, counts: &Counts, plan: &[f64]) -> Policy {
        let mut whole = uniform(counts);
        for (i, &s) in self.known.iter().enumerate() {
            let pairs = counts.pairs(s as usize);
            whole[pairs].copy_from_slice(&plan[self.model.pairs(i)]);
        }
        Policy::of_rows(whole)
    }

    /// A policy of the environment as a plan for the estimate. States found since are played
    /// uniformly.
    pub(crate) fn plan(&self, counts: &Counts, policy: &Policy) -> Vec<f64> {
        let given = policy.probabilities();
        let mut plan = vec![1.0; self.model.n_pairs()];
        for (i, &s) in self.known.iter().enumerate() {
            let (from, to) = (counts.pairs(s as usize), self.model.pairs(i));
            match given.get(from) {
                Some(row) => plan[to].copy_from_slice(row),
                None => {
                    let even = 1.0 / to.len() as f64;
                    plan[to].fill(even);
                }
            }
        }
        plan
    }

    /// One number per state of the estimate from numbers per state of the environment, `other` for
    /// the unknown state, the restart, and states that have none yet.
    pub(crate) fn gather(&self, values: &[f64], other: f64) -> Vec<f64> {
        let mut gathered = vec![other; self.model.n_states()];
        for (x, &s) in gathered.iter_mut().zip(&self.known) {
            if let Some(value) = values.get(s as usize).filter(|v| v.is_finite()) {
                *x = *value;
            }
        }
        gathered
    }

    /// A distribution over the estimate's states as one over the environment's: unknown state and
    /// restart left out.
    pub(crate) fn visits(&self, counts: &Counts, d: &[f64]) -> Vec<f64> {
        let mut visits = vec![0.0; counts.n_states()];
        let total: f64 = d[..self.known.len()].iter().sum();
        for (&s, p) in self.known.iter().zip(d) {
            visits[s as usize] = p / total;
        }
        visits
    }
}

/// Where episodes begin, and the share of starts that were never seen: that of the starts seen only
/// once (Good 1953).
fn starts(counts: &Counts, known: &[u32]) -> (Vec<(u32, f64)>, f64) {
    let begun: u64 = counts.starts().iter().sum();
    let once = counts.starts().iter().filter(|n| **n == 1).count();
    let new = if begun > 1 {
        once as f64 / begun as f64
    } else {
        0.0
    };
    let start = known
        .iter()
        .enumerate()
        .filter(|(_, s)| counts.starts()[**s as usize] > 0)
        .map(|(i, s)| {
            let share = counts.starts()[*s as usize] as f64 / begun as f64;
            (i as u32, (1.0 - new) * share)
        })
        .collect();
    (start, new)
}

/// The average row of the pairs of a state that were tried; empty if none was.
fn siblings(counts: &Counts, s: usize, place: &[u32], average: &mut Vec<(u32, f64)>) {
    let tried = || counts.pairs(s).filter(|p| counts.pair_totals()[*p] > 0);
    let share = 1.0 / tried().count() as f64;
    for pair in tried() {
        let total = counts.pair_totals()[pair] as f64;
        for &(t, c) in counts.seen(pair) {
            average.push((place[t as usize], share * c as f64 / total));
        }
    }
    average.sort_by_key(|entry| entry.0);
    average.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
}

/// States that occurred.
pub(crate) fn known(counts: &Counts) -> Vec<u32> {
    let mut seen: Vec<bool> = (0..counts.n_states())
        .map(|s| counts.state_totals()[s] > 0 || counts.starts()[s] > 0)
        .collect();
    for pair in 0..counts.n_pairs() {
        for &(next, _) in counts.seen(pair) {
            seen[next as usize] = true;
        }
    }
    let numbers = (0..counts.n_states() as u32).filter(|s| seen[*s as usize]);
    numbers.collect()
}

/// The uniform policy's probabilities.
pub(crate) fn uniform(counts: &Counts) -> Vec<f64> {
    let mut whole = vec![0.0; counts.n_pairs()];
    for s in 0..counts.n_states() {
        let pairs = counts.pairs(s);
        let even = 1.0 / pairs.len() as f64;
        whole[pairs].fill(even);
    }
    whole
}

/// The policy of all visits, $N(s,a) / N(s)$: uniform where nothing was tried.
pub(crate) fn visited(counts: &Counts) -> Policy {
    let mut rows = uniform(counts);
    for s in (0..counts.n_states()).filter(|s| counts.state_totals()[*s] > 0) {
        for pair in counts.pairs(s) {
            rows[pair] = counts.pair_totals()[pair] as f64 / counts.state_totals()[s] as f64;
        }
    }
    Policy::of_rows(rows)
}

/// A policy of the environment, made to fit states found since it was made: uniform there.
pub(crate) fn fitted(policy: &Policy, counts: &Counts) -> Policy {
    let mut whole = uniform(counts);
    let given = policy.probabilities();
    whole[..given.len()].copy_from_slice(given);
    Policy::of_rows(whole)
}

/// Pairs of states in which an action was a choice: number in the estimate's model, and in the
/// environment.
pub(crate) fn open_pairs(counts: &Counts, estimate: &Estimate) -> Vec<(usize, usize)> {
    let mut open = Vec::new();
    for (i, &s) in estimate.known.iter().enumerate() {
        let s = s as usize;
        if counts.ends()[s] == 0 || counts.ends()[s] < counts.state_totals()[s] {
            open.extend(estimate.model.pairs(i).zip(counts.pairs(s)));
        }
    }
    open
}

/// A policy of states that are made of others: each has the row of the one it is made of, a uniform
/// row where that one is newer than the policy.
pub(crate) fn repartition(policy: &Policy, from: &[usize], n_actions: usize) -> Policy {
    let given = policy.probabilities();
    let mut whole = vec![1.0 / n_actions as f64; from.len() * n_actions];
    for (row, &old) in whole.chunks_exact_mut(n_actions).zip(from) {
        if let Some(known) = given.get(old * n_actions..(old + 1) * n_actions) {
            row.copy_from_slice(known);
        }
    }
    Policy::of_rows(whole)
}

/// Numbers of states that are made of others, with `missing` for those that had none.
pub(crate) fn repartition_values(values: &[f64], from: &[usize], missing: f64) -> Vec<f64> {
    from.iter()
        .map(|&old| values.get(old).copied().unwrap_or(missing))
        .collect()
}

#[derive(Default)]
struct Rows {
    /// $1 - \rho$.
    stay: f64,
    restart: u32,
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
    spread: Vec<f64>,
}

impl Rows {
    /// A row as it would be without cuts.
    fn push(&mut self, entries: impl IntoIterator<Item = (u32, f64)>, spread: f64) {
        let mut cut = 1.0 - self.stay;
        for (t, p) in entries {
            if t == self.restart {
                cut += self.stay * p;
            } else {
                self.indices.push(t);
                self.values.push(self.stay * p);
            }
        }
        self.indices.push(self.restart);
        self.values.push(cut);
        self.offsets.push(self.indices.len());
        self.spread.push(self.stay * spread);
    }

    fn push_restart(&mut self, start: &[(u32, f64)], new: f64) {
        for &(t, p) in start {
            self.indices.push(t);
            self.values.push(p);
        }
        self.offsets.push(self.indices.len());
        self.spread.push(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five declared states of which 0, 2 and 4 occurred; 4 ended every episode that came there.
    fn counts_of_episodes() -> Counts {
        let mut counts = Counts::new(&[2, 2, 2, 2, 2]);
        for _ in 0..3 {
            counts.record_start(0);
        }
        counts.record(0, 0, 2);
        counts.record(0, 0, 2);
        counts.record(0, 0, 0);
        counts.record(2, 1, 4);
        counts.record(4, 0, 0);
        counts.record_end(4);
        counts.record_truncation();
        counts
    }

    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (p, q) in found.iter().zip(expected) {
            assert!((p - q).abs() < 1e-12, "{found:?} for {expected:?}");
        }
    }

    #[test]
    fn rows_are_counts_lump_ends_and_cuts() {
        let estimate = Estimate::new(&counts_of_episodes(), Untried::Rival(Unvisited::Uniform));
        assert_eq!(estimate.known, [0, 2, 4]);
        assert_eq!((estimate.unknown_state(), estimate.restart()), (Some(3), 4));
        let rows = estimate.model.kernel().to_dense();
        // one cut in five steps, and the trajectory at hand
        let (stay, cut) = (1.0 - 2.0 / 6.0, 2.0 / 6.0);
        close(&rows[0], &[stay / 3.0, stay * 2.0 / 3.0, 0.0, 0.0, cut]);
        close(&rows[3], &[0.0, 0.0, stay, 0.0, cut]);
        // the terminal state leads to the start, whatever the action, tried or not
        close(&rows[4], &[stay, 0.0, 0.0, 0.0, cut]);
        close(&rows[5], &[stay, 0.0, 0.0, 0.0, cut]);
        // the unknown state to every state alike, the restart to the start
        let even = stay / 5.0;
        close(&rows[6], &[even, even, even, even, even + cut]);
        close(&rows[7], &[1.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn what_was_not_tried_does_as_its_siblings() {
        let estimate = Estimate::new(&counts_of_episodes(), Untried::Siblings);
        assert_eq!(estimate.unknown_state(), None);
        let rows = estimate.model.kernel().to_dense();
        close(&rows[1], &rows[0]);
        close(&rows[2], &rows[3]);
        let counts = counts_of_episodes();
        let plan = estimate.plan(&counts, &Policy::of_rows([0.3, 0.7].repeat(5)));
        assert_eq!(plan, [0.3, 0.7, 0.3, 0.7, 0.3, 0.7, 1.0]);
        let policy = estimate.policy(&counts, &plan);
        // uniform where it has never been
        assert_eq!(policy.probabilities()[..4], [0.3, 0.7, 0.5, 0.5]);
    }

    #[test]
    fn starts_seen_once_stand_for_those_never_seen() {
        let mut counts = Counts::new(&[1, 1, 1]);
        for s in [0, 0, 1, 2] {
            counts.record_start(s);
        }
        counts.record(0, 0, 1);
        let estimate = Estimate::new(&counts, Untried::Siblings);
        let rows = estimate.model.kernel().to_dense();
        // half of the starts were seen once
        close(
            &rows[3],
            &[0.25 + 0.125, 0.125 + 0.125, 0.125 + 0.125, 0.125],
        );
    }

    #[test]
    fn the_restart_is_visited_equally_often_under_every_policy() {
        let counts = counts_of_episodes();
        let estimate = Estimate::new(&counts, Untried::Rival(Unvisited::SelfLoop));
        let visits = |rows: Vec<f64>| {
            let plan = Policy::of_rows(estimate.plan(&counts, &Policy::of_rows(rows)));
            let chain = estimate.model.chain(&plan);
            crate::chain::stationary::long_run(&chain).distribution[estimate.restart()]
        };
        let (a, b) = (visits([0.1, 0.9].repeat(5)), visits([0.8, 0.2].repeat(5)));
        assert!((a - b).abs() < 1e-12 && a > 0.2, "{a} {b}");
    }
}
