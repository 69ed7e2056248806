//! The nearest policy whose chain is doubly stochastic.
//!
//! Where some policy's matrix is doubly stochastic, with no entry above $\zeta$, all three
//! distances vanish, and the policy wanted is the nearest one of this kind:
//!
//! $$\min_{\pi \in \Delta_\xi} \tfrac12 \|\pi - c\|^2 \quad \text{s.t.} \quad \sum_s M_{st}(\pi) = 1, \qquad M_{st}(\pi) \le \zeta .$$
//!
//! A norm is not smooth where it vanishes, so that methods for Infinity and Frobenius only creep up
//! to such an optimum (Frobenius on a garnet of 1,000 states: 21 s, and 0.2 s this way). Whether
//! there is one is a linear program, Column Sum: mostly a few of its steps prove that there is
//! none.

use super::birkhoff_face_program::BirkhoffFace;
use super::column_sum_program::ColumnSum;
use super::face_qp::solve_face_qp;
use super::task::MOST_STEPS;
use crate::formulation::{column_sum, simplex};
use crate::model::Mdp;
use crate::solve::cost::DENSE;
use crate::solve::driver::Driver;
use ide3al_numerics::interior_point::InteriorPoint;

/// A bound this far above zero proves that no policy is doubly stochastic; where the method's own
/// gap is less, some policy is.
const PROVEN: f64 = 1e-9;
/// Entries above zeta by no more than this are so by rounding.
const ROUNDING: f64 = 1e-12;

/// The nearest such policy to `centre`; nothing where there is none, the program is too large, or
/// the solve is to stop.
pub(super) fn nearest_policy(
    mdp: &Mdp,
    (xi, zeta): (f64, f64),
    centre: &[f64],
    driver: &mut Driver<'_>,
) -> Option<Vec<f64>> {
    let mut point = ColumnSum::start(mdp, xi, centre, DENSE)?;
    for _ in 0..steps_left(driver) {
        if !driver.should_continue() || !point.step() {
            return None;
        }
        driver.count(1);
        let (_, y) = point.program.read(&point.x, &point.y);
        if column_sum::bound(mdp, xi, &y) > PROVEN {
            return None;
        }
        if point.gap() <= PROVEN {
            break;
        }
    }
    let policy = nearest_without_excess(&mut point, mdp, xi, centre, driver)?;
    if largest_entry(mdp, &policy) <= zeta + ROUNDING {
        return Some(policy);
    }
    // once more, with these bounds
    let mut point = BirkhoffFace::start_doubly_stochastic(mdp, (xi, zeta), centre)?;
    let fixed = vec![false; point.x.len()];
    solve_face_qp(&mut point, fixed, steps_left(driver), driver)?
        .then(|| simplex::feasible(mdp, xi, point.program.policy(&point.x)))
}

/// Steps count here as everywhere.
fn steps_left(driver: &Driver<'_>) -> usize {
    MOST_STEPS.min(driver.steps_left())
}

/// The nearest policy of which no column lacks anything, from the uniform one.
fn nearest_without_excess(
    point: &mut InteriorPoint<ColumnSum>,
    mdp: &Mdp,
    xi: f64,
    centre: &[f64],
    driver: &mut Driver<'_>,
) -> Option<Vec<f64>> {
    let fixed = ColumnSum::without_excess(point, centre);
    solve_face_qp(point, fixed, steps_left(driver), driver)?
        .then(|| simplex::feasible(mdp, xi, point.program.read(&point.x, &point.y).0))
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
    use crate::model::Policy;
    use crate::solve::driver::{Candidate, Comparison};
    use crate::solve::{Options, SolverChoice, solve};

    fn driver(nobody: &mut ()) -> Driver<'_> {
        let comparison = Comparison {
            maximises: false,
            dual_follows_policy: false,
        };
        let first = Candidate {
            policy: Vec::new(),
            objective: 1.0,
            bound: 0.0,
            dual: Vec::new(),
        };
        Driver::new(comparison, &Options::default(), first, nobody)
    }

    /// On a ring that can be walked both ways the nearest policy to any one is found, with and
    /// without a cap.
    #[test]
    fn finds_what_there_is() {
        let ring = Mdp::from_fn(6, 2, |s, a, next| {
            next.push(((s + 1 + 4 * a) % 6, 1.0));
            true
        })
        .unwrap();
        let mut nobody = ();
        let mut driver = driver(&mut nobody);
        let centre = [0.9, 0.1, 0.2, 0.8].repeat(3);
        let found = nearest_policy(&ring, (0.0, 1.0), &centre, &mut driver).unwrap();
        // every state goes forward as often as every other of its parity
        for (s, pair) in found.chunks(2).enumerate() {
            let forward = if s % 2 == 0 { 0.9 } else { 0.2 };
            assert!((pair[0] - forward).abs() < 1e-9, "{found:?}");
        }
        let tight = nearest_policy(&ring, (0.0, 0.6), &centre, &mut driver).unwrap();
        assert!(largest_entry(&ring, &tight) <= 0.6 + 1e-12);
        assert!(
            (tight[0] - 0.6).abs() < 1e-9 && (tight[2] - 0.4).abs() < 1e-9,
            "{tight:?}"
        );
    }

    /// Some garnets have such a policy and some have none: as the reference solver says of Column
    /// Sum.
    #[test]
    fn agrees_with_the_reference_that_there_is_none() {
        let (mut some, mut none) = (0, 0);
        for seed in 0..20 {
            let name = format!("garnet:states=12,actions=3,branching=4,seed={seed}");
            let mdp = domains::load(&name).unwrap();
            let problem = Problem {
                xi: 0.01 * (seed % 3) as f64,
                ..Problem::new(Formulation::ColumnSum)
            };
            let options = Options {
                solver: SolverChoice::Conic,
                ..Options::default()
            };
            let exact = solve(&mdp, &problem, &options, None, &mut ()).unwrap();
            let uniform = Policy::uniform(&mdp);
            let (mut nobody, limits) = ((), (problem.xi, 1.0));
            let mut driver = driver(&mut nobody);
            let found = nearest_policy(&mdp, limits, uniform.probabilities(), &mut driver);
            let objective = exact.certificate.objective;
            assert_eq!(found.is_some(), objective < 1e-6, "{name}: {objective}");
            if found.is_some() {
                some += 1
            } else {
                none += 1
            }
        }
        assert!(some > 0 && none > 0, "{some} {none}");
    }
}
