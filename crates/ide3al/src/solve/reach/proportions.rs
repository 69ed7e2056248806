//! Policies whose steady state has given proportions.
//!
//! Of all policies with the steady state $q$ the one nearest to given rows $y$ in relative entropy
//! has, with $n$ actions in a state,
//!
//! $$\pi(a|s) = \xi + (1 - n \xi)\, \rho(a|s), \qquad
//! \rho(a|s) \propto y_{sa} \exp \sum_t P(t|s,a)\, v_t ,$$
//!
//! where $v$ minimises the convex $\sum_s q_s (1 - n_s \xi) \ln \sum_a y_{sa} e^{(P v)_{sa}} -
//! b^\top v$ with $b$ the part of $q$ that the least probabilities leave: its gradient is what the
//! steady state lacks. On graphs this is the scaling of a matrix to given row and column sums.
//! Newton's method finds $v$; the implicit function theorem turns derivatives by the policy into
//! derivatives by $y$.

use ide3al_numerics::gauss::gauss;

use super::descent::{free_mass, rows_of};
use crate::error::Result;
use crate::formulation::parameter;
use crate::formulation::reach::world::World;

/// Steps of Newton's method, and halvings of each.
const STEPS: usize = 100;
const HALVINGS: usize = 40;
/// Sum of what all states lack or have too much of, at most.
const EXACT: f64 = 1e-12;
/// Share of the trace that makes the singular system definite: $v$ may be shifted.
const RIDGE: f64 = 1e-13;

/// Brings rows to given proportions, again and again in the same memory.
#[derive(Debug, Clone)]
pub(super) struct Proportions<'a> {
    world: &'a World,
    /// $v$ and the potentials $(Pv)_{sa}$.
    v: Vec<f64>,
    tilt: Vec<f64>,
    /// $\rho$.
    rows: Vec<f64>,
    /// $q_s (1 - n_s \xi)$.
    free: Vec<f64>,
    /// What the free part of the policy is to visit.
    wanted: Vec<f64>,
    /// The right-hand side and the matrix of Newton's system, by rows.
    lacks: Vec<f64>,
    hessian: Vec<f64>,
    mean: Vec<f64>,
}

impl<'a> Proportions<'a> {
    /// `None` where none are asked for.
    pub(super) fn new(world: &'a World) -> Option<Self> {
        let q = &world.proportions;
        if q.is_empty() {
            return None;
        }
        let n = world.n_states();
        let (mut free, mut wanted) = (vec![0.0; n], q.clone());
        for s in 0..n {
            free[s] = q[s] * free_mass(world, s);
            for (t, p) in world.pairs(s).flat_map(|k| world.next(k)) {
                wanted[t] -= world.xi * q[s] * p;
            }
        }
        Some(Proportions {
            world,
            v: vec![0.0; n],
            tilt: vec![0.0; world.pair.len()],
            rows: vec![0.0; world.pair.len()],
            free,
            wanted,
            lacks: vec![0.0; n],
            hessian: vec![0.0; n * n],
            mean: vec![0.0; n],
        })
    }

    /// The policy of rows; false where none with these zeros has the proportions.
    pub(super) fn scale(&mut self, y: &[f64], policy: &mut [f64]) -> bool {
        self.v.fill(0.0);
        let mut value = self.tilted(y);
        for _ in 0..STEPS {
            let missing = self.missing();
            if !(missing.is_finite() && value.is_finite()) {
                return false;
            }
            if missing <= EXACT {
                break;
            }
            self.second_derivatives();
            let step = self.solve();
            let (before, mut length) = (self.v.clone(), 1.0);
            for halving in 0..=HALVINGS {
                for ((v, b), d) in self.v.iter_mut().zip(&before).zip(&step) {
                    *v = b + length * d;
                }
                let new = self.tilted(y);
                // near the end differences of values are rounding, and the residual decides
                let better = new < value || (missing < 1e-6 && self.missing() < missing);
                if better || halving == HALVINGS {
                    value = new;
                    break;
                }
                length *= 0.5;
            }
        }
        if !(self.missing() <= EXACT) {
            return false;
        }
        for s in 0..self.v.len() {
            let free = free_mass(self.world, s);
            for k in self.world.pairs(s) {
                policy[k] = self.world.xi + free * self.rows[k];
            }
        }
        true
    }

    /// From derivatives by the policy that was found last to those by the rows $y$.
    pub(super) fn by_rows(&mut self, y: &[f64], gradient: &mut [f64]) {
        let (world, n) = (self.world, self.v.len());
        self.lacks.fill(0.0);
        for s in 0..n {
            let pairs = world.pairs(s);
            let free = free_mass(world, s);
            let mean: f64 = pairs.clone().map(|k| self.rows[k] * gradient[k]).sum();
            for k in pairs {
                gradient[k] = free * (gradient[k] - mean);
                for (t, p) in world.next(k) {
                    self.lacks[t] += self.rows[k] * gradient[k] * p;
                }
            }
        }
        self.second_derivatives();
        let h = self.solve();
        for s in 0..n {
            let pairs = world.pairs(s);
            let along = |k: usize| -> f64 { world.next(k).map(|(t, p)| p * h[t]).sum() };
            let mean: f64 = pairs.clone().map(|k| self.rows[k] * along(k)).sum();
            let highest = highest(&self.tilt[pairs.clone()]);
            let sum: f64 = pairs
                .clone()
                .map(|k| y[k] * (self.tilt[k] - highest).exp())
                .sum();
            for k in pairs {
                let share = (self.tilt[k] - highest).exp() / sum;
                gradient[k] = share * (gradient[k] - self.free[s] * (along(k) - mean));
            }
        }
    }

    /// Computes $\rho$ at $v$; returns the value of the convex function.
    fn tilted(&mut self, y: &[f64]) -> f64 {
        let world = self.world;
        let mut value = 0.0;
        for s in 0..self.v.len() {
            let pairs = world.pairs(s);
            for k in pairs.clone() {
                self.tilt[k] = world.next(k).map(|(t, p)| p * self.v[t]).sum();
            }
            let highest = highest(&self.tilt[pairs.clone()]);
            let mut sum = 0.0;
            for k in pairs.clone() {
                self.rows[k] = y[k] * (self.tilt[k] - highest).exp();
                sum += self.rows[k];
            }
            pairs.for_each(|k| self.rows[k] /= sum);
            value += self.free[s] * (highest + sum.ln());
        }
        let asked: f64 = self.wanted.iter().zip(&self.v).map(|(b, v)| b * v).sum();
        value - asked
    }

    /// What the states lack, and the sum of its absolute values.
    fn missing(&mut self) -> f64 {
        self.lacks.copy_from_slice(&self.wanted);
        for s in 0..self.v.len() {
            for k in self.world.pairs(s) {
                let visits = self.free[s] * self.rows[k];
                for (t, p) in self.world.next(k) {
                    self.lacks[t] -= visits * p;
                }
            }
        }
        self.lacks.iter().map(|x| x.abs()).sum()
    }

    /// $\sum_s q_s (1 - n_s \xi)$ times the covariance of the next state's indicator over actions.
    fn second_derivatives(&mut self) {
        let (world, n) = (self.world, self.v.len());
        self.hessian.clear();
        self.hessian.resize(n * n, 0.0);
        for s in 0..self.v.len() {
            self.mean.fill(0.0);
            for k in world.pairs(s) {
                let share = self.free[s] * self.rows[k];
                for (t, p) in world.next(k) {
                    self.mean[t] += self.rows[k] * p;
                    for (u, r) in world.next(k) {
                        self.hessian[t * n + u] += share * p * r;
                    }
                }
            }
            for t in (0..n).filter(|t| self.mean[*t] > 0.0) {
                for u in (0..n).filter(|u| self.mean[*u] > 0.0) {
                    self.hessian[t * n + u] -= self.free[s] * self.mean[t] * self.mean[u];
                }
            }
        }
    }

    /// The solution of the system, whose matrix is used up.
    fn solve(&mut self) -> Vec<f64> {
        let n = self.v.len();
        let trace: f64 = (0..n).map(|t| self.hessian[t * n + t]).sum();
        // shifts of v, of which nothing depends, are ruled out
        for (i, x) in self.hessian.iter_mut().enumerate() {
            let ridge = if i % (n + 1) == 0 { RIDGE } else { 0.0 };
            *x += trace * ridge + trace / (n * n) as f64;
        }
        gauss(std::mem::take(&mut self.hessian), self.lacks.clone())
    }
}

fn highest(of: &[f64]) -> f64 {
    of.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The policy nearest to a given one that has the proportions; an error where none has.
pub(super) fn nearest(world: &World, policy: &[f64]) -> Result<Vec<f64>> {
    let Some(mut proportions) = Proportions::new(world) else {
        return Ok(policy.to_vec());
    };
    let mut out = policy.to_vec();
    let even = rows_of(world, policy, 1e-3);
    if !proportions.scale(&even, &mut out) {
        let problem = "no policy with this xi visits the states in these proportions in the long \
                       run; formulation target finds the nearest that are visited";
        let given = format!("{} numbers", world.n_states());
        return Err(parameter("proportions", given, problem));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::super::solve;
    use super::*;
    use crate::domains::Garnet;
    use crate::formulation::reach::Reach;
    use crate::formulation::reach::hitting::Hitting;
    use crate::model::Mdp;
    use crate::solve::{Options, Solution, Status};

    /// Every place leads to every other.
    fn complete(n: usize) -> Mdp {
        Mdp::from_fn(n, n, |_, a, next| {
            next.push((a, 1.0));
            true
        })
        .unwrap()
        .with_start_state(0)
        .unwrap()
    }

    fn asked(proportions: Vec<f64>, xi: f64) -> Reach {
        Reach {
            within: Some(f64::INFINITY),
            proportions,
            ..Reach::with_xi(xi)
        }
    }

    fn solved(mdp: &Mdp, reach: &Reach) -> Result<Solution> {
        solve(mdp, reach, &Options::default(), None, &mut ())
    }

    fn error_of(mdp: &Mdp, solution: &Solution, proportions: &[f64]) -> f64 {
        let d = crate::chain::stationary::long_run(&mdp.chain(&solution.policy)).distribution;
        let sum: f64 = proportions.iter().sum();
        let errors = d.iter().zip(proportions);
        errors.map(|(d, q)| (d - q / sum).abs()).sum()
    }

    #[test]
    fn going_round_is_best_where_all_places_are_alike() {
        let solution = solved(&complete(5), &asked(vec![3.0; 5], 0.0)).unwrap();
        assert!((solution.certificate.objective - 2.0).abs() < 1e-8);
        assert_eq!(solution.certificate.status, Status::Optimal);
    }

    /// Any steady state that some policy has is kept to, least probabilities too, and another
    /// policy with it is not better.
    #[test]
    fn proportions_and_least_probabilities_are_kept() {
        let garnet = Garnet {
            states: 12,
            ..Garnet::default()
        };
        let mdp = garnet.build().unwrap();
        let policy = crate::model::Policy::uniform(&mdp);
        let q = crate::chain::stationary::long_run(&mdp.chain(&policy)).distribution;
        for xi in [0.0, 0.1] {
            let reach = asked(q.clone(), xi);
            let solution = solved(&mdp, &reach).unwrap();
            assert!(error_of(&mdp, &solution, &q) < 1e-9);
            let probabilities = solution.policy.probabilities();
            assert!(probabilities.iter().all(|p| *p >= xi - 1e-12));
            let world = World::new(&mdp, &reach).unwrap();
            let even = Hitting::new(&world).value(policy.probabilities(), None);
            assert!(solution.certificate.objective < even);
            assert!(solution.certificate.bound <= solution.certificate.objective);
        }
    }

    #[test]
    fn derivatives_agree_with_differences() {
        let n = 6;
        let mdp = complete(n);
        let reach = asked((1..=n).map(|q| q as f64).collect(), 0.02);
        let world = World::new(&mdp, &reach).unwrap();
        let mut proportions = Proportions::new(&world).unwrap();
        let y: Vec<f64> = (0..n * n)
            .map(|k| 1.0 + 0.7 * (k as f64 * 1.7).sin())
            .collect();
        let slope: Vec<f64> = (0..n * n).map(|k| (k as f64 * 0.9).cos()).collect();
        let mut policy = vec![0.0; n * n];
        let mut value = |y: &[f64]| -> f64 {
            assert!(proportions.scale(y, &mut policy));
            policy.iter().zip(&slope).map(|(p, c)| p * c).sum()
        };
        let mut by_differences = Vec::new();
        for k in 0..y.len() {
            let mut moved = y.clone();
            moved[k] += 1e-5;
            let above = value(&moved);
            moved[k] -= 2e-5;
            by_differences.push((above - value(&moved)) / 2e-5);
        }
        value(&y);
        let mut gradient = slope.clone();
        proportions.by_rows(&y, &mut gradient);
        for (exact, difference) in gradient.iter().zip(&by_differences) {
            assert!((exact - difference).abs() < 1e-8, "{exact} {difference}");
        }
    }

    #[test]
    fn proportions_that_no_policy_has_are_refused() {
        let told = |mdp: &Mdp, reach: &Reach| solved(mdp, reach).unwrap_err().to_string();
        // whoever is in one half goes on to the other
        let mdp = Mdp::from_fn(4, 2, |s, a, next| {
            next.push(((s / 2 * 2 + 2 + a) % 4, 1.0));
            true
        })
        .unwrap()
        .with_start_state(0)
        .unwrap();
        let reach = asked(vec![0.4, 0.2, 0.3, 0.1], 0.0);
        assert!(told(&mdp, &reach).contains("no policy with this xi"));
        assert!(solved(&mdp, &asked(vec![0.4, 0.1, 0.2, 0.3], 0.0)).is_ok());
        let reach = asked(vec![0.4, 0.1, 0.2, 0.3], 0.3);
        assert!(told(&mdp, &reach).contains("no policy with this xi"));
        let reach = asked(vec![0.5, 0.0, 0.2, 0.3], 0.0);
        assert!(told(&mdp, &reach).contains("see that of 1"));
        assert!(told(&mdp, &asked(vec![1.0; 3], 0.0)).contains("4 numbers"));
        assert!(told(&mdp, &asked(vec![0.0; 4], 0.0)).contains("must have a weight"));
        assert!(told(&mdp, &asked(vec![f64::NAN; 4], 0.0)).contains("0 or more"));
        let reach = Reach {
            restart: 0.1,
            ..asked(vec![1.0; 4], 0.0)
        };
        assert!(told(&mdp, &reach).contains("no restart"));
        assert!(told(&complete(501), &asked(vec![1.0; 501], 0.0)).contains("up to 500"));
    }
}
