//! Rows that are independent of each other but for the columns they fill.
//!
//! The three distances are quadratic programs of one shape. State $s$ has its policy,
//! $\pi_s = \xi + m_s p_s$ with $p_s$ in the simplex, and numbers on the *cells* of its row; states
//! meet only in the sums of the columns. This is the common data: the cells, and the matrix
//! $m_s P_s$ on them.
//!
//! Actions of a state with the same row do the same: moves against walls, pairs never tried. They
//! are one action here, whose $p$ its copies share evenly, as they do in the policy nearest to a
//! point that does not tell them apart.

use std::ops::Range;

use crate::formulation::reduction::copies::Distinct;
use crate::formulation::simplex;
use crate::formulation::support::Support;
use crate::model::Mdp;
use crate::solve::cost::SizeLimits;
use ide3al_numerics::clique_matrix::{MOST_CELLS, cells as cells_of};
use ide3al_numerics::parallel::{blocks, dot, total};

/// A state whose probabilities can move by less than this in all does not move.
const LEAST_MASS: f64 = 1e-11;

/// The rows of a model: which cells each has, and the matrix $P_s$ on them.
pub(in crate::solve) struct TransitionRows {
    pub(in crate::solve) xi: f64,
    /// Free mass $m_s$.
    mass: Vec<f64>,
    /// Actions of state `s` that can move are `first[s]..first[s + 1]`,
    pub(in crate::solve) first: Vec<usize>,
    /// and each stands for copies among the model's pairs: the distinct action `free[i]`.
    free: Vec<usize>,
    distinct: Distinct,
    /// Cells of state `s`, and their columns.
    pub(in crate::solve) offsets: Vec<usize>,
    pub(in crate::solve) columns: Vec<u32>,
    /// The states that some action reaches, and the cells of these.
    support: Support,
    reach: Vec<u32>,
    /// $m_s P_s$ on the cells reached, action by action.
    pub(super) values: Vec<f64>,
    pub(super) value_offsets: Vec<usize>,
    /// The same without its zeros, for products: cells and values of free action `i` are
    /// `entry_offsets[i]..entry_offsets[i + 1]`.
    entry_offsets: Vec<usize>,
    entry_cells: Vec<u32>,
    entry_values: Vec<f64>,
    /// The policy of the states that do not move, zero elsewhere.
    fixed_policy: Vec<f64>,
    cells: Cells,
}

/// Which cells a row has.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::solve) enum Cells {
    /// Those that some action reaches, the uniform share of its row left out.
    Reached,
    /// Those that some action reaches, its uniform share included.
    Filled,
    /// All.
    All,
}

impl Cells {
    /// Whether no row has a cell in every column.
    fn are_few(self, mdp: &Mdp) -> bool {
        self == Cells::Reached || (self == Cells::Filled && !mdp.kernel().has_spread())
    }
}

/// Whether some action of the state has a uniform share.
fn is_shared(mdp: &Mdp, s: usize) -> bool {
    let kernel = mdp.kernel();
    mdp.pairs(s).any(|pair| kernel.spread_of(pair) > 0.0)
}

/// Cells or columns that follow each other without a gap, as those of a row that reaches every
/// state do, are a slice of any vector over them.
fn run_of(ascending: &[u32]) -> Option<Range<usize>> {
    let (first, last) = (*ascending.first()? as usize, *ascending.last()? as usize);
    (last - first + 1 == ascending.len()).then_some(first..last + 1)
}

/// The cells that have an upper bound of their own: none where $\zeta = 1$, as no probability
/// exceeds one.
pub(in crate::solve) fn capped(cells: Range<usize>, zeta: f64) -> Range<usize> {
    if zeta < 1.0 { cells } else { 0..0 }
}

impl TransitionRows {
    /// Nothing where the columns' system could not be held in any case: it is asked before anything
    /// of that size is made. `centre` is the point to which the nearest policy may be wanted.
    pub(in crate::solve) fn new(
        mdp: &Mdp,
        xi: f64,
        centre: &[f64],
        cells: Cells,
        limits: SizeLimits,
    ) -> Option<Self> {
        let n = mdp.n_states();
        if n > limits.order && !cells.are_few(mdp) {
            return None;
        }
        // each row with a cell in every column takes the square of these in a step
        let every = (0..n).filter(|s| cells != Cells::Reached && is_shared(mdp, *s));
        if every.count() as f64 * (n as f64).powi(2) > limits.work {
            return None;
        }
        let support = if cells == Cells::Reached {
            Support::new(mdp)
        } else {
            Support::filled(mdp)
        };
        // a sparse columns' matrix holds all rows' squares together, and each row a number for
        // every action and cell
        let squares = support.offsets.windows(2).map(|w| cells_of(w[1] - w[0]));
        let rows = support.offsets.windows(2).enumerate();
        let numbers = rows.map(|(s, w)| mdp.n_actions(s) * (w[1] - w[0]));
        let most = squares.sum::<usize>().max(numbers.sum());
        if n > limits.order && most > MOST_CELLS {
            return None;
        }
        let (offsets, columns, reach) = if cells == Cells::All {
            let offsets = (0..=n).map(|s| s * n).collect();
            let columns = (0..n).flat_map(|_| 0..n as u32).collect();
            let cells_of = |s| {
                support.columns[support.row(s)]
                    .iter()
                    .map(move |t| (s * n) as u32 + t)
            };
            (offsets, columns, (0..n).flat_map(cells_of).collect())
        } else {
            let reach = (0..support.len() as u32).collect();
            (support.offsets.clone(), support.columns.clone(), reach)
        };
        let mut rows = TransitionRows {
            xi,
            mass: Vec::with_capacity(n),
            first: vec![0],
            free: Vec::new(),
            distinct: Distinct::new(mdp, |pair| centre[pair].to_bits()),
            offsets,
            columns,
            reach,
            values: Vec::new(),
            value_offsets: vec![0],
            entry_offsets: vec![0],
            entry_cells: Vec::new(),
            entry_values: Vec::new(),
            fixed_policy: vec![0.0; mdp.n_pairs()],
            cells,
            support,
        };
        for s in 0..n {
            let pairs = mdp.pairs(s);
            let slots = rows.support.row(s);
            let mass = simplex::free_mass(pairs.len(), xi);
            rows.mass.push(mass);
            let actions = rows.distinct.first[s]..rows.distinct.first[s + 1];
            if actions.len() > 1 && mass > LEAST_MASS {
                for action in actions {
                    rows.free.push(action);
                    rows.push_action(mdp, rows.distinct.copies(action)[0], mass, slots.clone());
                }
            } else {
                let uniform = 1.0 / pairs.len() as f64;
                rows.fixed_policy[pairs].fill(uniform);
            }
            rows.first.push(rows.free.len());
            rows.value_offsets.push(rows.values.len());
        }
        Some(rows)
    }

    /// Appends an action that can move, with the row of `pair`, to a state whose reached cells are
    /// `slots`.
    fn push_action(&mut self, mdp: &Mdp, pair: usize, mass: f64, slots: Range<usize>) {
        let kernel = mdp.kernel();
        let start = self.values.len();
        let share = if self.cells == Cells::Reached {
            0.0
        } else {
            kernel.spread_of(pair) / mdp.n_states() as f64
        };
        self.values.resize(start + slots.len(), mass * share);
        for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
            let slot = self.support.slots[e] as usize - slots.start;
            self.values[start + slot] += mass * kernel.values()[e];
        }
        for (cell, x) in self.reach[slots].iter().zip(&self.values[start..]) {
            if *x != 0.0 {
                self.entry_cells.push(*cell);
                self.entry_values.push(*x);
            }
        }
        self.entry_offsets.push(self.entry_cells.len());
    }

    /// The cells of state `s` that some action reaches.
    pub(super) fn reach(&self, s: usize) -> &[u32] {
        &self.reach[self.support.row(s)]
    }

    /// The states that some action reaches; where not all states are cells, these are the cells.
    pub(in crate::solve) fn support(&self) -> &Support {
        &self.support
    }

    /// The cells that some action reaches, of all states.
    pub(in crate::solve) fn all_reached(&self) -> &[u32] {
        &self.reach
    }

    pub(in crate::solve) fn n_states(&self) -> usize {
        self.mass.len()
    }

    pub(in crate::solve) fn n_cells(&self) -> usize {
        self.columns.len()
    }

    pub(in crate::solve) fn n_free(&self) -> usize {
        self.free.len()
    }

    /// The pairs that an action which can move stands for.
    pub(in crate::solve) fn pairs_of(&self, i: usize) -> &[usize] {
        self.distinct.copies(self.free[i])
    }

    /// The policy that $p$ stands for.
    pub(in crate::solve) fn policy(&self, p: &[f64]) -> Vec<f64> {
        let mut policy = self.fixed_policy.clone();
        for s in 0..self.n_states() {
            for i in self.first[s]..self.first[s + 1] {
                let pairs = self.pairs_of(i);
                let own = self.xi + self.mass[s] * p[i] / pairs.len() as f64;
                pairs.iter().for_each(|pair| policy[*pair] = own);
            }
        }
        policy
    }

    /// $M$ on the cells for $p = 0$, without the uniform shares of rows that are not filled: what
    /// the floor $\xi$ and the states that do not move put there.
    pub(in crate::solve) fn base(&self, mdp: &Mdp) -> Vec<f64> {
        let mut policy = self.fixed_policy.clone();
        for i in 0..self.n_free() {
            self.pairs_of(i)
                .iter()
                .for_each(|pair| policy[*pair] = self.xi);
        }
        let (n, support) = (self.n_states(), &self.support);
        let (mut on_slots, mut shares) = (vec![0.0; support.len()], vec![0.0; n]);
        support.assemble(mdp, &policy, &mut on_slots, &mut shares);
        let mut out = vec![0.0; self.n_cells()];
        for s in 0..n {
            let share = if self.cells == Cells::Reached {
                0.0
            } else {
                shares[s] / n as f64
            };
            for (cell, m) in self.reach(s).iter().zip(&on_slots[support.row(s)]) {
                out[*cell as usize] = share + m;
            }
        }
        out
    }

    /// What the free actions of each state add up to: one, or nothing where none moves.
    pub(in crate::solve) fn simplexes(&self) -> Vec<f64> {
        let moves = |w: &[usize]| if w[0] < w[1] { 1.0 } else { 0.0 };
        self.first.windows(2).map(moves).collect()
    }

    /// The cells that a free action reaches, with its values there.
    #[inline]
    pub(super) fn entries(&self, i: usize) -> impl Iterator<Item = (usize, f64)> {
        let (cells, values) = self.reached(i);
        cells
            .iter()
            .zip(values)
            .map(|(cell, x)| (*cell as usize, *x))
    }

    fn reached(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.entry_offsets[i]..self.entry_offsets[i + 1];
        (&self.entry_cells[range.clone()], &self.entry_values[range])
    }

    /// `out` $= P^\top p$ on the cells.
    pub(in crate::solve) fn transpose_times(&self, p: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (i, p) in p[..self.n_free()].iter().enumerate() {
            let (cells, values) = self.reached(i);
            if let Some(run) = run_of(cells) {
                let run = out[run].iter_mut().zip(values);
                run.for_each(|(out, x)| *out += p * x);
            } else {
                self.entries(i).for_each(|(cell, x)| out[cell] += p * x);
            }
        }
    }

    /// `out` $= P^\top p$ summed by column.
    pub(in crate::solve) fn column_sums_of(&self, p: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (i, p) in p[..self.n_free()].iter().enumerate() {
            self.entries(i)
                .for_each(|(cell, x)| out[self.columns[cell] as usize] += p * x);
        }
    }

    /// `out` $= P v$ for a vector over cells.
    pub(in crate::solve) fn times(&self, v: &[f64], out: &mut [f64]) {
        for (i, out) in out[..self.n_free()].iter_mut().enumerate() {
            let (cells, values) = self.reached(i);
            *out = match run_of(cells) {
                Some(run) => v[run].iter().zip(values).map(|(v, x)| v * x).sum(),
                None => self.entries(i).map(|(cell, x)| v[cell] * x).sum(),
            };
        }
    }

    /// `out` $= P v$ for a vector over columns.
    pub(in crate::solve) fn times_columns(&self, v: &[f64], out: &mut [f64]) {
        let at = |cell: usize| v[self.columns[cell] as usize];
        for (i, out) in out[..self.n_free()].iter_mut().enumerate() {
            *out = self.entries(i).map(|(cell, x)| at(cell) * x).sum();
        }
    }

    /// Free mass $m_s$.
    pub(in crate::solve) fn mass(&self, s: usize) -> f64 {
        self.mass[s]
    }

    /// `out[s]` $= \sum_i$ `p` over the free actions of each state.
    pub(in crate::solve) fn sums(&self, p: &[f64], out: &mut [f64]) {
        for (out, w) in out.iter_mut().zip(self.first.windows(2)) {
            *out = p[w[0]..w[1]].iter().sum();
        }
    }

    /// The columns of a state's cells.
    fn columns_of(&self, s: usize) -> &[u32] {
        &self.columns[self.offsets[s]..self.offsets[s + 1]]
    }

    /// `out[t]` $=$ the sum of a vector over the cells of each column.
    pub(in crate::solve) fn column_sums(&self, cells: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        self.add_to_columns(cells, 1.0, out);
    }

    /// Adds `scale` times a vector over cells to the columns that these lie in.
    pub(in crate::solve) fn add_to_columns(&self, cells: &[f64], scale: f64, out: &mut [f64]) {
        for s in 0..self.n_states() {
            let columns = self.columns_of(s);
            let row = &cells[self.offsets[s]..self.offsets[s + 1]];
            if let Some(run) = run_of(columns) {
                let run = out[run].iter_mut().zip(row);
                run.for_each(|(out, x)| *out += scale * x);
            } else {
                let row = columns.iter().zip(row);
                row.for_each(|(t, x)| out[*t as usize] += scale * x);
            }
        }
    }

    /// `out[s]` $=$ the sum of a vector over the cells of each row.
    pub(in crate::solve) fn row_sums(&self, cells: &[f64], out: &mut [f64]) {
        for (out, w) in out.iter_mut().zip(self.offsets.windows(2)) {
            *out = total(&cells[w[0]..w[1]]);
        }
    }

    /// `out` $= a_s + b_t$ on the cells.
    pub(in crate::solve) fn outer_sums(&self, a: &[f64], b: &[f64], out: &mut [f64]) {
        blocks(&self.offsets, out, |s, row| {
            self.outer_sums_of(s, a[s], b, row)
        });
    }

    /// The same on the cells of one state.
    pub(super) fn outer_sums_of(&self, s: usize, own: f64, b: &[f64], out: &mut [f64]) {
        let columns = self.columns_of(s);
        if let Some(run) = run_of(columns) {
            let run = out.iter_mut().zip(&b[run]);
            run.for_each(|(out, b)| *out = own + b);
        } else {
            let row = out.iter_mut().zip(columns);
            row.for_each(|(out, t)| *out = own + b[*t as usize]);
        }
    }

    /// $\sum_t v_t b_t$ over the cells of one state.
    pub(super) fn dot_columns(&self, s: usize, v: &[f64], b: &[f64]) -> f64 {
        let columns = self.columns_of(s);
        match run_of(columns) {
            Some(run) => dot(v, &b[run]),
            None => (v.iter().zip(columns))
                .map(|(v, t)| v * b[*t as usize])
                .sum(),
        }
    }
}
