//! The dual of one proximal step.
//!
//! With every row's policy minimised out ([`row`](super::row)), the dual
//!
//! $$\Psi(\alpha, \beta) = \sum_s \alpha_s + \sum_t \beta_t + \sum_s \min_{p \in \Delta_\xi} \Big(
//!   \sum_t \theta(M_{st}(p), \alpha_s + \beta_t) + \frac{\mu}{2} \|p - c_s\|^2 \Big)$$
//!
//! is concave and smooth, $\nabla\Psi$ being one minus the row and column sums of $U$: those of the
//! [projection](crate::solve::birkhoff::projection) of the minimising policy's $M$ at the same
//! multipliers. It is maximised by damped Newton steps ([`newton`](super::newton)).

use super::newton::Newton;
use super::row::{ProximalProblem, Row, Shared};
use crate::formulation::support::Support;
use crate::formulation::{Problem, simplex};
use crate::model::Mdp;
use crate::solve::birkhoff::projection::Projection;
use crate::solve::driver::Driver;
use ide3al_numerics::parallel::share;

/// Newton steps for one proximal step: beyond them another centre is worth more than this one's
/// optimum, at first; and where it is not, up to so many.
const MOST_NEWTON: usize = 60;
const MANY_NEWTON: usize = 16 * MOST_NEWTON;
/// How far conjugate gradients reduce a Newton step's residual, and so much further for each full
/// step that did not get on. While entries become free and cut from one step to the next a better
/// direction is not a better step.
const LOOSE: f64 = 0.1;
/// Full steps one after the other that hardly reduce the violation, with ever better directions,
/// before leaving it.
const MOST_STUCK: usize = 4;
/// Looks along one direction: a safeguard.
const MOST_LOOKS: usize = 20;
/// Rows that one thread takes at a time: a fraction of a millisecond's work.
const TASK: usize = 256;

/// The rows' problems and their solutions.
pub(super) struct Rows<'a> {
    pub(super) problem_data: ProximalProblem<'a>,
    /// The policy that minimises at the current multipliers, its $M$ on the slots and what it adds
    /// in every column.
    pub(super) policy: Vec<f64>,
    mass: Vec<f64>,
    share: Vec<f64>,
}

impl Rows<'_> {
    /// Solves every row and sums up at the current multipliers.
    fn solve(&mut self, dual: &mut Projection<'_>) {
        dual.clipped.columns.sorted.sort(&dual.beta);
        let (mdp, support) = (self.problem_data.mdp, self.problem_data.support);
        let shared = Shared {
            problem_data: &self.problem_data,
            dual,
        };
        let rows = parts(mdp.first_pair(), &mut self.policy)
            .zip(parts(&support.offsets, &mut self.mass))
            .zip(&mut self.share);
        each_row(rows, |row, s, ((p, mass), share)| {
            row.load(&shared, s, p);
            row.solve(&shared, p);
            mass.copy_from_slice(&row.mass);
            *share = row.share;
        });
        dual.evaluate(&self.mass, &self.share);
    }
}

/// The parts of a vector whose blocks begin at `first` (one more entry than blocks).
pub(super) fn parts<'a, T>(
    first: &'a [usize],
    mut rest: &'a mut [T],
) -> impl Iterator<Item = &'a mut [T]> {
    first.windows(2).map(move |w| {
        let (part, after) = std::mem::take(&mut rest).split_at_mut(w[1] - w[0]);
        rest = after;
        part
    })
}

/// Calls `f` with every row's number and what belongs to it, on all threads, each with a workspace
/// of its own. Rows do not depend on each other, so the result is the same however they are shared.
pub(super) fn each_row<T: Send>(
    rows: impl Iterator<Item = T>,
    f: impl Fn(&mut Row, usize, T) + Sync + Send,
) {
    let mut rows = rows.enumerate().peekable();
    let mut tasks: Vec<Vec<(usize, T)>> = Vec::new();
    while rows.peek().is_some() {
        tasks.push(rows.by_ref().take(TASK).collect());
    }
    share(tasks.into_iter(), |task| {
        let mut row = Row::default();
        task.into_iter().for_each(|(s, item)| f(&mut row, s, item));
    });
}

/// The dual and the steps that maximise it.
pub(super) struct System<'a> {
    pub(super) rows: Rows<'a>,
    /// The multipliers, and $U$ there.
    pub(super) dual: Projection<'a>,
    newton: Newton,
    damping: f64,
    /// Newton steps for one proximal step, and whether the last one used them up.
    most_newton: usize,
    used_up: bool,
    /// Full steps one after the other that hardly reduced the violation.
    stuck: usize,
}

impl<'a> System<'a> {
    pub(super) fn new(
        mdp: &'a Mdp,
        support: &'a Support,
        problem: Problem,
        start: Vec<f64>,
        dual: Projection<'a>,
    ) -> Self {
        let problem_data = ProximalProblem {
            mdp,
            support,
            problem,
            weight: 1.0,
            centre: start.clone(),
        };
        System {
            newton: Newton::new(&problem_data),
            rows: Rows {
                problem_data,
                policy: start,
                mass: vec![0.0; support.len()],
                share: vec![0.0; mdp.n_states()],
            },
            dual,
            damping: 1e-3,
            most_newton: MOST_NEWTON,
            used_up: false,
            stuck: 0,
        }
    }

    /// Newton steps until no sum is off by more than `accuracy`; returns whether that was reached.
    /// The policy ends in $\Delta_\xi$.
    pub(super) fn solve_prox_subproblem(&mut self, accuracy: f64, driver: &mut Driver<'_>) -> bool {
        self.rows.solve(&mut self.dual);
        let mut settled = self.dual.clipped.violation() <= accuracy;
        self.stuck = 0;
        let mut left = self.most_newton.min(driver.steps_left());
        while left > 0 && !settled && self.stuck < MOST_STUCK && driver.should_continue() {
            driver.count(1);
            left -= 1;
            if !self.step(driver) {
                break;
            }
            settled = self.dual.clipped.violation() <= accuracy;
        }
        self.used_up = left == 0 && !settled;
        let (problem_data, policy) = (&self.rows.problem_data, &mut self.rows.policy);
        *policy = simplex::feasible(
            problem_data.mdp,
            problem_data.problem.xi,
            std::mem::take(policy),
        );
        settled
    }

    /// Allows more Newton steps where the last proximal step used up all there were; says whether
    /// it did.
    pub(super) fn allow_more(&mut self) -> bool {
        let more = self.used_up && self.most_newton < MANY_NEWTON;
        if more {
            self.most_newton *= 2;
        }
        more
    }

    /// One damped Newton step; returns whether it moved.
    fn step(&mut self, driver: &mut Driver<'_>) -> bool {
        let before = self.dual.clipped.violation();
        let forcing = LOOSE.powi(1 + self.stuck as i32);
        let (rows, dual) = (&mut self.rows, &mut self.dual);
        self.newton
            .direction(rows, dual, (self.damping, forcing), driver);
        let size = dual.search(
            MOST_LOOKS,
            || driver.should_continue(),
            |dual| rows.solve(dual),
        );
        if !(size > 0.0) {
            return false;
        }
        // too long a step means that the model misses entries about to become free; damping
        // hardly touches columns whose mass the policy can still move, their curvature is large
        if size < 0.03 {
            self.damping = (1e3 * self.damping).clamp(1e-3, 1e8);
        } else if size < 0.3 {
            self.damping = (10.0 * self.damping).min(1e8);
        } else if size >= 0.9 {
            self.damping = (0.2 * self.damping).max(1e-12);
        }
        self.stuck = if size >= 0.9 && self.dual.clipped.violation() > 0.5 * before {
            self.stuck + 1
        } else {
            0
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domains;
    use crate::formulation::Formulation;
    use crate::model::Policy;
    use crate::solve::Options;
    use crate::solve::driver::{Candidate, Comparison};

    fn irregular(k: usize) -> f64 {
        ((k as f64 + 1.0) * 0.618_033_988_75).fract()
    }

    /// $\Psi$ at the multipliers and the policies that minimise there, entry by entry.
    fn value(system: &System<'_>) -> f64 {
        let (rows, dual) = (&system.rows, &system.dual);
        let data = &rows.problem_data;
        let (mdp, n) = (data.mdp, data.mdp.n_states());
        let matrix = mdp.mix(&rows.policy);
        let mut sum: f64 = dual.alpha.iter().chain(&dual.beta).sum();
        for s in 0..n {
            let row = matrix.row(s);
            let mut m = vec![row.spread / n as f64; n];
            row.entries().for_each(|(t, x)| m[t] += x);
            for (m, beta) in m.iter().zip(&dual.beta) {
                let x = dual.alpha[s] + beta;
                let u = (m + x).clamp(0.0, data.problem.zeta);
                sum += 0.5 * (u - m).powi(2) - x * u;
            }
        }
        let apart = rows.policy.iter().zip(&data.centre);
        sum + 0.5 * data.weight * apart.map(|(p, c)| (p - c).powi(2)).sum::<f64>()
    }

    fn gradient(system: &System<'_>) -> Vec<f64> {
        let clipped = &system.dual.clipped;
        let sums = clipped.rows.sums.iter().chain(&clipped.columns.sums);
        sums.map(|sum| 1.0 - sum).collect()
    }

    fn go_to(system: &mut System<'_>, multipliers: &[f64]) {
        system.dual.set_multipliers(multipliers);
        system.rows.solve(&mut system.dual);
    }

    /// The gradient is that of the value, and Newton's direction is where a small step takes it to
    /// zero at first order, by central differences: with few slots and with uniform rows.
    #[test]
    fn derivatives_are_differences() {
        for (spec, every) in [
            ("garnet:states=12,actions=3,branching=3,seed=4", 1),
            ("garnet:states=9,actions=4,branching=6,seed=2", 3),
        ] {
            let mut mdp = domains::load(spec).unwrap();
            if every > 1 {
                let first = mdp.first_pair().to_vec();
                let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
                let mut spread = Vec::new();
                for pair in 0..mdp.n_pairs() {
                    let share = if pair % every == 0 { 0.4 } else { 0.0 };
                    for (t, x) in mdp.row(pair).entries() {
                        indices.push(t as u32);
                        values.push((1.0 - share) * x);
                    }
                    offsets.push(indices.len());
                    spread.push(share);
                }
                let actions = mdp.actions().to_vec();
                let n = mdp.n_states();
                mdp = Mdp::from_rows_and_spread(
                    n, &first, &actions, &offsets, &indices, &values, &spread,
                )
                .unwrap();
            }
            let n = mdp.n_states();
            let support = Support::new(&mdp);
            let problem = Problem {
                xi: 0.02,
                zeta: 0.5,
                ..Problem::new(Formulation::Frobenius)
            };
            let start = Policy::uniform(&mdp).probabilities().to_vec();
            let dual = Projection::new(&support, problem.zeta);
            let mut system = System::new(&mdp, &support, problem, start, dual);
            system.rows.problem_data.weight = 0.3;
            let at: Vec<f64> = (0..2 * n).map(|k| 0.3 * irregular(k) - 0.1).collect();
            let step = 1e-5;
            for k in 0..2 * n {
                let mut there = |sign: f64| {
                    let mut moved = at.clone();
                    moved[k] += sign * step;
                    go_to(&mut system, &moved);
                    value(&system)
                };
                let difference = (there(1.0) - there(-1.0)) / (2.0 * step);
                go_to(&mut system, &at);
                let exact = gradient(&system)[k];
                assert!(
                    (difference - exact).abs() < 1e-5,
                    "{spec}, {k}: {difference} {exact}"
                );
            }
            let first = gradient(&system);
            let comparison = Comparison {
                maximises: false,
                dual_follows_policy: true,
            };
            let known = Candidate {
                policy: Vec::new(),
                objective: 1.0,
                bound: 0.0,
                dual: Vec::new(),
            };
            let mut nobody = ();
            let mut driver = Driver::new(comparison, &Options::default(), known, &mut nobody);
            let (rows, dual) = (&system.rows, &mut system.dual);
            system
                .newton
                .direction(rows, dual, (1e-12, 1e-12), &mut driver);
            let line = &system.dual.line;
            let direction = [&line.alpha[..], &line.beta].concat();
            let moved: Vec<f64> = at
                .iter()
                .zip(&direction)
                .map(|(x, d)| x + step * d)
                .collect();
            go_to(&mut system, &moved);
            for (k, (after, before)) in gradient(&system).iter().zip(&first).enumerate() {
                let change = (after - before) / step;
                assert!(
                    (change + before).abs() < 1e-3,
                    "{spec}, {k}: {change} {before}"
                );
            }
        }
    }
}
