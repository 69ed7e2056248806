//! The trade-offs along `xi` and `zeta`, and maps of where policies go.

use serde::Deserialize;

use super::registry::Spec;
use super::verdict::{Measurement, Shape};
use super::{Context, DataTable, Outcome, Row};
use crate::axes::number;
use crate::frontier::Frontier;
use crate::heat::HeatMap;
use crate::panels::{Panel, Panels};
use ide3al::chain::{AnalyzeOptions, analyze};
use ide3al::domains;
use ide3al::error::Result;
use ide3al::formulation::{Formulation, Problem};
use ide3al::frontier::{SweepPoint, Vary, sweep};
use ide3al::solve::{Options, solve};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    model: String,
    formulation: String,
    vary: String,
    points: usize,
    #[serde(default)]
    xi: f64,
    #[serde(default = "unit")]
    zeta: f64,
    trend: Vec<Trend>,
    maps: Option<Maps>,
}

fn unit() -> f64 {
    1.0
}

/// A quantity that is said to rise or to fall with the parameter.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trend {
    name: String,
    quantity: Quantity,
    shape: Shape,
    #[serde(default)]
    otherwise: String,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum Quantity {
    Entropy,
    StateActionEntropy,
    SpectralGap,
}

impl Quantity {
    fn of(self, point: &SweepPoint) -> f64 {
        match self {
            Quantity::Entropy => point.entropy_normalized,
            Quantity::StateActionEntropy => point.state_action_entropy_normalized,
            Quantity::SpectralGap => point.spectral_gap,
        }
    }
}

/// Maps of the long-run distribution for several `zeta`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Maps {
    model: String,
    zetas: Vec<f64>,
    #[serde(default)]
    xi: f64,
    trend: Vec<Trend>,
}

/// What counts as no change: far above the accuracy of a solve, far below what a plot shows.
const SLACK: f64 = 1e-5;

pub(super) fn run(spec: &Spec, context: &Context<'_>) -> Result<Outcome> {
    let parameters: Parameters = spec.parameters(context.full)?;
    let mdp = domains::load(&parameters.model)?;
    let problem = Problem {
        formulation: Formulation::from_name(&parameters.formulation)?,
        xi: parameters.xi,
        zeta: parameters.zeta,
    };
    let vary = match parameters.vary.as_str() {
        "xi" => Vary::Xi,
        _ => Vary::Zeta,
    };
    let options = Options::default();
    let found = sweep(&mdp, &problem, vary, parameters.points, &options, &mut ())?;
    context.step(1, 2)?;
    let mut outcome = Outcome::default();
    trends(&parameters.trend, &found.points, &mut outcome.rows);
    outcome
        .tables
        .push(table("", &found.points, "Each line is one exact solution."));
    let picture = Frontier::of_sweep(&found, &parameters.model, &problem, vary).panels();
    outcome.figures.push((String::new(), picture));
    if let Some(maps) = &parameters.maps {
        draw_maps(maps, &problem, &mut outcome)?;
    }
    Ok(outcome)
}

fn trends(trends: &[Trend], points: &[SweepPoint], rows: &mut Vec<Row>) {
    for trend in trends {
        let values: Vec<f64> = points.iter().map(|p| trend.quantity.of(p)).collect();
        let judged = trend.shape.judge(&values, SLACK);
        let (first, last) = (
            values.first().copied().unwrap_or(f64::NAN),
            values.last().copied().unwrap_or(f64::NAN),
        );
        let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (change, course) = match trend.shape {
            Shape::Peaks => (
                top - first.max(last),
                format!("from {first:.4} over {top:.4} to {last:.4}"),
            ),
            _ => (last - first, format!("from {first:.4} to {last:.4}")),
        };
        let change = Measurement::exact(change);
        let row = Row::new(trend.name.as_str(), trend.shape.name(), change, judged)
            .because(&course)
            .otherwise(&trend.otherwise);
        rows.push(row);
    }
}

fn table(name: &str, points: &[SweepPoint], caption: &str) -> DataTable {
    let mut table = DataTable::new(
        name,
        &[
            "ξ",
            "ζ",
            "H(d) / ln S",
            "H(d Π) / ln(SA)",
            "spectral gap",
            "mixing time, steps",
            "certified gap",
        ],
    );
    for p in points {
        table.rows.push(vec![
            number(p.xi),
            p.zeta.map_or(String::new(), number),
            format!("{:.4}", p.entropy_normalized),
            format!("{:.4}", p.state_action_entropy_normalized),
            format!("{:.4}", p.spectral_gap),
            p.mixing_time
                .map_or("infinite".into(), |t| match p.mixing_time_kind {
                    "lower_bound" => format!("at least {t}"),
                    _ => t.to_string(),
                }),
            format!("{:.0e}", p.gap),
        ]);
    }
    table.caption = caption.to_owned();
    table
}

fn draw_maps(maps: &Maps, base: &Problem, outcome: &mut Outcome) -> Result<()> {
    let mdp = domains::load(&maps.model)?;
    let mut pictures = Vec::new();
    let mut points = Vec::new();
    let mut zetas = maps.zetas.clone();
    zetas.sort_by(f64::total_cmp);
    for &zeta in &zetas {
        let problem = Problem {
            xi: maps.xi,
            zeta,
            ..*base
        };
        let solution = solve(&mdp, &problem, &Options::default(), None, &mut ())?;
        let a = analyze(&mdp, &solution.policy, &AnalyzeOptions::default())?;
        if let Some(layout) = mdp.layout() {
            let title = format!("ζ = {}", number(zeta));
            let label = "Long-run probability per cell";
            pictures.push(HeatMap::on_layout(title, label, layout, &a.stationary));
        }
        points.push(SweepPoint {
            xi: maps.xi,
            zeta: Some(zeta),
            status: solution.certificate.status.name(),
            objective: solution.certificate.objective,
            gap: solution.certificate.gap,
            seconds: solution.certificate.seconds,
            entropy: a.entropy,
            entropy_normalized: a.entropy_normalized,
            state_action_entropy: a.state_action_entropy,
            state_action_entropy_normalized: a.state_action_entropy_normalized,
            spectral_gap: a.spectral_gap,
            mixing_time: a.mixing_time,
            mixing_time_kind: a.mixing_time_kind,
            recurrent_classes: a.recurrent_classes,
            hitting_time_mean: None,
            within: None,
            evenness: None,
        });
    }
    trends(&maps.trend, &points, &mut outcome.rows);
    let largest = pictures
        .iter()
        .filter_map(HeatMap::largest)
        .fold(0.0, f64::max);
    for map in &mut pictures {
        map.range = (largest > 0.0).then_some((0.0, largest));
    }
    outcome.figures.push((
        "maps".into(),
        Panels {
            title: format!("{}: where the policies go", maps.model),
            panels: pictures.into_iter().map(Panel::Heat).collect(),
            columns: 2,
            caption: "Long-run probability of each cell; walls are grey, all maps share one scale."
                .into(),
        },
    ));
    outcome
        .tables
        .push(table("maps", &points, "The policies of the maps."));
    Ok(())
}
