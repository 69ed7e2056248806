//! A primal-dual interior-point method for all utilities of what is visited.
//!
//! $$\max f(\omega) + g\, t \quad \text{subject to} \quad A \omega = \rho \mu, \; \sum \omega = 1, \; x = \omega - \xi d \ge 0, \;
//!   u = \omega - t b \ge 0, \; s = b_j - \langle c_j, \omega \rangle \ge 0 ,$$
//!
//! $A$ the flow constraints; $t$ and $u$ are there for coverage alone. With multipliers $V, \lambda, z, r, y$ an optimum is where
//! $r = \nabla f$ (the multiplier of $u$ for coverage), $r - A^\top V - \lambda - \sum_j y_j c_j + N^\top z = 0$, $\langle b, r \rangle = g$, and all
//! products $x z$, $u r$, $s y$ vanish. Newton's method is applied to these equations with the products driven to zero together, by
//! predictor and corrector (Mehrotra 1992, *SIAM J. Optim.* 2). The reward $r$ is an unknown of its own, linked to $\omega$ by its
//! [linearised](crate::formulation::utility::Conjugate::linearise) equation: all equations among multipliers are then linear, hold
//! after every full step, and make a dual point whose bound is computed apart. Everything but $V$ and a border (a column
//! for $\lambda$, for $t$ and for each limit) is eliminated state by state, see [`normal`].
//!
//! It begins at the occupancy that [would be preferred](crate::formulation::utility::Conjugate::preferred) if there were no
//! flow constraints, with all products about alike. The constraints are met on the way. (From a policy's occupancy, which meets them,
//! steps are short wherever that policy hardly goes.) Where the utility by itself keeps a pair visited, $x \ge 0$ is implied and $z = 0$.
//!
//! Occupancies are scaled to a mean of one, the utility to a gradient of about one, costs to a largest of one.

mod direction;
mod lengths;
mod normal;
mod triangle;

use crate::formulation::occupancy::Occupancies;
use crate::formulation::simplex;
use crate::formulation::utility::{Conjugate, Form, Linear};
use crate::formulation::visits::Limit;
use crate::solve::driver::Driver;
use direction::{Direction, Products};
use normal::Normal;

/// Products this small are rounding.
const LEAST: f64 = 1e-17;
/// The start has at least this share of the mean occupancy everywhere.
const LEAST_START: f64 = 1e-3;
/// Where a corrected step is shorter than this, one that only aims at the centre is taken.
const TOO_SHORT: f64 = 0.1;
/// Steps so short in a row end the method.
const SHORT: (f64, usize) = (1e-6, 4);
/// Steps with products that are rounding, or without any: Newton's method for the utility alone, which needs some ten.
const MOST_EXHAUSTED: usize = 60;
/// Steps after which floating point has given out.
const MOST_STEPS: usize = 300;

/// What the method has at hand.
pub(super) struct Interior<'a> {
    part: &'a Occupancies,
    utility: &'a dyn Conjugate,
    limits: &'a [Limit],
    normal: Normal<'a>,
    /// Factor of occupancies, and of gradients.
    units: f64,
    worth: f64,
    /// Largest absolute cost of each limit, and what its budget is lowered by to keep exact occupancies within it.
    cost_units: Vec<f64>,
    pub(super) margins: Vec<f64>,
    /// $b$ of coverage, scaled to a mean of one, and that mean.
    floor: Option<(Vec<f64>, f64)>,
    omega: Vec<f64>,
    d: Vec<f64>,
    x: Vec<f64>,
    /// Where $x \ge 0$ has a multiplier of its own.
    bounded: Vec<bool>,
    u: Vec<f64>,
    s: Vec<f64>,
    t: f64,
    v: Vec<f64>,
    lambda: f64,
    z: Vec<f64>,
    r: Vec<f64>,
    state_r: Vec<f64>,
    y: Vec<f64>,
    linear: Linear,
    steps: usize,
    short: usize,
    exhausted: usize,
}

/// A dual point, up to a common factor where the utility's bound does not depend on one.
pub(in crate::solve) struct Dual {
    pub(in crate::solve) r: Vec<f64>,
    pub(in crate::solve) v: Vec<f64>,
    pub(in crate::solve) prices: Vec<f64>,
    /// What the prices are to be multiplied by to be in the units of the objective.
    pub(in crate::solve) price_scale: f64,
}

impl<'a> Interior<'a> {
    /// At the start.
    pub(super) fn new(
        part: &'a Occupancies,
        utility: &'a dyn Conjugate,
        limits: &'a [Limit],
    ) -> Self {
        let mdp = part.mdp();
        let (n, pairs) = (mdp.n_states(), mdp.n_pairs());
        let units = pairs as f64;
        let mut omega = vec![0.0; pairs];
        utility.preferred(&mut omega);
        omega
            .iter_mut()
            .for_each(|x| *x = (*x * units).max(LEAST_START));
        let mut x = vec![0.0; pairs];
        let mut d = vec![0.0; n];
        for s in 0..n {
            let free = 1.0 - mdp.n_actions(s) as f64 * part.xi();
            d[s] = omega[mdp.pairs(s)].iter().sum();
            for pair in mdp.pairs(s) {
                x[pair] = omega[pair] * free;
                omega[pair] = x[pair] + part.xi() * d[s];
            }
        }
        let bounded = bounded(utility, part.xi(), pairs);
        let cost_units: Vec<f64> = limits
            .iter()
            .map(|limit| {
                let largest = limit.cost.iter().fold(0.0, |m: f64, c| m.max(c.abs()));
                if largest > 0.0 { largest } else { 1.0 }
            })
            .collect();
        let mut linear = Linear {
            pair: vec![0.0; pairs],
            pair_slope: vec![0.0; pairs],
            state: vec![0.0; n],
            state_slope: vec![0.0; n],
        };
        let mut interior = Interior {
            normal: Normal::new(part, matches!(utility.form(), Form::Floor(_))),
            units,
            worth: 1.0,
            margins: vec![0.0; limits.len()],
            floor: None,
            u: Vec::new(),
            s: Vec::new(),
            t: 0.0,
            v: vec![0.0; n],
            lambda: 0.0,
            z: bounded.iter().map(|b| f64::from(u8::from(*b))).collect(),
            bounded,
            r: vec![1.0; pairs],
            state_r: vec![0.0; n],
            y: vec![1.0; limits.len()],
            linear: Linear::default(),
            steps: 0,
            short: 0,
            exhausted: 0,
            cost_units,
            omega,
            d,
            x,
            part,
            utility,
            limits,
        };
        if let Form::Floor(wanted) = utility.form() {
            let mean = wanted.iter().sum::<f64>() / units;
            let floor: Vec<f64> = wanted.iter().map(|b| b / mean).collect();
            let shares = interior.omega.iter().zip(&floor);
            let least = shares.map(|(x, b)| x / b).fold(f64::INFINITY, f64::min);
            // well below the least, so that no product is small in the beginning
            interior.t = 0.1 * least;
            let u = |(x, b): (&f64, &f64)| x - interior.t * b;
            interior.u = interior.omega.iter().zip(&floor).map(u).collect();
            if part.restart() == 0.0 {
                interior.lambda = 1.0;
            }
            interior.floor = Some((floor, mean));
        } else {
            let raw: Vec<f64> = interior.omega.iter().map(|x| x / units).collect();
            let mut gradient = vec![0.0; pairs];
            utility.gradient(&raw, &mut gradient);
            let size = gradient.iter().map(|g| g.abs()).sum::<f64>() / units;
            // entropies are measured in nats
            let nats = matches!(utility.form(), Form::Entropies(..));
            interior.worth = if nats || size == 0.0 { 1.0 } else { 1.0 / size };
            let raw_d: Vec<f64> = interior.d.iter().map(|x| x / units).collect();
            utility.linearise(&raw, &raw_d, &gradient, &mut linear);
            let worth = interior.worth;
            interior.r = linear.pair.iter().map(|g| g * worth).collect();
            interior.state_r = linear.state.iter().map(|g| g * worth).collect();
            if part.restart() == 0.0 {
                interior.lambda = gradient.iter().sum::<f64>() / units * worth;
            }
        }
        interior.linear = linear;
        interior.s = (0..limits.len())
            .map(|j| match interior.slack(j) {
                slack if slack > 1e-2 => slack,
                _ => 1.0,
            })
            .collect();
        interior.y = interior.s.iter().map(|s| 1.0 / s).collect();
        interior
    }

    /// Whether its equations are factored.
    pub(super) fn factors(&self) -> bool {
        self.normal.factors()
    }

    /// $\xi$ and the pairs of a state.
    fn of_states(&self) -> impl Iterator<Item = std::ops::Range<usize>> + use<'a> {
        let mdp = self.part.mdp();
        (0..mdp.n_states()).map(|s| mdp.pairs(s))
    }

    /// $b_j - \langle c_j, \omega \rangle$, scaled.
    fn slack(&self, j: usize) -> f64 {
        let limit = &self.limits[j];
        let spent: f64 = limit.cost.iter().zip(&self.omega).map(|(c, x)| c * x).sum();
        ((limit.budget - self.margins[j]) * self.units - spent) / self.cost_units[j]
    }

    /// Mean of the products; zero if there are none.
    fn mu(&self) -> f64 {
        let (sum, count) = self.products();
        sum / count.max(1.0)
    }

    fn products(&self) -> (f64, f64) {
        let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let with_floor = if self.u.is_empty() {
            0.0
        } else {
            sum(&self.u, &self.r)
        };
        let total = sum(&self.x, &self.z) + sum(&self.s, &self.y) + with_floor;
        let bounded = self.bounded.iter().filter(|b| **b).count();
        let count = bounded + self.s.len() + self.u.len();
        (total, count as f64)
    }

    /// About how far the utility is from its optimum: the products, and by how much $\langle r, \omega \rangle - f(\omega)$ exceeds $f^*(r)$.
    pub(super) fn estimated_gap(&self) -> f64 {
        let gap = self.products().0;
        if let Some((_, mean)) = &self.floor {
            return gap / (self.units * self.units * mean);
        }
        let omega = self.occupancy();
        let mut r = self.rewards();
        r.iter_mut().for_each(|x| *x /= self.worth);
        let gained: f64 = r.iter().zip(&omega).map(|(r, x)| r * x).sum();
        let apart = gained - self.utility.value(&omega) - self.utility.conjugate(&r);
        gap / (self.units * self.worth) + apart.max(0.0)
    }

    /// The largest error of the flow constraints and of the links between rewards and occupancies, relative.
    pub(super) fn violation(&self) -> f64 {
        let flow: f64 = self.flow_residual().iter().map(|x| x.abs()).sum();
        let limits = (0..self.s.len()).map(|j| (self.slack(j) - self.s[j]).abs());
        let limits = limits.fold(0.0, f64::max);
        (flow + limits) / self.units
    }

    /// $\rho \mu - A \omega$.
    fn flow_residual(&self) -> Vec<f64> {
        let mut residual = vec![0.0; self.v.len()];
        self.normal.rows(&self.omega, &mut residual);
        let start = self.part.mdp().start();
        let inflow = self.part.restart() * self.units;
        for (x, p) in residual.iter_mut().zip(start) {
            *x = inflow * p - *x;
        }
        residual
    }

    /// The rewards of pairs with those of their states, scaled.
    fn rewards(&self) -> Vec<f64> {
        let mut r = self.r.clone();
        for (pairs, state) in self.of_states().zip(&self.state_r) {
            r[pairs].iter_mut().for_each(|x| *x += state);
        }
        r
    }

    /// The occupancy at hand.
    pub(super) fn occupancy(&self) -> Vec<f64> {
        self.omega.iter().map(|x| x / self.units).collect()
    }

    /// The policy of the occupancy at hand, and that occupancy's states.
    pub(super) fn policy(&self) -> (Vec<f64>, &[f64]) {
        let mdp = self.part.mdp();
        let mut policy = self.omega.clone();
        for (pairs, d) in self.of_states().zip(&self.d) {
            policy[pairs].iter_mut().for_each(|x| *x /= d);
        }
        (simplex::feasible(mdp, self.part.xi(), policy), &self.d)
    }

    /// The dual point at hand, in the utility's own units but for a common factor.
    pub(super) fn dual(&self) -> Dual {
        let scale = 1.0 / self.worth;
        let mut r = self.rewards();
        // rewards follow from the other multipliers, so that no equation is left to be met
        if self.floor.is_none() {
            let mut columns = vec![0.0; r.len()];
            self.normal.columns(&self.v, &mut columns);
            self.add_limits(&self.y, &mut columns);
            for (x, c) in r.iter_mut().zip(&columns) {
                *x = c + self.lambda;
            }
            for pairs in self.of_states() {
                let sum: f64 = self.z[pairs.clone()].iter().sum();
                for pair in pairs {
                    r[pair] -= self.z[pair] - self.part.xi() * sum;
                }
            }
        }
        r.iter_mut().for_each(|x| *x = (*x * scale).max(0.0));
        Dual {
            r,
            v: self.v.iter().map(|v| v * scale).collect(),
            prices: self
                .y
                .iter()
                .zip(&self.cost_units)
                .map(|(y, unit)| y / unit * scale)
                .collect(),
            price_scale: match &self.floor {
                Some((_, mean)) => 1.0 / (self.units * mean),
                None => 1.0,
            },
        }
    }

    /// Adds $\sum_j y_j c_j$ in scaled units.
    fn add_limits(&self, y: &[f64], out: &mut [f64]) {
        for ((limit, y), unit) in self.limits.iter().zip(y).zip(&self.cost_units) {
            for (x, c) in out.iter_mut().zip(&limit.cost) {
                *x += y * c / unit;
            }
        }
    }

    /// One step; false where there is none left.
    pub(super) fn step(&mut self, driver: &mut Driver<'_>) -> bool {
        self.steps += 1;
        let mu = self.mu();
        self.exhausted = if mu > 10.0 * LEAST {
            0
        } else {
            self.exhausted + 1
        };
        if self.exhausted > MOST_EXHAUSTED || self.steps > MOST_STEPS || self.short >= SHORT.1 {
            return false;
        }
        self.linearise();
        let Some(mut equations) = Direction::prepare(self, driver) else {
            return false;
        };
        let nothing = Products::default();
        let predictor = equations.solve(self, 0.0, None, &nothing, driver);
        let (primal, dual) = self.lengths(&predictor, 1.0);
        let after = self.products_after(&predictor, primal, dual);
        let share = if mu > 0.0 {
            (after.1 / mu).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let centre = (mu * (share * share * share).max(1e-8)).max(LEAST);
        let mut taken = if self.products().1 > 0.0 {
            let corrected = equations.solve(self, centre, Some(&predictor), &nothing, driver);
            self.corrected(&mut equations, &predictor, corrected, centre, driver)
        } else {
            predictor
        };
        if !taken.is_finite() {
            return false;
        }
        let (mut primal, mut dual) = self.central(&taken, mu);
        if primal.min(dual) < TOO_SHORT {
            let centred = equations.solve(self, mu, None, &nothing, driver);
            let (p, d) = self.central(&centred, mu);
            if centred.is_finite() && p.min(d) > primal.min(dual) {
                (taken, primal, dual) = (centred, p, d);
            }
        }
        self.short = if primal.min(dual) < SHORT.0 {
            self.short + 1
        } else {
            0
        };
        self.advance(&taken, primal, dual);
        true
    }

    /// The utility's gradient at the occupancy at hand, in scaled units.
    fn linearise(&mut self) {
        if self.floor.is_some() {
            return;
        }
        let (units, worth) = (self.units, self.worth);
        let raw: Vec<f64> = self.omega.iter().map(|x| x / units).collect();
        let raw_d: Vec<f64> = self.d.iter().map(|x| x / units).collect();
        let raw_r: Vec<f64> = self.r.iter().map(|x| x / worth).collect();
        let linear = &mut self.linear;
        self.utility.linearise(&raw, &raw_d, &raw_r, linear);
        for x in linear.pair.iter_mut().chain(&mut linear.state) {
            *x *= worth;
        }
        let slopes = linear.pair_slope.iter_mut().chain(&mut linear.state_slope);
        slopes.for_each(|x| *x *= worth / units);
    }

    fn advance(&mut self, step: &direction::Step, primal: f64, dual: f64) {
        let add = |a: &mut [f64], da: &[f64], size: f64| {
            for (x, dx) in a.iter_mut().zip(da) {
                *x += size * dx;
            }
        };
        add(&mut self.omega, &step.omega, primal);
        add(&mut self.x, &step.x, primal);
        add(&mut self.u, &step.u, primal);
        add(&mut self.s, &step.s, primal);
        self.t += primal * step.t;
        add(&mut self.v, &step.v, dual);
        self.lambda += dual * step.lambda;
        add(&mut self.z, &step.z, dual);
        add(&mut self.r, &step.r, dual);
        add(&mut self.state_r, &step.state_r, dual);
        add(&mut self.y, &step.y, dual);
        let mdp = self.part.mdp();
        for s in 0..self.d.len() {
            // omega from x keeps its digits near zero: omega = x + xi d, d = sum x / (1 - A xi)
            let pairs = mdp.pairs(s);
            let free = 1.0 - self.part.xi() * pairs.len() as f64;
            let d = self.x[pairs.clone()].iter().sum::<f64>() / free;
            self.d[s] = d;
            for pair in pairs {
                self.omega[pair] = self.x[pair] + self.part.xi() * d;
            }
        }
    }
}

/// Whether $x \ge 0$ is a constraint of its own: with $\xi > 0$ always, else where the utility does not fall without end before $\omega$
/// reaches zero.
fn bounded(utility: &dyn Conjugate, xi: f64, pairs: usize) -> Vec<bool> {
    if xi > 0.0 {
        return vec![true; pairs];
    }
    match utility.form() {
        Form::Entropies(_, tau) => vec![tau == 0.0; pairs],
        Form::Floor(wanted) => wanted.iter().map(|b| *b == 0.0).collect(),
        Form::Inverse(c, had) => c
            .iter()
            .zip(had)
            .map(|(c, m)| *c == 0.0 || *m > 0.0)
            .collect(),
        Form::Average(_) => vec![true; pairs],
    }
}
