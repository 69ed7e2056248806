//! Policies under which every state is visited evenly.
//!
//! Where some policy's matrix is doubly stochastic, with no entry above $\zeta$, all three
//! distances vanish, and the policy wanted is the nearest one of this kind:
//!
//! $$\min_{\pi \in \Delta_\xi} \tfrac12 \|\pi - c\|^2 \quad \text{s.t.} \quad \sum_s M_{st}(\pi) = 1, \qquad M_{st}(\pi) \le \zeta .$$
//!
//! A norm is not smooth where it vanishes, so that methods for the distances only creep up to such
//! an optimum; this program gets there in a few steps, tie-break included. Where no policy is even
//! it ends with the proof, mostly after one step: any $y$ bounds the distance of the columns' sums
//! from below ([`column_sum::bound`]), and where there is no solution its own multipliers grow
//! along such a $y$.

use super::{CENTRE, MOST_STEPS, approach};
use crate::formulation::{column_sum, simplex};
use crate::model::Mdp;
use crate::solve::driver::Driver;
use crate::solve::methods::elimination::AT_ONCE;
use crate::solve::methods::interior_point::{InteriorPoint, Program};
use crate::solve::programs::column_sum::ColumnSum;
use crate::solve::programs::frobenius_face::FrobeniusFace;

/// A bound this far above zero proves that no policy is even.
pub(super) const PROVEN: f64 = 1e-9;
/// Entries above zeta by no more than this, and equations violated by no more, are so by rounding.
const ROUNDING: f64 = 1e-12;
/// Within so many steps the violation of the equations halves, or the search is given up.
const PATIENCE: usize = 5;

/// The nearest such policy to `centre`; nothing where there is none, or none was found soon. The
/// steps count where one was.
pub(super) fn nearest(
    mdp: &Mdp,
    (xi, zeta): (f64, f64),
    centre: &[f64],
    driver: &mut Driver<'_>,
) -> Option<Vec<f64>> {
    if !driver.alive() || has_uneven_column(mdp, xi) {
        return None;
    }
    let mut point = ColumnSum::start(mdp, xi, centre, AT_ONCE)?;
    nearest_by(&mut point, mdp, (xi, zeta), centre, driver)
}

/// The same by a method at hand, which is left where it was.
pub(super) fn nearest_by(
    point: &mut InteriorPoint<ColumnSum>,
    mdp: &Mdp,
    (xi, zeta): (f64, f64),
    centre: &[f64],
    driver: &mut Driver<'_>,
) -> Option<Vec<f64>> {
    let mut steps = 0;
    let policy = point.aside_to_even(centre, |point, frozen| {
        let prices = |p: &InteriorPoint<ColumnSum>| p.program.read(&p.x, &p.y).1;
        found(mdp, xi, point, frozen, prices, driver, &mut steps)
            .then(|| point.program.read(&point.x, &point.y).0)
    });
    let mut policy = simplex::feasible(mdp, xi, policy?);
    if largest_entry(mdp, &policy) > zeta + ROUNDING {
        // once more, with these bounds
        let mut point = FrobeniusFace::start_even(mdp, (xi, zeta), centre)?;
        let frozen = vec![false; point.x.len()];
        let prices = |p: &InteriorPoint<FrobeniusFace>| p.program.prices(&p.y).to_vec();
        if !found(mdp, xi, &mut point, frozen, prices, driver, &mut steps) {
            return None;
        }
        policy = simplex::feasible(mdp, xi, point.program.policy(&point.x));
    }
    driver.count(steps);
    Some(policy)
}

/// Whether some column is too little filled by all policies, or too much:
/// $\sum_s \max_{p \in \Delta_\xi} (p P_s)_t < 1$, or the sum of the least is above one. Uniform
/// shares count as if each state gave its largest to the first, and none to the second.
fn has_uneven_column(mdp: &Mdp, xi: f64) -> bool {
    let n = mdp.n_states();
    let kernel = mdp.kernel();
    let (mut most, mut least) = (vec![0.0; n], vec![0.0; n]);
    let mut spread = 0.0;
    // one state's probabilities, column by column
    let mut entries: Vec<(usize, f64)> = Vec::new();
    for s in 0..n {
        let pairs = mdp.pairs(s);
        let count = pairs.len();
        let free = simplex::free_mass(count, xi);
        spread += simplex::support(pairs.clone().map(|pair| kernel.spread_of(pair)), xi);
        entries.clear();
        pairs.for_each(|pair| entries.extend(mdp.row(pair).entries()));
        entries.sort_unstable_by_key(|entry| entry.0);
        for column in entries.chunk_by(|a, b| a.0 == b.0) {
            let of = column.iter().map(|entry| entry.1);
            let floor = xi * of.clone().sum::<f64>();
            most[column[0].0] += floor + free * of.clone().fold(0.0, f64::max);
            least[column[0].0] += floor;
            if column.len() == count {
                least[column[0].0] += free * of.fold(f64::INFINITY, f64::min);
            }
        }
    }
    let too_little = |most: &f64| most + spread / (n as f64) < 1.0 - PROVEN;
    most.iter().any(too_little) || least.iter().any(|least| *least > 1.0 + PROVEN)
}

fn found<P: Program>(
    mdp: &Mdp,
    xi: f64,
    point: &mut InteriorPoint<P>,
    frozen: Vec<bool>,
    prices: impl Fn(&InteriorPoint<P>) -> Vec<f64>,
    driver: &mut Driver<'_>,
    steps: &mut usize,
) -> bool {
    point.begin_on_face(frozen, CENTRE);
    let mut violations = Vec::new();
    let mut hopeless = |point: &InteriorPoint<P>| {
        let violation = point.violation();
        violations.push(violation);
        let before = violations.iter().rev().nth(PATIENCE);
        let slow = violation > ROUNDING && before.is_some_and(|before| violation > 0.5 * before);
        slow || column_sum::bound(mdp, xi, &centred(prices(point))) > PROVEN
    };
    let left = driver.steps_left().saturating_sub(*steps);
    // one step mostly is the proof that there is none, and active sets would only turn in circles
    if left == 0 || !point.step() || hopeless(point) {
        return false;
    }
    *steps += 1;
    approach(point, driver, (left - 1).min(MOST_STEPS), steps, hopeless)
}

/// Prices between -1 and 1 that prove the same: a constant more or less proves nothing.
fn centred(mut y: Vec<f64>) -> Vec<f64> {
    let (low, high) = y
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), y| {
            (l.min(*y), h.max(*y))
        });
    let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
    if half > 0.0 {
        y.iter_mut().for_each(|y| *y = (*y - middle) / half);
    }
    y
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domains;
    use crate::formulation::{Formulation, Problem};
    use crate::solve::{Options, solve};

    /// What one column refutes, the optimum does, too.
    #[test]
    fn an_uneven_column_leaves_a_distance() {
        let mut refuted = 0;
        for seed in 0..20 {
            let name = format!("garnet:states=12,actions=3,branching=4,seed={seed}");
            let mdp = domains::load(&name).unwrap();
            let xi = 0.01 * (seed % 3) as f64;
            if has_uneven_column(&mdp, xi) {
                let problem = Problem {
                    xi,
                    ..Problem::new(Formulation::ColumnSum)
                };
                let found = solve(&mdp, &problem, &Options::default(), None, &mut ()).unwrap();
                assert!(found.certificate.bound > PROVEN, "{name}");
                refuted += 1;
            }
        }
        assert!(0 < refuted && refuted < 20, "{refuted}");
        // on a ring that can be walked both ways every policy that always goes the same way is even
        let ring = Mdp::from_fn(6, 2, |s, a, next| {
            next.push(((s + 1 + 4 * a) % 6, 1.0));
            true
        });
        assert!(!has_uneven_column(&ring.unwrap(), 0.1));
    }
}
