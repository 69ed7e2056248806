//! A known model as an environment, one step in constant time.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::alias::{self, Slot};
use super::environment::{End, Environment, Step};
use crate::error::{Error, Result};
use crate::model::Mdp;

/// Stands for "any state, equally likely" in an alias table.
const ANYWHERE: u32 = u32::MAX;

/// The alias tables of a model: one flat table over all pairs, one for the start. Build it
/// once and share it among the [`Simulator`]s of many runs.
#[derive(Debug)]
pub struct Tables {
    n_states: u32,
    first_pair: Vec<usize>,
    offsets: Vec<usize>,
    slots: Vec<Slot>,
    start: Vec<Slot>,
}

impl Tables {
    /// Cost $O(\text{nnz} + S)$, 16 bytes per transition. A uniform share of a row takes one
    /// slot, however many states there are.
    pub fn new(mdp: &Mdp) -> Self {
        let mut builder = alias::Builder::default();
        let kernel = mdp.kernel();
        let mut slots = Vec::with_capacity(kernel.nnz());
        let mut offsets = Vec::with_capacity(mdp.n_pairs() + 1);
        offsets.push(0);
        for pair in 0..mdp.n_pairs() {
            let row = kernel.row(pair);
            let stored = row.indices.iter().copied().zip(row.values.iter().copied());
            let spread = (row.spread > 0.0).then_some((ANYWHERE, row.spread));
            builder.append(stored.chain(spread), &mut slots);
            offsets.push(slots.len());
        }
        let mut start = Vec::new();
        let positive = mdp.start().iter().enumerate().filter(|(_, p)| **p > 0.0);
        builder.append(positive.map(|(s, &p)| (s as u32, p)), &mut start);
        Tables {
            n_states: mdp.n_states() as u32,
            first_pair: mdp.first_pair().to_vec(),
            offsets,
            slots,
            start,
        }
    }
}

/// Samples a known [`Mdp`]: it never ends.
///
/// ```
/// use ide3al::learn::{Environment, Simulator, Tables};
/// use ide3al::model::Mdp;
/// use rand::SeedableRng;
/// let mdp = Mdp::from_triplets(2, 1, [(0, 0, 1, 1.0), (1, 0, 0, 1.0)])?.with_start_state(0)?;
/// let tables = Tables::new(&mdp);
/// let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
/// let mut simulator = Simulator::new(&tables);
/// assert_eq!(simulator.reset(&mut rng)?, 0);
/// assert_eq!(simulator.step(0, &mut rng)?.next, 1);
/// # Ok::<(), ide3al::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Simulator<'a> {
    tables: &'a Tables,
    state: u32,
}

impl<'a> Simulator<'a> {
    /// In state 0 until [`reset`](Environment::reset).
    pub fn new(tables: &'a Tables) -> Self {
        Simulator { tables, state: 0 }
    }

    fn resolve(&self, drawn: u32, rng: &mut ChaCha8Rng) -> u32 {
        if drawn == ANYWHERE {
            let product = u128::from(rng.next_u64()) * u128::from(self.tables.n_states);
            (product >> 64) as u32
        } else {
            drawn
        }
    }
}

impl Environment for Simulator<'_> {
    fn n_states(&self) -> usize {
        self.tables.n_states as usize
    }

    fn n_actions(&self, state: usize) -> usize {
        self.tables.first_pair[state + 1] - self.tables.first_pair[state]
    }

    fn reset(&mut self, rng: &mut ChaCha8Rng) -> Result<usize> {
        self.state = alias::draw(&self.tables.start, rng);
        Ok(self.state as usize)
    }

    #[inline]
    fn step(&mut self, action: usize, rng: &mut ChaCha8Rng) -> Result<Step> {
        let tables = self.tables;
        let state = self.state as usize;
        let pair = tables.first_pair[state] + action;
        if pair >= tables.first_pair[state + 1] {
            return Err(Error::OutOfRange {
                what: "action",
                index: action,
                limit: self.n_actions(state),
                place: format!(" in state {state}"),
            });
        }
        let row = &tables.slots[tables.offsets[pair]..tables.offsets[pair + 1]];
        let drawn = alias::draw(row, rng);
        self.state = self.resolve(drawn, rng);
        Ok(Step {
            next: self.state as usize,
            end: End::Continues,
        })
    }

    fn set_state(&mut self, state: usize) -> Result<()> {
        self.state = super::environment::check_state(state, self.n_states(), "set_state")? as u32;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Counts, Unvisited};
    use rand::SeedableRng;

    #[test]
    fn frequencies_match_the_rows_and_uniform_rows_reach_everything() {
        // an estimate with a uniform row: pair 0 unvisited, pair 1 seen
        let mut counts = Counts::new(&[1, 1, 1]);
        counts.record(1, 0, 0);
        counts.record(2, 0, 0);
        counts.record(2, 0, 1);
        let mdp = counts.estimate(Unvisited::Uniform, &[0.0, 0.0, 1.0]);
        let tables = Tables::new(&mdp);
        let mut simulator = Simulator::new(&tables);
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        assert_eq!(simulator.reset(&mut rng).unwrap(), 2);
        let mut seen = [[0u32; 3]; 3];
        let mut state = 2;
        let n = 200_000;
        for _ in 0..n {
            let next = simulator.step(0, &mut rng).unwrap().next;
            seen[state][next] += 1;
            state = next;
        }
        let dense = mdp.kernel().to_dense();
        for s in 0..3 {
            let total: u32 = seen[s].iter().sum();
            for t in 0..3 {
                let share = f64::from(seen[s][t]) / f64::from(total);
                assert!(
                    (share - dense[s][t]).abs() < 0.01,
                    "{s} -> {t}: {share} for {}",
                    dense[s][t]
                );
            }
        }
    }

    #[test]
    fn an_action_the_state_lacks_is_an_error() {
        let mdp = Mdp::from_triplets(2, 1, [(0, 0, 1, 1.0), (1, 0, 0, 1.0)]).unwrap();
        let tables = Tables::new(&mdp);
        let mut simulator = Simulator::new(&tables);
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let error = simulator.step(1, &mut rng).unwrap_err().to_string();
        assert!(error.contains("action 1 is out of range"), "{error}");
        assert!(simulator.set_state(2).is_err());
    }
}
