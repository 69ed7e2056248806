//! Proximal points with relative entropy for evenness within an episode.
//!
//! The dual function in $u$ (see [`crate::formulation::episode`]) has $S$ variables but kinks. With
//! a prior policy $\rho$ and a temperature $\tau$ the backward induction becomes smooth; its
//! minimiser belongs to
//!
//! $$\max_{\pi} \; H(\bar d) - \frac{\tau}{T} \sum_t \mathbb E_{d_t} \mathrm{KL}(\sigma_t \,\|\, \rho_t),$$
//!
//! and the $\sigma$ found becomes the next prior. These are proximal steps, so that they reach the
//! optimum itself, and fast while $\tau$ falls along the way. Each is solved by Newton's method;
//! its systems by conjugate gradients, a product costing one pass backwards and one forwards. Every
//! iterate is a policy with its value and a $u$ with its bound.

use super::dynamics::{EpisodeDynamics, EpisodeOccupancy};
use crate::chain::entropy::entropy;
use crate::formulation::entropy::log_sum_exp;
use crate::formulation::episode::{Episode, best_average};
use crate::model::Mdp;
use crate::solve::driver::{Candidate, Driver, Method, Step};
use ide3al_numerics::conjugate_gradients::ConjugateGradients;
use ide3al_numerics::line_search::search;
use ide3al_numerics::parallel::{add, dot};

const NAME: &str = "kl-proximal-newton";
/// Entropies are measured in nats: at this $\tau$ the distance from the prior counts about as much
/// as what is maximised.
const FIRST_TEMPERATURE: f64 = 1.0;
/// The factor of $\tau$ from one prior to the next: small steps, so that the last $u$ is a good
/// start for the next.
const TEMPERATURE_FACTOR: f64 = 0.5;
/// Below this, differences of values are rounding.
const LAST_TEMPERATURE: f64 = 1e-11;
/// Share of the gap that Newton's method may leave: with the next prior the rest of the gap shrinks
/// anyway.
const LEFT: f64 = 0.1;
/// Limits that are hardly ever reached: Newton steps for one prior, products for one Newton step,
/// looks of one line search.
const MOST_NEWTON: usize = 40;
const MOST_PRODUCTS: usize = 200;
const MOST_TRIALS: usize = 12;
/// Priors are kept above $e$ to this power, so that actions that were dropped can come back.
const LEAST_LOG: f64 = -40.0;
/// Visits below this count as this where their logarithm is taken.
const LEAST_VISITS: f64 = 1e-300;

/// The method, between two steps.
pub(super) struct KlProximalNewton<'a> {
    episode: Episode,
    dynamics: EpisodeDynamics<'a>,
    reached: Vec<usize>,
    u: Vec<f64>,
    log_prior: Vec<f64>,
    tau: f64,
    visits: EpisodeOccupancy,
    /// Room for a second iterate, and for one number per step and pair.
    trial: EpisodeOccupancy,
    change: Vec<f64>,
    /// Newton steps since the prior changed.
    newton: usize,
}

impl<'a> KlProximalNewton<'a> {
    pub(super) fn new(mdp: &'a Mdp, episode: &Episode, reached: &[bool]) -> Self {
        let mut dynamics = EpisodeDynamics::new(mdp, episode);
        let visits = dynamics.even();
        let reached: Vec<usize> = (0..mdp.n_states()).filter(|&s| reached[s]).collect();
        let mut u = vec![0.0; mdp.n_states()];
        for &s in &reached {
            u[s] = -visits.average[s].max(LEAST_VISITS).ln();
        }
        let mut first = KlProximalNewton {
            episode: *episode,
            dynamics,
            reached,
            u,
            log_prior: visits.sigma.iter().map(|p| p.ln()).collect(),
            tau: FIRST_TEMPERATURE,
            trial: visits.clone(),
            change: visits.sigma.clone(),
            visits,
            newton: 0,
        };
        first.visit();
        first
    }

    /// $\ln \sum_s e^{-u(s)}$ over what is reached.
    fn partition(&self, u: &[f64]) -> f64 {
        log_sum_exp(self.reached.iter().map(|&s| -u[s]))
    }

    /// $p \propto e^{-u}$ over what is reached.
    fn shares(&self, u: &[f64]) -> Vec<f64> {
        let partition = self.partition(u);
        let mut p = vec![0.0; u.len()];
        for &s in &self.reached {
            p[s] = (-u[s] - partition).exp();
        }
        p
    }

    /// Policy and visits at the $u$ at hand.
    fn visit(&mut self) {
        self.dynamics
            .soft(&self.u, &self.log_prior, self.tau, &mut self.visits);
    }

    /// The Newton direction: $(\mathrm{diag}(p) - p p^\top + \nabla^2 V)\, x = p - \bar d$, to a
    /// precision that grows as the right side shrinks.
    fn direction(&mut self, p: &[f64], driver: &mut Driver<'_>) -> Vec<f64> {
        let n = p.len();
        // with p as preconditioner the first part of the matrix is the identity less one direction
        let mut gradients = ConjugateGradients::new(n);
        for &s in self.reached.iter().filter(|s| p[**s] > 0.0) {
            gradients.residual[s] = p[s] - self.visits.average[s];
            gradients.diagonal[s] = p[s];
        }
        let residual = gradients.residual.iter().zip(&gradients.diagonal);
        let size = residual.map(|(r, d)| r * r / d).sum::<f64>().sqrt();
        let tolerance = 0.1 * (10.0 * size).min(1.0).sqrt();
        let mut x = vec![0.0; n];
        gradients.solve(&mut x, (tolerance, MOST_PRODUCTS), |v, out| {
            let alive = driver.should_continue();
            if alive {
                self.dynamics
                    .response(&self.visits, self.tau, v, &mut self.change, out);
                let mean = dot(p, v);
                for s in 0..n {
                    // what has no share has no equation
                    let taken = out[s] + p[s] * (v[s] - mean);
                    out[s] = if p[s] > 0.0 { taken } else { 0.0 };
                }
            }
            alive
        });
        x
    }

    /// Goes along the direction until at most half of the slope is left; false if nothing moved.
    fn line_search(&mut self, x: &[f64], p: &[f64], driver: &mut Driver<'_>) -> bool {
        // the negative of the smoothed dual function is concave
        let slope = |p: &[f64], average: &[f64]| -> f64 {
            (0..p.len()).map(|s| (p[s] - average[s]) * x[s]).sum()
        };
        let first = slope(p, &self.visits.average);
        if !(first > 0.0) {
            return false;
        }
        let (mut u, mut last) = (self.u.clone(), first);
        search(first, MOST_TRIALS, |size| {
            u.copy_from_slice(&self.u);
            add(&mut u, size, x);
            self.dynamics
                .soft(&u, &self.log_prior, self.tau, &mut self.trial);
            last = slope(&self.shares(&u), &self.trial.average);
            // where it is no number the step was far too long
            let seen = if last.is_finite() {
                last
            } else {
                f64::NEG_INFINITY
            };
            driver.should_continue().then_some(seen)
        });
        if last.is_finite() {
            self.centre(&mut u);
            self.u = u;
            std::mem::swap(&mut self.visits, &mut self.trial);
        }
        last.is_finite()
    }

    /// A constant in $u$ means nothing; values keep their digits when the average is zero.
    fn centre(&self, u: &mut [f64]) {
        let average = &self.trial.average;
        let mean: f64 = self.reached.iter().map(|&s| average[s] * u[s]).sum();
        self.reached.iter().for_each(|&s| u[s] -= mean);
    }

    /// The policy becomes the prior, and the temperature falls.
    fn reduce_temperature(&mut self) -> bool {
        if self.tau <= LAST_TEMPERATURE {
            return false;
        }
        for (prior, sigma) in self.log_prior.iter_mut().zip(&self.visits.sigma) {
            *prior = sigma.ln().max(LEAST_LOG);
        }
        self.tau *= TEMPERATURE_FACTOR;
        self.newton = 0;
        self.visit();
        true
    }

    /// Offers what is at hand; of the gap, what Newton's method has still to do and what is left to
    /// the temperature, or nothing where it is closed.
    pub(super) fn offer(&mut self, driver: &mut Driver<'_>) -> Option<(f64, f64)> {
        let objective = entropy(&self.visits.average);
        let bound =
            self.partition(&self.u) + best_average(self.dynamics.mdp, &self.episode, &self.u);
        let p = self.shares(&self.u);
        let seen = self.reached.iter().map(|&s| (self.visits.average[s], p[s]));
        let seen = seen.filter(|(d, p)| *d > 0.0 && *p > 0.0);
        let inner: f64 = seen.map(|(d, p)| d * (d / p).ln()).sum();
        let better = objective > driver.best().objective;
        if better || bound < driver.best().bound {
            let candidate = Candidate {
                // where it is not kept there is no need to write it out
                policy: if better {
                    self.dynamics.policy(&self.visits.sigma)
                } else {
                    Vec::new()
                },
                objective,
                bound,
                dual: self.u.clone(),
            };
            if driver.offer(candidate, NAME) {
                return None;
            }
        }
        Some((inner, (bound - objective - inner).max(0.0)))
    }
}

impl Method for KlProximalNewton<'_> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn step(&mut self, driver: &mut Driver<'_>) -> Step {
        let Some((inner, outer)) = self.offer(driver) else {
            return Step::Going;
        };
        if (inner <= LEFT * outer || self.newton >= MOST_NEWTON) && !self.reduce_temperature() {
            return Step::End;
        }
        let p = self.shares(&self.u);
        let x = self.direction(&p, driver);
        self.newton += 1;
        if !self.line_search(&x, &p, driver) {
            self.newton = MOST_NEWTON;
        }
        Step::Going
    }
}
