//! Frobenius as a program over [rows](crate::solve::methods::rows), with all $S^2$ entries of the target.
//!
//! $$\min \tfrac12 \|U - M(p)\|_F^2 \quad \text{s.t.} \quad \sum_t U_{st} = 1, \quad \sum_s U_{st} = 1, \quad 0 \le U \le \zeta .$$
//!
//! Memory is a dozen $S \times S$ arrays and a step costs $S^3$ multiplications at the speed of dense linear
//! algebra, so this is for up to some thousand states.

use std::ops::Range;

use super::frobenius_face::Optimum;
use crate::formulation::Problem;
use crate::formulation::frobenius::bound;
use crate::formulation::support::Support;
use crate::linalg::parallel::{blocks, map};
use crate::model::Mdp;
use crate::solve::methods::elimination::{Elimination, Weights};
use crate::solve::methods::interior_point::{InteriorPoint, Program};
use crate::solve::methods::rows::{Cells, Rows};

/// Slacks at the start: of the order of the differences that remain at the end.
const SLACK: f64 = 0.1;

/// Whether the cap is so tight that the uniform target is the only one.
pub(super) fn one_target(n: usize, zeta: f64) -> bool {
    zeta * n as f64 <= 1.0 + 1e-6
}

pub(in crate::solve) struct Frobenius {
    rows: Rows,
    elimination: Elimination,
    zeta: f64,
    cost: Vec<f64>,
    right: Vec<f64>,
    weights: Weights,
    a: Vec<f64>,
    mass: Vec<f64>,
    work: std::cell::RefCell<Vec<f64>>,
}

impl Frobenius {
    /// The method at its start; nothing where there are too many states.
    pub(in crate::solve) fn start(
        mdp: &Mdp,
        problem: &Problem,
        most_states: usize,
    ) -> Option<InteriorPoint<Self>> {
        let n = mdp.n_states();
        if n > most_states {
            return None;
        }
        let rows = Rows::new(mdp, problem.xi, Cells::All)?;
        let elimination = Elimination::new(&rows, true)?;
        let (moving, cells) = (rows.n_moving(), rows.n_cells());
        let base = rows.base(mdp, &Support::new(mdp));
        let mut cost = vec![0.0; moving + cells];
        rows.gather(&base, &mut cost[..moving]);
        for (c, b) in cost[moving..].iter_mut().zip(&base) {
            *c = -b;
        }
        let mut right = vec![1.0; 3 * n];
        let mut x = vec![1.0 / n as f64; moving + cells];
        for (s, w) in rows.first.windows(2).enumerate() {
            x[w[0]..w[1]].fill(1.0 / (w[1] - w[0]) as f64);
            right[s] = if w[0] < w[1] { 1.0 } else { 0.0 };
        }
        let program = Frobenius {
            zeta: problem.zeta,
            weights: Weights {
                policy: vec![0.0; moving],
                d: vec![0.0; cells],
                f: vec![0.0; cells],
                w: vec![0.0; cells],
                slack: vec![0.0; n],
                extra: vec![0.0; n],
            },
            a: vec![0.0; cells],
            mass: vec![0.0; cells],
            work: std::cell::RefCell::new(vec![0.0; cells]),
            cost,
            right,
            elimination,
            rows,
        };
        let z = vec![SLACK; x.len()];
        let mut point = InteriorPoint::new(program, x, z, vec![0.0; 3 * n]);
        if one_target(n, problem.zeta) {
            point.freeze(moving..moving + cells);
        }
        Some(point)
    }

    /// The policy at a point, and the multipliers $(\alpha, \beta)$ of the target's sums.
    pub(in crate::solve) fn read(&self, x: &[f64], y: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let n = self.rows.n_states();
        (self.rows.policy(x), y[n..3 * n].to_vec())
    }

    /// $G = U - M$ at a point.
    fn difference(&self, x: &[f64]) -> Vec<f64> {
        let moving = self.rows.n_moving();
        let mut g = vec![0.0; x.len() - moving];
        self.rows.spread(&x[..moving], &mut g);
        // the cost of U is what the floor xi puts into each cell, negated
        for ((g, u), c) in g.iter_mut().zip(&x[moving..]).zip(&self.cost[moving..]) {
            *g = u - *g + c;
        }
        g
    }

    /// $\|U - M\|_F$ at a point.
    pub(in crate::solve) fn distance(&self, x: &[f64]) -> f64 {
        self.difference(x).iter().map(|g| g * g).sum::<f64>().sqrt()
    }

    /// The bound that the difference at a point and the multipliers prove.
    pub(in crate::solve) fn bound(&self, mdp: &Mdp, x: &[f64], y: &[f64]) -> f64 {
        let n = self.rows.n_states();
        let g = self.difference(x);
        bound(
            mdp,
            (self.rows.xi, self.zeta),
            &g,
            &y[n..2 * n],
            &y[2 * n..],
        )
    }
}

impl InteriorPoint<Frobenius> {
    /// What the [face](super::frobenius_face) of all optimal policies is read off.
    pub(in crate::solve) fn optimum(&self, mdp: &Mdp) -> Optimum<'_> {
        let rows = &self.program.rows;
        let (n, moving) = (rows.n_states(), rows.n_moving());
        let support = Support::filled(mdp);
        let pick = |v: &[f64]| -> Vec<f64> {
            let mut out = Vec::with_capacity(support.len());
            for s in 0..n {
                let columns = &support.columns[support.offsets[s]..support.offsets[s + 1]];
                out.extend(columns.iter().map(|t| v[s * n + *t as usize]));
            }
            out
        };
        Optimum {
            p: &self.x[..moving],
            q: &self.z[..moving],
            u: pick(&self.x[moving..]),
            at_zero: pick(&self.z[moving..]),
            at_cap: if self.cap_multipliers().is_empty() {
                Vec::new()
            } else {
                pick(self.cap_multipliers())
            },
        }
    }
}

impl Program for Frobenius {
    fn cost(&self) -> &[f64] {
        &self.cost
    }

    fn right(&self) -> &[f64] {
        &self.right
    }

    fn bounded(&self) -> (Range<usize>, f64) {
        let moving = self.rows.n_moving();
        let end = if self.zeta < 1.0 {
            self.cost.len()
        } else {
            moving
        };
        (moving..end, self.zeta)
    }

    fn curvature(&self, x: &[f64], out: &mut [f64]) -> bool {
        let moving = self.rows.n_moving();
        let mut difference = self.work.borrow_mut();
        self.rows.spread(&x[..moving], &mut difference);
        map(&mut difference, [&x[moving..]], |mass, [u]| u - mass);
        map(&mut out[moving..], [&difference], |o, [d]| o + d);
        let mut policy = vec![0.0; moving];
        self.rows.gather(&difference, &mut policy);
        for (o, p) in out.iter_mut().zip(&policy) {
            *o -= p;
        }
        true
    }

    fn rows(&self, x: &[f64], out: &mut [f64]) {
        let (moving, n) = (self.rows.n_moving(), self.rows.n_states());
        self.rows.sums(x, &mut out[..n]);
        let (sums, columns) = out[n..].split_at_mut(n);
        columns.fill(0.0);
        for (s, row) in x[moving..].chunks_exact(n).enumerate() {
            sums[s] = row.iter().sum();
            columns.iter_mut().zip(row).for_each(|(c, u)| *c += u);
        }
    }

    fn columns(&self, y: &[f64], out: &mut [f64]) {
        let (moving, n) = (self.rows.n_moving(), self.rows.n_states());
        for (s, w) in self.rows.first.windows(2).enumerate() {
            out[w[0]..w[1]].fill(y[s]);
        }
        blocks(&self.rows.offsets, &mut out[moving..], |s, row| {
            for (o, beta) in row.iter_mut().zip(&y[2 * n..]) {
                *o = y[n + s] + beta;
            }
        });
    }

    fn factor(&mut self, theta: &[f64]) -> bool {
        let moving = self.rows.n_moving();
        let weights = &mut self.weights;
        weights.policy.copy_from_slice(&theta[..moving]);
        let theta = &theta[moving..];
        map(&mut weights.d, [theta], |_, [theta]| 1.0 / (1.0 + theta));
        weights.f.copy_from_slice(&weights.d);
        map(&mut weights.w, [theta, &weights.d], |_, [theta, d]| {
            theta * d
        });
        // a constant moved from all alpha to all beta changes nothing
        self.elimination
            .factor(&self.rows, weights, Some(0))
            .is_some()
    }

    fn solve(&mut self, rx: &[f64], ry: &[f64], dx: &mut [f64], dy: &mut [f64]) {
        let (moving, n) = (self.rows.n_moving(), self.rows.n_states());
        self.a.copy_from_slice(&rx[moving..]);
        map(&mut self.mass, [&self.a, &self.weights.f], |_, [a, f]| {
            f * a
        });
        let (dp, du) = dx.split_at_mut(moving);
        self.rows.gather(&self.mass, dp);
        dp.iter_mut().zip(rx).for_each(|(d, r)| *d += r);
        dy.copy_from_slice(ry);
        let (eta, rest) = dy.split_at_mut(n);
        let (alpha, beta) = rest.split_at_mut(n);
        self.elimination.solve(
            &self.rows,
            &self.weights,
            &self.a,
            dp,
            eta,
            alpha,
            beta,
            &mut self.mass,
        );
        // D (a + alpha + beta + dM)
        let (a, d, mass) = (&self.a, &self.weights.d, &self.mass);
        blocks(&self.rows.offsets, du, |s, row| {
            let own = s * n..(s + 1) * n;
            let given = a[own.clone()].iter().zip(&mass[own.clone()]);
            let moved = row.iter_mut().zip(&d[own]).zip(given.zip(&*beta));
            for ((du, d), ((a, mass), beta)) in moved {
                *du = d * (a + alpha[s] + beta + mass);
            }
        });
    }
}
