//! Newton's method on the entropies' dual function (see [`potentials`](super::potentials)): value,
//! gradient and steps.
//!
//! The Hessian without $- \nabla F \nabla F^\top$, which only makes the step shorter along the same
//! direction, is a [flow system](crate::solve::kkt::flow_system). It is solved by conjugate
//! gradients as long as a few of these do; where they do not it is factored as soon as that costs
//! less, if its factor can be held.

use crate::formulation::entropy::{self, EntropyWeights};
use crate::formulation::simplex;
use crate::model::Mdp;
use crate::solve::cost::{CHEAP_STEP, DENSE_HESSIAN, FACTOR_FIRST};
use crate::solve::kkt::flow_system::FlowSystem;

/// Conjugate gradient steps after which a factor is thought of, and by whose rate they are judged.
const TRIAL: usize = 20;
/// Conjugate gradient steps where there is no factor: it limits the time of one direction.
const MOST_STEPS: usize = 500;
/// Parts of a chain may hang together by probabilities of any size, so that small pivots are no
/// rounding: only what is no positive number is left out.
const PIVOT: f64 = 1e-300;
/// If the Newton step is no descent direction, this share of $d (1 + 1/\tau)$, an upper bound on
/// the diagonal, is added to the Hessian: a part of the model that an optimal policy never leaves
/// has a curvature below the rounding of its gradient, and its step would have any size.
const SHIFT: f64 = 1e-12;
/// After so many steps by the Hessian's factor in a row whose length is below `SHORT` of the Newton
/// step, another engine is tried: where parts of the model are hardly ever visited (queues that
/// hardly ever fill), rounding decides how far their potentials may move. Some models converge
/// after more such steps.
const STUCK: usize = 10;
const SHORT: f64 = 0.1;

/// Says whether to stop; asked between steps and now and then within one.
pub(super) type Expired<'e> = &'e mut dyn FnMut() -> bool;

/// How directions are found; the next way where one will not do.
#[derive(Clone, Copy)]
enum LinearSolver {
    /// By conjugate gradients, as long as a few of them do: the pattern is not even looked at.
    FewSteps,
    /// By so many conjugate gradients at most, which take less than a factorisation.
    CgThenCholesky(usize),
    /// By the Hessian's factor.
    Cholesky,
    /// By conjugate gradients: there is no factor to be had.
    Cg,
}

pub(super) struct Newton<'a> {
    pub(super) mdp: &'a Mdp,
    /// Copies of each action; empty where there are none but itself.
    copies: &'a [f64],
    target: &'a EntropyWeights,
    system: FlowSystem<'a>,
    xi: f64,
    /// Whether the entropy of actions only smooths a maximum, so that what $\xi$ leaves free has
    /// it, or is part of the formulation.
    smoothing: bool,
    pub(super) tau: f64,
    pub(super) v: Vec<f64>,
    /// $PV$.
    q: Vec<f64>,
    /// Maximisers $p$.
    pub(super) p: Vec<f64>,
    /// The weights $f$ by which $p$ moves with $PV$: its derivative is
    /// $(\text{diag} f - f f^\top / \sum f) / \tau$ in each state.
    free: Vec<f64>,
    pub(super) d: Vec<f64>,
    gradient: Vec<f64>,
    pub(super) value: f64,
    solver: LinearSolver,
    /// Short steps in a row.
    pub(super) short: usize,
    direction: Vec<f64>,
    saved: Vec<f64>,
    weights: Vec<f64>,
    work: Vec<f64>,
}

impl<'a> Newton<'a> {
    pub(super) fn new(
        mdp: &'a Mdp,
        copies: &'a [f64],
        xi: f64,
        smoothing: bool,
        target: &'a EntropyWeights,
    ) -> Self {
        let n = mdp.n_states();
        let mut system = FlowSystem::new(mdp, 0.0);
        let solver = if n >= FACTOR_FIRST {
            LinearSolver::FewSteps
        } else if system.analyse(DENSE_HESSIAN).is_some() {
            LinearSolver::Cholesky
        } else {
            LinearSolver::Cg
        };
        Newton {
            mdp,
            copies,
            target,
            system,
            xi,
            smoothing,
            tau: 1.0,
            v: vec![0.0; n],
            q: vec![0.0; mdp.n_pairs()],
            p: vec![0.0; mdp.n_pairs()],
            free: vec![0.0; mdp.n_pairs()],
            d: vec![0.0; n],
            gradient: vec![0.0; n],
            value: 0.0,
            solver,
            short: 0,
            direction: vec![0.0; n],
            saved: vec![0.0; n],
            weights: vec![0.0; mdp.n_pairs()],
            work: vec![0.0; n],
        }
    }

    /// Whether a step more is no matter.
    pub(super) fn is_cheap(&self) -> bool {
        matches!(self.solver, LinearSolver::Cholesky) || self.v.len() <= CHEAP_STEP
    }

    /// Whether steps by the Hessian's factor have come to next to nothing.
    pub(super) fn is_stuck(&self) -> bool {
        matches!(self.solver, LinearSolver::Cholesky) && self.short >= STUCK
    }

    /// $F$, $d$, $p$ and the gradient at $V$.
    pub(super) fn evaluate(&mut self) {
        let mdp = self.mdp;
        mdp.kernel().times(&self.v, &mut self.q);
        for s in 0..mdp.n_states() {
            let pairs = mdp.pairs(s);
            let copies = |i: usize| self.copies.get(pairs.start + i).map_or(1.0, |c| *c);
            let (q, p) = (&self.q[pairs.clone()], &mut self.p[pairs.clone()]);
            let (xi, tau, free) = (self.xi, self.tau, &mut self.free[pairs.clone()]);
            let psi = if self.smoothing {
                simplex::smoothed_support(q, copies, xi, tau, (p, free))
            } else {
                let psi = simplex::smooth_maximum(q, copies, xi, tau, p);
                for (i, (free, p)) in free.iter_mut().zip(p).enumerate() {
                    *free = if *p > xi * copies(i) { *p } else { 0.0 };
                }
                psi
            };
            self.d[s] = psi - self.v[s] + self.target.log_weight(s);
        }
        self.value = entropy::log_sum_exp(self.d.iter().copied());
        for s in 0..mdp.n_states() {
            self.d[s] = (self.d[s] - self.value).exp();
            for pair in mdp.pairs(s) {
                self.weights[pair] = self.d[s] * self.p[pair];
            }
        }
        self.system.arrivals(&self.weights, &mut self.gradient);
        for (g, d) in self.gradient.iter_mut().zip(&self.d) {
            *g -= d;
        }
    }

    /// $\sum_t |\nabla F_t|$: how far $\omega$ is from being stationary.
    pub(super) fn violation(&self) -> f64 {
        self.gradient.iter().map(|g| g.abs()).sum()
    }

    /// One damped Newton step. Returns whether it made progress.
    pub(super) fn step(&mut self, expired: Expired<'_>) -> bool {
        let (p, d) = (&self.p, &self.d);
        self.system.blocks.set_soft(&self.free, p, d, self.tau);
        loop {
            match self.solver {
                LinearSolver::FewSteps => {
                    if self.iterate(TRIAL, expired) && self.descend() {
                        return true;
                    }
                    if expired() {
                        return false;
                    }
                    let most = self.system.analyse(DENSE_HESSIAN);
                    self.solver = most.map_or(LinearSolver::Cg, |most| {
                        LinearSolver::CgThenCholesky(most as usize)
                    });
                }
                LinearSolver::CgThenCholesky(most) => {
                    let close = most >= TRIAL && self.iterate(most.min(MOST_STEPS), expired);
                    let improved = close && self.descend();
                    if improved || expired() {
                        return improved;
                    }
                    self.short = 0;
                    self.solver = LinearSolver::Cholesky;
                }
                LinearSolver::Cholesky => return self.exact_step(expired),
                LinearSolver::Cg => {
                    self.iterate(MOST_STEPS, expired);
                    return self.descend();
                }
            }
        }
    }

    /// A step along the direction by the Hessian's factor.
    fn exact_step(&mut self, expired: Expired<'_>) -> bool {
        for shift in [0.0, SHIFT] {
            if self.factorize(shift) && self.descend() {
                return true;
            }
            if expired() {
                break;
            }
        }
        false
    }

    /// The direction by the Hessian's factor, up to a constant: $F$ does not change along
    /// constants, and the potential with the largest diagonal entry is fixed. The diagonal is
    /// raised by `shift` times $d (1 + 1/\tau)$. Returns whether there is one.
    fn factorize(&mut self, shift: f64) -> bool {
        let (system, d) = (&mut self.system, &self.d);
        system.assemble();
        let shift = shift * (1.0 + 1.0 / self.tau);
        let entry = |s: usize| system.diagonal[s] + shift * d[s];
        let by_entry = |a: &usize, b: &usize| entry(*a).total_cmp(&entry(*b));
        let largest = (0..d.len()).max_by(by_entry).unwrap_or(0);
        system.fixed = vec![(largest, entry(largest))];
        for (x, g) in self.direction.iter_mut().zip(&self.gradient) {
            *x = -g;
        }
        system.factorize(|s, _| shift * d[s], PIVOT) && system.solve_factored(&mut self.direction)
    }

    /// Goes along the direction as far as $F$ falls. Returns whether it does.
    fn descend(&mut self) -> bool {
        let slope: f64 = self
            .gradient
            .iter()
            .zip(&self.direction)
            .map(|(g, x)| g * x)
            .sum();
        if !(slope < 0.0) {
            return false;
        }
        self.saved.copy_from_slice(&self.v);
        let (before, violation) = (self.value, self.violation());
        let mut size = 1.0;
        for _ in 0..50 {
            for ((v, old), x) in self.v.iter_mut().zip(&self.saved).zip(&self.direction) {
                *v = old + size * x;
            }
            self.evaluate();
            // near the optimum F no longer shows progress in floating point, the gradient does
            let decreased = self.value <= before + 1e-4 * size * slope;
            let flat = size * slope.abs() < 1e-13 * (1.0 + before.abs());
            if self.value.is_finite() && (decreased || (flat && self.violation() < violation)) {
                self.short = if size < SHORT { self.short + 1 } else { 0 };
                return true;
            }
            size *= 0.5;
        }
        self.v.copy_from_slice(&self.saved);
        self.evaluate();
        false
    }

    /// The direction by at most so many steps of conjugate gradients, with the diagonal as
    /// preconditioner. Returns whether they came as close as wanted; where there is another way,
    /// they end as soon as their rate promises no more.
    fn iterate(&mut self, most: usize, expired: Expired<'_>) -> bool {
        let forcing = self.violation().sqrt().clamp(1e-3, 0.1);
        self.system.bound_diagonal();
        let diagonal = &mut self.system.diagonal;
        let least = 1e-12 * diagonal.iter().copied().fold(0.0, f64::max);
        diagonal.iter_mut().for_each(|x| *x = x.max(least));
        let trial = match self.solver {
            LinearSolver::Cg => usize::MAX,
            _ => TRIAL,
        };
        let right: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
        let limits = (forcing, most, trial);
        self.system
            .conjugate_gradients(&right, &mut self.direction, limits, || !expired())
    }

    /// The stationary distribution of the policy at hand by lazy steps from $d$, which is nearly
    /// stationary near the optimum; nothing where `patience` steps do not do. Mass that several
    /// classes hold stays with them: whatever comes out is stationary.
    pub(super) fn power_iterate(&mut self, patience: usize, wanted: f64) -> Option<Vec<f64>> {
        let mdp = self.mdp;
        let mut d = self.d.clone();
        for _ in 0..patience {
            for s in 0..mdp.n_states() {
                for pair in mdp.pairs(s) {
                    self.weights[pair] = d[s] * self.p[pair];
                }
            }
            self.system.arrivals(&self.weights, &mut self.work);
            let (mut change, mut sum) = (0.0, 0.0);
            for (d, next) in d.iter_mut().zip(&self.work) {
                change += (*next - *d).abs();
                *d = 0.5 * (*d + next);
                sum += *d;
            }
            d.iter_mut().for_each(|d| *d /= sum);
            if change <= wanted {
                return Some(d);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
