//! Targets, coverage, model error, and all of them with restarts and limits: what is left of the model, the interior-point method on
//! it, and what it proves.

use super::flows::Flows;
use super::interior::Interior;
use super::judge::{Judge, Road, Walk, limit_size};
use crate::error::{Error, Result};
use crate::formulation::entropy::Target;
use crate::formulation::occupancy::Occupancies;
use crate::formulation::utility::{
    Average, Conjugate, Coverage, Entropies, Form, ModelError, errors,
};
use crate::formulation::visits::{Limit, Visits};
use crate::formulation::{Formulation, Problem};
use crate::model::{Mdp, Policy};
use crate::solve::driver::{Candidate, Driver, Kind, Method};
use crate::solve::{LimitReport, Options, SolverChoice, reference};

/// By how much of its largest cost the conic solver keeps below a limit where exact occupancies have to keep to it.
const MARGIN: f64 = 1e-8;
/// A gap that counts as none where every policy has the same value.
const TRIVIAL: f64 = 1e-9;
/// Least attainable values are found to this share of the largest cost.
const ATTAINED: f64 = 1e-9;

/// What a solve tells beside the best candidate.
pub(in crate::solve) struct Told {
    pub(in crate::solve) notes: Vec<String>,
    pub(in crate::solve) limits: Vec<LimitReport>,
}

/// Solves one of the family.
pub(in crate::solve) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    visits: &Visits,
    options: &Options,
    driver: &mut Driver<'_>,
) -> Result<Told> {
    let utility = utility(mdp, problem.formulation, visits);
    let allowed = allowed(mdp, problem.formulation, visits)?;
    let Some(part) = Occupancies::new(mdp, problem.xi, visits.restart, allowed) else {
        return Err(nothing_left(problem.formulation, visits));
    };
    let mut notes = notes(mdp, &part);
    let limits = part.limits(&visits.limits);
    let within = utility.within(&part);
    let missed = missed(mdp, &part, problem.formulation, visits)?;
    let trivial = missed.is_some()
        || (problem.formulation == Formulation::ModelError
            && variances(mdp, visits).iter().all(|c| *c == 0.0));
    // where every policy has the same value, any that keeps to the limits will do
    let level = Average::new(vec![0.0; part.mdp().n_pairs()]);
    let goal: &dyn Conjugate = if trivial { &level } else { within.as_ref() };
    if let Some(note) = missed {
        notes.push(note);
    }
    let sign = if problem.formulation.maximises() {
        1.0
    } else {
        -1.0
    };
    let conic = options.solver == SolverChoice::Conic;
    let mut judge = Judge {
        whole: Some(mdp),
        part: &part,
        utility: goal,
        limits: &limits,
        sign,
        prices: vec![0.0; limits.len()],
        values: None,
        omega: Vec::new(),
    };
    if trivial {
        // nothing but rounding is left of a gap
        driver.absolute = driver.absolute.max(TRIVIAL);
    }
    if trivial && limits.is_empty() {
        let even = Policy::uniform(part.mdp());
        let candidate = Candidate {
            policy: part.whole_policy(mdp, even.probabilities()),
            objective: 0.0,
            bound: 0.0,
            dual: vec![0.0; part.mdp().n_states()],
        };
        driver.offer(candidate, "none");
    } else if conic {
        let (omega, dual) = reference::visits(&part, goal, &limits, driver)?;
        let candidate = judge.offer_occupancy(&omega, dual);
        driver.offer(candidate, "conic");
    } else {
        let interior = Interior::new(&part, goal, &limits);
        if let (Form::Floor(wanted), false, true) =
            (goal.form(), interior.factors(), limits.is_empty())
        {
            let mut method = Walk {
                flows: Flows::new(&part, wanted),
                judge: &mut judge,
            };
            driver.run(&mut method);
            if !driver.done() {
                let candidate = method.certified();
                driver.offer(candidate, method.name());
            }
        } else if problem.formulation == Formulation::Target
            && visits.is_unbounded()
            && !interior.factors()
        {
            let (found, told) = by_potentials(&part, problem, visits, options, driver)?;
            if part.components() == 1 {
                notes.extend(told);
            }
            let candidate = Candidate {
                policy: part.whole_policy(mdp, &found.policy),
                objective: -found.objective,
                bound: -found.bound,
                dual: found.dual,
            };
            driver.offer(candidate, "newton");
        } else {
            let mut method = Road {
                interior,
                judge: &mut judge,
                ended: false,
            };
            driver.run(&mut method);
            if !driver.done() && !method.ended {
                // stopped: what is at hand is better than nothing
                let candidate = method.certified();
                driver.offer(candidate, method.name());
            }
        }
    }
    if judge.values.is_none() && !limits.is_empty() {
        attainable(&part, &limits, driver)?;
        return Err(Error::Unsupported(
            "no policy within the limits was found before the solve ended; allow more time, or widen the limits".into(),
        ));
    }
    let limits = reports(
        &visits.limits,
        &judge.values.unwrap_or_default(),
        &judge.prices,
    );
    Ok(Told { limits, notes })
}

/// What became of the limits; the price of a slack one is zero but for rounding.
pub(super) fn reports(limits: &[Limit], values: &[f64], prices: &[f64]) -> Vec<LimitReport> {
    let given = limits.iter().zip(values).zip(prices);
    let report = |((limit, value), price): ((&Limit, &f64), &f64)| LimitReport {
        value: *value,
        budget: limit.budget,
        price: if limit.budget - value > 1e-6 * limit_size(limit) && *price < 1e-6 {
            0.0
        } else {
            *price
        },
    };
    given.map(report).collect()
}

/// A target without restarts and limits is State Entropy with weights.
fn by_potentials(
    part: &Occupancies,
    problem: &Problem,
    visits: &Visits,
    options: &Options,
    driver: &mut Driver<'_>,
) -> Result<(Candidate, Vec<String>)> {
    let whole: f64 = visits.target.iter().sum();
    let share = |s: &usize| (visits.target[*s] / whole).ln();
    let weights = Target {
        log_weights: part.states().iter().map(share).collect(),
        actions: 0.0,
    };
    let problem = Problem {
        formulation: Formulation::StateEntropy,
        ..*problem
    };
    let first = crate::solve::known(part.mdp(), &problem, &weights, None);
    let kind = Kind {
        maximises: true,
        dual_follows_policy: true,
    };
    let gaps = (driver.absolute, driver.relative);
    driver.helping(kind, gaps, first, |inner| {
        let notes = super::solve(part.mdp(), &problem, &weights, options, None, inner)?;
        Ok((inner.best().clone(), notes))
    })
}

/// The utility of a formulation on the whole model.
pub(super) fn utility(mdp: &Mdp, formulation: Formulation, visits: &Visits) -> Box<dyn Conjugate> {
    match formulation {
        Formulation::Dual => Box::new(Entropies::new(mdp, 1.0)),
        Formulation::Target => Box::new(Entropies::towards(mdp, &visits.target)),
        Formulation::Coverage => Box::new(Coverage::new(wanted(mdp, visits))),
        Formulation::ModelError if !visits.had.is_empty() => {
            let had = visits.had.clone();
            Box::new(ModelError::beside(variances(mdp, visits), had))
        }
        Formulation::ModelError => Box::new(ModelError::new(variances(mdp, visits))),
        _ => Box::new(Entropies::new(mdp, 0.0)),
    }
}

/// $b$ of coverage.
fn wanted(mdp: &Mdp, visits: &Visits) -> Vec<f64> {
    if visits.wanted.is_empty() {
        vec![1.0; mdp.n_pairs()]
    } else {
        visits.wanted.clone()
    }
}

/// $c$ of the model error.
fn variances(mdp: &Mdp, visits: &Visits) -> Vec<f64> {
    if visits.errors.is_empty() {
        errors(mdp)
    } else {
        visits.errors.clone()
    }
}

/// The pairs that may be visited at all: not those of states with a target of zero, nor those dearer than a budget that no pair
/// undercuts.
pub(super) fn allowed(mdp: &Mdp, formulation: Formulation, visits: &Visits) -> Result<Vec<bool>> {
    let mut allowed = vec![true; mdp.n_pairs()];
    if formulation == Formulation::Target {
        for (s, q) in visits.target.iter().enumerate() {
            if *q == 0.0 {
                allowed[mdp.pairs(s)].fill(false);
            }
        }
    }
    for (j, limit) in visits.limits.iter().enumerate() {
        let least = limit.cost.iter().copied().fold(f64::INFINITY, f64::min);
        let rounding = 1e-12 * limit_size(limit);
        if least > limit.budget + rounding {
            return Err(beyond(j, limit.budget, least));
        }
        if least >= limit.budget - rounding {
            for (may, c) in allowed.iter_mut().zip(&limit.cost) {
                *may &= *c <= limit.budget + rounding;
            }
        }
    }
    Ok(allowed)
}

fn beyond(j: usize, budget: f64, least: f64) -> Error {
    Error::Parameter {
        name: format!("limit {}", j + 1),
        value: format!("budget {budget}"),
        problem: format!(
            "cannot be met: the least attainable value is {least:.9}; raise the budget to that, or lower xi"
        ),
    }
}

pub(super) fn nothing_left(formulation: Formulation, visits: &Visits) -> Error {
    let (name, problem) = if formulation == Formulation::Target && visits.target.contains(&0.0) {
        (
            "target",
            "is zero where visits cannot be avoided: every policy comes there again and again, so that the divergence is \
             infinite; give those states a positive share, or lower xi",
        )
    } else {
        (
            "limits",
            "leave nothing to visit: every policy uses a forbidden pair again and again; raise a budget, or lower xi",
        )
    };
    Error::Parameter {
        name: name.into(),
        value: "given".into(),
        problem: problem.into(),
    }
}

/// What cannot be had at all: no coverage of pairs that cannot be visited for ever (a note, the coverage is zero whatever one does),
/// no finite model error (an error).
fn missed(
    mdp: &Mdp,
    part: &Occupancies,
    formulation: Formulation,
    visits: &Visits,
) -> Result<Option<String>> {
    let needed = match formulation {
        Formulation::Coverage => wanted(mdp, visits),
        Formulation::ModelError => variances(mdp, visits),
        _ => return Ok(None),
    };
    let visited = part.visited(mdp.n_pairs());
    let lost: Vec<usize> = (0..mdp.n_pairs())
        .filter(|pair| needed[*pair] > 0.0 && !visited[*pair])
        .filter(|pair| visits.had.get(*pair).is_none_or(|m| *m == 0.0))
        .collect();
    let Some(first) = lost.first() else {
        return Ok(None);
    };
    let s = mdp.first_pair().partition_point(|p| p <= first) - 1;
    let which = format!(
        "state {}, action {} ({} of {} pairs)",
        mdp.state_name(s),
        mdp.actions()[*first],
        lost.len(),
        mdp.n_pairs()
    );
    if formulation == Formulation::Coverage {
        return Ok(Some(format!(
            "infeasible: {which} cannot be visited for ever under these constraints, so that no number of steps has the \
             wanted samples of it (coverage 0); want none of such pairs, or let the process start over (parameter 'restart')"
        )));
    }
    Err(Error::Parameter {
        name: "formulation".into(),
        value: "model-error".into(),
        problem: format!(
            "{which} cannot be visited for ever under these constraints, so that the model error is infinite; let the process \
             start over now and then (parameter 'restart'), or leave out such pairs"
        ),
    })
}

pub(super) fn notes(mdp: &Mdp, part: &Occupancies) -> Vec<String> {
    let mut notes = Vec::new();
    let components = part.components();
    if components > 1 {
        notes.push(format!(
            "the model falls into {components} parts that cannot all be reached for ever from one start: the objective is that \
             of the best mixture of them, the steady state below is the one reached from the start distribution"
        ));
    }
    let left = mdp.n_states() - part.states().len();
    if left > 0 {
        notes.push(format!(
            "{left} of {} states cannot be visited for ever under these constraints",
            mdp.n_states()
        ));
    }
    notes
}

/// Fails with the least attainable value of the first limit that no policy meets, or of all together.
pub(super) fn attainable(
    part: &Occupancies,
    limits: &[Limit],
    driver: &mut Driver<'_>,
) -> Result<()> {
    for (j, limit) in limits.iter().enumerate() {
        let cost = Average::new(limit.cost.iter().map(|c| -c).collect());
        let gap = ATTAINED * limit_size(limit);
        let least = -best_average(part, &cost, &[], gap, driver);
        if least > limit.budget {
            return Err(beyond(j, limit.budget, least));
        }
    }
    // each can be met; together with the others?
    for j in 1..limits.len() {
        let cost = Average::new(limits[j].cost.iter().map(|c| -c).collect());
        let gap = ATTAINED * limit_size(&limits[j]);
        let least = -best_average(part, &cost, &limits[..j], gap, driver);
        if least > limits[j].budget {
            return Err(Error::Parameter {
                name: format!("limit {}", j + 1),
                value: format!("budget {}", limits[j].budget),
                problem: format!(
                    "cannot be met together with the limits before it: the least attainable value is {least:.9}; raise \
                     that budget, or one of theirs"
                ),
            });
        }
    }
    Ok(())
}

/// The best long-run average reward, to an absolute gap: what no policy exceeds.
fn best_average(
    part: &Occupancies,
    reward: &Average,
    limits: &[Limit],
    gap: f64,
    driver: &mut Driver<'_>,
) -> f64 {
    let first = Candidate {
        policy: Vec::new(),
        objective: f64::NEG_INFINITY,
        bound: f64::INFINITY,
        dual: Vec::new(),
    };
    let kind = Kind {
        maximises: true,
        dual_follows_policy: true,
    };
    driver.helping(kind, (gap, 0.0), first, |inner| {
        let mut judge = Judge::of_average(part, reward, limits);
        let mut method = Road {
            interior: Interior::new(part, reward, limits),
            judge: &mut judge,
            ended: false,
        };
        inner.run(&mut method);
        inner.best().bound
    })
}

/// The best long-run average reward by the conic solver: what it visits (empty where that is beyond a limit), what no policy
/// exceeds, the prices of the limits. It aims a little below the budgets, so that exact occupancies keep to them.
pub(super) fn conic_average(
    part: &Occupancies,
    reward: &Average,
    limits: &[Limit],
    driver: &mut Driver<'_>,
) -> Result<(Vec<f64>, f64, Vec<f64>)> {
    let tight: Vec<Limit> = limits
        .iter()
        .map(|limit| Limit {
            budget: limit.budget - MARGIN * limit_size(limit),
            ..limit.clone()
        })
        .collect();
    let (omega, dual) = reference::visits(part, reward, &tight, driver)?;
    let mut judge = Judge::of_average(part, reward, limits);
    let bound = judge.offer_occupancy(&omega, dual).bound;
    Ok((judge.omega, bound, judge.prices))
}
