//! Column Sum: the interior-point method, or primal-dual steps where its system is too large.

use super::{Found, Interior, Near, SOON, Task, even, settle, sharpen, take_nearest};
use crate::error::Result;
use crate::formulation::{Problem, column_sum, simplex};
use crate::model::Mdp;
use crate::solve::driver::{Candidate, Driver, Method, Step};
use crate::solve::large;
use crate::solve::methods::elimination::{AT_LAST, AT_ONCE};
use crate::solve::methods::interior_point::InteriorPoint;
use crate::solve::programs::column_sum::ColumnSum;
use crate::solve::{Solution, reference};

/// Where no more is missing than this share of what was at the start, and nothing proves that
/// something must be, it is tried whether nothing need be.
const LITTLE: f64 = 1e-3;

/// Solves; returns what the user should know.
pub(in crate::solve) fn solve(task: &Task<'_>, driver: &mut Driver<'_>) -> Result<Vec<String>> {
    let (mdp, problem, centre) = (task.mdp, task.problem, task.centre);
    let mut interior = None;
    if task.is_conic() {
        let (policy, y) = reference::column_sum(mdp, problem, driver)?;
        driver.offer(certified(mdp, problem.xi, policy, y), "conic");
    } else {
        // where the columns of the nearest policy of all are even, that is seen at once
        let nearest = task.nearest();
        let value = column_sum::value(mdp, &nearest);
        if value <= driver.wanted(value) {
            let first = certified(mdp, problem.xi, nearest, vec![0.0; mdp.n_states()]);
            driver.offer(first, "start");
            return Ok(Vec::new());
        }
        let found = find(mdp, problem, centre, task.warm, true, driver);
        if found.nearest {
            return Ok(Vec::new());
        }
        interior = found.interior;
    }
    if task.is_settled(1.0, driver, |policy, _| column_sum::value(mdp, policy)) {
        return Ok(Vec::new());
    }
    let point = interior.or_else(|| ColumnSum::start(mdp, problem.xi, centre, AT_ONCE));
    let nearest = point.and_then(|mut point| {
        if !sharpen(&mut point, driver, InteriorPoint::is_told_apart) {
            return None;
        }
        let (policy, y) = point.program.read(&point.x, &point.y);
        driver.offer(certified(mdp, problem.xi, policy, y), "interior-point");
        let frozen = point.at_bounds();
        point.toward(centre);
        let nearest = settle(&mut point, frozen, driver)?;
        let (policy, _) = point.program.read(&point.x, &point.y);
        let policy = simplex::feasible(mdp, problem.xi, policy);
        Some(Near {
            objective: column_sum::value(mdp, &policy),
            policy,
            nearest,
        })
    });
    Ok(take_nearest(driver, nearest).into_iter().collect())
}

/// The optimum. `patient` says that the interior-point method may take its time where steps of
/// first order do not get there soon.
pub(in crate::solve) fn find(
    mdp: &Mdp,
    problem: &Problem,
    centre: &[f64],
    warm: Option<&Solution>,
    patient: bool,
    driver: &mut Driver<'_>,
) -> Found<ColumnSum> {
    let mut found = Found {
        interior: None,
        nearest: false,
    };
    let start = |limits| ColumnSum::start(mdp, problem.xi, centre, limits);
    let go_on = |driver: &mut Driver<'_>| large::column_sum::solve(mdp, problem.xi, warm, driver);
    let mut point = start(AT_ONCE);
    if point.is_none() && patient && mdp.n_states() <= AT_LAST.order {
        driver.within_steps(SOON, go_on);
        if !driver.done() && driver.alive() {
            point = start(AT_LAST);
        }
    }
    if let Some(point) = point {
        let mut method = EvenOrNot {
            little: LITTLE * point.program.missing(&point.x),
            interior: Interior {
                point,
                read: |point: &InteriorPoint<ColumnSum>, _: &mut Driver<'_>| {
                    let (policy, y) = point.program.read(&point.x, &point.y);
                    certified(mdp, problem.xi, policy, y)
                },
                near: |point: &InteriorPoint<ColumnSum>, wanted: f64| point.gap() <= wanted,
                steps: 0,
                ended: false,
            },
            mdp,
            problem,
            centre,
            tried: false,
            even: false,
        };
        driver.run(&mut method);
        found.nearest = method.even && driver.done();
        found.interior = Some(method.interior.point);
    }
    if !driver.done() && driver.alive() {
        go_on(driver);
    }
    found
}

/// The interior-point method, and a look at even policies once there is little left that their
/// columns could lack.
struct EvenOrNot<'a, R, N> {
    interior: Interior<ColumnSum, R, N>,
    mdp: &'a Mdp,
    problem: &'a Problem,
    centre: &'a [f64],
    little: f64,
    tried: bool,
    /// Whether what was offered last is even.
    even: bool,
}

impl<R, N> Method for EvenOrNot<'_, R, N>
where
    R: FnMut(&InteriorPoint<ColumnSum>, &mut Driver<'_>) -> Candidate,
    N: Fn(&InteriorPoint<ColumnSum>, f64) -> bool,
{
    fn name(&self) -> &'static str {
        self.interior.name()
    }

    fn step(&mut self, driver: &mut Driver<'_>) -> Step {
        let (mdp, problem, point) = (self.mdp, self.problem, &self.interior.point);
        self.even = false;
        if !self.tried && point.program.missing(&point.x) <= self.little {
            self.tried = true;
            let (_, y) = point.program.read(&point.x, &point.y);
            let limits = (problem.xi, 1.0);
            if column_sum::bound(mdp, problem.xi, &y) <= even::PROVEN
                && driver.alive()
                && let Some(policy) =
                    even::nearest_by(&mut self.interior.point, mdp, limits, self.centre, driver)
            {
                self.even = true;
                return Step::Offer(certified(
                    mdp,
                    problem.xi,
                    policy,
                    vec![0.0; mdp.n_states()],
                ));
            }
        }
        self.interior.step(driver)
    }
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
