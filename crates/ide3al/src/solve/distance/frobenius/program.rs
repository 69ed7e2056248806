//! Frobenius as a program over [rows](crate::solve::kkt::transition_rows), with all $S^2$ entries
//! of the target.
//!
//! $$\min \tfrac12 \|U - M(p)\|_F^2 \quad \text{s.t.} \quad \sum_t U_{st} = 1, \quad \sum_s U_{st} = 1, \quad 0 \le U \le \zeta .$$
//!
//! Memory is a dozen $S \times S$ arrays and a step costs $S^3$ multiplications at the speed of
//! dense linear algebra, so this is for up to some thousand states.

use crate::formulation::Problem;
use crate::formulation::frobenius::bound;
use crate::model::Mdp;
use crate::solve::cost::DENSE;
use crate::solve::distance::birkhoff_face_program::Optimum;
use crate::solve::kkt::proximal_term::ProximalTerm;
use crate::solve::kkt::row_schur::RowSchur;
use crate::solve::kkt::transition_rows::{Cells, TransitionRows, capped};
use ide3al_numerics::interior_point::{InteriorPoint, ProblemData, QuadraticProgram};
use ide3al_numerics::parallel::{blocks, map};

/// Slacks at the start: of the order of the differences that remain at the end.
const SLACK: f64 = 0.1;

/// Whether the cap is so tight that the uniform target is the only one.
fn one_target(n: usize, zeta: f64) -> bool {
    zeta * n as f64 <= 1.0 + 1e-6
}

pub(in crate::solve) struct Frobenius {
    rows: TransitionRows,
    elimination: RowSchur,
    work: std::cell::RefCell<Vec<f64>>,
}

impl Frobenius {
    /// The method at its start; nothing where there are more than `most` states.
    pub(in crate::solve) fn start(
        mdp: &Mdp,
        problem: &Problem,
        centre: &[f64],
        most: usize,
    ) -> Option<InteriorPoint<Self>> {
        let n = mdp.n_states();
        if n > most {
            return None;
        }
        let rows = TransitionRows::new(mdp, problem.xi, centre, Cells::All, DENSE)?;
        let elimination = RowSchur::new(&rows, true, DENSE)?;
        let (free, cells) = (rows.n_free(), rows.n_cells());
        let base = rows.base(mdp);
        let mut cost = vec![0.0; free + cells];
        rows.times(&base, &mut cost[..free]);
        for (c, b) in cost[free..].iter_mut().zip(&base) {
            *c = -b;
        }
        let mut right = rows.simplexes();
        right.resize(3 * n, 1.0);
        let mut x = ProximalTerm::new(&rows).uniform;
        x.resize(free + cells, 1.0 / n as f64);
        let data = ProblemData {
            cost,
            right,
            bounded: capped(free..free + cells, problem.zeta),
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
            point.fix(free..free + cells);
        }
        Some(point)
    }

    /// The policy at a point, and the multipliers $(\alpha, \beta)$ of the target's sums.
    pub(in crate::solve) fn read(&self, x: &[f64], y: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let n = self.rows.n_states();
        (self.rows.policy(x), y[n..3 * n].to_vec())
    }
}

impl Frobenius {
    /// $G = U - M$.
    fn difference(point: &InteriorPoint<Self>) -> Vec<f64> {
        let rows = &point.program.rows;
        let free = rows.n_free();
        let mut g = vec![0.0; rows.n_cells()];
        rows.transpose_times(&point.x[..free], &mut g);
        // the cost of U is what the floor xi puts into each cell, negated
        let (u, cost) = (&point.x[free..], &point.data.cost[free..]);
        map(&mut g, [u, cost], |mass, [u, cost]| u - mass + cost);
        g
    }

    /// $\|U - M\|_F$.
    pub(super) fn distance(point: &InteriorPoint<Self>) -> f64 {
        Self::difference(point)
            .iter()
            .map(|g| g * g)
            .sum::<f64>()
            .sqrt()
    }

    /// The bound that the difference and the multipliers prove.
    pub(super) fn bound(point: &InteriorPoint<Self>, mdp: &Mdp) -> f64 {
        let rows = &point.program.rows;
        let (alpha, beta) = point.y[rows.n_states()..].split_at(rows.n_states());
        let limits = (rows.xi, point.data.cap);
        bound(mdp, limits, &Self::difference(point), alpha, beta)
    }

    /// What the [face](crate::solve::distance::birkhoff_face_program) of all optimal policies is
    /// read off.
    pub(super) fn optimum(point: &InteriorPoint<Self>) -> Optimum<'_> {
        let rows = &point.program.rows;
        let free = rows.n_free();
        let fixed = point.active_bounds();
        let fixed = |i: usize| fixed[i] || point.is_fixed(i);
        let cells = || rows.all_reached().iter().map(|c| free + *c as usize);
        Optimum {
            p: &point.x[..free],
            u: cells().map(|i| point.x[i]).collect(),
            fixed: (0..free).chain(cells()).map(fixed).collect(),
        }
    }
}

impl QuadraticProgram for Frobenius {
    fn add_hessian_times(&self, x: &[f64], out: &mut [f64]) -> bool {
        let free = self.rows.n_free();
        let mut difference = self.work.borrow_mut();
        self.rows.transpose_times(&x[..free], &mut difference);
        map(&mut difference, [&x[free..]], |mass, [u]| u - mass);
        map(&mut out[free..], [&difference], |o, [d]| o + d);
        let mut policy = vec![0.0; free];
        self.rows.times(&difference, &mut policy);
        for (o, p) in out.iter_mut().zip(&policy) {
            *o -= p;
        }
        true
    }

    fn times(&self, x: &[f64], out: &mut [f64]) {
        let (free, n) = (self.rows.n_free(), self.rows.n_states());
        self.rows.sums(x, &mut out[..n]);
        let (sums, columns) = out[n..].split_at_mut(n);
        columns.fill(0.0);
        for (s, row) in x[free..].chunks_exact(n).enumerate() {
            sums[s] = row.iter().sum();
            columns.iter_mut().zip(row).for_each(|(c, u)| *c += u);
        }
    }

    fn transpose_times(&self, y: &[f64], out: &mut [f64]) {
        let (free, n) = (self.rows.n_free(), self.rows.n_states());
        for (s, w) in self.rows.first.windows(2).enumerate() {
            out[w[0]..w[1]].fill(y[s]);
        }
        let (alpha, beta) = y[n..].split_at(n);
        self.rows.outer_sums(alpha, beta, &mut out[free..]);
    }

    fn factorize(&mut self, theta: &[f64]) -> bool {
        let free = self.rows.n_free();
        let weights = &mut self.elimination.weights;
        weights.policy.copy_from_slice(&theta[..free]);
        let theta = &theta[free..];
        map(&mut weights.d, [theta], |_, [theta]| 1.0 / (1.0 + theta));
        weights.f.copy_from_slice(&weights.d);
        map(&mut weights.w, [theta, &weights.d], |_, [theta, d]| {
            theta * d
        });
        // a constant moved from all alpha to all beta changes nothing
        self.elimination.factor(&self.rows, Some(0)).is_some()
    }

    fn solve(&mut self, rx: &[f64], ry: &[f64], dx: &mut [f64], dy: &mut [f64]) {
        let (free, n) = (self.rows.n_free(), self.rows.n_states());
        let a = &rx[free..];
        let RowSchur { mass, weights, .. } = &mut self.elimination;
        map(mass, [a, &weights.f], |_, [a, f]| f * a);
        let (dp, du) = dx.split_at_mut(free);
        self.rows.times(mass, dp);
        dp.iter_mut().zip(rx).for_each(|(d, r)| *d += r);
        dy.copy_from_slice(ry);
        let (eta, rest) = dy.split_at_mut(n);
        let (alpha, beta) = rest.split_at_mut(n);
        self.elimination.solve(&self.rows, a, dp, eta, alpha, beta);
        // D (a + alpha + beta + dM)
        let RowSchur { mass, weights, .. } = &self.elimination;
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
