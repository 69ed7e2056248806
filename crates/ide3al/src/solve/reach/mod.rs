//! Reach: local search from many starts, and a bound that no policy exceeds.
//!
//! The problem has local optima, which differ by some per cent. `search` begins in several places,
//! goes on with the better half, and changes the best policy at random in some neighbourhood to
//! improve it again; `descent` is one local search; `evenness` adds the limit on the steady
//! state's entropy; `proportions` keeps to a given steady state; `bound_multipliers` looks for good
//! multipliers of the bound by first arrivals.

mod bound_multipliers;
mod descent;
mod evenness;
mod proportions;
mod search;
#[cfg(test)]
mod tests;

use super::driver::{Candidate, Comparison, Driver};
use super::{Observer, Options, Solution, SolverChoice, Status};
use crate::error::{Error, Result};
use crate::formulation::Formulation;
use crate::formulation::reach::sampled::{PROBES, Sampled};
use crate::formulation::reach::world::World;
use crate::formulation::reach::{Origin, Reach, counting, single};
use crate::model::{Mdp, Policy};
use descent::ReachValue;
use search::Begin;

/// As shown to the user.
const NAME: &str = "quasi-newton";

/// Seeds of the signs by which the value of an answer is estimated, other ones than the search's.
const FRESH_SIGNS: std::ops::Range<u64> = 1..5;

/// Finds a policy that sees as much as possible within a random time, or has the least mean hitting
/// time, and a bound that no policy exceeds.
///
/// ```
/// use ide3al::formulation::reach::Reach;
/// use ide3al::model::Mdp;
/// use ide3al::solve::{Options, reach};
/// // a ring: whoever goes round sees a new state with every step
/// let mdp = Mdp::from_fn(5, 2, |s, a, next| {
///     next.push(((s + if a == 0 { 1 } else { 4 }) % 5, 1.0));
///     true
/// })?
/// .with_start_state(0)?;
/// let asked = Reach { within: Some(f64::INFINITY), ..Reach::default() };
/// let solution = reach::solve(&mdp, &asked, &Options::default(), None, &mut ())?;
/// assert!((solution.certificate.objective - 2.0).abs() < 1e-9);
/// assert_eq!(solution.certificate.status.name(), "optimal");
/// # Ok::<(), ide3al::Error>(())
/// ```
pub fn solve(
    mdp: &Mdp,
    reach: &Reach,
    options: &Options,
    warm: Option<&Solution>,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    reach.validate(mdp)?;
    options.validate()?;
    if options.solver == SolverChoice::Conic {
        let problem = "reach is not concave and has no conic program; leave the solver out";
        return Err(Error::Unsupported(format!("solver = conic: {problem}")));
    }
    let world = World::new(mdp, reach)?;
    check_size(&world, reach)?;
    let mut notes: Vec<String> = world.note(mdp).into_iter().collect();
    let single = single::single(&world);
    let mut reach_value = ReachValue::new(&world);
    let first = match warm {
        Some(warm) => world.part(warm.policy.probabilities()),
        None => world.part(Policy::uniform(mdp).probabilities()),
    };
    let first = proportions::nearest(&world, &world.allowed(first))?;
    let comparison = Comparison {
        maximises: !world.is_hitting(),
        dual_follows_policy: true,
    };
    let worst = if world.is_hitting() {
        f64::INFINITY
    } else {
        0.0
    };
    let objective = reach_value.value(&first);
    let known = Candidate {
        objective: if objective.is_nan() { worst } else { objective },
        bound: counting::bound(&world, &single),
        policy: first.clone(),
        dual: Vec::new(),
    };
    let mut driver = Driver::new(comparison, options, known, observer);
    if world.is_hitting() {
        driver.relative = driver.relative.max(options.tolerance);
    }
    let near = match warm {
        None => from_anywhere(mdp, &world, reach, &mut driver),
        Some(_) => None,
    };
    let begin = match (warm, &near) {
        (Some(_), _) => Begin::Warm(&first),
        (None, Some(near)) => Begin::Near(near),
        (None, None) => Begin::Cold,
    };
    search::run(&world, begin, &mut driver);
    if reach.evenness > 0.0 {
        let limit = evenness::limit(mdp, &world, reach)?;
        evenness::run(&world, &limit, &mut driver);
    }
    if !driver.done() && driver.should_continue() {
        let policy = driver.best().policy.clone();
        let candidate = Candidate {
            objective: driver.best().objective,
            bound: bound_multipliers::run(&world, &single, &mut driver),
            policy,
            dual: Vec::new(),
        };
        driver.offer(candidate, NAME);
    }
    if world.fills_in() {
        notes.push(estimate_anew(&world, &mut driver));
    }
    let best = driver.best().clone();
    if !best.objective.is_finite() {
        let problem = "no policy was found under which every state is seen in the end; give a \
                       finite number of steps";
        return Err(Error::Unsupported(format!("within = inf: {problem}")));
    }
    let mut certificate = driver.certificate(best.objective);
    if certificate.status == Status::Stalled {
        certificate.status = Status::LocalOptimum;
    }
    let share = if world.is_hitting() {
        best.bound / best.objective
    } else {
        best.objective / best.bound
    };
    if certificate.status == Status::LocalOptimum {
        notes.push(format!(
            "the problem is not concave: this is a local optimum, certified to reach {:.1} % of a \
             bound that no policy exceeds, with memory or without",
            100.0 * share
        ));
    }
    let policy = world.whole_policy(mdp, &best.policy);
    Ok(Solution {
        formulation: Formulation::Reach,
        policy: Policy::cleaned_within(mdp, reach.xi, policy),
        certificate,
        dual: Vec::new(),
        solver: driver.solver(),
        restart: reach.restart,
        limits: Vec::new(),
        notes,
    })
}

/// Where factors fill in only the share seen can be estimated.
fn check_size(world: &World, reach: &Reach) -> Result<()> {
    let plain = !(world.is_hitting() || world.has_times || world.has_hubs || reach.evenness > 0.0);
    if plain || !world.fills_in() {
        return Ok(());
    }
    Err(Error::Unsupported(format!(
        "reach: factors of the transition matrix of these {} states fill in ({:.0e} \
         multiplications for every policy looked at), so that the share seen is estimated, which \
         it can be for a finite 'within' without evenness, restarts, travel times and rows that \
         are partly uniform; leave them out, or choose state-entropy",
        world.n_states(),
        world.symbolic.work() as f64
    )))
}

/// Estimates the answer's value anew, with signs that it was not fitted to; what to say of that.
fn estimate_anew(world: &World, driver: &mut Driver<'_>) -> String {
    let policy = driver.best().policy.clone();
    let (mut value, mut squares, mut count) = (0.0, 0.0, 0.0);
    for seed in FRESH_SIGNS {
        let mut sampled = Sampled::new(world, seed);
        value += sampled.value(&policy, None);
        squares += sampled.error() * sampled.error();
        count += 1.0;
    }
    driver.replace(policy, value / count);
    format!(
        "factors of the transition matrix fill in: the share seen is estimated from {} random \
         vectors, with a standard error of {:.1e}",
        count * PROBES as f64,
        squares.sqrt() / count
    )
}

/// For mean hitting times from the start, the policy with the least from anywhere, where there is
/// one: from a single state the search is led to policies that never come back to it.
fn from_anywhere(
    mdp: &Mdp,
    world: &World,
    reach: &Reach,
    driver: &mut Driver<'_>,
) -> Option<Vec<f64>> {
    if !world.is_hitting() || reach.begins() == Origin::Anywhere {
        return None;
    }
    let other = Reach {
        origin: Some(Origin::Anywhere),
        ..reach.clone()
    };
    let other = World::new(mdp, &other).ok()?;
    let comparison = Comparison {
        maximises: false,
        dual_follows_policy: true,
    };
    let first = Candidate {
        objective: f64::INFINITY,
        bound: 0.0,
        ..driver.best().clone()
    };
    let gaps = (driver.absolute, driver.relative);
    let found = driver.subproblem(comparison, gaps, first, |inner| {
        search::run(&other, Begin::Cold, inner);
        inner.best().clone()
    });
    found.objective.is_finite().then_some(found.policy)
}
