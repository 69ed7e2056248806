//! Column Sum: the interior-point method, or primal-dual steps where its system is too large.

use super::{Interior, MOST_DENSE, MOST_WORK, replace, settle, sharpen, take_nearest};
use crate::error::Result;
use crate::formulation::{Problem, column_sum, simplex};
use crate::model::Mdp;
use crate::solve::driver::{Candidate, Driver};
use crate::solve::large;
use crate::solve::methods::interior_point::InteriorPoint;
use crate::solve::programs::column_sum::ColumnSum;
use crate::solve::{Options, Solution, SolverChoice, TieBreak, reference};

/// Solves; returns what the user should know.
pub(in crate::solve) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    options: &Options,
    centre: &[f64],
    warm: Option<&Solution>,
    driver: &mut Driver<'_>,
) -> Result<Vec<String>> {
    // no optimal policy is nearer than the nearest of all policies, and where its columns are even, that is seen at once
    let nearest = simplex::feasible(mdp, problem.xi, centre.to_vec());
    let value = column_sum::value(mdp, &nearest);
    if options.solver != SolverChoice::Conic && value <= driver.wanted(value) {
        let first = Candidate {
            policy: nearest,
            objective: value,
            bound: 0.0,
            dual: vec![0.0; mdp.n_states()],
        };
        driver.offer(first, "start");
        return Ok(Vec::new());
    }
    let mut interior = None;
    if options.solver == SolverChoice::Conic {
        let (policy, y) = reference::column_sum(mdp, problem, driver)?;
        driver.offer(certified(mdp, problem.xi, policy, y), "conic");
    } else {
        interior = find(mdp, problem, warm, driver);
    }
    if options.tie_break == TieBreak::None || !driver.alive() {
        return Ok(Vec::new());
    }
    if replace(driver, nearest, value) {
        return Ok(Vec::new());
    }
    let point = interior.or_else(|| ColumnSum::start(mdp, problem.xi, MOST_DENSE));
    let point = point.filter(|p| p.program.work() <= MOST_WORK);
    let nearest = point.and_then(|mut point| {
        if !sharpen(&mut point, driver) {
            return None;
        }
        let frozen = point.at_bounds();
        point.program.toward(centre);
        if !settle(&mut point, frozen, driver) {
            return None;
        }
        let (policy, _) = point.program.read(&point.x, &point.y);
        let policy = simplex::feasible(mdp, problem.xi, policy);
        let objective = column_sum::value(mdp, &policy);
        Some((policy, objective))
    });
    Ok(take_nearest(driver, nearest).into_iter().collect())
}

/// The optimum; returns the interior-point method where it was used.
pub(in crate::solve) fn find(
    mdp: &Mdp,
    problem: &Problem,
    warm: Option<&Solution>,
    driver: &mut Driver<'_>,
) -> Option<InteriorPoint<ColumnSum>> {
    let point =
        ColumnSum::start(mdp, problem.xi, MOST_DENSE).filter(|p| p.program.work() <= MOST_WORK);
    let mut used = None;
    if let Some(point) = point {
        let mut method = Interior {
            point,
            read: |point: &InteriorPoint<ColumnSum>| {
                let (policy, y) = point.program.read(&point.x, &point.y);
                certified(mdp, problem.xi, policy, y)
            },
            near: |point: &InteriorPoint<ColumnSum>, wanted: f64| point.gap() <= wanted,
            steps: 0,
            ended: false,
        };
        driver.run(&mut method);
        used = Some(method.point);
    }
    if !driver.done() && driver.alive() {
        let mut method = large::column_sum::PrimalDual::new(mdp, problem.xi, warm, driver);
        driver.run(&mut method);
    }
    used
}

fn certified(mdp: &Mdp, xi: f64, policy: Vec<f64>, y: Vec<f64>) -> Candidate {
    let policy = simplex::feasible(mdp, xi, policy);
    Candidate {
        objective: column_sum::value(mdp, &policy),
        bound: column_sum::bound(mdp, xi, &y).max(0.0),
        policy,
        dual: y,
    }
}
