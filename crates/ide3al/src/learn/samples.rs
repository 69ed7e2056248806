//! Samples that are still missing: a plan that gathers them in few steps, and how few could do.
//!
//! Of every pair $(s,a)$ of the states met, $b(s,a)$ further samples are wanted. A stationary plan
//! with visits $\omega$ brings $T \omega(s,a)$ of them in $T$ steps on average, so that the fewest
//! steps are $T = 1 / t$ with
//!
//! $$t = \max_\omega \min_{s,a} \omega(s,a) / b(s,a) ,$$
//!
//! the problem [`coverage`](crate::formulation::utility::Coverage). A bound from above on $t$
//! proves a bound from below on the steps, in the model that the counts suggest and over a stretch
//! long enough that where it begins and ends does not matter.
//!
//! *The model.* The states met except terminal ones. What led to a terminal state leads to the
//! start distribution $\mu$, as observed: starting over takes no step. A pair never tried does as
//! the tried pairs of its state do on average, and starts over where there are none. A share $\rho$
//! of the steps was cut short: every row leads with probability $\rho$ to one more state, the
//! restart, and that to $\mu$. It is visited $\rho$ times per step whatever the policy, so that
//! steps are visits divided by $1 + \rho$.
//!
//! *States only.* Where samples of states are wanted, whatever the action, every state has an
//! entrance with one action: $b(s)$ is wanted of the entrance, and a step is two visits.

use crate::error::{Error, Result};
use crate::model::{Counts, Kernel, Mdp, Policy};
use crate::solve::Certificate;

/// A plan for the samples that are missing.
#[derive(Debug, Clone)]
pub struct SamplePlan {
    /// What to follow; uniform in states never met.
    pub policy: Policy,
    /// Fewest steps, proven in the model that the counts suggest.
    pub least: f64,
    /// Steps that the plan takes on average, if all goes as that model says.
    pub planned: f64,
    /// Of the problem `coverage` behind it.
    pub certificate: Certificate,
}

/// Of what samples are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// One number per pair.
    Pairs,
    /// One number per state.
    States,
}

/// Plans for `wanted` further samples, one number per pair or per state of the environment; those
/// of states that were never met or are terminal must be 0. `solve` is given the model and what is
/// wanted of its pairs, and solves `coverage`.
pub fn plan_samples(
    counts: &Counts,
    wanted: &[f64],
    of: Wanted,
    solve: impl FnOnce(&Mdp, &[f64]) -> Result<(Policy, Certificate)>,
) -> Result<SamplePlan> {
    let needed = match of {
        Wanted::Pairs => counts.n_pairs(),
        Wanted::States => counts.n_states(),
    };
    if wanted.len() != needed {
        return Err(Error::Size {
            what: "wanted".into(),
            expected: format!("{needed} numbers"),
            found: wanted.len().to_string(),
        });
    }
    let episodic = EpisodicModel::new(counts, of);
    let (b, missed) = episodic.wanted(counts, wanted, of);
    if let Some(state) = missed {
        return Err(Error::Unsupported(format!(
            "samples of state {state} are wanted, which was never met or is terminal"
        )));
    }
    let (plan, certificate) = solve(&episodic.model, &b)?;
    // visits of everything per step of the environment
    let visits = episodic.visits_per_step;
    Ok(SamplePlan {
        policy: episodic.policy(counts, plan.probabilities()),
        least: 1.0 / (certificate.bound * visits),
        planned: 1.0 / (certificate.objective * visits),
        certificate,
    })
}

/// The model that counts suggest, of the states in which actions are taken.
struct EpisodicModel {
    model: Mdp,
    /// The environment's number of each state.
    open: Vec<u32>,
    /// State of the model in which the actions of the first of `open` are taken.
    first: usize,
    visits_per_step: f64,
}

impl EpisodicModel {
    fn new(counts: &Counts, of: Wanted) -> Self {
        let open = open_states(counts);
        let n = open.len();
        let mut place = vec![u32::MAX; counts.n_states()];
        for (i, &s) in open.iter().enumerate() {
            place[s as usize] = i as u32;
        }
        let entrances = if of == Wanted::States { n } else { 0 };
        let restart = (entrances + n) as u32;
        let cut = (counts.cuts() as f64 + 1.0) / (counts.total() as f64 + 1.0);
        let mu = starts(counts, &open);
        let mut rows = Rows {
            offsets: vec![0],
            ..Rows::default()
        };
        let (mut first_pair, mut actions) = (vec![0], Vec::new());
        for i in 0..entrances {
            rows.entries.push(((n + i) as u32, 1.0));
            rows.close();
            actions.push(0);
            first_pair.push(actions.len());
        }
        let mut average = Vec::new();
        for &s in &open {
            let pairs = counts.pairs(s as usize);
            average.clear();
            for (action, pair) in pairs.clone().enumerate() {
                actions.push(action as u32);
                if counts.pair_totals()[pair] > 0 {
                    shares(counts, pair, &place, &mu, 1.0, &mut rows.entries);
                } else {
                    if average.is_empty() {
                        siblings(counts, pairs.clone(), &place, &mu, &mut average);
                    }
                    rows.entries.extend_from_slice(&average);
                }
                rows.cut(cut, restart);
                rows.close();
            }
            first_pair.push(actions.len());
        }
        rows.entries.extend_from_slice(&mu);
        rows.close();
        actions.push(0);
        first_pair.push(actions.len());
        let size = restart as usize + 1;
        let mut start = vec![0.0; size];
        for &(t, p) in &mu {
            start[t as usize] = p;
        }
        let kernel = Kernel::from_raw(size, rows.offsets, rows.indices, rows.values, Vec::new());
        EpisodicModel {
            model: Mdp::from_parts(first_pair, actions, kernel, start),
            open,
            first: entrances,
            visits_per_step: cut + if entrances > 0 { 2.0 } else { 1.0 },
        }
    }

    /// What is wanted of the model's pairs, and a state of the environment that is wanted and not
    /// there.
    fn wanted(&self, counts: &Counts, wanted: &[f64], of: Wanted) -> (Vec<f64>, Option<usize>) {
        let mut b = vec![0.0; self.model.n_pairs()];
        let mut there = vec![false; counts.n_states()];
        for (i, &s) in self.open.iter().enumerate() {
            there[s as usize] = true;
            match of {
                Wanted::States => b[i] = wanted[s as usize],
                Wanted::Pairs => {
                    let from = &wanted[counts.pairs(s as usize)];
                    b[self.model.pairs(i)].copy_from_slice(from);
                }
            }
        }
        let is_wanted = |s: usize| match of {
            Wanted::States => wanted[s] > 0.0,
            Wanted::Pairs => wanted[counts.pairs(s)].iter().any(|b| *b > 0.0),
        };
        let missed = (0..counts.n_states()).find(|s| !there[*s] && is_wanted(*s));
        (b, missed)
    }

    fn policy(&self, counts: &Counts, plan: &[f64]) -> Policy {
        let mut whole = super::estimate::uniform(counts);
        for (i, &s) in self.open.iter().enumerate() {
            let from = &plan[self.model.pairs(self.first + i)];
            whole[counts.pairs(s as usize)].copy_from_slice(from);
        }
        Policy::of_rows(whole)
    }
}

/// States met in which actions are taken: not those that ended every episode that came there.
fn open_states(counts: &Counts) -> Vec<u32> {
    let known = super::estimate::known(counts).into_iter();
    let over = |s: &u32| {
        let s = *s as usize;
        counts.ends()[s] > 0 && counts.ends()[s] == counts.state_totals()[s]
    };
    known.filter(|s| !over(s)).collect()
}

/// Where episodes begin, by place.
fn starts(counts: &Counts, open: &[u32]) -> Vec<(u32, f64)> {
    let begun: u64 = open.iter().map(|s| counts.starts()[*s as usize]).sum();
    let at = open.iter().enumerate();
    at.filter(|(_, s)| counts.starts()[**s as usize] > 0)
        .map(|(i, s)| (i as u32, counts.starts()[*s as usize] as f64 / begun as f64))
        .collect()
}

/// What followed a pair, times `weight`; what ended an episode is followed by a start.
fn shares(
    counts: &Counts,
    pair: usize,
    place: &[u32],
    mu: &[(u32, f64)],
    weight: f64,
    entries: &mut Vec<(u32, f64)>,
) {
    let total = counts.pair_totals()[pair] as f64;
    let mut over = 0.0;
    for &(next, count) in counts.seen(pair) {
        let share = weight * count as f64 / total;
        match place[next as usize] {
            u32::MAX => over += share,
            t => entries.push((t, share)),
        }
    }
    if over > 0.0 {
        entries.extend(mu.iter().map(|(t, p)| (*t, over * p)));
    }
}

/// The average row of the pairs that were tried, or a new start if none was.
fn siblings(
    counts: &Counts,
    pairs: std::ops::Range<usize>,
    place: &[u32],
    mu: &[(u32, f64)],
    average: &mut Vec<(u32, f64)>,
) {
    let tried = || pairs.clone().filter(|p| counts.pair_totals()[*p] > 0);
    let n = tried().count();
    if n == 0 {
        average.extend_from_slice(mu);
    }
    for pair in tried() {
        shares(counts, pair, place, mu, 1.0 / n as f64, average);
    }
}

#[derive(Default)]
struct Rows {
    entries: Vec<(u32, f64)>,
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
}

impl Rows {
    /// Leaves the row for the restart with some probability.
    fn cut(&mut self, cut: f64, restart: u32) {
        for entry in &mut self.entries {
            entry.1 *= 1.0 - cut;
        }
        self.entries.push((restart, cut));
    }

    /// Writes the row with columns ascending, each once.
    fn close(&mut self) {
        self.entries.sort_by_key(|entry| entry.0);
        for (t, p) in self.entries.drain(..) {
            match self.values.last_mut() {
                Some(last)
                    if self.indices.last() == Some(&t)
                        && self.indices.len() > self.offsets[self.offsets.len() - 1] =>
                {
                    *last += p;
                }
                _ => {
                    self.indices.push(t);
                    self.values.push(p);
                }
            }
        }
        self.offsets.push(self.indices.len());
    }
}
