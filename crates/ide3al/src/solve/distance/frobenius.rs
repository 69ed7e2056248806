//! Frobenius: the interior-point method, or proximal Newton steps where all of the target is too
//! much.

use super::{Found, Interior, Near, Task, even, settle, sharpen, take_nearest};
use crate::error::Result;
use crate::formulation::support::Support;
use crate::formulation::{Problem, simplex};
use crate::model::{Mdp, Policy};
use crate::solve::driver::{Candidate, Driver};
use crate::solve::large::proximal_newton::ProximalNewton;
use crate::solve::methods::interior_point::InteriorPoint;
use crate::solve::programs::frobenius::Frobenius;
use crate::solve::programs::frobenius_face::FrobeniusFace;
use crate::solve::value::frobenius::Evaluator;
use crate::solve::{Solution, reference};

/// Newton steps of a projection, and of that of the uniform policy: at distance zero hardly any are
/// needed, and else it is worth no more.
const MOST_STEPS: usize = 300;
const START_STEPS: usize = 5;
/// What the rough one may miss of a row or column sum for its distance to be one.
const MOST_MISSED: f64 = 1e-8;

/// Solves; returns what the user should know.
pub(in crate::solve) fn solve(task: &Task<'_>, driver: &mut Driver<'_>) -> Result<Vec<String>> {
    let (mdp, problem, centre) = (task.mdp, task.problem, task.centre);
    let mut interior = None;
    if task.is_conic() {
        let (policy, proven) = reference::frobenius(mdp, problem, driver)?;
        let mut candidate = certified(mdp, problem, policy, None, driver);
        candidate.bound = candidate.bound.max(proven);
        driver.offer(candidate, "conic");
    } else {
        let found = find(mdp, problem, centre, task.warm, driver);
        if found.nearest {
            return Ok(Vec::new());
        }
        interior = found.interior;
    }
    let value = |policy: &[f64], driver: &mut Driver<'_>| {
        certified(mdp, problem, policy.to_vec(), None, driver).objective
    };
    if task.is_settled(problem.zeta, driver, value) {
        return Ok(Vec::new());
    }
    let point = interior.or_else(|| Frobenius::start(mdp, problem, centre));
    let nearest = point.and_then(|mut point| {
        if !sharpen(&mut point, driver, |_| false) {
            return None;
        }
        let found = read(mdp, problem, &point, driver);
        driver.offer(found, "interior-point");
        let optimum = point.optimum();
        let mut face = FrobeniusFace::start(mdp, problem, &optimum, centre)?;
        let nearest = settle(&mut face, optimum.frozen, driver)?;
        let policy = face.program.policy(&face.x);
        let (_, multipliers) = point.program.read(&point.x, &point.y);
        let found = certified(mdp, problem, policy, Some(&multipliers), driver);
        Some(Near {
            policy: found.policy,
            objective: found.objective,
            nearest,
        })
    });
    Ok(take_nearest(driver, nearest).into_iter().collect())
}

fn find(
    mdp: &Mdp,
    problem: &Problem,
    centre: &[f64],
    warm: Option<&Solution>,
    driver: &mut Driver<'_>,
) -> Found<Frobenius> {
    let mut found = Found {
        interior: None,
        nearest: false,
    };
    // where everything can be visited evenly the uniform policy often does it, and at distance zero
    // there is little interior to speak of; a policy learned before may be as good as any
    let known = if let Some(warm) = warm {
        let policy = warm.policy.probabilities().to_vec();
        certified(mdp, problem, policy, Some(&warm.dual), driver)
    } else {
        let policy = Policy::uniform(mdp).probabilities().to_vec();
        let (mut found, missed) = certified_within(mdp, problem, policy, None, START_STEPS, driver);
        if missed > MOST_MISSED {
            found.objective = f64::INFINITY;
        }
        found
    };
    if driver.offer(known, "start") {
        return found;
    }
    if let Some(policy) = even::nearest(mdp, (problem.xi, problem.zeta), centre, driver) {
        let candidate = certified(mdp, problem, policy, None, driver);
        found.nearest = driver.offer(candidate, "interior-point");
        if found.nearest {
            return found;
        }
    }
    // A warm start is worth more than an interior: a few proximal steps will do. Where they come no
    // further the other way is tried.
    let warm = warm.is_some();
    for within in [!warm, warm] {
        if driver.done() || !driver.alive() {
            break;
        }
        if !within {
            let support = Support::new(mdp);
            let mut method = ProximalNewton::new(mdp, problem, &support, !warm, driver);
            driver.run(&mut method);
        } else if let Some(point) = Frobenius::start(mdp, problem, centre) {
            let mut method = Interior {
                point,
                read: |point: &InteriorPoint<Frobenius>, driver: &mut Driver<'_>| {
                    read(mdp, problem, point, driver)
                },
                near: |point: &InteriorPoint<Frobenius>, wanted: f64| {
                    // half a square of the distance falls by the gap
                    point.gap() <= wanted * point.distance().max(wanted)
                },
                steps: 0,
                ended: false,
            };
            driver.run(&mut method);
            found.interior = Some(method.point);
        }
    }
    found
}

/// The policy at an iterate, and the better of the bounds that its residual and the iterate's
/// prove.
fn read(
    mdp: &Mdp,
    problem: &Problem,
    point: &InteriorPoint<Frobenius>,
    driver: &mut Driver<'_>,
) -> Candidate {
    let (policy, multipliers) = point.program.read(&point.x, &point.y);
    let mut found = certified(mdp, problem, policy, Some(&multipliers), driver);
    found.bound = found.bound.max(point.bound(mdp));
    found
}

/// Value of a policy and the bound that its own residual proves.
fn certified(
    mdp: &Mdp,
    problem: &Problem,
    policy: Vec<f64>,
    multipliers: Option<&[f64]>,
    driver: &mut Driver<'_>,
) -> Candidate {
    certified_within(mdp, problem, policy, multipliers, MOST_STEPS, driver).0
}

/// The same with so many steps of the projection, and what it misses of a row or column sum.
fn certified_within(
    mdp: &Mdp,
    problem: &Problem,
    policy: Vec<f64>,
    multipliers: Option<&[f64]>,
    steps: usize,
    driver: &mut Driver<'_>,
) -> (Candidate, f64) {
    let policy = simplex::feasible(mdp, problem.xi, policy);
    let support = Support::new(mdp);
    let mut evaluator = Evaluator::new(mdp, &support, problem.zeta);
    let given = multipliers.unwrap_or_default();
    evaluator.projection.set_multipliers(given);
    evaluator.project_in_time(&policy, (1e-13, steps), driver);
    let own = evaluator.certify(problem.xi);
    let candidate = Candidate {
        policy,
        objective: own.objective,
        bound: own.bound,
        dual: evaluator.multipliers(),
    };
    (candidate, own.violation)
}
