//! Targets, coverage, model error, and all of them with restarts and limits: what is left of the
//! model, the method for it, and what it proves.

use super::certifier::{Certifier, PolicyOccupancy};
use super::flows::Flows;
use super::interior::Interior;
use super::limits::{not_met, part, reports, unmet};
use super::strategy::{self, Engine};
use super::{Report, apart, partial};
use crate::error::Result;
use crate::formulation::entropy::EntropyWeights;
use crate::formulation::occupancy::Occupancies;
use crate::formulation::occupancy_spec::OccupancySpec;
use crate::formulation::utility::{
    Average, Conjugate, Coverage, Entropies, Form, ModelError, errors,
};
use crate::formulation::{Formulation, Problem, parameter};
use crate::model::{Mdp, Policy};
use crate::solve::driver::{Candidate, Driver};
use crate::solve::{Options, SolverChoice, TieBreak, reference};

/// A gap that counts as none where every policy has the same value: nothing but rounding is left of
/// it.
const TRIVIAL: f64 = 1e-9;

/// Solves one of the family.
pub(in crate::solve) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    visits: &OccupancySpec,
    options: &Options,
    driver: &mut Driver<'_>,
) -> Result<Report> {
    let formulation = problem.formulation;
    let part = part(mdp, problem, visits)?;
    let limits = part.limits(&visits.limits);
    let needed = needed(mdp, formulation, visits);
    let missed = missed(mdp, &part, formulation, &needed, &visits.had)?;
    // where every policy has the same value, any that keeps to the limits will do
    let certain = formulation == Formulation::ModelError && needed.iter().all(|c| *c == 0.0);
    let trivial = missed.is_some() || certain;
    let utility = if trivial {
        driver.absolute = driver.absolute.max(TRIVIAL);
        Box::new(Average::new(vec![0.0; part.mdp().n_pairs()]))
    } else {
        utility(mdp, formulation, visits, needed).within(&part)
    };
    let mut notes = partial(mdp, part.components(), part.states().len());
    notes.extend(missed);
    let sign = if formulation.maximises() { 1.0 } else { -1.0 };
    let mut certifier = Certifier::new(&part, utility.as_ref(), &limits, Some(mdp), sign);
    if trivial && limits.is_empty() {
        let even = Policy::uniform(part.mdp());
        let candidate = Candidate {
            policy: part.reduced().whole_policy(mdp, even.probabilities()),
            objective: 0.0,
            bound: 0.0,
            dual: vec![0.0; part.mdp().n_states()],
        };
        driver.offer(candidate, "none");
    } else if options.solver == SolverChoice::Conic {
        // where there is no solution the conic solver does not say which limit is to blame
        let (omega, dual) = reference::visits(&part, utility.as_ref(), &limits, driver)
            .map_err(|error| unmet(&part, &limits, driver).unwrap_or(error))?;
        let visited = PolicyOccupancy::by_occupancy(&part, &limits, &omega);
        let candidate = certifier.certify(visited, dual);
        driver.offer(candidate, "conic");
    } else {
        let mut interior = Interior::new(certifier);
        let large = !interior.factors() && limits.is_empty();
        let wanted = match utility.form() {
            Form::Floor(wanted) => Some(wanted),
            _ => None,
        };
        let is_for_it = |engine: &Engine| match engine {
            Engine::PrimalDual => large && wanted.is_some(),
            Engine::NewtonOfTarget => {
                large && formulation == Formulation::Target && visits.restart == 0.0
            }
            // plain entropies come here where Newton's method stalled: without a factor there is
            // nothing to add to what it found
            _ => !(large && formulation.is_entropy() && visits.is_plain()),
        };
        match (strategy::VISITS.into_iter().find(is_for_it), wanted) {
            (Some(Engine::PrimalDual), Some(wanted)) => {
                let mut flows = Flows::new(interior.certifier, wanted);
                flows.run(driver);
                certifier = flows.certifier;
            }
            (Some(Engine::NewtonOfTarget), _) => {
                let (found, told) = by_potentials(&part, problem, visits, options, driver)?;
                if part.components() == 1 {
                    notes.extend(told);
                }
                let candidate = Candidate {
                    policy: part.reduced().whole_policy(mdp, &found.policy),
                    objective: -found.objective,
                    bound: -found.bound,
                    dual: found.dual,
                };
                driver.offer(candidate, "newton");
                certifier = interior.certifier;
            }
            (engine, _) => {
                if engine.is_some() {
                    interior.run(driver);
                }
                certifier = interior.certifier;
            }
        }
    }
    if certifier.best_feasible.is_none() && !limits.is_empty() {
        return Err(not_met(&part, &limits, driver));
    }
    if options.tie_break == TieBreak::Uniform
        && formulation == Formulation::StateEntropy
        && !visits.is_plain()
    {
        notes.push(
            "tie-break left out (restarts or limits): other optimal policies may play other actions"
                .into(),
        );
    }
    let mut spent = Vec::new();
    if let Some(kept) = certifier.best_feasible {
        // with restarts every part is reached from the start
        if visits.restart == 0.0 {
            notes.extend(apart(part.mdp(), &kept.policy, part.components()));
        }
        spent = kept.spent;
    }
    Ok(Report {
        limits: reports(&visits.limits, &spent, &certifier.prices),
        notes,
    })
}

/// A target without restarts and limits is State Entropy with weights.
fn by_potentials(
    part: &Occupancies,
    problem: &Problem,
    visits: &OccupancySpec,
    options: &Options,
    driver: &mut Driver<'_>,
) -> Result<(Candidate, Vec<String>)> {
    let whole: f64 = visits.target.iter().sum();
    let share = |s: &usize| (visits.target[*s] / whole).ln();
    let weights = EntropyWeights {
        log_weights: part.states().iter().map(share).collect(),
        actions: 0.0,
    };
    let problem = Problem {
        formulation: Formulation::StateEntropy,
        ..*problem
    };
    super::subproblem(part.mdp(), &problem, &weights, driver, |inner| {
        let notes = super::solve(part.mdp(), &problem, &weights, options, None, inner)?;
        Ok((inner.best().clone(), notes))
    })
}

/// The utility of a formulation on the whole model.
fn utility(
    mdp: &Mdp,
    formulation: Formulation,
    visits: &OccupancySpec,
    needed: Vec<f64>,
) -> Box<dyn Conjugate> {
    match formulation {
        Formulation::Dual => Box::new(Entropies::new(mdp, 1.0)),
        Formulation::Target => Box::new(Entropies::towards(mdp, &visits.target)),
        Formulation::Coverage => Box::new(Coverage::new(needed)),
        Formulation::ModelError if visits.had.is_empty() => Box::new(ModelError::new(needed)),
        Formulation::ModelError => Box::new(ModelError::beside(needed, visits.had.clone())),
        _ => Box::new(Entropies::new(mdp, 0.0)),
    }
}

/// $b$ of coverage or $c$ of the model error: pairs for which it is positive have to be visited.
/// Empty for all others.
fn needed(mdp: &Mdp, formulation: Formulation, visits: &OccupancySpec) -> Vec<f64> {
    match formulation {
        Formulation::Coverage if visits.wanted.is_empty() => vec![1.0; mdp.n_pairs()],
        Formulation::Coverage => visits.wanted.clone(),
        Formulation::ModelError if visits.errors.is_empty() => errors(mdp),
        Formulation::ModelError => visits.errors.clone(),
        _ => Vec::new(),
    }
}

/// What cannot be had at all: no coverage of pairs that cannot be visited for ever (a note, the
/// coverage is zero whatever one does), no finite model error (an error). Samples had before make
/// up for visits.
fn missed(
    mdp: &Mdp,
    part: &Occupancies,
    formulation: Formulation,
    needed: &[f64],
    had: &[f64],
) -> Result<Option<String>> {
    let visited = part.visited(mdp.n_pairs());
    let lost: Vec<usize> = (0..needed.len())
        .filter(|pair| needed[*pair] > 0.0 && !visited[*pair])
        .filter(|pair| had.get(*pair).is_none_or(|m| *m == 0.0))
        .collect();
    let Some(first) = lost.first() else {
        return Ok(None);
    };
    let s = mdp.first_pair().partition_point(|p| p <= first) - 1;
    let which = format!(
        "state {}, action {} ({} of {} pairs) cannot be visited for ever under these constraints, so that",
        mdp.state_name(s),
        mdp.actions()[*first],
        lost.len(),
        mdp.n_pairs()
    );
    if formulation == Formulation::Coverage {
        return Ok(Some(format!(
            "infeasible: {which} no number of steps has the wanted samples of it (coverage 0); want none of such pairs, or let \
             the process start over (parameter 'restart')"
        )));
    }
    let infinite = format!(
        "{which} the model error is infinite; let the process start over now and then (parameter 'restart'), or leave out such pairs"
    );
    Err(parameter("formulation", "model-error", infinite))
}
