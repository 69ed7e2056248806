//! One sweep of dynamic programming over all pairs, and products with the rows that a policy
//! chooses.

use ide3al_numerics::parallel::share;

use crate::model::Mdp;

/// States handed to one parallel task. Fixed, so that results never depend on thread count.
pub(super) const CHUNK: usize = 4096;
/// Models with fewer transitions stay on the calling thread: waking the others takes as long.
pub(super) const SHARED: usize = 1 << 16;
/// An action replaces the one at hand only if it is better by more than this share of the values'
/// size: a difference below is rounding, and would let policies alternate for ever.
const BETTER: f64 = 1e-14;

/// Bellman's optimality operator of a model, a reward and a discount,
/// $(TV)(s) = \max_a \big( r(s,a) + \gamma \sum_t P(t|s,a) V(t) \big)$, and that of a policy.
#[derive(Clone, Copy)]
pub(super) struct Sweeper<'a> {
    pub(super) mdp: &'a Mdp,
    /// $r$, one number per pair.
    pub(super) reward: &'a [f64],
    /// $\gamma$.
    pub(super) discount: f64,
    /// States whose value is zero whatever is done there.
    pub(super) ended: &'a [bool],
    /// Pairs that must not be chosen are false; an empty list allows all.
    pub(super) allowed: &'a [bool],
}

/// Least and largest $(TV - V)(s)$.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Default for Change {
    fn default() -> Self {
        Change::NONE
    }
}

impl Change {
    const NONE: Change = Change {
        least: f64::INFINITY,
        most: f64::NEG_INFINITY,
    };

    /// The larger of the two in size; nothing where nothing was added.
    pub(super) fn size(self) -> f64 {
        self.most.max(-self.least).max(0.0)
    }

    #[inline]
    pub(super) fn add(&mut self, change: f64) {
        self.least = self.least.min(change);
        self.most = self.most.max(change);
    }

    pub(super) fn span(self) -> f64 {
        self.most - self.least
    }
}

/// The mean of the values, which rows with a uniform share need.
pub(super) fn mean(mdp: &Mdp, values: &[f64]) -> f64 {
    if mdp.kernel().has_spread() {
        values.iter().sum::<f64>() / values.len() as f64
    } else {
        0.0
    }
}

/// The arrays that a sweep reads, taken out of the model once: reached through it for every pair, a
/// sweep takes several times as long.
struct Rows<'a> {
    offsets: &'a [usize],
    columns: &'a [u32],
    probabilities: &'a [f64],
    uniform: &'a [f64],
    discount: f64,
    mean: f64,
}

impl Rows<'_> {
    /// $\gamma \sum_t P(t|s,a) V(t)$ of one pair.
    #[inline]
    fn expectation(&self, pair: usize, values: &[f64]) -> f64 {
        let range = self.offsets[pair]..self.offsets[pair + 1];
        let mut sum = 0.0;
        let entries = self.columns[range.clone()].iter();
        for (&t, &p) in entries.zip(&self.probabilities[range]) {
            sum += p * values[t as usize];
        }
        if let Some(share) = self.uniform.get(pair) {
            sum += share * self.mean;
        }
        self.discount * sum
    }
}

impl Sweeper<'_> {
    fn rows(&self, values: &[f64]) -> Rows<'_> {
        let kernel = self.mdp.kernel();
        Rows {
            offsets: kernel.offsets(),
            columns: kernel.indices(),
            probabilities: kernel.values(),
            uniform: kernel.spread(),
            discount: self.discount,
            mean: mean(self.mdp, values),
        }
    }

    /// $TV$ into `out`, and the pair that has it in each state into `choice`. A pair
    /// already there is kept where no other is better by more than rounding.
    pub(super) fn improve(&self, values: &[f64], out: &mut [f64], choice: &mut [u32]) -> Change {
        let rows = self.rows(values);
        let first_pair = self.mdp.first_pair();
        let worth = |pair: usize| self.reward[pair] + rows.expectation(pair, values);
        let permits = |pair: usize| self.allowed.is_empty() || self.allowed[pair];
        let run = |first: usize, out: &mut [f64], choice: &mut [u32]| {
            let mut change = Change::NONE;
            for (k, (out, choice)) in out.iter_mut().zip(choice).enumerate() {
                let s = first + k;
                *out = 0.0;
                if !self.ended[s] {
                    let pairs = first_pair[s]..first_pair[s + 1];
                    let (mut best, mut at) = (f64::NEG_INFINITY, *choice as usize);
                    let held = pairs.contains(&at) && permits(at);
                    if held {
                        best = worth(at);
                    }
                    let before = if held { at } else { usize::MAX };
                    for pair in pairs {
                        if pair == before || !permits(pair) {
                            continue;
                        }
                        let value = worth(pair);
                        if value > best + BETTER * best.abs() || best == f64::NEG_INFINITY {
                            (best, at) = (value, pair);
                        }
                    }
                    *out = best;
                    *choice = at as u32;
                }
                change.add(*out - values[s]);
            }
            change
        };
        self.shared(out, choice, run)
    }

    /// $T_\pi V = r_\pi + \gamma P_\pi V$ into `out` for the pairs chosen.
    pub(super) fn follow(&self, values: &[f64], out: &mut [f64], choice: &mut [u32]) -> Change {
        let rows = self.rows(values);
        self.chosen(values, out, choice, |pair| {
            self.reward[pair] + rows.expectation(pair, values)
        })
    }

    /// $\gamma P_\pi V$ into `out` for the pairs chosen.
    pub(super) fn expect_next(&self, values: &[f64], out: &mut [f64], choice: &mut [u32]) {
        let rows = self.rows(values);
        self.chosen(values, out, choice, |pair| rows.expectation(pair, values));
    }

    fn chosen(
        &self,
        values: &[f64],
        out: &mut [f64],
        choice: &mut [u32],
        of_pair: impl Fn(usize) -> f64 + Sync,
    ) -> Change {
        self.shared(out, choice, |first, out, choice| {
            let mut change = Change::NONE;
            for (k, (out, choice)) in out.iter_mut().zip(choice).enumerate() {
                let s = first + k;
                let over = self.ended[s];
                *out = if over { 0.0 } else { of_pair(*choice as usize) };
                change.add(*out - values[s]);
            }
            change
        })
    }

    /// Runs over parts of the states, on all threads where that pays.
    fn shared(
        &self,
        out: &mut [f64],
        choice: &mut [u32],
        run: impl Fn(usize, &mut [f64], &mut [u32]) -> Change + Sync,
    ) -> Change {
        if self.mdp.kernel().nnz() < SHARED {
            return run(0, out, choice);
        }
        let mut changes = vec![Change::NONE; out.len().div_ceil(CHUNK)];
        let parts = out.chunks_mut(CHUNK).zip(choice.chunks_mut(CHUNK));
        let parts = parts.zip(changes.iter_mut()).enumerate();
        share(parts, |(c, ((out, choice), change))| {
            *change = run(c * CHUNK, out, choice);
        });
        merged(&changes)
    }
}

/// The least and the largest of several parts.
pub(super) fn merged(changes: &[Change]) -> Change {
    changes.iter().fold(Change::NONE, |all, part| Change {
        least: all.least.min(part.least),
        most: all.most.max(part.most),
    })
}
