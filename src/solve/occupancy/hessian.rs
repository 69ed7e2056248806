//! Matrices that couple the successors of each state, assembled and factored sparsely.
//!
//! The Hessian of the entropies' dual and the normal equations of Column Sum have one thing in
//! common: state $s$ contributes on its *clique* only, itself and its successors under any
//! action, by a weighted covariance of its actions' rows. The pattern is the union of the cliques and
//! never changes, so it is ordered and analysed once; a Newton step then costs the sum of squared
//! clique sizes and one sparse Cholesky factorisation.
//!
//! Uniform rows of estimated models reach every state, but only through the mean of the unknowns: with
//! $e = \mathbf 1 / S$ a row is $P_s + c_s e^\top$ and the matrix is
//! $H + h e^\top + e h^\top + \eta e e^\top$ with the same sparse $H$, so that two more solves with its
//! factor make up for them.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::prelude::ReborrowMut;
use faer::sparse::linalg::cholesky::{LltRef, SymbolicCholesky, factorize_symbolic_cholesky};
use faer::sparse::{SparseColMat, SymbolicSparseColMat};
use faer::{Conj, Mat, Par, Side};

use crate::model::Mdp;

/// Most pairs of clique members, over all states.
const MOST_PAIRS: usize = 20_000_000;
/// Most numbers in the factor.
const MOST_FILL: usize = 60_000_000;

pub(super) struct Hessian {
    /// Cliques, state by state.
    members: Vec<u32>,
    offsets: Vec<usize>,
    /// Place of each kernel entry's column, and of the state itself, in the state's clique.
    entry_places: Vec<u32>,
    own_places: Vec<u32>,
    /// For each state a square of places in the matrix, lower triangle used.
    places: Vec<u32>,
    place_offsets: Vec<usize>,
    diagonal: Vec<u32>,
    matrix: SparseColMat<u32, f64>,
    symbolic: SymbolicCholesky<u32>,
    factor: Vec<f64>,
    buffer: MemBuffer,
    right: Mat<f64>,
    local: Vec<f64>,
    flow: Vec<f64>,
    mean: Vec<f64>,
    hub: Option<Hub>,
}

/// The uniform rows' part.
struct Hub {
    /// $h$ and $\eta$.
    border: Vec<f64>,
    corner: f64,
    /// $H^{-1} h$ and $H^{-1} e$.
    border_solved: Vec<f64>,
    mean_solved: Vec<f64>,
    /// One state's part of $h$.
    local: Vec<f64>,
}

/// The point at which the Hessian is wanted; without $d$ only the covariances, unscaled.
pub(super) struct Point<'a> {
    pub(super) p: &'a [f64],
    pub(super) d: &'a [f64],
    pub(super) xi: f64,
    pub(super) tau: f64,
}

impl Hessian {
    /// Analyses the pattern; nothing if the factor would be too large.
    pub(super) fn new(mdp: &Mdp) -> Option<Self> {
        let kernel = mdp.kernel();
        let n = mdp.n_states();
        if n == 0 {
            return None;
        }
        let (mut members, mut offsets) = (Vec::new(), vec![0usize]);
        let mut place_offsets = vec![0usize];
        let mut entry_places = vec![0u32; kernel.nnz()];
        let mut own_places = vec![0u32; n];
        let mut clique: Vec<u32> = Vec::new();
        for s in 0..n {
            let pairs = mdp.pairs(s);
            let entries = kernel.offsets()[pairs.start]..kernel.offsets()[pairs.end];
            clique.clear();
            clique.push(s as u32);
            clique.extend_from_slice(&kernel.indices()[entries.clone()]);
            clique.sort_unstable();
            clique.dedup();
            let place = |t: u32| clique.partition_point(|x| *x < t) as u32;
            own_places[s] = place(s as u32);
            for e in entries {
                entry_places[e] = place(kernel.indices()[e]);
            }
            members.extend_from_slice(&clique);
            offsets.push(members.len());
            let total = place_offsets[s] + clique.len() * clique.len();
            if total > MOST_PAIRS {
                return None;
            }
            place_offsets.push(total);
        }
        let (pattern, places, diagonal) = pattern(n, &members, &offsets, &place_offsets);
        let matrix = {
            let stored = pattern.compute_nnz();
            SparseColMat::new(pattern, vec![0.0; stored])
        };
        let symbolic = factorize_symbolic_cholesky(
            matrix.symbolic(),
            Side::Lower,
            Default::default(),
            Default::default(),
        )
        .ok()?;
        if symbolic.len_val() > MOST_FILL {
            return None;
        }
        let request = symbolic
            .factorize_numeric_llt_scratch::<f64>(Par::Seq, Default::default())
            .or(symbolic.solve_in_place_scratch::<f64>(1, Par::Seq));
        let largest = offsets.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0);
        Some(Hessian {
            factor: vec![0.0; symbolic.len_val()],
            buffer: MemBuffer::try_new(request).ok()?,
            right: Mat::zeros(n, 1),
            local: vec![0.0; largest * largest],
            flow: vec![0.0; largest],
            mean: vec![0.0; largest],
            hub: kernel.has_spread().then(|| Hub {
                border: vec![0.0; n],
                corner: 0.0,
                border_solved: vec![0.0; n],
                mean_solved: vec![0.0; n],
                local: vec![0.0; largest],
            }),
            members,
            offsets,
            entry_places,
            own_places,
            places,
            place_offsets,
            diagonal,
            matrix,
            symbolic,
        })
    }

    /// `out` = $-(\nabla^2 F)^{-1}\,$`gradient`, up to a constant: $F$ does not change along
    /// constants, and one state's potential is held.
    pub(super) fn direction(
        &mut self,
        mdp: &Mdp,
        point: &Point<'_>,
        gradient: &[f64],
        out: &mut [f64],
    ) -> bool {
        self.assemble(mdp, point);
        let values = self.matrix.val_mut();
        let mut largest = (0, 0.0);
        for (s, place) in self.diagonal.iter().enumerate() {
            if values[*place as usize] > largest.1 {
                largest = (s, values[*place as usize]);
            }
        }
        if !(largest.1 > 0.0 && f64::is_finite(largest.1)) {
            return false;
        }
        values[self.diagonal[largest.0] as usize] += largest.1;
        for (x, g) in out.iter_mut().zip(gradient) {
            *x = -g;
        }
        self.factorise(1e-15 * largest.1) && self.solve(out)
    }

    /// Factors $\sum_s P_s^\top (W_s - W_s 1 1^\top W_s / 1^\top W_s 1) P_s +
    /// \mathrm{diag}(\text{extra})$ for weights $W$ per pair.
    pub(super) fn normal_equations(&mut self, mdp: &Mdp, weights: &[f64], extra: &[f64]) -> bool {
        let point = Point {
            p: weights,
            d: &[],
            xi: 0.0,
            tau: 1.0,
        };
        self.assemble(mdp, &point);
        let values = self.matrix.val_mut();
        for (place, x) in self.diagonal.iter().zip(extra) {
            values[*place as usize] += x;
        }
        self.factorise(0.0)
    }

    /// About how many multiplications one factorisation takes.
    pub(super) fn work(&self) -> f64 {
        let fill = self.factor.len() as f64;
        fill * fill / self.diagonal.len() as f64
    }

    fn factorise(&mut self, mut shift: f64) -> bool {
        let mut added = 0.0;
        for _ in 0..8 {
            let values = self.matrix.val_mut();
            for place in &self.diagonal {
                values[*place as usize] += shift - added;
            }
            added = shift;
            let factored = self.symbolic.factorize_numeric_llt::<f64>(
                &mut self.factor,
                self.matrix.as_ref(),
                Side::Lower,
                Default::default(),
                Par::Seq,
                MemStack::new(&mut self.buffer),
                Default::default(),
            );
            if factored.is_ok() {
                return self.solve_border();
            }
            let values = self.matrix.val();
            let largest = self.diagonal.iter().map(|place| values[*place as usize]);
            shift = (100.0 * shift).max(1e-15 * largest.fold(0.0, f64::max));
        }
        false
    }

    /// What the uniform rows need of a fresh factor.
    fn solve_border(&mut self) -> bool {
        let Some(mut hub) = self.hub.take() else {
            return true;
        };
        hub.border_solved.copy_from_slice(&hub.border);
        hub.mean_solved.fill(1.0 / hub.border.len() as f64);
        let solved =
            self.solve_sparse(&mut hub.border_solved) && self.solve_sparse(&mut hub.mean_solved);
        self.hub = Some(hub);
        solved
    }

    /// Solves with the last factor, in place.
    pub(super) fn solve(&mut self, x: &mut [f64]) -> bool {
        if !self.solve_sparse(x) {
            return false;
        }
        let Some(hub) = &self.hub else {
            return true;
        };
        // x - m H^{-1}h - q H^{-1}e with m = e.x and q = h.x + eta m
        let n = x.len() as f64;
        let mean = |v: &[f64]| v.iter().sum::<f64>() / n;
        let along = |v: &[f64]| v.iter().zip(&hub.border).map(|(x, h)| x * h).sum::<f64>();
        let (a, b) = (1.0 + mean(&hub.border_solved), mean(&hub.mean_solved));
        let (c, d) = (
            along(&hub.border_solved) - hub.corner,
            1.0 + along(&hub.mean_solved),
        );
        let (right_m, right_q) = (mean(x), along(x));
        let determinant = a * d - b * c;
        let m = (right_m * d - b * right_q) / determinant;
        let q = (a * right_q - c * right_m) / determinant;
        let solved = hub.border_solved.iter().zip(&hub.mean_solved);
        for (x, (h, e)) in x.iter_mut().zip(solved) {
            *x -= m * h + q * e;
        }
        x.iter().all(|x| x.is_finite())
    }

    fn solve_sparse(&mut self, x: &mut [f64]) -> bool {
        for (i, x) in x.iter().enumerate() {
            self.right[(i, 0)] = *x;
        }
        LltRef::<'_, u32, f64>::new(&self.symbolic, &self.factor).solve_in_place_with_conj(
            Conj::No,
            self.right.rb_mut(),
            Par::Seq,
            MemStack::new(&mut self.buffer),
        );
        for (i, x) in x.iter_mut().enumerate() {
            *x = self.right[(i, 0)];
        }
        x.iter().all(|x| x.is_finite())
    }

    fn assemble(&mut self, mdp: &Mdp, point: &Point<'_>) {
        let kernel = mdp.kernel();
        let values = self.matrix.val_mut();
        values.fill(0.0);
        if let Some(hub) = &mut self.hub {
            hub.border.fill(0.0);
            hub.corner = 0.0;
        }
        for s in 0..mdp.n_states() {
            let width = self.offsets[s + 1] - self.offsets[s];
            let local = &mut self.local[..width * width];
            let (flow, mean) = (&mut self.flow[..width], &mut self.mean[..width]);
            local.fill(0.0);
            flow.fill(0.0);
            mean.fill(0.0);
            let d = point.d.get(s).copied().unwrap_or(1.0);
            // the rows of actions free to move: sum of squares minus the square of the mean
            let (mut mass, mut free) = (0.0, 0);
            let (mut hub_flow, mut hub_mean, mut hub_local) = (0.0, 0.0, 0.0);
            if let Some(hub) = &mut self.hub {
                hub.local[..width].fill(0.0);
            }
            for pair in mdp.pairs(s) {
                let p = point.p[pair];
                let share = kernel.spread_of(pair);
                hub_flow += p * share;
                let moves = p > point.xi;
                let entries = kernel.offsets()[pair]..kernel.offsets()[pair + 1];
                for e in entries.clone() {
                    flow[self.entry_places[e] as usize] += p * kernel.values()[e];
                }
                if !moves {
                    continue;
                }
                mass += p;
                free += 1;
                hub_mean += p * share;
                hub_local += d * p * share * share / point.tau;
                if let Some(hub) = self.hub.as_mut().filter(|_| share > 0.0) {
                    let scaled = d * p * share / point.tau;
                    for e in entries.clone() {
                        hub.local[self.entry_places[e] as usize] += scaled * kernel.values()[e];
                    }
                }
                for e in entries.clone() {
                    let j = self.entry_places[e] as usize;
                    let x = p * kernel.values()[e];
                    mean[j] += x;
                    let scaled = d * x / point.tau;
                    // entries of a row ascend, so these lie in the lower triangle
                    for f in e..entries.end {
                        local[j * width + self.entry_places[f] as usize] +=
                            scaled * kernel.values()[f];
                    }
                }
            }
            if free < 2 {
                // one free action cannot move: its part vanishes up to rounding
                local.fill(0.0);
                mean.fill(0.0);
                mass = 1.0;
                (hub_mean, hub_local) = (0.0, 0.0);
                if let Some(hub) = &mut self.hub {
                    hub.local[..width].fill(0.0);
                }
            }
            if point.d.is_empty() {
                flow.fill(0.0);
                hub_flow = 0.0;
            } else {
                flow[self.own_places[s] as usize] -= 1.0;
            }
            let places = &self.places[self.place_offsets[s]..self.place_offsets[s + 1]];
            let spread = d / (point.tau * mass);
            for j in 0..width {
                let (along, around) = (d * flow[j], spread * mean[j]);
                for i in j..width {
                    let value = local[j * width + i] + along * flow[i] - around * mean[i];
                    values[places[j * width + i] as usize] += value;
                }
            }
            if let Some(hub) = &mut self.hub {
                hub.corner += hub_local + d * hub_flow * hub_flow - spread * hub_mean * hub_mean;
                let members = &self.members[self.offsets[s]..self.offsets[s + 1]];
                for (j, t) in members.iter().enumerate() {
                    hub.border[*t as usize] +=
                        hub.local[j] + d * flow[j] * hub_flow - spread * mean[j] * hub_mean;
                }
            }
        }
    }
}

/// Union of the cliques' squares, lower triangle; where each clique's cells and the diagonal lie in it.
fn pattern(
    n: usize,
    members: &[u32],
    offsets: &[usize],
    place_offsets: &[usize],
) -> (SymbolicSparseColMat<u32>, Vec<u32>, Vec<u32>) {
    // cliques by member
    let mut starts = vec![0usize; n + 1];
    for t in members {
        starts[*t as usize + 1] += 1;
    }
    for t in 0..n {
        starts[t + 1] += starts[t];
    }
    let mut containing = vec![(0u32, 0u32); members.len()];
    let mut next = starts.clone();
    for s in 0..n {
        for (place, t) in members[offsets[s]..offsets[s + 1]].iter().enumerate() {
            containing[next[*t as usize]] = (s as u32, place as u32);
            next[*t as usize] += 1;
        }
    }
    let mut places = vec![0u32; place_offsets[n]];
    let mut diagonal = vec![0u32; n];
    let mut columns: Vec<u32> = vec![0];
    let mut rows: Vec<u32> = Vec::new();
    let mut seen = vec![u32::MAX; n];
    let mut position = vec![0u32; n];
    for j in 0..n {
        let first = rows.len();
        for &(s, place) in &containing[starts[j]..starts[j + 1]] {
            let clique = &members[offsets[s as usize]..offsets[s as usize + 1]];
            for &i in &clique[place as usize..] {
                if seen[i as usize] != j as u32 {
                    seen[i as usize] = j as u32;
                    rows.push(i);
                }
            }
        }
        rows[first..].sort_unstable();
        for (k, &i) in rows.iter().enumerate().skip(first) {
            position[i as usize] = k as u32;
        }
        diagonal[j] = position[j];
        for &(s, place) in &containing[starts[j]..starts[j + 1]] {
            let s = s as usize;
            let clique = &members[offsets[s]..offsets[s + 1]];
            let row = place_offsets[s] + place as usize * clique.len();
            for (i, t) in clique.iter().enumerate().skip(place as usize) {
                places[row + i] = position[*t as usize];
            }
        }
        columns.push(rows.len() as u32);
    }
    let symbolic = SymbolicSparseColMat::new_checked(n, n, columns, None, rows);
    (symbolic, places, diagonal)
}
