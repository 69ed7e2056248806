//! Worlds as the page names them, and what it needs to know to draw one.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::refusal::Refusal;
use super::{Shared, work};
use ide3al::domains::{self, GridMap, default_parameters};
use ide3al::formulation::reach::Reach;
use ide3al::formulation::{Formulation, Problem};
use ide3al::learn::Experiment;
use ide3al::model::Mdp;
use ide3al::solve::{self, Observer, Solution};

/// Most states of a world that is solved while one looks on.
const MOST_STATES: usize = 20_000;
/// Most cells of a map, walls included.
const MOST_CELLS: usize = 10 * MOST_STATES;
/// Most transitions.
const MOST_TRANSITIONS: usize = 1_000_000;
/// Most states of a model without a map whose graph is drawn.
const MOST_DRAWN: usize = 400;
/// Most edges of such a graph.
const MOST_EDGES: usize = 4_000;

/// A map, a domain, or a model on the shelf; and how often it starts anew.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct World {
    /// A text map (see [`GridMap`]), which has its own `restart`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<String>,
    /// A built-in domain with parameters, as on the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// A model by its name on the shelf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Probability that a step ends at the start instead, for domains and models.
    #[serde(default)]
    pub restart: f64,
}

impl World {
    /// A text map.
    pub fn map(text: impl Into<String>) -> Self {
        World {
            map: Some(text.into()),
            domain: None,
            model: None,
            restart: 0.0,
        }
    }

    /// A built-in domain.
    pub fn domain(spec: impl Into<String>) -> Self {
        World {
            map: None,
            domain: Some(spec.into()),
            model: None,
            restart: 0.0,
        }
    }

    /// A model of [`Opening::models`](super::Opening::models).
    pub fn model(name: impl Into<String>) -> Self {
        World {
            map: None,
            domain: None,
            model: Some(name.into()),
            restart: 0.0,
        }
    }

    /// What it was made from, for the default parameters.
    fn spec(&self) -> &str {
        self.domain.as_deref().unwrap_or("")
    }
}

impl Shared {
    /// The model of a world.
    pub(super) fn build(&self, world: &World) -> Result<Arc<Mdp>, Refusal> {
        let plain = match (&world.map, &world.domain, &world.model) {
            (Some(text), None, None) => Arc::new(drawn(text)?),
            (None, Some(spec), None) => Arc::new(built_in(spec)?),
            (None, None, Some(name)) => self
                .shelf
                .find(name)
                .ok_or_else(|| Refusal::bad("this model is no longer here: open its file again"))?,
            _ => return Err(Refusal::bad("name one world: a map, a domain or a model")),
        };
        check_size(&plain)?;
        if world.restart == 0.0 {
            return Ok(plain);
        }
        let mdp = Arc::new(plain.with_restart(world.restart)?);
        check_size(&mdp)?;
        Ok(mdp)
    }
}

/// Refuses what would take too long to look at.
pub(super) fn check_size(mdp: &Mdp) -> Result<(), Refusal> {
    let (states, transitions) = (mdp.n_states(), mdp.kernel().nnz());
    if states > MOST_STATES || transitions > MOST_TRANSITIONS {
        return Err(Refusal::bad(format!(
            "{states} states and {transitions} transitions are too many to look at live (at most {MOST_STATES} and \
             {MOST_TRANSITIONS}); 'ide3al solve' has no such limit"
        )));
    }
    Ok(())
}

/// The model of a text map; what is too large is refused before it is built.
fn drawn(text: &str) -> Result<Mdp, Refusal> {
    let cells = text.chars().filter(|c| !c.is_whitespace()).count();
    if cells > MOST_CELLS {
        return Err(Refusal::bad(format!(
            "a map of {cells} cells is too large to look at live (at most {MOST_CELLS}); 'ide3al solve' has no such limit"
        )));
    }
    Ok(GridMap::parse(text)?.build()?)
}

/// A built-in domain of moderate size: never a file, whatever the name says.
fn built_in(spec: &str) -> Result<Mdp, Refusal> {
    let (name, parameters) = spec.split_once(':').unwrap_or((spec, ""));
    let known = domains::list();
    if !known.iter().any(|domain| domain.name == name.trim()) {
        let names: Vec<&str> = known.iter().map(|domain| domain.name).collect();
        return Err(ide3al::Error::unknown("domain", name, &names).into());
    }
    // sizes multiply; what is too large is refused before it is built
    let sizes = parameters.split(',').filter_map(|part| {
        let (key, value) = part.split_once('=')?;
        let size: u64 = value.trim().parse().ok()?;
        (key.trim() != "seed").then_some(size)
    });
    let product = sizes.fold(1, |product: u64, size| product.saturating_mul(size.max(1)));
    if product > MOST_TRANSITIONS as u64 {
        return Err(Refusal::bad(format!(
            "{spec}: too large to look at live; 'ide3al solve' has no such limit"
        )));
    }
    Ok(domains::load(spec)?)
}

/// A world with a problem on it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Asked {
    pub(super) world: World,
    pub(super) formulation: String,
    pub(super) xi: Option<f64>,
    pub(super) zeta: Option<f64>,
    /// Mean time of reach.
    #[serde(default)]
    pub(super) within: Option<f64>,
}

impl Asked {
    /// The problem, with the defaults of `ide3al solve`.
    pub(super) fn problem(&self, mdp: &Mdp) -> Result<Problem, Refusal> {
        let formulation = Formulation::from_name(&self.formulation)?;
        let defaults = default_parameters(self.world.spec(), mdp);
        let problem = Problem {
            formulation,
            xi: self.xi.unwrap_or(defaults.xi),
            zeta: if formulation.takes_zeta() {
                self.zeta.unwrap_or(defaults.zeta)
            } else {
                1.0
            },
        };
        problem.validate(mdp)?;
        Ok(problem)
    }

    /// The best policy found, with its certificate.
    pub(super) fn solve(
        &self,
        mdp: &Mdp,
        problem: &Problem,
        observer: &mut dyn Observer,
    ) -> ide3al::Result<Solution> {
        if problem.formulation == Formulation::Reach {
            let reach = Reach {
                within: self.within,
                ..Reach::with_xi(problem.xi)
            };
            return solve::reach::solve(mdp, &reach, &work::options(), None, observer);
        }
        solve::solve(mdp, problem, &work::options(), None, observer)
    }
}

/// What the page opens with, and what it can offer.
pub(super) async fn opening(State(shared): State<Arc<Shared>>) -> Response {
    let domains: Vec<Value> = domains::list()
        .into_iter()
        .map(|domain| {
            let parameters = domain.parameters.iter();
            let parameters: Vec<Value> = parameters
                .map(|p| json!({ "name": p.name, "default": p.default }))
                .collect();
            json!({ "name": domain.name, "description": domain.description, "parameters": parameters })
        })
        .collect();
    let formulations: Vec<Value> = Formulation::ALL
        .iter()
        .chain([&Formulation::Reach])
        .map(|f| json!({ "name": f.name(), "zeta": f.takes_zeta(), "within": *f == Formulation::Reach, "maximises": f.maximises() }))
        .collect();
    let answer = json!({
        "world": shared.opening,
        "domains": domains,
        "formulations": formulations,
        "version": env!("CARGO_PKG_VERSION"),
    });
    (
        [(header::CONTENT_TYPE, "application/json")],
        answer.to_string(),
    )
        .into_response()
}

/// What a world looks like.
pub(super) async fn describe(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response, Refusal> {
    let world: World = work::json(request).await?;
    let inside = Arc::clone(&shared);
    let job = move |lines: &work::Lines| {
        let mdp = inside.build(&world)?;
        lines.say(&description(&mdp, &world));
        Ok(())
    };
    Ok(shared.work.answer(job).await)
}

fn description(mdp: &Mdp, world: &World) -> Value {
    let defaults = default_parameters(world.spec(), mdp);
    let experiment = Experiment::recommended(world.spec(), mdp);
    let algorithms: Vec<String> = experiment.algorithms.iter().map(|a| a.label()).collect();
    let start: Vec<(usize, f64)> = mdp.start().iter().copied().enumerate().collect();
    let start: Vec<(usize, f64)> = start.into_iter().filter(|(_, p)| *p > 0.0).collect();
    let layout = mdp.layout().map(
        |layout| json!({ "rows": layout.rows, "columns": layout.columns, "cells": layout.cells }),
    );
    json!({
        "states": mdp.n_states(),
        "pairs": mdp.n_pairs(),
        "transitions": mdp.kernel().nnz(),
        "state_names": mdp.state_names(),
        "action_names": mdp.action_names(),
        "first_pair": mdp.first_pair(),
        "actions": mdp.actions(),
        "start": start,
        "layout": layout,
        "edges": if mdp.layout().is_none() { edges(mdp) } else { Vec::new() },
        "xi": defaults.xi,
        "zeta": defaults.zeta,
        "most_xi": 1.0 / mdp.max_actions() as f64,
        "least_zeta": 1.0 / mdp.n_states() as f64,
        "within": Reach::default().time(mdp),
        "learning": {
            "algorithms": algorithms,
            "iterations": experiment.iterations,
            "batch": experiment.batch_size,
        },
    })
}

/// Which states lead to which, for a small model.
fn edges(mdp: &Mdp) -> Vec<(usize, u32)> {
    if mdp.n_states() > MOST_DRAWN {
        return Vec::new();
    }
    let mut edges = Vec::new();
    for state in 0..mdp.n_states() {
        let rows = mdp.pairs(state).map(|pair| mdp.row(pair).indices);
        edges.extend(rows.flatten().map(|next| (state, *next)));
    }
    edges.sort_unstable();
    edges.dedup();
    edges.truncate(MOST_EDGES);
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_never_a_file_and_never_huge() {
        assert!(built_in("four-rooms").is_ok());
        for spec in [
            "Cargo.toml",
            "./model.json",
            "grid:Cargo.toml",
            "garnet:states=100000,actions=100,branching=10",
            "open-grid:rows=18446744073709551615,columns=2",
        ] {
            assert!(built_in(spec).is_err(), "{spec}");
        }
    }
}
