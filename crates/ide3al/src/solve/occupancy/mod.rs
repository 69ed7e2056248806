//! Functions of what is visited: which method solves them, and on which parts of the model.

mod certifier;
mod flows;
mod frank_wolfe;
mod interior;
mod limits;
mod linear;
mod newton;
mod potentials;
mod strategy;
mod visits;

pub(super) use frank_wolfe::solve as own;
pub(super) use visits::solve as visits;

use super::driver::{Candidate, Driver};
use super::{LimitReport, Options, Solution, SolverChoice, reference};
use crate::error::{Error, Result};
use crate::formulation::entropy::{self, EntropyWeights};
use crate::formulation::occupancy_spec::OccupancySpec;
use crate::formulation::reduction::components;
use crate::formulation::reduction::copies::WithoutCopies;
use crate::formulation::{Problem, simplex};
use crate::model::{Mdp, Policy};
use potentials::Potentials;
use strategy::Engine;

/// What a solve tells beside the best candidate.
pub(super) struct Report {
    pub(super) notes: Vec<String>,
    pub(super) limits: Vec<LimitReport>,
}

/// Dual and State Entropy, component by component.
pub(super) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    target: &EntropyWeights,
    options: &Options,
    warm: Option<&Solution>,
    driver: &mut Driver<'_>,
) -> Result<Vec<String>> {
    let Some(parts) = components(mdp, problem.xi) else {
        let start = warm.map(|w| w.dual.as_slice());
        solve_component(mdp, problem, target, options, start, driver)?;
        let note = apart(mdp, &driver.best().policy, 1);
        return Ok(note.into_iter().collect());
    };
    let mut policy = Policy::uniform(mdp).probabilities().to_vec();
    let mut dual = vec![0.0; mdp.n_states()];
    let (mut values, mut bounds) = (Vec::new(), Vec::new());
    let warm = warm.filter(|warm| warm.dual.len() == mdp.n_states());
    // the solver of the largest part that has one
    let (mut largest, mut solver) = (0, "newton");
    for part in &parts {
        let start: Option<Vec<f64>> =
            warm.map(|warm| part.states.iter().map(|s| warm.dual[*s]).collect());
        let of_part = EntropyWeights {
            log_weights: target.of_states(&part.states),
            ..*target
        };
        let found = subproblem(&part.mdp, problem, &of_part, driver, |inner| {
            let start = start.as_deref();
            solve_component(&part.mdp, problem, &of_part, options, start, inner)?;
            if part.states.len() > largest {
                (largest, solver) = (part.states.len(), inner.solver());
            }
            Ok::<_, Error>(inner.best().clone())
        })?;
        values.push(found.objective);
        bounds.push(found.bound);
        part.share_policy(mdp, &found.policy, &mut policy);
        for (&s, v) in part.states.iter().zip(&found.dual) {
            dual[s] = *v;
        }
    }
    let whole = Candidate {
        policy,
        objective: entropy::log_sum_exp(values.iter().copied()),
        bound: entropy::log_sum_exp(bounds.iter().copied()),
        dual,
    };
    driver.offer(whole, solver);
    let covered = parts.iter().map(|part| part.states.len()).sum();
    Ok(partial(mdp, parts.len(), covered))
}

/// Dual and State Entropy on a model that is one component, from the potentials `start`.
fn solve_component(
    mdp: &Mdp,
    problem: &Problem,
    target: &EntropyWeights,
    options: &Options,
    start: Option<&[f64]>,
    driver: &mut Driver<'_>,
) -> Result<()> {
    if options.solver == SolverChoice::Conic {
        let (omega, v) = reference::entropy(mdp, problem, target, driver)?;
        let policy = Policy::cleaned(mdp, omega).probabilities().to_vec();
        let policy = Policy::cleaned(mdp, simplex::feasible(mdp, problem.xi, policy));
        let candidate = Candidate {
            objective: entropy::value_towards(mdp, problem.formulation, target, &policy).0,
            bound: entropy::bound_towards(mdp, problem.formulation, target, problem.xi, &v),
            policy: policy.probabilities().to_vec(),
            dual: v,
        };
        driver.offer(candidate, "conic");
        return Ok(());
    }
    let without_copies = WithoutCopies::new(mdp);
    let smaller = without_copies.as_ref();
    let mut potentials = Potentials::new(mdp, smaller, problem, target, start, driver);
    for engine in strategy::ENTROPIES {
        match engine {
            Engine::Newton => potentials.run(driver),
            // an optimal policy may hardly hold the model together, which the interior-point method
            // minds less (with weights it would be asked another question); the driver keeps the
            // better of both answers
            Engine::InteriorPointAfterNewton if target.is_plain() => {
                visits::solve(mdp, problem, &OccupancySpec::default(), options, driver)?;
            }
            Engine::NewtonToTheEnd => potentials.go_on(driver),
            _ => {}
        }
        if driver.done() || !driver.should_continue() {
            break;
        }
    }
    Ok(())
}

/// Solves Dual or State Entropy on a part of the model, under the clock and to the gaps of the
/// whole.
fn subproblem<T>(
    part: &Mdp,
    problem: &Problem,
    target: &EntropyWeights,
    driver: &mut Driver<'_>,
    solve: impl FnOnce(&mut Driver<'_>) -> T,
) -> T {
    let first = super::known(part, problem, target, None);
    let gaps = (driver.absolute, driver.relative);
    driver.subproblem(super::comparison(problem), gaps, first, solve)
}

/// A note on a policy that never comes from one part of a model to another, of which the model has
/// so many by itself.
fn apart(mdp: &Mdp, policy: &[f64], components: usize) -> Option<String> {
    let classes = entropy::classes(mdp, policy);
    (classes > components).then(|| {
        format!(
            "this policy keeps to {classes} separate parts of the model: the objective, and what it spends of limits, are those of a mixture \
             of them, the steady state below is the one reached from the start distribution; a larger xi joins the parts"
        )
    })
}

/// Notes on a model that falls into components, or of which not all states can be visited for ever.
fn partial(mdp: &Mdp, components: usize, covered: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if components > 1 {
        notes.push(format!(
            "the model falls into {components} parts that cannot all be reached for ever from one start: the objective is that \
             of the best mixture of them, the steady state below is the one reached from the start distribution"
        ));
    }
    if covered < mdp.n_states() {
        notes.push(format!(
            "{} of {} states cannot be visited for ever under these constraints",
            mdp.n_states() - covered,
            mdp.n_states()
        ));
    }
    notes
}
