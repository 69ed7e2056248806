//! Keyword arguments as the library's settings.

use ide3al::formulation::occupancy_spec::{Limit, OccupancySpec};
use ide3al::learn::Settings;
use ide3al::model::{Counts, Mdp, Unvisited};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::error;

/// Everything given; what is `None` is left open.
pub(crate) fn settings(given: &Bound<'_, PyDict>) -> PyResult<Settings> {
    let mut s = Settings::default();
    for (name, value) in given.iter() {
        if value.is_none() {
            continue;
        }
        let name: String = name.extract()?;
        match name.as_str() {
            "paper" => s.paper = value.extract()?,
            "algorithms" => s.algorithms = Some(value.extract()?),
            "formulation" => s.formulation = Some(value.extract()?),
            "xi" => s.xi = Some(value.extract()?),
            "zeta" => s.zeta = Some(value.extract()?),
            "epsilon" => s.epsilon = Some(value.extract()?),
            "eta" => s.eta = Some(value.extract()?),
            "restart" => s.visits.restart = value.extract()?,
            // what they weigh is said as soon as there are states
            "weighted" if value.extract()? => s.visits.target = vec![1.0],
            "weighted" => {}
            "budgets" => {
                let budgets: Vec<f64> = value.extract()?;
                s.visits.limits = budgets.into_iter().map(unpriced).collect();
            }
            "known" => s.known = Some(value.extract()?),
            "horizon" => s.horizon = Some(value.extract()?),
            "discount" => s.discount = Some(value.extract()?),
            "relative_tolerance" => s.relative_tolerance = Some(value.extract()?),
            "rough_tolerance" => s.rough_tolerance = Some(value.extract()?),
            "tie_break" => s.tie_break = Some(value.extract()?),
            "iterations" => s.iterations = Some(value.extract()?),
            "batch_size" => s.batch_size = Some(value.extract()?),
            "runs" => s.runs = Some(value.extract()?),
            "seed" => s.seed = Some(value.extract()?),
            "converge" => s.converge = Some(value.extract()?),
            "goal" => s.goal = value.extract()?,
            other => return Err(error(format!("unknown parameter '{other}'"))),
        }
    }
    Ok(s)
}

/// A limit whose costs are not known yet.
fn unpriced(budget: f64) -> Limit {
    let cost = Vec::new();
    Limit { cost, budget }
}

/// Numbers for what is to be visited as if nothing were known of the states.
pub(crate) fn fill(visits: &mut OccupancySpec, shape: &Mdp) {
    if !visits.target.is_empty() {
        visits.target = vec![1.0 / shape.n_states() as f64; shape.n_states()];
    }
    for limit in &mut visits.limits {
        limit.cost = vec![0.0; shape.n_pairs()];
    }
}

/// A model with the pairs of the environment and nothing else of interest.
pub(crate) fn shape(n_states: usize, n_actions: usize) -> Mdp {
    let mut start = vec![0.0; n_states];
    start[0] = 1.0;
    Counts::new(&vec![n_actions; n_states]).estimate(Unvisited::SelfLoop, &start)
}
