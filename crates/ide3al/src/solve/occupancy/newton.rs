//! Newton's method on the entropies' dual function (see [`potentials`](super::potentials)): value,
//! gradient and steps.
//!
//! The Hessian is applied without being formed (two products with $P$) inside conjugate gradients,
//! as long as a few of these do; where they do not it is factored as soon as that costs less, if
//! its factor can be held.

use super::cliques::rounds_worth;
use super::hessian::{Hessian, Point};
use crate::formulation::entropy::{self, Target};
use crate::formulation::simplex;
use crate::model::{Kernel, Mdp};
use crate::solve::size::{CHEAP_STEP, FACTOR_FIRST};
use ide3al_numerics::conjugate_gradients::ConjugateGradients;

/// Conjugate gradient steps after which a factor is thought of, and by whose rate they are judged.
const TRIAL: usize = 20;
/// Conjugate gradient steps where there is no factor: it limits the time of one direction.
const MOST_ROUNDS: usize = 500;
/// Where the Hessian by itself gives no way down, so much of $d (1 + 1/\tau)$, which its diagonal
/// is at most, is added: a part of the model that an optimal policy never leaves has a curvature
/// below the rounding of its gradient, and without this takes a step of any size.
const SHIFT: f64 = 1e-12;
/// So many steps by the Hessian's factor in a row of less than this share of Newton's own, and
/// another method is tried: parts of the model may be visited so seldom that hardly more than
/// rounding tells how far their potentials may move (queues that hardly ever fill). It need not be
/// the end: some models get there after more of them.
const STUCK: usize = 10;
const SHORT: f64 = 0.1;
/// Conjugate gradient steps between two questions whether to stop.
const ASK_EVERY: usize = 16;

/// Says whether to stop; asked between steps and now and then within one.
pub(super) type Expired<'e> = &'e mut dyn FnMut() -> bool;

/// How directions are found; the next way where one will not do.
enum Way {
    /// By conjugate gradients, as long as a few of them do: the Hessian's pattern is not even
    /// looked at.
    Rounds,
    /// By conjugate gradients, as long as they take less than a factorisation.
    Either(Hessian),
    /// By the Hessian's factor.
    Factor(Hessian),
    /// By conjugate gradients: there is no factor to be had.
    RoundsOnly,
}

pub(super) struct Newton<'a> {
    pub(super) mdp: &'a Mdp,
    /// Copies of each action; empty where there are none but itself.
    copies: &'a [f64],
    target: &'a Target,
    transposed: Kernel,
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
    way: Way,
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
        target: &'a Target,
    ) -> Self {
        let n = mdp.n_states();
        let way = if n < FACTOR_FIRST {
            Hessian::new(mdp).map_or(Way::RoundsOnly, Way::Factor)
        } else {
            Way::Rounds
        };
        Newton {
            mdp,
            copies,
            target,
            transposed: mdp.kernel().transpose(),
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
            way,
            short: 0,
            direction: vec![0.0; n],
            saved: vec![0.0; n],
            weights: vec![0.0; mdp.n_pairs()],
            work: vec![0.0; n],
        }
    }

    /// Whether a step more is no matter.
    pub(super) fn is_cheap(&self) -> bool {
        matches!(self.way, Way::Factor(_)) || self.v.len() <= CHEAP_STEP
    }

    /// Whether steps by the Hessian's factor have come to next to nothing.
    pub(super) fn is_stuck(&self) -> bool {
        matches!(self.way, Way::Factor(_)) && self.short >= STUCK
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
        mdp.kernel()
            .arrivals(&self.transposed, &self.weights, &mut self.gradient);
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
        loop {
            self.way = match std::mem::replace(&mut self.way, Way::Rounds) {
                Way::Rounds => {
                    if self.rounds(TRIAL, expired) && self.descend() {
                        return true;
                    }
                    if expired() {
                        return false;
                    }
                    Hessian::new(self.mdp).map_or(Way::RoundsOnly, Way::Either)
                }
                Way::Either(hessian) => {
                    let most = rounds_worth(self.mdp, hessian.work()) as usize;
                    let close = most >= TRIAL && self.rounds(most.min(MOST_ROUNDS), expired);
                    let improved = close && self.descend();
                    if improved || expired() {
                        self.way = Way::Either(hessian);
                        return improved;
                    }
                    self.short = 0;
                    Way::Factor(hessian)
                }
                Way::Factor(mut hessian) => {
                    let improved = self.exact_step(&mut hessian, expired);
                    self.way = Way::Factor(hessian);
                    return improved;
                }
                Way::RoundsOnly => {
                    self.way = Way::RoundsOnly;
                    self.rounds(MOST_ROUNDS, expired);
                    return self.descend();
                }
            };
        }
    }

    /// A step along the direction by the Hessian's factor.
    fn exact_step(&mut self, hessian: &mut Hessian, expired: Expired<'_>) -> bool {
        for shift in [0.0, SHIFT] {
            let point = Point {
                p: &self.p,
                free: &self.free,
                d: &self.d,
                tau: self.tau,
            };
            let (gradient, direction) = (&self.gradient, &mut self.direction);
            if hessian.direction(self.mdp, &point, gradient, shift, direction) && self.descend() {
                return true;
            }
            if expired() {
                break;
            }
        }
        false
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

    /// The direction by at most so many conjugate gradients, with the diagonal as preconditioner.
    /// Returns whether they came as close as wanted; where there is another way, they end as soon
    /// as their rate promises no more.
    fn rounds(&mut self, most: usize, expired: Expired<'_>) -> bool {
        let (n, violation) = (self.mdp.n_states(), self.violation());
        let forcing = violation.sqrt().clamp(1e-3, 0.1);
        let mut gradients = ConjugateGradients::new(n);
        gradients.diagonal = self.diagonal();
        if !matches!(self.way, Way::RoundsOnly) {
            gradients.trial = TRIAL;
        }
        for (r, g) in gradients.residual.iter_mut().zip(&self.gradient) {
            *r = -g;
        }
        let mut direction = std::mem::take(&mut self.direction);
        let mut rounds = 0;
        let close = gradients.solve(&mut direction, (forcing, most), |v, out| {
            rounds += 1;
            let go_on = rounds % ASK_EVERY != 0 || !expired();
            if go_on {
                self.apply(v, out);
            }
            go_on
        });
        self.direction = direction;
        close
    }

    /// The stationary distribution of the policy at hand by lazy steps from $d$, which is nearly
    /// stationary near the optimum; nothing where `patience` steps do not do. Mass that several
    /// classes hold stays with them: whatever comes out is stationary.
    pub(super) fn settle(&mut self, patience: usize, wanted: f64) -> Option<Vec<f64>> {
        let mdp = self.mdp;
        let mut d = self.d.clone();
        for _ in 0..patience {
            for s in 0..mdp.n_states() {
                for pair in mdp.pairs(s) {
                    self.weights[pair] = d[s] * self.p[pair];
                }
            }
            mdp.kernel()
                .arrivals(&self.transposed, &self.weights, &mut self.work);
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

    /// Diagonal of $\nabla^2 F$ without its last term, kept away from zero.
    fn diagonal(&self) -> Vec<f64> {
        let mdp = self.mdp;
        let n = mdp.n_states();
        let mut diagonal = vec![0.0; n];
        for s in 0..n {
            let d = self.d[s];
            diagonal[s] += d;
            for pair in mdp.pairs(s) {
                let (p, free) = (self.p[pair], self.free[pair]);
                let weight = d * (p + free * (1.0 - p) / self.tau);
                for (t, x) in mdp.row(pair).entries() {
                    diagonal[t] += weight * x * x;
                }
            }
        }
        let largest = diagonal.iter().copied().fold(0.0, f64::max);
        diagonal
            .iter_mut()
            .for_each(|x| *x = x.max(1e-12 * largest));
        diagonal
    }

    /// $\text{out} = \nabla^2 F\, x$ by one product with $P$ and one with its transpose.
    fn apply(&mut self, x: &[f64], out: &mut [f64]) {
        let mdp = self.mdp;
        let n = mdp.n_states();
        // q is free between evaluations, which fill it anew
        mdp.kernel().times(x, &mut self.q);
        let along: f64 = self.gradient.iter().zip(x).map(|(g, x)| g * x).sum();
        for s in 0..n {
            let pairs = mdp.pairs(s);
            let (mut mean, mut free_mass, mut free_mean) = (0.0, 0.0, 0.0);
            for pair in pairs.clone() {
                mean += self.p[pair] * self.q[pair];
                free_mass += self.free[pair];
                free_mean += self.free[pair] * self.q[pair];
            }
            if free_mass > 0.0 {
                free_mean /= free_mass;
            }
            let change = mean - x[s];
            for pair in pairs {
                let moved = self.free[pair] * (self.q[pair] - free_mean) / self.tau;
                self.weights[pair] = self.d[s] * (self.p[pair] * change + moved);
            }
            self.work[s] = self.d[s] * change;
        }
        mdp.kernel().arrivals(&self.transposed, &self.weights, out);
        for t in 0..n {
            out[t] -= self.work[t] + self.gradient[t] * along;
        }
    }
}
