//! Frobenius as a program over [rows](crate::solve::methods::rows), with all $S^2$ entries of the
//! target.
//!
//! $$\min \tfrac12 \|U - M(p)\|_F^2 \quad \text{s.t.} \quad \sum_t U_{st} = 1, \quad \sum_s U_{st} = 1, \quad 0 \le U \le \zeta .$$
//!
//! Memory is a dozen $S \times S$ arrays and a step costs $S^3$ multiplications at the speed of
//! dense linear algebra, so this is for up to some thousand states.

use super::frobenius_face::Optimum;
use super::{Pull, capped};
use crate::formulation::Problem;
use crate::formulation::frobenius::bound;
use crate::model::Mdp;
use crate::solve::methods::elimination::{AT_ONCE, Elimination};
use crate::solve::methods::interior_point::{Data, InteriorPoint, Program};
use crate::solve::methods::rows::{Cells, Rows};
use ide3al_numerics::parallel::{blocks, map};

/// Up to this many states the whole target is held: a dozen arrays of 20 MB.
const MOST_STATES: usize = 1_500;
/// Slacks at the start: of the order of the differences that remain at the end.
const SLACK: f64 = 0.1;

/// Whether the cap is so tight that the uniform target is the only one.
fn one_target(n: usize, zeta: f64) -> bool {
    zeta * n as f64 <= 1.0 + 1e-6
}

pub(in crate::solve) struct Frobenius {
    rows: Rows,
    elimination: Elimination,
    work: std::cell::RefCell<Vec<f64>>,
}

impl Frobenius {
    /// The method at its start; nothing where there are too many states.
    pub(in crate::solve) fn start(
        mdp: &Mdp,
        problem: &Problem,
        centre: &[f64],
    ) -> Option<InteriorPoint<Self>> {
        let n = mdp.n_states();
        if n > MOST_STATES {
            return None;
        }
        let rows = Rows::new(mdp, problem.xi, centre, Cells::All, AT_ONCE)?;
        let elimination = Elimination::new(&rows, true, AT_ONCE)?;
        let (moving, cells) = (rows.n_moving(), rows.n_cells());
        let base = rows.base(mdp);
        let mut cost = vec![0.0; moving + cells];
        rows.gather(&base, &mut cost[..moving]);
        for (c, b) in cost[moving..].iter_mut().zip(&base) {
            *c = -b;
        }
        let mut right = rows.simplexes();
        right.resize(3 * n, 1.0);
        let mut x = Pull::new(&rows).uniform;
        x.resize(moving + cells, 1.0 / n as f64);
        let data = Data {
            cost,
            right,
            bounded: capped(moving..moving + cells, problem.zeta),
            cap: problem.zeta,
        };
        let program = Frobenius {
            work: std::cell::RefCell::new(vec![0.0; cells]),
            elimination,
            rows,
        };
        let z = vec![SLACK; x.len()];
        let mut point = InteriorPoint::new(program, data, x, z, vec![0.0; 3 * n]);
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
}

impl InteriorPoint<Frobenius> {
    /// $G = U - M$.
    fn difference(&self) -> Vec<f64> {
        let rows = &self.program.rows;
        let moving = rows.n_moving();
        let mut g = vec![0.0; rows.n_cells()];
        rows.spread(&self.x[..moving], &mut g);
        // the cost of U is what the floor xi puts into each cell, negated
        let (u, cost) = (&self.x[moving..], &self.data.cost[moving..]);
        map(&mut g, [u, cost], |mass, [u, cost]| u - mass + cost);
        g
    }

    /// $\|U - M\|_F$.
    pub(in crate::solve) fn distance(&self) -> f64 {
        self.difference().iter().map(|g| g * g).sum::<f64>().sqrt()
    }

    /// The bound that the difference and the multipliers prove.
    pub(in crate::solve) fn bound(&self, mdp: &Mdp) -> f64 {
        let rows = &self.program.rows;
        let (alpha, beta) = self.y[rows.n_states()..].split_at(rows.n_states());
        let limits = (rows.xi, self.data.cap);
        bound(mdp, limits, &self.difference(), alpha, beta)
    }

    /// What the [face](super::frobenius_face) of all optimal policies is read off.
    pub(in crate::solve) fn optimum(&self) -> Optimum<'_> {
        let rows = &self.program.rows;
        let moving = rows.n_moving();
        let held = self.at_bounds();
        let held = |i: usize| held[i] || self.is_frozen(i);
        let cells = || rows.all_reached().iter().map(|c| moving + *c as usize);
        Optimum {
            p: &self.x[..moving],
            u: cells().map(|i| self.x[i]).collect(),
            frozen: (0..moving).chain(cells()).map(held).collect(),
        }
    }
}

impl Program for Frobenius {
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
        let (alpha, beta) = y[n..].split_at(n);
        self.rows.prices(alpha, beta, &mut out[moving..]);
    }

    fn factor(&mut self, theta: &[f64]) -> bool {
        let moving = self.rows.n_moving();
        let weights = &mut self.elimination.weights;
        weights.policy.copy_from_slice(&theta[..moving]);
        let theta = &theta[moving..];
        map(&mut weights.d, [theta], |_, [theta]| 1.0 / (1.0 + theta));
        weights.f.copy_from_slice(&weights.d);
        map(&mut weights.w, [theta, &weights.d], |_, [theta, d]| {
            theta * d
        });
        // a constant moved from all alpha to all beta changes nothing
        self.elimination.factor(&self.rows, Some(0)).is_some()
    }

    fn solve(&mut self, rx: &[f64], ry: &[f64], dx: &mut [f64], dy: &mut [f64]) {
        let (moving, n) = (self.rows.n_moving(), self.rows.n_states());
        let a = &rx[moving..];
        let Elimination { mass, weights, .. } = &mut self.elimination;
        map(mass, [a, &weights.f], |_, [a, f]| f * a);
        let (dp, du) = dx.split_at_mut(moving);
        self.rows.gather(mass, dp);
        dp.iter_mut().zip(rx).for_each(|(d, r)| *d += r);
        dy.copy_from_slice(ry);
        let (eta, rest) = dy.split_at_mut(n);
        let (alpha, beta) = rest.split_at_mut(n);
        self.elimination.solve(&self.rows, a, dp, eta, alpha, beta);
        // D (a + alpha + beta + dM)
        let Elimination { mass, weights, .. } = &self.elimination;
        let d = &weights.d;
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
