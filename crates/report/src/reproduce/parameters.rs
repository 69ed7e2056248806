//! The paper's table of parameters against the domains and defaults of this crate.

use serde::Deserialize;

use super::registry::Spec;
use super::verdict::{Measurement, Rule};
use super::{Context, DataTable, Outcome, Row};
use ide3al::domains::{self, default_parameters};
use ide3al::error::Result;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    domain: Vec<Domain>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Domain {
    name: String,
    model: String,
    states: usize,
    actions: usize,
    xi: f64,
    zeta: f64,
    epsilon: f64,
    iterations: usize,
    batch: usize,
}

pub(super) fn run(spec: &Spec, context: &Context<'_>) -> Result<Outcome> {
    let parameters: Parameters = spec.parameters(context.full)?;
    let mut outcome = Outcome::default();
    let mut table = DataTable::new(
        "",
        &[
            "domain",
            "",
            "states",
            "actions",
            "ξ",
            "ζ",
            "ε",
            "iterations",
            "batch",
        ],
    );
    for domain in &parameters.domain {
        let mdp = domains::load(&domain.model)?;
        let ours = default_parameters(&domain.model, &mdp);
        let paper = [
            domain.states as f64,
            domain.actions as f64,
            domain.xi,
            domain.zeta,
            domain.epsilon,
            domain.iterations as f64,
            domain.batch as f64,
        ];
        let found = [
            mdp.n_states() as f64,
            mdp.max_actions() as f64,
            ours.xi,
            ours.zeta,
            ours.epsilon,
            ours.iterations as f64,
            ours.batch as f64,
        ];
        for (who, values) in [("paper", paper), ("here", found)] {
            let mut row = vec![domain.name.clone(), who.to_owned()];
            row.extend(values.iter().map(f64::to_string));
            table.rows.push(row);
        }
        let differing = paper
            .iter()
            .zip(found)
            .filter(|(a, b)| (*a - b).abs() > 1e-12)
            .count();
        let measured = Measurement::exact(differing as f64);
        outcome.rows.push(Row::new(
            format!(
                "{}: parameters that differ, of {}",
                domain.name,
                paper.len()
            ),
            0,
            measured,
            Rule::Within(0.0).judge(&measured),
        ));
    }
    table.caption = "What the domain has and what `ide3al learn` takes without options.".into();
    outcome.tables.push(table);
    Ok(outcome)
}
