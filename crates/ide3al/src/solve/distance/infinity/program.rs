//! Infinity as a program over [rows](crate::solve::kkt::transition_rows), in the mass $k$ that the
//! target keeps.
//!
//! $$\min S h \quad \text{s.t.} \quad k_{st} + r_{st} = M_{st}(p), \quad \sum_t k_{st} + h - w_s = 1, \quad
//!   \sum_s k_{st} + c_t = 1, \quad 0 \le k \le \zeta, \quad r, w, c, h \ge 0,$$
//!
//! and for each [block](crate::formulation::infinity::Block)
//! $\sum_{R \times C} k + b = \text{right}$, $b \ge 0$. With the factor $S$ all multipliers are of
//! order one. $h$ and the blocks touch all rows: each is a border of one vector, eliminated last.
//! Without $h$ the sums of all rows and of all columns depend on each other where all are tight, so
//! one column's multiplier is pinned and put right as another border.

use std::ops::Range;

use crate::formulation::Problem;
use crate::formulation::infinity::Block;
use crate::model::Mdp;
use crate::solve::cost::SizeLimits;
use crate::solve::kkt::proximal_term::ProximalTerm;
use crate::solve::kkt::row_schur::RowSchur;
use crate::solve::kkt::transition_rows::{Cells, TransitionRows, capped};
use ide3al_numerics::gauss::gauss;
use ide3al_numerics::interior_point::{InteriorPoint, ProblemData, QuadraticProgram};
use ide3al_numerics::parallel::{add, map};

pub(in crate::solve) struct Infinity {
    rows: TransitionRows,
    proximal: ProximalTerm,
    elimination: RowSchur,
    /// For each block its cells.
    blocks: Vec<Vec<u32>>,
    /// Barriers of $r$.
    cap: Vec<f64>,
    a: Vec<f64>,
    /// $h$, the column pinned, the blocks.
    borders: Vec<Border>,
    /// The right-hand side that a border is made of.
    given: Border,
    /// The column pinned, and how firmly.
    pinned: (usize, f64),
    /// Barrier of $h$, and one over those of the blocks' slacks.
    level: f64,
    slack: Vec<f64>,
}

/// What one unit of a border more would do to everything else.
#[derive(Default)]
struct Border {
    dx: Vec<f64>,
    dy: Vec<f64>,
}

/// Where the parts of $x$ and of $y$ lie.
struct Layout {
    p: Range<usize>,
    k: Range<usize>,
    r: Range<usize>,
    w: Range<usize>,
    c: Range<usize>,
    h: usize,
    b: Range<usize>,
    simplex: Range<usize>,
    caps: Range<usize>,
    sums: Range<usize>,
    columns: Range<usize>,
    block_rows: Range<usize>,
}

impl Infinity {
    /// The method at its start; nothing if the columns' system is too large.
    pub(in crate::solve) fn start(
        mdp: &Mdp,
        problem: &Problem,
        centre: &[f64],
        blocks: &[Block],
        limits: SizeLimits,
    ) -> Option<InteriorPoint<Self>> {
        let rows = TransitionRows::new(mdp, problem.xi, centre, Cells::Filled, limits)?;
        let elimination = RowSchur::new(&rows, true, limits)?;
        let cells = rows.n_cells();
        let inside = |block: &Block| block.slots(rows.support()).map(|k| k as u32).collect();
        let mut program = Infinity {
            blocks: blocks.iter().map(inside).collect(),
            cap: vec![0.0; cells],
            a: vec![0.0; cells],
            borders: Vec::new(),
            given: Border::default(),
            pinned: (0, 0.0),
            level: 0.0,
            slack: vec![0.0; blocks.len()],
            elimination,
            proximal: ProximalTerm::new(&rows),
            rows,
        };
        let at = program.layout();
        let (size, height) = (at.b.end, at.block_rows.end);
        let mut cost = vec![0.0; size];
        cost[at.h] = mdp.n_states() as f64;
        let base = program.rows.base(mdp);
        let mut right = program.rows.simplexes();
        right.extend(&base);
        right.resize(at.block_rows.start, 1.0);
        right.extend(blocks.iter().map(|block| block.right));
        let data = ProblemData {
            cost,
            right,
            bounded: capped(at.k, problem.zeta),
            cap: problem.zeta,
        };
        let border = || Border {
            dx: vec![0.0; size],
            dy: vec![0.0; height],
        };
        program.borders = (0..blocks.len() + 2).map(|_| border()).collect();
        program.given = border();
        let (x, z, y) = program.interior(&data, &base, blocks);
        Some(InteriorPoint::new(program, data, x, z, y))
    }

    /// A point with room on all sides: of each cell's mass so much is kept that no column, cap or
    /// block is full; multipliers so that every slack is positive.
    fn interior(
        &self,
        data: &ProblemData,
        base: &[f64],
        blocks: &[Block],
    ) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let at = self.layout();
        let (n, rows) = (self.rows.n_states(), &self.rows);
        let mut x = vec![0.0; at.b.end];
        x[at.p.clone()].copy_from_slice(&self.proximal.uniform);
        let mut mass = vec![0.0; base.len()];
        rows.transpose_times(&x[at.p.clone()], &mut mass);
        mass.iter_mut().zip(base).for_each(|(m, b)| *m += b);
        let mut sums = vec![0.0; n];
        rows.column_sums(&mass, &mut sums);
        let mut scarce = 1.0f64;
        for (block, cells) in blocks.iter().zip(&self.blocks) {
            scarce = scarce.min(block.right.max(1e-9) / sum_within(cells, &mass).max(1e-300));
        }
        for (cell, m) in mass.iter().enumerate() {
            let column = sums[rows.columns[cell] as usize].max(1.0);
            let kept = 0.5 * scarce * (m / column).min(data.cap);
            // cells that hold nothing under any policy still need an inside
            x[at.k.start + cell] = kept.max(1e-12);
            x[at.r.start + cell] = (m - kept).max(1e-12);
        }
        let kept = &x[at.k.clone()];
        rows.column_sums(kept, &mut sums);
        let mut pinned = vec![0.0; n];
        rows.row_sums(kept, &mut pinned);
        let most = pinned.iter().fold(0.0, |most, k| f64::max(most, 1.0 - k));
        let blocked = self.blocks.iter().map(|cells| sum_within(cells, kept));
        let blocked: Vec<f64> = blocked.collect();
        x[at.h] = most + 0.1;
        for s in 0..n {
            x[at.w.start + s] = pinned[s] + x[at.h] - 1.0;
            x[at.c.start + s] = (1.0 - sums[s]).max(1e-3);
        }
        for (b, (block, sum)) in blocks.iter().zip(blocked).enumerate() {
            x[at.b.start + b] = (block.right - sum).max(1e-6);
        }
        // rows priced at a half, columns at a half, caps at one
        let mut y = vec![0.0; at.block_rows.end];
        y[at.caps.clone()].fill(-1.0);
        y[at.sums.clone()].fill(0.5);
        y[at.columns.clone()].fill(-0.5);
        y[at.block_rows.clone()].fill(-0.5);
        for (s, w) in rows.first.windows(2).enumerate() {
            if w[0] < w[1] {
                y[at.simplex.start + s] = -rows.mass(s) - 0.5;
            }
        }
        let mut z = vec![0.0; x.len()];
        self.transpose_times(&y, &mut z);
        for (z, c) in z.iter_mut().zip(&data.cost) {
            *z = (c - *z).max(0.1);
        }
        (x, z, y)
    }

    /// Where the policy and $h$ lie in $x$.
    pub(in crate::solve) fn level(&self) -> usize {
        self.layout().h
    }

    /// The policy and the kept mass at a point.
    pub(in crate::solve) fn read(&self, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let at = self.layout();
        (self.rows.policy(&x[at.p]), x[at.k].to_vec())
    }

    /// Prices of rows, columns, caps and blocks, as the [formulation](crate::formulation::infinity)
    /// has them.
    pub(in crate::solve) fn prices(&self, y: &[f64]) -> [Vec<f64>; 4] {
        let at = self.layout();
        let minus = |range: Range<usize>| y[range].iter().map(|x| -x).collect::<Vec<f64>>();
        [
            y[at.sums].to_vec(),
            minus(at.columns),
            minus(at.caps),
            minus(at.block_rows),
        ]
    }

    fn layout(&self) -> Layout {
        let (free, cells, n) = (
            self.rows.n_free(),
            self.rows.n_cells(),
            self.rows.n_states(),
        );
        let blocks = self.blocks.len();
        let k = free..free + cells;
        let r = k.end..k.end + cells;
        let w = r.end..r.end + n;
        let c = w.end..w.end + n;
        let h = c.end;
        Layout {
            p: 0..free,
            k,
            r,
            w,
            b: h + 1..h + 1 + blocks,
            c,
            h,
            simplex: 0..n,
            caps: n..n + cells,
            sums: n + cells..2 * n + cells,
            columns: 2 * n + cells..3 * n + cells,
            block_rows: 3 * n + cells..3 * n + cells + blocks,
        }
    }

    /// Solves with the borders at zero.
    fn solve_rows(&mut self, rx: &[f64], ry: &[f64], dx: &mut [f64], dy: &mut [f64]) {
        let at = self.layout();
        let rows = &self.rows;
        let RowSchur { weights, mass, .. } = &mut self.elimination;
        // the cells' own proximal, and what it and the caps leave for the policy
        let (of_k, of_r, of_caps) = (&rx[at.k.clone()], &rx[at.r.clone()], &ry[at.caps.clone()]);
        let inputs = [of_k, of_r, &self.cap, of_caps];
        map(&mut self.a, inputs, |_, [k, r, cap, lacks]| {
            k - r + cap * lacks
        });
        let inputs = [of_r, &self.cap, of_caps, &weights.f, &self.a];
        map(mass, inputs, |_, [r, cap, lacks, f, a]| {
            r - cap * lacks + f * a
        });
        let (dp, rest) = dx.split_at_mut(at.p.end);
        rows.times(mass, dp);
        dp.iter_mut().zip(rx).for_each(|(d, r)| *d += r);
        dy[at.simplex.clone()].copy_from_slice(&ry[at.simplex.clone()]);
        for s in 0..rows.n_states() {
            dy[at.sums.start + s] = ry[at.sums.start + s] + weights.slack[s] * rx[at.w.start + s];
            dy[at.columns.start + s] =
                ry[at.columns.start + s] - weights.extra[s] * rx[at.c.start + s];
        }
        let (front, back) = dy.split_at_mut(at.sums.start);
        let (lambda, back) = back.split_at_mut(rows.n_states());
        let beta = &mut back[..rows.n_states()];
        let (eta, gamma) = front.split_at_mut(at.caps.start);
        self.elimination.solve(rows, &self.a, dp, eta, lambda, beta);
        let RowSchur { weights, mass, .. } = &self.elimination;
        let base = at.p.end;
        let (dk, dr) = rest[..at.w.start - base].split_at_mut(rows.n_cells());
        rows.outer_sums(lambda, beta, dk);
        let inputs = [&self.a[..], &weights.d, &weights.f, mass];
        map(dk, inputs, |price, [a, d, f, mass]| {
            d * (a + price) + f * mass
        });
        map(dr, [of_caps, dk, mass], |_, [lacks, dk, mass]| {
            lacks - dk + mass
        });
        map(gamma, [&self.cap, dr, of_r], |_, [cap, dr, r]| cap * dr - r);
        for s in 0..rows.n_states() {
            rest[at.w.start - base + s] = weights.slack[s] * (rx[at.w.start + s] - lambda[s]);
            rest[at.c.start - base + s] = weights.extra[s] * (rx[at.c.start + s] + beta[s]);
        }
    }

    /// What the equation of border `j` sees of a step.
    fn seen(&self, j: usize, at: &Layout, dx: &[f64], dy: &[f64]) -> f64 {
        match j {
            0 => -dy[at.sums.clone()].iter().sum::<f64>(),
            1 => dy[at.columns.start + self.pinned.0],
            _ => sum_within(&self.blocks[j - 2], &dx[at.k.clone()]),
        }
    }
}

impl Infinity {
    /// From here on the nearest point to a policy is looked for.
    pub(super) fn set_proximal_objective(point: &mut InteriorPoint<Self>, centre: &[f64]) {
        let Infinity { proximal, rows, .. } = &mut point.program;
        proximal.activate(rows, centre, &mut point.data.cost);
    }
}

/// The sum of a vector over the cells of a block.
fn sum_within(cells: &[u32], of: &[f64]) -> f64 {
    cells.iter().map(|cell| of[*cell as usize]).sum()
}

impl QuadraticProgram for Infinity {
    fn add_hessian_times(&self, x: &[f64], out: &mut [f64]) -> bool {
        self.proximal.curvature(x, out)
    }

    fn times(&self, x: &[f64], out: &mut [f64]) {
        let at = self.layout();
        let rows = &self.rows;
        rows.sums(x, &mut out[at.simplex.clone()]);
        let (front, back) = out.split_at_mut(at.sums.start);
        let caps = &mut front[at.caps];
        rows.transpose_times(&x[at.p], caps);
        let (kept, left) = (&x[at.k], &x[at.r]);
        map(caps, [kept, left], |mass, [kept, left]| kept + left - mass);
        let n = rows.n_states();
        rows.row_sums(kept, &mut back[..n]);
        rows.column_sums(kept, &mut back[n..2 * n]);
        for s in 0..n {
            back[s] += x[at.h] - x[at.w.start + s];
            back[n + s] += x[at.c.start + s];
        }
        for (b, cells) in self.blocks.iter().enumerate() {
            back[2 * n + b] = sum_within(cells, kept) + x[at.b.start + b];
        }
    }

    fn transpose_times(&self, y: &[f64], out: &mut [f64]) {
        let at = self.layout();
        let rows = &self.rows;
        rows.times(&y[at.caps.clone()], &mut out[at.p.clone()]);
        for (s, w) in rows.first.windows(2).enumerate() {
            out[w[0]..w[1]].iter_mut().for_each(|x| *x = y[s] - *x);
        }
        let (sums, columns, caps) = (
            &y[at.sums.clone()],
            &y[at.columns.clone()],
            &y[at.caps.clone()],
        );
        let kept = &mut out[at.k.clone()];
        rows.outer_sums(sums, columns, kept);
        map(kept, [caps], |price, [cap]| price + cap);
        out[at.r.clone()].copy_from_slice(caps);
        for (b, cells) in self.blocks.iter().enumerate() {
            let price = y[at.block_rows.start + b];
            cells
                .iter()
                .for_each(|c| out[at.k.start + *c as usize] += price);
            out[at.b.start + b] = price;
        }
        for s in 0..rows.n_states() {
            out[at.w.start + s] = -y[at.sums.start + s];
            out[at.c.start + s] = y[at.columns.start + s];
        }
        out[at.h] = y[at.sums.clone()].iter().sum();
    }

    fn factorize(&mut self, theta: &[f64]) -> bool {
        let at = self.layout();
        let weights = &mut self.elimination.weights;
        self.proximal
            .weights(&theta[at.p.clone()], &mut weights.policy);
        for cell in 0..self.cap.len() {
            let (k, r) = (theta[at.k.start + cell], theta[at.r.start + cell]);
            let d = 1.0 / (k + r);
            weights.d[cell] = d;
            weights.f[cell] = r * d;
            weights.w[cell] = k * (r * d);
            self.cap[cell] = r;
        }
        for s in 0..self.rows.n_states() {
            weights.slack[s] = 1.0 / theta[at.w.start + s];
            weights.extra[s] = 1.0 / theta[at.c.start + s];
        }
        self.level = theta[at.h];
        for (slack, theta) in self.slack.iter_mut().zip(&theta[at.b.clone()]) {
            *slack = 1.0 / theta;
        }
        // a full column takes part in the dependence
        let room = &weights.extra;
        let fuller = |least: usize, t: usize| if room[t] < room[least] { t } else { least };
        let fullest = (0..room.len()).fold(0, fuller);
        let Some(firm) = self.elimination.factor(&self.rows, Some(fullest)) else {
            return false;
        };
        self.pinned = (fullest, firm);
        // one more unit of the level is missing in every row; of the pinned multiplier, its column
        // sees too little; one of a block's price pulls its cells
        let mut borders = std::mem::take(&mut self.borders);
        let mut given = std::mem::take(&mut self.given);
        for (j, border) in borders.iter_mut().enumerate() {
            given.dx.fill(0.0);
            given.dy.fill(0.0);
            match j {
                0 => given.dy[at.sums.clone()].fill(-1.0),
                1 => given.dy[at.columns.start + fullest] = firm,
                _ => {
                    let cells = self.blocks[j - 2].iter();
                    cells.for_each(|c| given.dx[at.k.start + *c as usize] = 1.0);
                }
            }
            self.solve_rows(&given.dx, &given.dy, &mut border.dx, &mut border.dy);
        }
        self.given = given;
        self.borders = borders;
        true
    }

    fn solve(&mut self, rx: &[f64], ry: &[f64], dx: &mut [f64], dy: &mut [f64]) {
        let at = self.layout();
        self.solve_rows(rx, ry, dx, dy);
        // level: theta dh - sum lambda = rx; pinned: beta - amount = 0;
        // block: cells' dk + (rx + price) / theta = ry
        let count = self.borders.len();
        let mut matrix = vec![0.0; count * count];
        let mut right = vec![0.0; count];
        for i in 0..count {
            for (j, border) in self.borders.iter().enumerate() {
                matrix[i * count + j] = self.seen(i, &at, &border.dx, &border.dy);
            }
            let (own, given) = match i {
                0 => (self.level, rx[at.h]),
                1 => (-1.0, 0.0),
                _ => {
                    let slack = self.slack[i - 2];
                    (
                        slack,
                        ry[at.block_rows.start + i - 2] - slack * rx[at.b.start + i - 2],
                    )
                }
            };
            matrix[i * count + i] += own;
            right[i] = given - self.seen(i, &at, dx, dy);
        }
        let amounts = gauss(matrix, right);
        for (border, amount) in self.borders.iter().zip(&amounts) {
            add(&mut dx[..at.h], *amount, &border.dx[..at.h]);
            let rest = ..at.block_rows.start;
            add(&mut dy[rest], *amount, &border.dy[rest]);
        }
        dx[at.h] = amounts[0];
        for (b, price) in amounts[2..].iter().enumerate() {
            dy[at.block_rows.start + b] = *price;
            dx[at.b.start + b] = self.slack[b] * (rx[at.b.start + b] + price);
        }
    }
}
