//! Reach: as many states as possible seen soon.

use std::sync::Arc;

use ide3al::domains::default_parameters;
use ide3al::formulation::reach::{Origin, Reach};
use ide3al::formulation::{Formulation, Problem};
use ide3al::solve::reach::solve;
use pyo3::prelude::*;

use crate::errors::exception;
use crate::model::Model;
use crate::signals::Signals;
use crate::solving::{Settings, Solved};

/// What is to be reached.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    within: Option<f64>,
    origin: Option<String>,
    evenness: f64,
    target: Option<Vec<f64>>,
    proportions: Option<Vec<f64>>,
    restart: f64,
}

impl Asked {
    /// The problem with these least probabilities.
    pub(crate) fn reach(self, xi: f64) -> PyResult<Reach> {
        let origin = self.origin.as_deref().map(Origin::from_name);
        Ok(Reach {
            within: self.within,
            origin: origin.transpose().map_err(exception)?,
            xi,
            evenness: self.evenness,
            weights: self.target.unwrap_or_default(),
            proportions: self.proportions.unwrap_or_default(),
            restart: self.restart,
        })
    }
}

/// Solves reach on a model.
#[pyfunction]
pub(crate) fn solve_reach(
    py: Python<'_>,
    model: &Model,
    xi: Option<f64>,
    settings: Settings,
    warm: Option<&Solved>,
    asked: Asked,
) -> PyResult<Solved> {
    let mdp = Arc::clone(&model.mdp);
    let defaults = default_parameters(&model.spec, &mdp);
    let reach = asked.reach(xi.unwrap_or(defaults.xi))?;
    let options = settings.options()?;
    let warm = warm.and_then(|warm| warm.start_of(Formulation::Reach, &mdp));
    let mut signals = Signals::new();
    let solved = py.detach(|| solve(&mdp, &reach, &options, warm, &mut signals));
    signals.finish()?;
    let problem = Problem {
        xi: reach.xi,
        ..Problem::new(Formulation::Reach)
    };
    Ok(Solved::of_reach(
        mdp,
        problem,
        solved.map_err(exception)?,
        reach,
    ))
}
