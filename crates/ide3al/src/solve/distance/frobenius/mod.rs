//! Frobenius: the strategy, and the certificate of a policy.

mod program;
mod proximal_newton;

use super::birkhoff_face_program::BirkhoffFace;
use super::doubly_stochastic;
use super::face_qp::{polish, solve_face_qp};
use super::strategy::{self, Engine};
use super::task::{InteriorPointMethod, MOST_STEPS, Task};
use super::tie_break::{NearestPolicy, take_nearest};
use crate::error::Result;
use crate::formulation::support::Support;
use crate::formulation::{Problem, simplex};
use crate::model::{Mdp, Policy};
use crate::solve::birkhoff::distance::Evaluator;
use crate::solve::cost::WHOLE_TARGET;
use crate::solve::driver::{Candidate, Driver};
use crate::solve::{Solution, reference};
use ide3al_numerics::interior_point::InteriorPoint;
use program::Frobenius;
use proximal_newton::ProximalNewton;

pub(super) const STRATEGY: [Engine; 2] =
    [Engine::WholeTarget(WHOLE_TARGET), Engine::ProximalNewton];

/// Newton steps of a projection, and of that of the uniform policy: at distance zero hardly any are
/// needed, and else it is worth no more.
const PROJECTION_STEPS: usize = 300;
const START_STEPS: usize = 5;
/// Largest violation of a row or column sum at which the distance from the projection of a few
/// steps is still trusted.
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
        if offer_start(task, driver) {
            return Ok(Vec::new());
        }
        interior = find(mdp, problem, centre, task.warm, driver);
    }
    let value = |policy: &[f64], driver: &mut Driver<'_>| {
        certified(mdp, problem, policy.to_vec(), None, driver).objective
    };
    if task.has_no_tie(problem.zeta, driver, value) {
        return Ok(Vec::new());
    }
    let point = interior.or_else(|| Frobenius::start(mdp, problem, centre, WHOLE_TARGET));
    let nearest = point.and_then(|mut point| {
        if !polish(&mut point, driver, |_| false) {
            return None;
        }
        let found = read(mdp, problem, &point, driver);
        driver.offer(found, "interior-point");
        let optimum = Frobenius::optimum(&point);
        let mut face = BirkhoffFace::start(mdp, problem, &optimum, centre)?;
        let nearest = solve_face_qp(&mut face, optimum.fixed, MOST_STEPS, driver)?;
        let policy = face.program.policy(&face.x);
        let (_, multipliers) = point.program.read(&point.x, &point.y);
        let found = certified(mdp, problem, policy, Some(&multipliers), driver);
        Some(NearestPolicy {
            policy: found.policy,
            objective: found.objective,
            nearest,
        })
    });
    Ok(take_nearest(driver, nearest).into_iter().collect())
}

/// Offers what is known without a search; says whether that is the policy wanted.
fn offer_start(task: &Task<'_>, driver: &mut Driver<'_>) -> bool {
    let (mdp, problem) = (task.mdp, task.problem);
    // where everything can be visited evenly the uniform policy often does it, and at distance zero
    // there is little interior to speak of; a policy learned before may be as good as any
    let known = if let Some(warm) = task.warm {
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
        return false;
    }
    let limits = (problem.xi, problem.zeta);
    let found = doubly_stochastic::nearest_policy(mdp, limits, task.centre, driver);
    found.is_some_and(|policy| {
        let candidate = certified(mdp, problem, policy, None, driver);
        driver.offer(candidate, "interior-point")
    })
}

/// The optimum; the interior-point method where it was used.
fn find(
    mdp: &Mdp,
    problem: &Problem,
    centre: &[f64],
    warm: Option<&Solution>,
    driver: &mut Driver<'_>,
) -> Option<InteriorPoint<Frobenius>> {
    let mut last = None;
    let mut strategy = STRATEGY;
    if warm.is_some() {
        // from a good start proximal Newton needs a few steps; an interior-point method has to
        // leave the boundary first
        strategy.reverse();
    }
    strategy::run(&strategy, driver, |engine, driver| match engine {
        Engine::WholeTarget(states) => {
            let Some(point) = Frobenius::start(mdp, problem, centre, states) else {
                return false;
            };
            let read = |point: &InteriorPoint<Frobenius>, driver: &mut Driver<'_>| {
                read(mdp, problem, point, driver)
            };
            // half a square of the distance falls by the gap
            let near = |point: &InteriorPoint<Frobenius>, wanted: f64| {
                point.gap() <= wanted * Frobenius::distance(point).max(wanted)
            };
            let mut method = InteriorPointMethod::new(point, read, near);
            driver.run(&mut method);
            last = Some(method.point);
            true
        }
        Engine::ProximalNewton => {
            let support = Support::new(mdp);
            let unknown = warm.is_none();
            let mut method = ProximalNewton::new(mdp, problem, &support, unknown, driver);
            driver.run(&mut method);
            true
        }
        // engines of other problems
        Engine::InteriorPoint(_)
        | Engine::FirstOrderTrial(..)
        | Engine::LevelSets
        | Engine::FirstOrder => false,
    });
    last
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
    found.bound = found.bound.max(Frobenius::bound(point, mdp));
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
    certified_within(mdp, problem, policy, multipliers, PROJECTION_STEPS, driver).0
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
