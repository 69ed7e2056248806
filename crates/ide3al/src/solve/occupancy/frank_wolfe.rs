//! A concave utility of the user's own: Frank-Wolfe with pairwise steps, certified by its gap.
//!
//! $f$ is concave, so with $g = \nabla f(x)$ every occupancy $\omega$ has
//! $f(\omega) \le f(x) + \langle g, \omega - x \rangle$, and with the best long-run average $L$ of
//! the reward $g$ (proven by potentials and prices, as everywhere)
//!
//! $$f(\omega) \le f(x) + L - \langle g, x \rangle ,$$
//!
//! the Frank-Wolfe gap above $f(x)$. The point $x$ is a mixture of occupancies found so far, the
//! *atoms*. As long as moving weight from the worst atom to the best one promises at least half of
//! the last gap, that is done (blended pairwise steps: Tsuji, Tanaka and Pokutta 2022); otherwise
//! the [linear problem](super::linear) is solved for a new atom, with the same $\xi$, restarts and
//! limits.
//!
//! *Not concave.* The line from $x$ to $y$ lies below the tangent at either end. A value above a
//! tangent, a slope that rises along the line, or a value above the bound proven before says that
//! $f$ is not concave, or that its gradient is another function's.

use super::certifier::PolicyOccupancy;
use super::limits::{not_met, part, reports};
use super::linear::{Linear, within_limits};
use super::{Report, apart, partial};
use crate::error::{Error, Result};
use crate::formulation::occupancy::Occupancies;
use crate::formulation::occupancy_spec::{Limit, OccupancySpec};
use crate::formulation::utility::Utility;
use crate::formulation::{Problem, parameter};
use crate::model::{Mdp, Policy};
use crate::solve::Status;
use crate::solve::driver::{Candidate, Driver, Method, Step};
use ide3al_numerics::parallel::dot;

/// By how much of the first slope, and of its size, a value may exceed a tangent: the rounding of
/// functions that users write.
const ROUNDING: (f64, f64) = (1e-6, 1e-9);
/// A line search ends where this share of the first slope is left: what remains is found by the
/// next step as well.
const FLAT: f64 = 0.1;
/// Looks of a line search, and by how much of the line two of them differ at least: enough to halve
/// the line down to rounding.
const LOOKS: (usize, f64) = (60, 1e-14);
/// Share of the wanted gap that the linear problem is solved to, so that its own gap hardly adds to
/// the bound.
const LINEAR: f64 = 0.1;
/// Where there is no reward a gap this small is rounding.
const FEASIBLE: f64 = 1e-9;
/// Numbers in all atoms, 800 MB.
const MOST_NUMBERS: usize = 100_000_000;
/// Atoms lighter than this are dropped: their share of a value is rounding.
const LIGHT: f64 = 1e-14;

/// Maximises a utility.
pub(in crate::solve) fn solve(
    mdp: &Mdp,
    utility: &dyn Utility,
    problem: &Problem,
    visits: &OccupancySpec,
    driver: &mut Driver<'_>,
) -> Result<Report> {
    let part = part(mdp, problem, visits)?;
    let limits = part.limits(&visits.limits);
    let utility_on_part = UtilityOnPart {
        utility,
        mdp,
        part: &part,
    };
    let linear = Linear::new(&part, &limits);
    let first = feasible(&part, &limits, driver)?;
    let mut method = FrankWolfe {
        here: utility_on_part.point(first.clone())?,
        utility_on_part,
        limits: &limits,
        atoms: vec![(first, 1.0)],
        linear,
        predicted: 0.0,
        spent: Vec::new(),
        prices: vec![0.0; limits.len()],
        failed: None,
    };
    driver.run(&mut method);
    if let Some(error) = method.failed {
        return Err(error);
    }
    if driver.best().objective == f64::NEG_INFINITY {
        // stopped before the first certificate: what is at hand is better than nothing
        let candidate = method.certified(f64::INFINITY)?;
        driver.offer(candidate, method.name());
        if driver.best().objective == f64::NEG_INFINITY {
            // by rounding even that exceeds a limit
            return Err(not_met(&part, &limits, driver));
        }
    }
    let mut notes = partial(mdp, part.components(), part.states().len());
    if driver.status() == Status::Stalled {
        notes.push(
            "the gap does not close: at a corner of the function one gradient does not tell the way up; a smooth function nearby \
             (for a minimum a soft one, -t ln sum exp(-x / t)) is solved in a few steps"
                .into(),
        );
    }
    if visits.restart == 0.0 {
        let visited = PolicyOccupancy::by_occupancy(&part, &limits, &method.here.omega);
        notes.extend(apart(part.mdp(), &visited.policy, part.components()));
    }
    Ok(Report {
        notes,
        limits: reports(&visits.limits, &method.spent, &method.prices),
    })
}

/// Where to start: what the uniform policy visits, moved within the limits.
fn feasible(part: &Occupancies, limits: &[Limit], driver: &mut Driver<'_>) -> Result<Vec<f64>> {
    let n = part.mdp().n_states();
    let uniform = Policy::uniform(part.mdp());
    let even = part.of_policy(uniform.probabilities(), &vec![1.0; n]);
    if limits.iter().all(|l| dot(&l.cost, &even) <= l.budget) {
        return Ok(even);
    }
    // no reward at all: whatever keeps to the limits, and far from all other constraints
    let best = within_limits(part, vec![0.0; even.len()], limits, FEASIBLE, driver);
    if best.omega.is_empty() {
        return Err(not_met(part, limits, driver));
    }
    Ok(best.omega)
}

/// The utility as a function of the part's occupancies.
struct UtilityOnPart<'a> {
    utility: &'a dyn Utility,
    mdp: &'a Mdp,
    part: &'a Occupancies,
}

/// An occupancy of the part with value and gradient.
struct Point {
    omega: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

impl UtilityOnPart<'_> {
    fn whole(&self, omega: &[f64]) -> Vec<f64> {
        let mut whole = vec![0.0; self.mdp.n_pairs()];
        self.part.reduced().share(omega, &mut whole);
        whole
    }

    fn value(&self, omega: &[f64]) -> Result<f64> {
        let value = self.utility.value(&self.whole(omega));
        if value.is_finite() {
            return Ok(value);
        }
        Err(wrong(
            value.to_string(),
            "the value must be a finite number wherever every pair that can be visited is; where a pair is never visited mind 0 ln 0, \
             which is 0"
                .into(),
        ))
    }

    /// Per pair of the part; infinite or no number where the function is not smooth.
    fn gradient(&self, omega: &[f64]) -> Vec<f64> {
        let mut gradient = vec![0.0; self.mdp.n_pairs()];
        self.utility.gradient(&self.whole(omega), &mut gradient);
        self.part.reduced().means(&gradient)
    }

    fn point(&self, omega: Vec<f64>) -> Result<Point> {
        let value = self.value(&omega)?;
        let gradient = self.gradient(&omega);
        if let Some(pair) = gradient.iter().position(|g| !g.is_finite()) {
            return Err(wrong(
                format!("gradient {}", gradient[pair]),
                format!(
                    "of pair {} (occupancy {:.1e}): must be a finite number wherever every pair that can be visited is",
                    self.part.reduced().group(pair)[0],
                    omega[pair]
                ),
            ));
        }
        Ok(Point {
            omega,
            value,
            gradient,
        })
    }
}

/// The method.
struct FrankWolfe<'a> {
    utility_on_part: UtilityOnPart<'a>,
    limits: &'a [Limit],
    /// Occupancies with weights that sum to one.
    atoms: Vec<(Vec<f64>, f64)>,
    /// Their mixture.
    here: Point,
    linear: Linear<'a>,
    /// Steps between atoms go on while this much is predicted of them.
    predicted: f64,
    /// Averages of the limits' costs under the last policy offered.
    spent: Vec<f64>,
    prices: Vec<f64>,
    failed: Option<Error>,
}

impl FrankWolfe<'_> {
    /// The policy of the mixture with its own occupancy's value, and a bound.
    fn certified(&mut self, bound: f64) -> Result<Candidate> {
        let part = self.utility_on_part.part;
        let visited = PolicyOccupancy::by_occupancy(part, self.limits, &self.here.omega);
        let objective = if visited.is_feasible(self.limits) {
            self.utility_on_part.value(&visited.omega)?
        } else {
            f64::NEG_INFINITY
        };
        self.spent = visited.spent;
        Ok(Candidate {
            objective,
            bound,
            policy: part
                .reduced()
                .whole_policy(self.utility_on_part.mdp, &visited.policy),
            dual: Vec::new(),
        })
    }

    /// One step: between two atoms, or to a new one.
    fn advance(&mut self, driver: &mut Driver<'_>) -> Result<Step> {
        let scores: Vec<f64> = self
            .atoms
            .iter()
            .map(|(a, _)| dot(a, &self.here.gradient))
            .collect();
        let by_score = |a: &usize, b: &usize| scores[*a].total_cmp(&scores[*b]);
        let numbers = 0..self.atoms.len();
        let (best, worst) = (numbers.clone().max_by(by_score), numbers.min_by(by_score));
        if let (Some(best), Some(worst)) = (best, worst)
            && self.predicted > 0.0
            && scores[best] - scores[worst] >= self.predicted
        {
            let direction = difference(&self.atoms[best].0, &self.atoms[worst].0);
            let size = self.search(&direction, self.atoms[worst].1)?;
            self.atoms[best].1 += size;
            self.atoms[worst].1 -= size;
            self.atoms.retain(|(_, weight)| *weight > LIGHT);
            if size > 0.0 {
                return Ok(Step::Going);
            }
        }
        let wanted = LINEAR * driver.wanted(self.here.value);
        let found = self.linear.solve(&self.here.gradient, wanted, driver);
        let current = dot(&self.here.gradient, &self.here.omega);
        let gap = (found.bound - current).max(0.0);
        let candidate = self.certified(self.here.value + gap)?;
        let (value, bound) = (self.here.value, driver.best().bound);
        if value > bound + ROUNDING.1 * (1.0 + bound.abs()) {
            return Err(not_concave(format!(
                "it has the value {value:.9}, and {bound:.9} was proven to be the most that a concave function has"
            )));
        }
        let done = driver.offer(candidate, self.name());
        self.prices = found.prices;
        if done {
            return Ok(Step::Going);
        }
        self.predicted = 0.5 * gap;
        if found.omega.is_empty() {
            return Ok(Step::End);
        }
        let direction = difference(&found.omega, &self.here.omega);
        let size = self.search(&direction, 1.0)?;
        if size == 0.0 {
            return Ok(Step::End);
        }
        self.atoms.iter_mut().for_each(|atom| atom.1 *= 1.0 - size);
        self.atoms.push((found.omega, size));
        self.atoms.retain(|(_, weight)| *weight > LIGHT);
        let most = (MOST_NUMBERS / self.here.omega.len()).max(2);
        if self.atoms.len() > most {
            merge_lightest(&mut self.atoms);
        }
        Ok(Step::Going)
    }

    /// Moves uphill along a direction, at most by `most`, to where the slope is nearly gone.
    /// Returns by how much.
    fn search(&mut self, direction: &[f64], most: f64) -> Result<f64> {
        let first = dot(&self.here.gradient, direction);
        if !(first > 0.0) {
            return Ok(0.0);
        }
        let at = |size: f64| -> Vec<f64> {
            let ends = self.here.omega.iter().zip(direction);
            ends.map(|(x, d)| (x + size * d).max(0.0)).collect()
        };
        let slope = |gradient: &[f64]| {
            let moved = gradient.iter().zip(direction).filter(|(_, d)| **d != 0.0);
            moved.map(|(g, d)| g * d).sum::<f64>()
        };
        let (mut low, mut high) = ((0.0, first), (most, f64::NEG_INFINITY));
        let mut size = most;
        for look in 0..LOOKS.0 {
            let found = slope(&self.utility_on_part.gradient(&at(size)));
            if found.is_nan() && size < most {
                // evaluated in full, the point says which number is none
                self.utility_on_part.point(at(size))?;
            }
            if found > first * (1.0 + ROUNDING.0) + f64::MIN_POSITIVE && found.is_finite() {
                return Err(not_concave(format!(
                    "its slope along a line rises from {first:e} to {found:e}"
                )));
            }
            if !found.is_finite() {
                high = (size, f64::NEG_INFINITY);
            } else if found < 0.0 {
                high = (size, found);
            } else {
                low = (size, found);
                if look == 0 || found <= FLAT * first {
                    break;
                }
            }
            if high.0 - low.0 <= LOOKS.1 * most {
                break;
            }
            let share = if high.1.is_finite() {
                // regula falsi aimed at half of the slope that is good enough, never far to one
                // side
                let aim = 0.5 * FLAT * first;
                ((low.1 - aim) / (low.1 - high.1)).clamp(0.05, 0.95)
            } else {
                0.5
            };
            size = low.0 + share * (high.0 - low.0);
        }
        if low.0 == 0.0 {
            return Ok(0.0);
        }
        let there = self.utility_on_part.point(at(low.0))?;
        self.compare(&there, low.0 * first)?;
        self.here = there;
        Ok(low.0)
    }

    /// Each of two points lies below the tangent of the other.
    fn compare(&self, there: &Point, rise: f64) -> Result<()> {
        let here = &self.here;
        let back = difference(&here.omega, &there.omega);
        let room = ROUNDING.0 * rise.abs() + ROUNDING.1 * (1.0 + here.value.abs());
        for (value, tangent) in [
            (there.value, here.value + rise),
            (here.value, there.value + dot(&there.gradient, &back)),
        ] {
            if value > tangent + room {
                return Err(not_concave(format!(
                    "it has the value {value:.9} where the tangent at another point has {tangent:.9}"
                )));
            }
        }
        Ok(())
    }
}

/// Puts the mean of the two lightest atoms in their place, which leaves the mixture as it is.
fn merge_lightest(atoms: &mut Vec<(Vec<f64>, f64)>) {
    atoms.sort_by(|a, b| b.1.total_cmp(&a.1));
    if let (Some((one, light)), Some((other, heavy))) = (atoms.pop(), atoms.last_mut()) {
        let share = light / (light + *heavy);
        for (x, y) in other.iter_mut().zip(&one) {
            *x += share * (y - *x);
        }
        *heavy += light;
    }
}

fn not_concave(found: String) -> Error {
    wrong(
        "not concave".into(),
        format!(
            "{found}: the function is not concave, or its gradient is not that of its value; only concave functions can be certified"
        ),
    )
}

fn wrong(value: String, problem: String) -> Error {
    parameter("utility", value, problem)
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

impl Method for FrankWolfe<'_> {
    fn name(&self) -> &'static str {
        "frank-wolfe"
    }

    fn step(&mut self, driver: &mut Driver<'_>) -> Step {
        self.advance(driver).unwrap_or_else(|error| {
            self.failed = Some(error);
            Step::End
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formulation::{Formulation, simplex};
    use crate::solve::{Options, solve_utility};

    /// Minus the squared distance from a point.
    struct Near(Vec<f64>);

    impl Utility for Near {
        fn value(&self, omega: &[f64]) -> f64 {
            let squares = omega.iter().zip(&self.0).map(|(x, q)| (x - q).powi(2));
            -squares.sum::<f64>()
        }

        fn gradient(&self, omega: &[f64], out: &mut [f64]) {
            for (out, (x, q)) in out.iter_mut().zip(omega.iter().zip(&self.0)) {
                *out = -2.0 * (x - q);
            }
        }
    }

    /// On a single state occupancies are all distributions over its actions, so that the linear
    /// problem is to find the largest entry and the optimum is the projection onto the simplex.
    #[test]
    fn a_quadratic_has_its_projection_as_optimum() {
        for (n, xi) in [(3, 0.0), (8, 0.0), (8, 0.05), (30, 0.01)] {
            let mdp = Mdp::from_fn(1, n, |_, _, next| {
                next.push((0, 1.0));
                true
            })
            .unwrap();
            for k in 0..5 {
                let q: Vec<f64> = (0..n).map(|i| (1.3 * (i + 7 * k) as f64).sin()).collect();
                let mut nearest = q.clone();
                simplex::project(&mut nearest, xi);
                let utility = Near(q);
                let (plain, options) = (OccupancySpec::default(), Options::default());
                let found = solve_utility(&mdp, &utility, xi, &plain, &options, &mut ()).unwrap();
                assert_eq!(found.formulation, Formulation::Own);
                let (certificate, best) = (found.certificate, utility.value(&nearest));
                assert_eq!(certificate.status, Status::Optimal);
                assert!(certificate.objective <= best + 1e-12);
                assert!(certificate.objective >= best - options.tolerance);
                assert!(certificate.bound >= best - 1e-12);
            }
        }
    }

    /// The mixture is the same with fewer atoms.
    #[test]
    fn merged_atoms_have_the_same_mixture() {
        let mixture = |atoms: &[(Vec<f64>, f64)]| -> Vec<f64> {
            let of = |i: usize| atoms.iter().map(|(x, w)| x[i] * w).sum();
            (0..3).map(of).collect()
        };
        let mut atoms = vec![
            (vec![1.0, 0.0, 0.0], 0.1),
            (vec![0.0, 1.0, 0.0], 0.6),
            (vec![0.0, 0.5, 0.5], 0.3),
        ];
        let before = mixture(&atoms);
        merge_lightest(&mut atoms);
        assert_eq!(atoms.len(), 2);
        let after = mixture(&atoms);
        assert!(
            before
                .iter()
                .zip(&after)
                .all(|(a, b)| (a - b).abs() < 1e-15)
        );
    }
}
