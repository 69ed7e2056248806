//! A primal-dual interior-point method for all utilities of what is visited.
//!
//! $$\max f(\omega) + g\, t \quad \text{subject to} \quad A \omega = \rho \mu, \; \sum \omega = 1, \; x = \omega - \xi d \ge 0, \;
//!   u = \omega - t b \ge 0, \; s = b_j - \langle c_j, \omega \rangle \ge 0 ,$$
//!
//! $A$ the flow constraints; $t$ and $u$ are there for coverage alone. With multipliers
//! $V, \lambda, z, r, y$ an optimum is where $r = \nabla f$ (the multiplier of $u$ for coverage),
//! $r - A^\top V - \lambda - \sum_j y_j c_j + N^\top z = 0$, $\langle b, r \rangle = g$, and all
//! products $x z$, $u r$, $s y$ vanish. Newton's method is applied to these equations with the
//! products driven to zero together, by predictor and corrector (Mehrotra 1992, *SIAM J. Optim.*
//! 2). The reward $r$ is an unknown of its own, linked to $\omega$ by its
//! [linearised](crate::formulation::utility::Conjugate::linearise) equation: all equations among
//! multipliers are then linear, hold after every full step, and make a dual point whose bound is
//! computed apart. Everything but $V$ and a border (a column for $\lambda$, for $t$ and for each
//! limit) is eliminated state by state, see [`normal`].
//!
//! It begins at the occupancy that [would be
//! preferred](crate::formulation::utility::Conjugate::preferred) if there were no flow constraints,
//! with all products about alike. The constraints are met on the way. (From a policy's occupancy,
//! which meets them, steps are short wherever that policy hardly goes.) Utilities that fall without
//! end as $\omega$ vanishes would keep it positive by themselves; $x \ge 0$ has a multiplier all
//! the same, as steps otherwise come to an end at the pairs that are visited least.
//!
//! Occupancies are scaled to a mean of one, the utility to a gradient of about one, costs to a
//! largest of one.

mod equations;
mod normal;
mod point;
mod steps;

use super::certifier::{Certifier, PolicyOccupancy, WITHIN, limit_size};
use crate::formulation::occupancy::{Dual, Occupancies};
use crate::formulation::occupancy_spec::Limit;
use crate::formulation::simplex;
use crate::formulation::utility::{Conjugate, Form, Linear};
use crate::solve::driver::{Candidate, Driver, Method, Step};
use ide3al_numerics::parallel::dot;
use normal::Normal;
use point::Point;

/// Every pair starts with at least this share of the mean occupancy, so that no complementarity
/// product is small in the beginning.
const LEAST_START: f64 = 1e-3;
/// Coverage starts at this share of the least $\omega / b$, so that no slack is small in the
/// beginning.
const FIRST_COVERAGE: f64 = 0.1;
/// A limit whose scaled slack at the start is below this counts as violated, and its slack variable
/// starts at one.
const LEAST_SLACK: f64 = 1e-2;
/// A certificate costs a policy's exact occupancy. It is asked for once the relative error of the
/// flow constraints is below this.
const NEARLY_FEASIBLE: f64 = 1e-4;
/// If a policy exceeds budgets by at most `SLIGHTLY` times the largest cost, and lowering them
/// costs at most this share of the wanted gap, they are lowered at once, at the same mu.
const CHEAP: f64 = 0.1;
const SLIGHTLY: f64 = 1e-6;
/// Below this mu, or after so many infeasible policies in a row, budgets are lowered instead of
/// reducing mu further.
const LEAST_MU: f64 = 1e-12;
const MOST_INFEASIBLE: usize = 5;

/// A bound that falls short of the value at hand by more than this share of it is a rounding error,
/// as in the driver.
const CONTRADICTION: f64 = 1e-9;

/// What the method has at hand.
pub(super) struct Interior<'a> {
    part: &'a Occupancies,
    utility: &'a dyn Conjugate,
    limits: &'a [Limit],
    pub(super) certifier: Certifier<'a>,
    normal: Normal<'a>,
    /// Factor of occupancies, and of gradients.
    occupancy_scale: f64,
    objective_scale: f64,
    /// Largest absolute cost of each limit, and what its budget is lowered by to keep exact
    /// occupancies within it.
    cost_scales: Vec<f64>,
    budget_margins: Vec<f64>,
    /// How many policies in a row exceeded a budget, and whether the next step keeps the
    /// complementarity products as they are because budgets were lowered.
    infeasible_streak: usize,
    keep_complementarity: bool,
    /// $b$ of coverage, scaled to a mean of one, and that mean.
    floor: Option<(Vec<f64>, f64)>,
    at: Point,
    d: Vec<f64>,
    linear: Linear,
    steps: usize,
    /// How many steps in a row were too short, and how many had a mu below rounding.
    short: usize,
    rounding_steps: usize,
    /// True once no further step is possible; the last iterate has been offered by then.
    ended: bool,
}

impl<'a> Interior<'a> {
    /// At the start.
    pub(super) fn new(certifier: Certifier<'a>) -> Self {
        let (part, utility, limits) = (certifier.part, certifier.utility, certifier.limits);
        let mdp = part.mdp();
        let (n, pairs) = (mdp.n_states(), mdp.n_pairs());
        let occupancy_scale = pairs as f64;
        let mut omega = vec![0.0; pairs];
        utility.preferred(&mut omega);
        omega
            .iter_mut()
            .for_each(|x| *x = (*x * occupancy_scale).max(LEAST_START));
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
        let mut interior = Interior {
            normal: Normal::new(part, matches!(utility.form(), Form::Floor(_))),
            occupancy_scale,
            objective_scale: 1.0,
            cost_scales: limits.iter().map(limit_size).collect(),
            budget_margins: vec![0.0; limits.len()],
            infeasible_streak: 0,
            keep_complementarity: false,
            floor: None,
            at: Point {
                omega,
                x,
                u: Vec::new(),
                s: Vec::new(),
                t: 0.0,
                v: vec![0.0; n],
                lambda: 0.0,
                z: vec![1.0; pairs],
                r: vec![1.0; pairs],
                state_r: vec![0.0; n],
                y: Vec::new(),
            },
            d,
            linear: Linear {
                pair: vec![0.0; pairs],
                pair_slope: vec![0.0; pairs],
                state: vec![0.0; n],
                state_slope: vec![0.0; n],
            },
            steps: 0,
            short: 0,
            rounding_steps: 0,
            ended: false,
            part,
            utility,
            limits,
            certifier,
        };
        let lambda = match utility.form() {
            Form::Floor(wanted) => interior.begin_coverage(wanted),
            _ => interior.begin_gradient(),
        };
        if part.restart() == 0.0 {
            interior.at.lambda = lambda;
        }
        interior.at.s = (0..limits.len())
            .map(|j| match interior.slack(j) {
                slack if slack > LEAST_SLACK => slack,
                _ => 1.0,
            })
            .collect();
        interior.at.y = interior.at.s.iter().map(|s| 1.0 / s).collect();
        interior
    }

    /// Makes room for $t$ and $u$; returns the first $\lambda$.
    fn begin_coverage(&mut self, wanted: &[f64]) -> f64 {
        let mean = wanted.iter().sum::<f64>() / self.occupancy_scale;
        let floor: Vec<f64> = wanted.iter().map(|b| b / mean).collect();
        let at = &mut self.at;
        let shares = at.omega.iter().zip(&floor);
        let least = shares.map(|(x, b)| x / b).fold(f64::INFINITY, f64::min);
        at.t = FIRST_COVERAGE * least;
        let above = at.omega.iter().zip(&floor).map(|(x, b)| x - at.t * b);
        at.u = above.collect();
        self.floor = Some((floor, mean));
        1.0
    }

    /// Rewards are the gradient at the start, whose mean size sets their scale; returns the first
    /// $\lambda$.
    fn begin_gradient(&mut self) -> f64 {
        self.utility.gradient(&self.occupancy(), &mut self.at.r);
        let gradient = &self.at.r;
        let size = gradient.iter().map(|g| g.abs()).sum::<f64>() / self.occupancy_scale;
        let mean = gradient.iter().sum::<f64>() / self.occupancy_scale;
        self.linearise();
        // entropies are measured in nats
        let nats = matches!(self.utility.form(), Form::Entropies(..));
        self.objective_scale = if nats || size == 0.0 { 1.0 } else { 1.0 / size };
        let objective_scale = self.objective_scale;
        self.at.r = self
            .linear
            .pair
            .iter()
            .map(|g| g * objective_scale)
            .collect();
        self.at.state_r = self
            .linear
            .state
            .iter()
            .map(|g| g * objective_scale)
            .collect();
        mean * objective_scale
    }

    /// Goes on until the answer is close enough, or nothing is left to do.
    pub(super) fn run(&mut self, driver: &mut Driver<'_>) {
        if !driver.run(self) && !self.ended {
            // where it is stopped, what is at hand is better than nothing
            let candidate = self.certified(driver);
            driver.offer(candidate, self.name());
        }
    }

    /// Whether its equations are factored.
    pub(super) fn factors(&self) -> bool {
        self.normal.factors()
    }

    fn xi(&self) -> f64 {
        self.part.xi()
    }

    /// The pairs of each state.
    fn of_states(&self) -> impl Iterator<Item = std::ops::Range<usize>> + use<'a> {
        let mdp = self.part.mdp();
        (0..mdp.n_states()).map(|s| mdp.pairs(s))
    }

    /// $b_j - \langle c_j, \omega \rangle$, scaled.
    fn slack(&self, j: usize) -> f64 {
        let limit = &self.limits[j];
        let spent = dot(&limit.cost, &self.at.omega);
        ((limit.budget - self.budget_margins[j]) * self.occupancy_scale - spent)
            / self.cost_scales[j]
    }

    /// The mean of the complementarity products.
    fn mu(&self) -> f64 {
        let (sum, count) = self.at.complementarity();
        sum / count as f64
    }

    /// About how far the utility is from its optimum: the complementarity, and by how much
    /// $\langle r, \omega \rangle - f(\omega)$ exceeds $f^*(r)$.
    fn estimated_gap(&self, omega: &[f64], value: f64) -> f64 {
        let gap = self.at.complementarity().0;
        if let Some((_, mean)) = &self.floor {
            return gap / (self.occupancy_scale * self.occupancy_scale * mean);
        }
        let mut r = self.rewards();
        r.iter_mut().for_each(|x| *x /= self.objective_scale);
        let apart = dot(&r, omega) - value - self.utility.conjugate(&r);
        gap / (self.occupancy_scale * self.objective_scale) + apart.max(0.0)
    }

    /// The errors of the flow constraints and of the limits, relative.
    fn violation(&self) -> f64 {
        let flow: f64 = self.flow_residual().iter().map(|x| x.abs()).sum();
        let slacks = self.at.s.iter().enumerate();
        let limits = slacks.map(|(j, s)| (self.slack(j) - s).abs());
        (flow + limits.fold(0.0, f64::max)) / self.occupancy_scale
    }

    /// $\rho \mu - A \omega$.
    fn flow_residual(&self) -> Vec<f64> {
        let mut residual = vec![0.0; self.at.v.len()];
        self.normal.system.rows(&self.at.omega, &mut residual);
        let start = self.part.mdp().start();
        let inflow = self.part.restart() * self.occupancy_scale;
        for (x, p) in residual.iter_mut().zip(start) {
            *x = inflow * p - *x;
        }
        residual
    }

    /// The rewards of pairs with those of their states, scaled.
    fn rewards(&self) -> Vec<f64> {
        let mut r = self.at.r.clone();
        for (pairs, state) in self.of_states().zip(&self.at.state_r) {
            r[pairs].iter_mut().for_each(|x| *x += state);
        }
        r
    }

    /// $A^\top V + \sum_j y_j c_j$, scaled.
    fn priced(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.at.omega.len()];
        self.normal.system.columns(&self.at.v, &mut out);
        for ((limit, y), unit) in self.limits.iter().zip(&self.at.y).zip(&self.cost_scales) {
            for (x, c) in out.iter_mut().zip(&limit.cost) {
                *x += y * c / unit;
            }
        }
        out
    }

    /// $N v = N^\top v$: takes off $\xi$ times each state's sum.
    fn without_floor(&self, v: &[f64]) -> Vec<f64> {
        let mut out = v.to_vec();
        for pairs in self.of_states() {
            let sum: f64 = v[pairs.clone()].iter().sum();
            out[pairs].iter_mut().for_each(|x| *x -= self.xi() * sum);
        }
        out
    }

    /// The occupancy at hand.
    fn occupancy(&self) -> Vec<f64> {
        self.at
            .omega
            .iter()
            .map(|x| x / self.occupancy_scale)
            .collect()
    }

    /// What the policy of the occupancy at hand visits, exactly. It is another occupancy where
    /// parts of the model hang together by what is left of pairs that are never played in the end:
    /// those whose probability beyond $\xi$ is less than what playing them costs, as a rule of
    /// thumb. `without` these, parts may be left for ever, and share the mass as they do in the
    /// occupancy at hand.
    fn visited(&self, without: bool) -> PolicyOccupancy {
        let (at, xi) = (&self.at, self.xi());
        let mut policy = vec![xi; at.x.len()];
        for (pairs, d) in self.of_states().zip(&self.d) {
            let played = |i: &usize| at.x[*i] > at.z[*i] * d;
            let all = !without || !pairs.clone().any(|i| played(&i));
            let mass = simplex::free_mass(pairs.len(), xi);
            let free = || pairs.clone().filter(|i| all || played(i));
            // from x, whose digits are relative: a projection would add rounding to probabilities
            // that may be far smaller
            let sum: f64 = free().map(|i| at.x[i]).sum();
            free().for_each(|i| policy[i] += mass * (at.x[i] / sum));
        }
        PolicyOccupancy::by_policy(self.part, self.limits, policy, &self.d)
    }

    /// What a policy visits that is worth as much as the occupancy at hand, if there is one among
    /// two (with the first alone `tests/solving/faint_links.rs` does not reach its optima). Budgets
    /// are lowered that this policy, or else the one that comes nearest to that, exceeds.
    fn visited_within(&mut self, prices: &[f64], driver: &Driver<'_>) -> PolicyOccupancy {
        let value = self.utility.value(&self.occupancy());
        let gap = driver.wanted(value);
        let missed = |visited: &PolicyOccupancy| {
            let short = value - gap - self.utility.value(&visited.omega);
            let beyond = visited.budget_excess(self.limits).map(|x| x - WITHIN);
            beyond.fold(short, f64::max)
        };
        let all = self.visited(false);
        let of_all = missed(&all);
        if of_all <= 0.0 {
            self.infeasible_streak = 0;
            return all;
        }
        let other = self.visited(true);
        let (nearer, farther) = if missed(&other) < of_all {
            (other, all)
        } else {
            (all, other)
        };
        self.lower_budgets(&nearer, prices, gap);
        // whichever is nearer, one that keeps to the limits is an answer
        let is_answer = |visited: &PolicyOccupancy| visited.is_feasible(self.limits);
        if is_answer(&farther) && !is_answer(&nearer) {
            farther
        } else {
            nearer
        }
    }

    /// Lowers the budgets that a policy exceeds by twice the excess. Where that is cheap it is done
    /// at once; else a smaller mu may make the policy feasible, and only after [`MOST_INFEASIBLE`]
    /// policies or below [`LEAST_MU`] are budgets lowered.
    fn lower_budgets(&mut self, visited: &PolicyOccupancy, prices: &[f64], gap: f64) {
        let exceeded: Vec<f64> = visited.budget_excess(self.limits).collect();
        if visited.is_feasible(self.limits) {
            self.infeasible_streak = 0;
            return;
        }
        self.infeasible_streak += 1;
        let cheap = |j: usize| exceeded[j] * self.cost_scales[j] * prices[j] <= CHEAP * gap;
        let all_cheap = (0..prices.len()).all(|j| exceeded[j] <= SLIGHTLY && cheap(j));
        self.keep_complementarity = all_cheap && self.infeasible_streak <= MOST_INFEASIBLE;
        if self.keep_complementarity
            || self.infeasible_streak > MOST_INFEASIBLE
            || self.mu() <= LEAST_MU
        {
            for (budget_margin, (x, unit)) in
                (self.budget_margins.iter_mut()).zip(exceeded.iter().zip(&self.cost_scales))
            {
                *budget_margin += 2.0 * x.max(0.0) * unit;
            }
        }
    }

    /// The dual point at hand, in the utility's own units but for a common factor.
    fn dual(&self) -> Dual {
        let (at, scale) = (&self.at, 1.0 / self.objective_scale);
        let v: Vec<f64> = at.v.iter().map(|v| v * scale).collect();
        let prices = at.y.iter().zip(&self.cost_scales);
        let prices: Vec<f64> = prices.map(|(y, unit)| y / unit * scale).collect();
        let mut r = self.rewards();
        let positive = |r: &mut Vec<f64>| r.iter_mut().for_each(|x| *x = (*x * scale).max(0.0));
        positive(&mut r);
        if let Form::Inverse(..) = self.utility.form() {
            // rewards that follow from the other multipliers leave no equation to be met, but in
            // the end they are small differences
            let mut implied = self.priced();
            let z = self.without_floor(&at.z);
            let pairs = implied.iter_mut().zip(z);
            pairs.for_each(|(r, z)| *r = *r + at.lambda - z);
            positive(&mut implied);
            let bound = |r: &[f64]| {
                let (utility, limits) = (self.utility, self.limits);
                self.part.bound(utility, limits, r, &v, &prices)
            };
            let value = self.utility.value(&self.occupancy());
            let (of_implied, own) = (bound(&implied), bound(&r));
            if of_implied < own && of_implied >= value - CONTRADICTION * value.abs() {
                r = implied;
            }
        }
        Dual {
            r,
            v,
            prices,
            price_scale: match &self.floor {
                Some((_, mean)) => 1.0 / (self.occupancy_scale * mean),
                None => 1.0,
            },
        }
    }

    /// What is at hand as a candidate.
    fn certified(&mut self, driver: &Driver<'_>) -> Candidate {
        let dual = self.dual();
        let prices: Vec<f64> = dual.prices.iter().map(|y| y * dual.price_scale).collect();
        let visited = self.visited_within(&prices, driver);
        self.certifier.certify(visited, dual)
    }

    /// The utility's gradient at the occupancy at hand, in scaled units.
    fn linearise(&mut self) {
        let (occupancy_scale, objective_scale) = (self.occupancy_scale, self.objective_scale);
        let d: Vec<f64> = self.d.iter().map(|x| x / occupancy_scale).collect();
        let r: Vec<f64> = self.at.r.iter().map(|x| x / objective_scale).collect();
        let omega = self.occupancy();
        let linear = &mut self.linear;
        self.utility.linearise(&omega, &d, &r, linear);
        for x in linear.pair.iter_mut().chain(&mut linear.state) {
            *x *= objective_scale;
        }
        let slopes = linear.pair_slope.iter_mut().chain(&mut linear.state_slope);
        slopes.for_each(|x| *x *= objective_scale / occupancy_scale);
    }
}

impl Method for Interior<'_> {
    fn name(&self) -> &'static str {
        "interior-point"
    }

    fn step(&mut self, driver: &mut Driver<'_>) -> Step {
        if self.ended {
            return Step::End;
        }
        self.ended = !self.advance(driver);
        if !self.ended {
            let omega = self.occupancy();
            let value = self.utility.value(&omega);
            let close = self.estimated_gap(&omega, value) <= driver.wanted(value);
            if !(close && self.violation() <= NEARLY_FEASIBLE) {
                return Step::Going;
            }
        }
        Step::Offer(self.certified(driver))
    }
}
