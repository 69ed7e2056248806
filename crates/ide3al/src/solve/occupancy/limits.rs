//! Limits: what they leave of the model, whether they can be met, and what became of them.

use super::certifier::limit_size;
use super::linear::within_limits;
use crate::error::{Error, Result};
use crate::formulation::occupancy::Occupancies;
use crate::formulation::occupancy_spec::{Limit, OccupancySpec};
use crate::formulation::{Formulation, Problem, parameter};
use crate::model::Mdp;
use crate::solve::LimitReport;
use crate::solve::driver::Driver;

/// Budgets that differ from the least cost by no more than this share of the largest are equal to
/// it but for rounding.
const ROUNDING: f64 = 1e-12;
/// Least attainable values are found to this share of the largest cost: they are shown with nine
/// digits.
const ATTAINED: f64 = 1e-9;
/// A limit with more slack than this share of its largest cost is slack, and a price below this is
/// then rounding.
const SLACK: f64 = 1e-6;

/// The part of the model that can be visited for ever: without the pairs of states with a target of
/// zero, and without those dearer than a budget that no pair undercuts.
pub(super) fn part(mdp: &Mdp, problem: &Problem, visits: &OccupancySpec) -> Result<Occupancies> {
    let mut allowed = vec![true; mdp.n_pairs()];
    if problem.formulation == Formulation::Target {
        for (s, q) in visits.target.iter().enumerate() {
            if *q == 0.0 {
                allowed[mdp.pairs(s)].fill(false);
            }
        }
    }
    for (j, limit) in visits.limits.iter().enumerate() {
        let least = limit.cost.iter().copied().fold(f64::INFINITY, f64::min);
        let rounding = ROUNDING * limit_size(limit);
        if least > limit.budget + rounding {
            return Err(beyond(j, limit.budget, least, false));
        }
        if least >= limit.budget - rounding {
            for (may, c) in allowed.iter_mut().zip(&limit.cost) {
                *may &= *c <= limit.budget + rounding;
            }
        }
    }
    Occupancies::new(mdp, problem.xi, visits.restart, allowed)
        .ok_or_else(|| nothing_left(problem.formulation, visits))
}

fn nothing_left(formulation: Formulation, visits: &OccupancySpec) -> Error {
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
    parameter(name, "given", problem)
}

/// The error of a budget that cannot be met, alone or together with the limits before it.
fn beyond(j: usize, budget: f64, least: f64, together: bool) -> Error {
    let attained = format!("the least attainable value is {least:.9}");
    let problem = if together {
        format!(
            "cannot be met together with the limits before it: {attained}; raise that budget, or one of theirs"
        )
    } else {
        format!("cannot be met: {attained}; raise the budget to that, or lower xi")
    };
    parameter(
        &format!("limit {}", j + 1),
        format!("budget {budget}"),
        problem,
    )
}

/// Why no policy within the limits was found: one cannot be met, or the time did not do.
pub(super) fn not_met(part: &Occupancies, limits: &[Limit], driver: &mut Driver<'_>) -> Error {
    unmet(part, limits, driver).unwrap_or_else(|| {
        Error::Unsupported(
            "no policy within the limits was found before the solve ended; allow more time, or widen the limits".into(),
        )
    })
}

/// The first limit that no policy meets, or else the first that none meets together with those
/// before it.
pub(super) fn unmet(
    part: &Occupancies,
    limits: &[Limit],
    driver: &mut Driver<'_>,
) -> Option<Error> {
    let alone = (0..limits.len()).map(|j| (j, 0));
    let mut together = alone.chain((1..limits.len()).map(|j| (j, j)));
    together.find_map(|(j, before)| {
        let least = least_attainable(part, &limits[j], &limits[..before], driver);
        let budget = limits[j].budget;
        (least > budget).then(|| beyond(j, budget, least, before > 0))
    })
}

/// The least long-run average of a limit's cost under other limits: what no policy undercuts.
fn least_attainable(
    part: &Occupancies,
    limit: &Limit,
    others: &[Limit],
    driver: &mut Driver<'_>,
) -> f64 {
    let saved = limit.cost.iter().map(|c| -c).collect();
    let gap = ATTAINED * limit_size(limit);
    -within_limits(part, saved, others, gap, driver).bound
}

/// What became of the limits.
pub(super) fn reports(limits: &[Limit], spent: &[f64], prices: &[f64]) -> Vec<LimitReport> {
    let given = limits.iter().zip(spent).zip(prices);
    let report = |((limit, spent), price): ((&Limit, &f64), &f64)| {
        let slack = limit.budget - spent > SLACK * limit_size(limit);
        LimitReport {
            value: *spent,
            budget: limit.budget,
            price: if slack && *price < SLACK { 0.0 } else { *price },
        }
    };
    given.map(report).collect()
}
