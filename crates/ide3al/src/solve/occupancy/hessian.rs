//! The Hessian of the entropies' dual, assembled and factored.
//!
//! State $s$ contributes on its *clique* only, itself and its successors under any action, by a
//! weighted covariance of its actions' rows. A Newton step costs the sum of squared clique sizes
//! and one Cholesky factorisation.
//!
//! Uniform rows of estimated models reach every state, but only through the mean of the unknowns:
//! with $e = \mathbf 1 / S$ a row is $P_s + c_s e^\top$ and the matrix is
//! $H + h e^\top + e h^\top + \eta e e^\top$ with the same sparse $H$, so that two more solves with
//! its factor make up for them.

use super::cliques::Cliques;
use crate::model::Mdp;
use crate::solve::size::DENSE_HESSIAN;
use ide3al_numerics::clique_matrix::{CliqueMatrix, stack};

/// Parts of a chain may hang together by probabilities of any size, so that small pivots are no
/// rounding: only what is no positive number is left out.
const PIVOT: f64 = 1e-300;

/// Numbers in the rows that are multiplied at a time: 16 MB.
const AT_A_TIME: usize = 1 << 21;

pub(super) struct Hessian {
    matrix: CliqueMatrix,
    /// Place of each kernel entry's column, and of the state itself, in the state's clique.
    entry_places: Vec<u32>,
    own_places: Vec<u32>,
    local: Vec<f64>,
    flow: Vec<f64>,
    mean: Vec<f64>,
    /// Dense rows of which the product is still to be added, and one of them.
    rows: Vec<f64>,
    row: Vec<f64>,
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

/// The point at which the Hessian is wanted.
pub(super) struct Point<'a> {
    pub(super) p: &'a [f64],
    /// The weights by which $p$ moves.
    pub(super) free: &'a [f64],
    pub(super) d: &'a [f64],
    pub(super) tau: f64,
}

impl Hessian {
    /// Analyses the pattern; nothing if the factor would be too large.
    pub(super) fn new(mdp: &Mdp) -> Option<Self> {
        let n = mdp.n_states();
        let cliques = Cliques::new(mdp);
        let matrix = cliques.matrix(DENSE_HESSIAN)?;
        let largest = cliques.largest;
        Some(Hessian {
            matrix,
            local: vec![0.0; largest * largest],
            flow: vec![0.0; largest],
            mean: vec![0.0; largest],
            rows: Vec::new(),
            row: vec![0.0; largest],
            hub: mdp.kernel().has_spread().then(|| Hub {
                border: vec![0.0; n],
                corner: 0.0,
                border_solved: vec![0.0; n],
                mean_solved: vec![0.0; n],
                local: vec![0.0; largest],
            }),
            entry_places: cliques.entry_places,
            own_places: cliques.own_places,
        })
    }

    /// `out` = $-(\nabla^2 F)^{-1}\,$`gradient`, up to a constant: $F$ does not change along
    /// constants, and one state's potential is held. The diagonal is raised by `shift` times
    /// $d (1 + 1/\tau)$.
    pub(super) fn direction(
        &mut self,
        mdp: &Mdp,
        point: &Point<'_>,
        gradient: &[f64],
        shift: f64,
        out: &mut [f64],
    ) -> bool {
        self.assemble(mdp, point);
        self.matrix
            .add_diagonal(point.d, shift * (1.0 + 1.0 / point.tau));
        let Some(held) = self.matrix.largest_diagonal() else {
            return false;
        };
        self.matrix.double_diagonal(held);
        for (x, g) in out.iter_mut().zip(gradient) {
            *x = -g;
        }
        if !self.matrix.factor(PIVOT) {
            return false;
        }
        self.solve_border();
        self.solve(out)
    }

    /// About how many multiplications one factorisation takes.
    pub(super) fn work(&self) -> f64 {
        self.matrix.work()
    }

    /// What the uniform rows need of a fresh factor.
    fn solve_border(&mut self) {
        if let Some(hub) = &mut self.hub {
            hub.border_solved.copy_from_slice(&hub.border);
            hub.mean_solved.fill(1.0 / hub.border.len() as f64);
            self.matrix.solve(&mut hub.border_solved);
            self.matrix.solve(&mut hub.mean_solved);
        }
    }

    /// Solves with the last factor, in place.
    fn solve(&mut self, x: &mut [f64]) -> bool {
        self.matrix.solve(x);
        let Some(hub) = &self.hub else {
            return x.iter().all(|x| x.is_finite());
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

    fn assemble(&mut self, mdp: &Mdp, point: &Point<'_>) {
        let kernel = mdp.kernel();
        let n = mdp.n_states();
        self.matrix.clear();
        self.rows.clear();
        if let Some(hub) = &mut self.hub {
            hub.border.fill(0.0);
            hub.corner = 0.0;
        }
        for s in 0..mdp.n_states() {
            let width = self.matrix.members(s).len();
            let wide = self.matrix.prefers_rows(width);
            let local = &mut self.local[..if wide { 0 } else { width * width }];
            let (flow, mean) = (&mut self.flow[..width], &mut self.mean[..width]);
            local.fill(0.0);
            flow.fill(0.0);
            mean.fill(0.0);
            let d = point.d[s];
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
                let entries = kernel.offsets()[pair]..kernel.offsets()[pair + 1];
                for e in entries.clone() {
                    flow[self.entry_places[e] as usize] += p * kernel.values()[e];
                }
                // from here on only the weight by which the action moves
                let p = point.free[pair];
                if p == 0.0 {
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
                    if wide {
                        continue;
                    }
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
            flow[self.own_places[s] as usize] -= 1.0;
            let spread = d / (point.tau * mass);
            if wide {
                let members = || self.matrix.members(s).iter().copied();
                stack(&mut self.rows, n, members(), flow, d.sqrt());
                // the same covariance as squares of differences from the mean
                for pair in mdp.pairs(s).filter(|i| free > 1 && point.free[*i] > 0.0) {
                    let row = &mut self.row[..width];
                    for (x, mean) in row.iter_mut().zip(mean.iter()) {
                        *x = -mean / mass;
                    }
                    for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                        row[self.entry_places[e] as usize] += kernel.values()[e];
                    }
                    let weight = d * point.free[pair] / point.tau;
                    stack(&mut self.rows, n, members(), row, weight.sqrt());
                }
                if self.rows.len() >= AT_A_TIME {
                    self.matrix.add_product(&self.rows, 1.0);
                    self.rows.clear();
                }
            } else {
                for j in 0..width {
                    let (along, around) = (d * flow[j], spread * mean[j]);
                    for i in j..width {
                        local[j * width + i] += along * flow[i] - around * mean[i];
                    }
                }
                self.matrix.add_clique(s, local);
            }
            if let Some(hub) = &mut self.hub {
                hub.corner += hub_local + d * hub_flow * hub_flow - spread * hub_mean * hub_mean;
                for (j, t) in self.matrix.members(s).iter().enumerate() {
                    hub.border[*t as usize] +=
                        hub.local[j] + d * flow[j] * hub_flow - spread * mean[j] * hub_mean;
                }
            }
        }
        self.matrix.add_product(&self.rows, 1.0);
    }
}
