//! The normal equations $A K^{-1} A^\top v = b$ of the occupancies' Newton steps.
//!
//! $A$ holds the flow constraints, $(A \omega)(t) = d(t) - (1 - \rho) \sum \omega P(t)$, and $K$
//! one block per state:
//!
//! $$K_s = \mathrm{diag}(h) + g\, \mathbf 1 \mathbf 1^\top + N^\top \mathrm{diag}(w) N, \qquad N = I - \xi \mathbf 1 \mathbf 1^\top ,$$
//!
//! $h$ and $g$ the curvature of the utility by pairs and by state, $w$ the barrier's weights of
//! $\omega - \xi d \ge 0$. The matrix has the pattern of the [cliques](super::super::cliques). It
//! is solved by conjugate gradients, preconditioned by its diagonal as long as that takes less work
//! than its Cholesky factor would, then by that factor, so that one or two rounds mend the rounding
//! (see [`solution`](super::solution)): the nearer to the optimum, the more the weights differ, and
//! the worse the diagonal does. Models whose factor is too large keep to the diagonal. Uniform
//! shares of rows are in the products, but not in the factor.

use super::super::cliques::{Cliques, rounds_worth};
use super::blocks::Blocks;
use crate::formulation::occupancy::Occupancies;
use crate::model::{Kernel, Mdp};
use crate::solve::size::DENSE;
use ide3al_numerics::clique_matrix::CliqueMatrix;
use ide3al_numerics::parallel::add;

/// Pivots below this share of their diagonal entries are rounding.
const PIVOT: f64 = 1e-18;
/// The share that is added to the diagonal of the preconditioner where uniform rows are missing
/// from it: without them it may be singular.
const WITHOUT_SPREAD: f64 = 1e-9;
/// Rounds of conjugate gradients with the diagonal where there is no factor: it limits the time of
/// one solution.
const MOST_ROUNDS: usize = 1_500;
/// Right-hand sides in one step that a factor serves: predictor, corrector, the column of the sum,
/// and now and then one more.
const RIGHT_HAND_SIDES: f64 = 4.0;
/// Relative accuracy of solutions with a factor: near the end multipliers differ by more than
/// floating point has digits, and whatever a direction lacks is lost. Before a factor is needed
/// four digits will do. Where there is none it is the mean of the products, between two values.
const ACCURATE: f64 = 1e-13;
const BEFORE_A_FACTOR: f64 = 1e-4;
const WITHOUT_A_FACTOR: (f64, f64) = (1e-7, 1e-2);
/// Flows that a solution with a factor leaves open are small beside this share of what was asked,
/// times the mean of the products, between two values: in the end what a policy visits follows from
/// its flows, by a chain that may hardly mix.
const FLOW_LEFT: f64 = 1e-9;
const FLOW_BETWEEN: (f64, f64) = (1e-16, 1e-10);

pub(super) struct Normal<'a> {
    part: &'a Occupancies,
    transposed: Kernel,
    pub(super) blocks: Blocks<'a>,
    state_of: Vec<u32>,
    cliques: Cliques,
    pub(super) matrix: Option<CliqueMatrix>,
    /// Whether the matrix is factored; before that, rounds with the diagonal that cost less than a
    /// factor.
    pub(super) factored: bool,
    pub(super) patience: usize,
    /// How well equations are to be solved: relative to the right-hand side, and the share of the
    /// flow that may be left open.
    pub(super) accuracy: f64,
    pub(super) flow_left: f64,
    /// The diagonal of the matrix.
    pub(super) diagonal: Vec<f64>,
    /// One state of each component, and what is added to its diagonal: without restarts the flow
    /// constraints of a component sum to zero, so that the matrix is singular and potentials are
    /// free up to a constant. With the addition it is not, and where the right-hand sides of each
    /// component sum to zero, as they do but for rounding, the solution is the one that is zero
    /// there.
    held: Vec<(usize, f64)>,
    /// Whether a free unknown of the border takes the place of one pair, so that with restarts,
    /// too, one potential has to be held; what it adds is then taken back in the border.
    scaled: bool,
    pub(super) pairs: Vec<f64>,
    /// Room for one state: three rows over its clique, and the square of the clique.
    rows: [Vec<f64>; 3],
    local: Vec<f64>,
}

impl<'a> Normal<'a> {
    pub(super) fn new(part: &'a Occupancies, scaled: bool) -> Self {
        let mdp = part.mdp();
        let n = mdp.n_states();
        let mut state_of = vec![0u32; mdp.n_pairs()];
        for s in 0..n {
            state_of[mdp.pairs(s)].fill(s as u32);
        }
        let cliques = Cliques::new(mdp);
        // a small matrix can be factored whatever its pattern, which need not be analysed before
        // that time has come
        let small = n <= DENSE.order;
        let matrix = if small {
            None
        } else {
            cliques
                .matrix(DENSE.order)
                .filter(|m| m.work() <= DENSE.work)
        };
        let work = match &matrix {
            Some(matrix) => Some(matrix.work()),
            None => small.then(|| (n as f64).powi(3) / 3.0),
        };
        let patience = work.map_or(MOST_ROUNDS, |w| {
            (rounds_worth(mdp, w) / RIGHT_HAND_SIDES) as usize
        });
        Normal {
            factored: false,
            patience,
            accuracy: BEFORE_A_FACTOR,
            flow_left: FLOW_BETWEEN.0,
            transposed: mdp.kernel().transpose(),
            blocks: Blocks::new(mdp, part.xi()),
            state_of,
            diagonal: vec![0.0; n],
            held: Vec::new(),
            scaled,
            pairs: vec![0.0; mdp.n_pairs()],
            rows: std::array::from_fn(|_| vec![0.0; cliques.largest]),
            local: vec![0.0; cliques.largest * cliques.largest],
            matrix,
            cliques,
            part,
        }
    }

    /// Whether there is a factor to be had.
    pub(super) fn factors(&self) -> bool {
        self.matrix.is_some() || self.diagonal.len() <= DENSE.order
    }

    fn mdp(&self) -> &'a Mdp {
        self.part.mdp()
    }

    /// $A^\top v$, per pair.
    pub(super) fn columns(&self, v: &[f64], out: &mut [f64]) {
        let here = |pair: usize| v[self.state_of[pair] as usize];
        self.mdp().kernel().times_relative(v, &here, out);
        let restart = self.part.restart();
        for (pair, x) in out.iter_mut().enumerate() {
            *x = restart * here(pair) - (1.0 - restart) * *x;
        }
    }

    /// $A \omega$, per state.
    pub(super) fn rows(&self, omega: &[f64], out: &mut [f64]) {
        let mdp = self.mdp();
        mdp.kernel().arrivals(&self.transposed, omega, out);
        let stay = 1.0 - self.part.restart();
        for (s, x) in out.iter_mut().enumerate() {
            let d: f64 = omega[mdp.pairs(s)].iter().sum();
            *x = d - stay * *x;
        }
    }

    /// Takes new curvatures and weights, and the mean of the products; false where a block is not
    /// positive.
    pub(super) fn factor(&mut self, pair: &[f64], state: &[f64], weight: &[f64], mu: f64) -> bool {
        if !self.blocks.factor(pair, state, weight) {
            return false;
        }
        let now = self.factors() && (self.factored || self.patience == 0);
        self.sum_squares(now);
        self.hold();
        let sound = if now {
            self.factor_sum()
        } else {
            self.diagonal.iter().all(|x| x.is_finite())
        };
        self.accuracy = match (self.factored, self.factors()) {
            (true, _) => ACCURATE,
            (_, true) => BEFORE_A_FACTOR,
            _ => mu.clamp(WITHOUT_A_FACTOR.0, WITHOUT_A_FACTOR.1),
        };
        self.flow_left = (FLOW_LEFT * mu).clamp(FLOW_BETWEEN.0, FLOW_BETWEEN.1);
        sound
    }

    /// Factors the matrix that was summed up.
    pub(super) fn factor_sum(&mut self) -> bool {
        self.factored = true;
        let Some(matrix) = &mut self.matrix else {
            return false;
        };
        for &(s, _) in &self.held {
            matrix.double_diagonal(s);
        }
        if self.part.mdp().kernel().has_spread() {
            matrix.add_diagonal(&self.diagonal, WITHOUT_SPREAD);
        }
        matrix.factor(PIVOT)
    }

    /// The matrix and its diagonal, or the diagonal alone.
    pub(super) fn sum_squares(&mut self, whole: bool) {
        if whole && self.matrix.is_none() {
            self.matrix = self.cliques.matrix(DENSE.order);
        }
        let mdp = self.part.mdp();
        let kernel = mdp.kernel();
        let stay = 1.0 - self.part.restart();
        let mut matrix = self.matrix.as_mut().filter(|_| whole);
        self.diagonal.fill(0.0);
        if let Some(matrix) = &mut matrix {
            matrix.clear();
        }
        for s in 0..mdp.n_states() {
            let clique = self.cliques.offsets[s]..self.cliques.offsets[s + 1];
            let width = clique.len();
            let places = &self.cliques.entry_places;
            let add_row = |pair: usize, scale: f64, row: &mut [f64]| {
                for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                    row[places[e] as usize] += scale * kernel.values()[e];
                }
            };
            // the square of the clique, or its diagonal
            let stride = if matrix.is_some() { width } else { 0 };
            let local = &mut self.local[..width * stride.max(1)];
            local.fill(0.0);
            let [row, mean, together] = &mut self.rows;
            let [row, mean, together] = [row, mean, together].map(|room| &mut room[..width]);
            mean.fill(0.0);
            together.fill(0.0);
            together[self.cliques.own_places[s] as usize] = 1.0;
            let (parts, first) = (self.blocks.of(s), mdp.pairs(s).start);
            for (i, (u, c)) in parts.free.iter().zip(parts.together).enumerate() {
                add_row(first + i, -stay * c, together);
                if i != parts.reference {
                    row.fill(0.0);
                    add_row(first + i, -stay, row);
                    add_row(first + parts.reference, stay, row);
                    add(mean, *u, row);
                    add_square(local, stride, row, *u);
                }
            }
            add_square(local, stride, mean, -parts.exchange_weight);
            add_square(local, stride, together, parts.together_weight);
            for (j, &t) in self.cliques.members[clique].iter().enumerate() {
                self.diagonal[t as usize] += local[j * (stride + 1)];
            }
            if let Some(matrix) = &mut matrix {
                matrix.add_clique(s, local);
            }
        }
    }

    /// Chooses the states with the largest diagonals: what rounding leaves of the sums is divided
    /// by them. With restarts it is the likeliest start: the free unknown is the scale of what
    /// starts there.
    fn hold(&mut self) {
        self.held.clear();
        let start = self.part.mdp().start();
        if self.part.restart() > 0.0 {
            if self.scaled {
                let likeliest = (0..start.len()).max_by(|a, b| start[*a].total_cmp(&start[*b]));
                let held = likeliest.map(|s| (s, self.diagonal[s]));
                self.held.extend(held);
            }
        } else if self.factors() {
            let mut largest = std::collections::BTreeMap::new();
            for (s, x) in self.diagonal.iter().enumerate() {
                let best = largest.entry(self.part.component()[s]).or_insert((s, *x));
                if *x > best.1 {
                    *best = (s, *x);
                }
            }
            self.held.extend(largest.into_values());
        }
    }

    /// The potential that the border has to set free again, and what was added to its diagonal.
    pub(super) fn to_set_free(&self) -> Option<(usize, f64)> {
        let free = self.part.restart() > 0.0;
        self.held.first().copied().filter(|_| free)
    }

    /// Adds so many times what holding potentials adds to the product of the matrix with them.
    pub(super) fn hold_potentials(&self, v: &[f64], times: f64, out: &mut [f64]) {
        for &(s, extra) in &self.held {
            out[s] += times * extra * v[s];
        }
    }
}

/// Adds a weighted square of a row to the upper half of a row-major matrix; without a stride to its
/// diagonal alone.
fn add_square(local: &mut [f64], stride: usize, row: &[f64], weight: f64) {
    if stride == 0 {
        local
            .iter_mut()
            .zip(row)
            .for_each(|(o, x)| *o += weight * x * x);
        return;
    }
    for (j, x) in row.iter().enumerate().filter(|x| *x.1 != 0.0) {
        let scaled = weight * x;
        let target = &mut local[j * stride + j..(j + 1) * stride];
        target
            .iter_mut()
            .zip(&row[j..])
            .for_each(|(o, y)| *o += scaled * y);
    }
}
