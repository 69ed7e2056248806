//! An agent's arguments as the parameters of its experiment.

use ide3al::learn::{Algorithm, Experiment};
use ide3al::model::{Counts, Mdp, Unvisited};
use ide3al::solve::TieBreak;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{error, exception};

/// Everything given, on top of what is recommended or, in paper mode, of the paper's parameters;
/// and whether batches grow.
pub(crate) fn settings(
    algorithm: Algorithm,
    shape: &Mdp,
    seed: u64,
    parameters: &Bound<'_, PyDict>,
    open: bool,
) -> PyResult<(Experiment, bool)> {
    let paper = match parameters.get_item("paper")? {
        Some(paper) if !paper.is_none() => paper.extract()?,
        _ => false,
    };
    if paper && open {
        return Err(error(
            "paper: the paper's algorithms need to know all states beforehand; this environment does not \
             declare a finite observation space",
        ));
    }
    let mut experiment = Experiment {
        algorithms: vec![algorithm],
        seed,
        ..if paper {
            Experiment::for_model("", shape)
        } else {
            Experiment::recommended("", shape)
        }
    };
    let mut growing = !paper;
    for (name, value) in parameters.iter() {
        if value.is_none() {
            continue;
        }
        let name: String = name.extract()?;
        match name.as_str() {
            "formulation" => experiment.formulation = value.extract()?,
            "xi" => experiment.xi = value.extract()?,
            "zeta" => experiment.zeta = value.extract()?,
            "epsilon" => experiment.epsilon = value.extract()?,
            "eta" => experiment.eta = value.extract()?,
            "discount" => experiment.discount = value.extract()?,
            "relative_tolerance" => {
                experiment.relative_tolerance = value.extract()?;
                experiment.rough_tolerance = experiment.relative_tolerance;
            }
            "rough_tolerance" => experiment.rough_tolerance = value.extract()?,
            "tie_break" => {
                experiment.tie_break =
                    TieBreak::from_name(&value.extract::<String>()?).map_err(exception)?;
            }
            "batch_size" => {
                experiment.batch_size = value.extract()?;
                growing = false;
            }
            "paper" => {}
            "prior" => experiment.prior = value.extract()?,
            "unseen" => experiment.unseen = value.extract()?,
            "catch_up" => experiment.catch_up = value.extract()?,
            other => return Err(error(format!("unknown parameter '{other}'"))),
        }
    }
    Ok((experiment, growing))
}

/// A model with the pairs of the environment and nothing else of interest.
pub(crate) fn shape(n_states: usize, n_actions: usize) -> Mdp {
    let mut start = vec![0.0; n_states];
    start[0] = 1.0;
    Counts::new(&vec![n_actions; n_states]).estimate(Unvisited::SelfLoop, &start)
}
