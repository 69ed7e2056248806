//! Policies under which every state is visited evenly.
//!
//! Where some policy's matrix is doubly stochastic, with no entry above $\zeta$, all three distances vanish, and the policy wanted is
//! the nearest one of this kind:
//!
//! $$\min_{\pi \in \Delta_\xi} \tfrac12 \|\pi - c\|^2 \quad \text{s.t.} \quad \sum_s M_{st}(\pi) = 1, \qquad M_{st}(\pi) \le \zeta .$$
//!
//! A norm is not smooth where it vanishes, so that methods for the distances only creep up to such an optimum; this program gets
//! there in a few steps, tie-break included. Where no policy is even it ends with the proof, mostly after one step: any $y$
//! bounds the distance of the columns' sums from below ([`column_sum::bound`]), and where there is no solution its own
//! multipliers grow along such a $y$.

use super::{CENTRE, approach};
use crate::formulation::{Problem, column_sum, simplex};
use crate::model::{Mdp, Policy};
use crate::solve::driver::Driver;
use crate::solve::methods::interior_point::{InteriorPoint, Program};
use crate::solve::programs::column_sum::ColumnSum;
use crate::solve::programs::frobenius_face::FrobeniusFace;
use crate::solve::{Options, SolverChoice};

/// A bound this far above zero proves that no policy is even.
const PROVEN: f64 = 1e-9;
/// An entry this far above zeta is one that is not.
const ROUNDING: f64 = 1e-12;
/// Within so many steps the violation of the equations halves, or the search is given up.
const PATIENCE: usize = 5;

/// The nearest such policy to `centre`; nothing where there is none, or none was found soon.
pub(super) fn nearest(
    mdp: &Mdp,
    (xi, zeta): (f64, f64),
    centre: &[f64],
    driver: &mut Driver<'_>,
) -> Option<Vec<f64>> {
    if is_hopeless_at_once(mdp, xi) {
        return None;
    }
    let (mut point, frozen) = ColumnSum::start_even(mdp, xi, centre)?;
    let prices = |p: &InteriorPoint<ColumnSum>| p.program.read(&p.x, &p.y).1;
    if !found(mdp, xi, &mut point, frozen, prices, driver) {
        return None;
    }
    let policy = simplex::feasible(mdp, xi, point.program.read(&point.x, &point.y).0);
    if largest_entry(mdp, &policy) <= zeta + ROUNDING {
        return Some(policy);
    }
    // entries above zeta: once more, with these bounds
    let mut point = FrobeniusFace::start_even(mdp, (xi, zeta), centre)?;
    let frozen = vec![false; point.x.len()];
    let prices = |p: &InteriorPoint<FrobeniusFace>| p.program.prices(&p.y).to_vec();
    found(mdp, xi, &mut point, frozen, prices, driver).then(|| point.program.policy(&point.x))
}

/// The same where another solver has come down to distance zero. All multipliers vanish there and tell nothing of the optimal
/// face, so that the way of other optima does not lead to the nearest one.
pub(super) fn if_at_zero(
    mdp: &Mdp,
    problem: &Problem,
    options: &Options,
    centre: &[f64],
    driver: &mut Driver<'_>,
) -> Option<Vec<f64>> {
    let at_zero = driver.best().objective <= driver.wanted(0.0);
    (options.solver == SolverChoice::Conic && at_zero)
        .then(|| nearest(mdp, (problem.xi, problem.zeta), centre, driver))
        .flatten()
}

/// Whether the columns that the uniform policy fills too little are too little filled by all policies, or the other way round.
fn is_hopeless_at_once(mdp: &Mdp, xi: f64) -> bool {
    let mut y = vec![0.0; mdp.n_states()];
    let uniform = Policy::uniform(mdp);
    mdp.kernel()
        .transpose_times(uniform.probabilities(), &mut y);
    y.iter_mut().for_each(|c| *c = (1.0 - *c).signum());
    column_sum::bound(mdp, xi, &y) > PROVEN
}

fn found<P: Program>(
    mdp: &Mdp,
    xi: f64,
    point: &mut InteriorPoint<P>,
    frozen: Vec<bool>,
    prices: impl Fn(&InteriorPoint<P>) -> Vec<f64>,
    driver: &mut Driver<'_>,
) -> bool {
    point.begin_on_face(frozen, CENTRE);
    let mut violations = Vec::new();
    let mut hopeless = |point: &InteriorPoint<P>| {
        let mut y = prices(point);
        let most = y.iter().fold(0.0f64, |most, y| most.max(y.abs()));
        y.iter_mut().for_each(|y| *y /= most);
        violations.push(point.violation());
        let before = violations.iter().rev().nth(PATIENCE);
        before.is_some_and(|before| point.violation() > 0.5 * before)
            || (most > 0.0 && column_sum::bound(mdp, xi, &y) > PROVEN)
    };
    // one step mostly is the proof that there is none, and active sets would only turn in circles
    if !point.step() || hopeless(point) {
        return false;
    }
    driver.count(1);
    approach(point, driver, hopeless)
}

/// $\max_{st} M_{st}(\pi)$.
fn largest_entry(mdp: &Mdp, policy: &[f64]) -> f64 {
    let matrix = mdp.mix(policy);
    let n = mdp.n_states();
    (0..n).fold(0.0, |most, s| {
        let row = matrix.row(s);
        let share = row.spread / n as f64;
        row.entries()
            .fold(most.max(share), |most, (_, x)| most.max(x + share))
    })
}
