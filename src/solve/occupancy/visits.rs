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
            && errors(mdp).iter().all(|c| *c == 0.0));
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
    } else if problem.formulation == Formulation::Target && visits.is_unbounded() {
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
    let values = judge.values.unwrap_or_default();
    let reports = visits.limits.iter().zip(values).zip(&judge.prices);
    let limits = reports.map(|((limit, value), price)| LimitReport {
        value,
        budget: limit.budget,
        price: if limit.budget - value > 1e-6 * limit_size(limit) && *price < 1e-6 {
            0.0
        } else {
            *price
        },
    });
    Ok(Told {
        limits: limits.collect(),
        notes,
    })
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
        Formulation::ModelError => Box::new(ModelError::new(errors(mdp))),
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

/// The pairs that may be visited at all: not those of states with a target of zero, nor those dearer than a budget that no pair
/// undercuts.
fn allowed(mdp: &Mdp, formulation: Formulation, visits: &Visits) -> Result<Vec<bool>> {
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

fn nothing_left(formulation: Formulation, visits: &Visits) -> Error {
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
        Formulation::ModelError => errors(mdp),
        _ => return Ok(None),
    };
    let visited = part.visited(mdp.n_pairs());
    let lost: Vec<usize> = (0..mdp.n_pairs())
        .filter(|pair| needed[*pair] > 0.0 && !visited[*pair])
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

fn notes(mdp: &Mdp, part: &Occupancies) -> Vec<String> {
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
fn attainable(part: &Occupancies, limits: &[Limit], driver: &mut Driver<'_>) -> Result<()> {
    for (j, limit) in limits.iter().enumerate() {
        let cost = Average::new(limit.cost.iter().map(|c| -c).collect());
        let least = -best_average(part, &cost, &[], limit_size(limit), driver).1;
        if least > limit.budget {
            return Err(beyond(j, limit.budget, least));
        }
    }
    // each can be met; together with the others?
    for j in 1..limits.len() {
        let cost = Average::new(limits[j].cost.iter().map(|c| -c).collect());
        let size = limit_size(&limits[j]);
        let least = -best_average(part, &cost, &limits[..j], size, driver).1;
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

/// The best long-run average reward: what was reached, and what is proven.
fn best_average(
    part: &Occupancies,
    reward: &Average,
    limits: &[Limit],
    size: f64,
    driver: &mut Driver<'_>,
) -> (f64, f64) {
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
    let gaps = (ATTAINED * size, 0.0);
    driver.helping(kind, gaps, first, |inner| {
        let mut judge = Judge {
            whole: None,
            part,
            utility: reward,
            limits,
            sign: 1.0,
            prices: vec![0.0; limits.len()],
            values: None,
        };
        let mut method = Road {
            interior: Interior::new(part, reward, limits),
            judge: &mut judge,
            ended: false,
        };
        inner.run(&mut method);
        (inner.best().objective, inner.best().bound)
    })
}
