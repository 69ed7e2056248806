//! The normal equations $A K^{-1} A^\top v = b$ of the occupancies' Newton steps.
//!
//! $A$ holds the flow constraints, $(A \omega)(t) = d(t) - (1 - \rho) \sum \omega P(t)$, and $K$ one block per state:
//!
//! $$K_s = \mathrm{diag}(h) + g\, \mathbf 1 \mathbf 1^\top + N^\top \mathrm{diag}(w) N, \qquad N = I - \xi \mathbf 1 \mathbf 1^\top ,$$
//!
//! $h$ and $g$ the curvature of the utility by pairs and by state, $w$ the barrier's weights of $\omega - \xi d \ge 0$. The matrix has the
//! pattern of the [cliques](super::super::cliques). It is solved by conjugate gradients, preconditioned by its diagonal as long as that
//! takes less work than its Cholesky factor would, then by that factor, so that one or two rounds mend the rounding: the nearer to the optimum, the
//! more the weights differ, and the worse the diagonal does. Models whose factor is too large keep to the diagonal. Uniform shares of
//! rows are in the products, but not in the factor.

use super::super::cliques::{Cliques, rounds_worth};
use super::triangle::triangle;
use crate::formulation::occupancy::Occupancies;
use crate::linalg::clique_matrix::CliqueMatrix;
use crate::model::{Kernel, Mdp};

/// Up to this many states a matrix with too many entries is factored densely.
const MOST_DENSE: usize = 1_500;
/// Multiplications that one factorisation may take.
const MOST_WORK: f64 = 3e9;
/// Scaled pivots below this are rounding.
const PIVOT: f64 = 1e-18;
/// What is added to the diagonal of the preconditioner where uniform rows are missing from it.
const WITHOUT_SPREAD: f64 = 1e-9;
/// Rounds with a factor, with a diagonal where there is no factor.
const ROUNDS: (usize, usize) = (40, 1_500);
/// A factor that costs so many times what a right-hand side does is dear.
const DEAR: f64 = 5.0;
/// Right-hand sides in one step that a factor serves.
const RIGHT_HAND_SIDES: f64 = 4.0;
/// Rounds between two questions whether to stop.
const ASK_EVERY: usize = 16;

pub(super) struct Normal<'a> {
    part: &'a Occupancies,
    transposed: Kernel,
    /// Where the $K_s$ are diagonal, as without $\xi$ and entropies of states, one over them; else empty.
    inverse: Vec<f64>,
    /// Lower triangles of the factors of the $K_s$, row by row, with one over their diagonals.
    blocks: Vec<f64>,
    block_offsets: Vec<usize>,
    state_of: Vec<u32>,
    cliques: Cliques,
    matrix: Option<CliqueMatrix>,
    /// Whether the matrix is factored; before that, rounds with the diagonal that cost less than a factor.
    factored: bool,
    patience: usize,
    /// The diagonal of the matrix.
    diagonal: Vec<f64>,
    /// One state of each component, and what is added to its diagonal: without restarts the flow constraints of a component sum to
    /// zero, so that the matrix is singular and potentials are free up to a constant. With the addition it is not, and where the
    /// right-hand sides of each component sum to zero, as they do but for rounding, the solution is the one that is zero there.
    held: Vec<(usize, f64)>,
    /// Whether a free unknown of the border takes the place of one pair, so that with restarts, too, one potential has to be held;
    /// what it adds is then taken back in the border.
    scaled: bool,
    pairs: Vec<f64>,
    /// Room for one state: its rows over its clique, and the square of the clique.
    rows: Vec<f64>,
    local: Vec<f64>,
    weighted: Vec<Vec<f64>>,
}

impl<'a> Normal<'a> {
    pub(super) fn new(part: &'a Occupancies, scaled: bool) -> Self {
        let mdp = part.mdp();
        let n = mdp.n_states();
        let mut block_offsets = vec![0];
        let mut state_of = vec![0u32; mdp.n_pairs()];
        for s in 0..n {
            block_offsets.push(block_offsets[s] + mdp.n_actions(s).pow(2));
            state_of[mdp.pairs(s)].fill(s as u32);
        }
        let cliques = Cliques::new(mdp);
        // a small matrix can be factored whatever its pattern, which need not be analysed before that time has come
        let small = n <= MOST_DENSE;
        let matrix = if small {
            None
        } else {
            cliques.matrix(MOST_DENSE).filter(|m| m.work() <= MOST_WORK)
        };
        let most_actions = mdp.max_actions();
        let work = match &matrix {
            Some(matrix) => Some(matrix.work()),
            None => small.then(|| (n as f64).powi(3) / 3.0),
        };
        let patience = work.map_or(ROUNDS.1, |w| {
            (rounds_worth(mdp, w) / RIGHT_HAND_SIDES) as usize
        });
        Normal {
            factored: false,
            patience,
            transposed: mdp.kernel().transpose(),
            inverse: Vec::new(),
            blocks: vec![0.0; block_offsets[n]],
            block_offsets,
            state_of,
            diagonal: vec![0.0; n],
            held: Vec::new(),
            scaled,
            pairs: vec![0.0; mdp.n_pairs()],
            rows: vec![0.0; most_actions * cliques.largest],
            local: vec![0.0; cliques.largest * cliques.largest],
            weighted: Vec::new(),
            matrix,
            cliques,
            part,
        }
    }

    /// Whether there is a factor to be had.
    pub(super) fn factors(&self) -> bool {
        self.matrix.is_some() || self.diagonal.len() <= MOST_DENSE
    }

    /// Whether it is used.
    pub(super) fn factored(&self) -> bool {
        self.factored
    }

    /// Whether factoring costs many times what another right-hand side does.
    pub(super) fn dear(&self) -> bool {
        let Some(matrix) = self.matrix.as_ref().filter(|_| self.factored) else {
            return false;
        };
        rounds_worth(self.mdp(), matrix.work() - DEAR * matrix.work_of_solution()) > DEAR
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

    /// Takes new curvatures and weights; false where a block is not positive.
    pub(super) fn factor(&mut self, pair: &[f64], state: &[f64], weight: &[f64]) -> bool {
        let (mdp, xi) = (self.mdp(), self.part.xi());
        self.inverse.clear();
        if xi == 0.0 && state.iter().all(|g| *g == 0.0) {
            let sums = pair.iter().zip(weight).map(|(h, w)| h + w);
            self.inverse.extend(sums.map(|k| 1.0 / k));
            if !self.inverse.iter().all(|x| *x > 0.0 && x.is_finite()) {
                return false;
            }
        } else {
            for s in 0..mdp.n_states() {
                let pairs = mdp.pairs(s);
                let (h, w) = (&pair[pairs.clone()], &weight[pairs]);
                let block = &mut self.blocks[self.block_offsets[s]..self.block_offsets[s + 1]];
                if !triangle(block, &mut self.weighted, h, state[s], w, xi) {
                    return false;
                }
            }
        }
        let now = self.factors() && (self.factored || self.patience == 0);
        self.sum_squares(now);
        self.hold();
        if now {
            return self.factor_sum();
        }
        self.diagonal.iter().all(|x| x.is_finite())
    }

    /// Factors the matrix that was summed up.
    fn factor_sum(&mut self) -> bool {
        self.factored = true;
        let Some(matrix) = &mut self.matrix else {
            return false;
        };
        for &(s, _) in &self.held {
            matrix.double_diagonal(s);
        }
        if self.part.mdp().kernel().has_spread() {
            let extra: Vec<f64> = self.diagonal.iter().map(|x| WITHOUT_SPREAD * x).collect();
            matrix.add_diagonal(&extra);
        }
        matrix.factor(PIVOT)
    }

    /// Multiplies by $K^{-1}$, in place.
    pub(super) fn divide(&self, x: &mut [f64]) {
        if !self.inverse.is_empty() {
            return x.iter_mut().zip(&self.inverse).for_each(|(x, k)| *x *= k);
        }
        let mdp = self.mdp();
        for s in 0..mdp.n_states() {
            let block = &self.blocks[self.block_offsets[s]..self.block_offsets[s + 1]];
            let row = &mut x[mdp.pairs(s)];
            forward(block, row, 1);
            backward(block, row);
        }
    }

    /// The matrix and its diagonal, or the diagonal alone.
    fn sum_squares(&mut self, whole: bool) {
        if whole && self.matrix.is_none() {
            self.matrix = self.cliques.matrix(MOST_DENSE);
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
            let pairs = mdp.pairs(s);
            let (n, first) = (pairs.len(), pairs.start);
            let clique = self.cliques.offsets[s]..self.cliques.offsets[s + 1];
            let width = clique.len();
            let rows = &mut self.rows[..n * width];
            rows.fill(0.0);
            for pair in pairs {
                let row = &mut rows[(pair - first) * width..][..width];
                row[self.cliques.own_places[s] as usize] = 1.0;
                for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                    row[self.cliques.entry_places[e] as usize] -= stay * kernel.values()[e];
                }
            }
            if self.inverse.is_empty() {
                let block = &self.blocks[self.block_offsets[s]..self.block_offsets[s + 1]];
                forward(block, rows, width);
            } else {
                let inverse = &self.inverse[first..first + n];
                for (row, k) in rows.chunks_mut(width).zip(inverse) {
                    let root = k.sqrt();
                    row.iter_mut().for_each(|x| *x *= root);
                }
            }
            for (j, &t) in self.cliques.members[clique].iter().enumerate() {
                let squares = (0..n).map(|a| rows[a * width + j].powi(2));
                self.diagonal[t as usize] += squares.sum::<f64>();
            }
            let Some(matrix) = &mut matrix else {
                continue;
            };
            let local = &mut self.local[..width * width];
            local.fill(0.0);
            for row in rows.chunks(width) {
                for j in 0..width {
                    if row[j] != 0.0 {
                        for i in j..width {
                            local[j * width + i] += row[j] * row[i];
                        }
                    }
                }
            }
            matrix.add_clique(s, local);
        }
    }

    /// Chooses the states with the largest diagonals: what rounding leaves of the sums is divided by them. With restarts it is the
    /// likeliest start: the free unknown is the scale of what starts there.
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

    /// $A K^{-1} A^\top v$, with what holds the potentials.
    fn apply(&mut self, v: &[f64], out: &mut [f64]) {
        let mut pairs = std::mem::take(&mut self.pairs);
        self.columns(v, &mut pairs);
        self.divide(&mut pairs);
        self.rows(&pairs, out);
        self.pairs = pairs;
        self.hold_potentials(v, 1.0, out);
    }

    fn precondition(&mut self, residual: &[f64], out: &mut [f64]) {
        out.copy_from_slice(residual);
        match &mut self.matrix {
            Some(matrix) if self.factored => matrix.solve(out),
            _ => {
                for (x, d) in out.iter_mut().zip(&self.diagonal) {
                    *x /= d.max(f64::MIN_POSITIVE);
                }
            }
        }
    }

    /// What the factor makes of a right-hand side.
    pub(super) fn by_factor(&mut self, right: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; right.len()];
        self.precondition(right, &mut x);
        x
    }

    /// Solves the equations to a relative accuracy.
    pub(super) fn solve(
        &mut self,
        right: &[f64],
        wanted: f64,
        expired: &mut dyn FnMut() -> bool,
    ) -> Vec<f64> {
        let (x, there) = self.conjugate_gradients(right, wanted, expired);
        if there || self.factored || !self.factors() || expired() {
            return x;
        }
        self.sum_squares(true);
        if self.factor_sum() {
            return self.conjugate_gradients(right, wanted, expired).0;
        }
        x
    }

    /// Returns also whether it came as close as wanted.
    fn conjugate_gradients(
        &mut self,
        right: &[f64],
        wanted: f64,
        expired: &mut dyn FnMut() -> bool,
    ) -> (Vec<f64>, bool) {
        let n = right.len();
        let mut x = vec![0.0; n];
        let mut residual = right.to_vec();
        let mut left = weighed(&residual, &self.diagonal);
        let enough = wanted * wanted * left;
        let (mut scaled, mut product) = (vec![0.0; n], vec![0.0; n]);
        let mut conjugate = vec![0.0; n];
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut rho = 0.0;
        let rounds = if self.factored {
            ROUNDS.0
        } else {
            self.patience
        };
        let (mut best, mut worse) = (f64::INFINITY, 0);
        for round in 0..rounds {
            if !(left > enough) {
                return (x, true);
            }
            // rounding has the last word: no progress, no further rounds
            if left < 0.25 * best {
                (best, worse) = (left, 0);
            } else {
                worse += 1;
                if self.factored && worse > 4 {
                    break;
                }
            }
            if round % ASK_EVERY == ASK_EVERY - 1 && expired() {
                break;
            }
            self.precondition(&residual, &mut scaled);
            let next = dot(&residual, &scaled);
            let momentum = if round > 0 { next / rho } else { 0.0 };
            rho = next;
            for i in 0..n {
                conjugate[i] = scaled[i] + momentum * conjugate[i];
            }
            self.apply(&conjugate, &mut product);
            let curvature = dot(&product, &conjugate);
            if !(curvature > 0.0) {
                break;
            }
            let step = rho / curvature;
            for i in 0..n {
                x[i] += step * conjugate[i];
                residual[i] -= step * product[i];
            }
            left = weighed(&residual, &self.diagonal);
        }
        (x, !(left > enough))
    }
}

/// The square of a residual, by the diagonal: it tells when to stop without another solution by the factor.
fn weighed(residual: &[f64], diagonal: &[f64]) -> f64 {
    let squares = residual.iter().zip(diagonal);
    squares.map(|(r, d)| r * r / d.max(f64::MIN_POSITIVE)).sum()
}

/// $L^{-1}$ times `width` columns that stand beside one another, in place.
fn forward(block: &[f64], x: &mut [f64], width: usize) {
    let n = x.len() / width;
    for a in 0..n {
        let (before, rest) = x.split_at_mut(a * width);
        let row = &mut rest[..width];
        for (b, done) in before.chunks(width).enumerate() {
            let factor = block[a * n + b];
            row.iter_mut().zip(done).for_each(|(x, y)| *x -= factor * y);
        }
        let pivot = block[a * n + a];
        row.iter_mut().for_each(|x| *x *= pivot);
    }
}

/// $L^{-\top} x$, in place.
fn backward(block: &[f64], x: &mut [f64]) {
    let n = x.len();
    for a in (0..n).rev() {
        let known: f64 = (a + 1..n).map(|b| block[b * n + a] * x[b]).sum();
        x[a] = (x[a] - known) * block[a * n + a];
    }
}
