//! How the time to solve grows: Column Sum against Dual, by both solvers.

use serde::Deserialize;

use super::registry::Spec;
use super::verdict::{Measurement, Rule};
use super::{Context, DataTable, Outcome, Row};
use crate::axes::Axis;
use crate::figure::{Figure, Point, Style};
use crate::palette::Role;
use crate::panels::{Panel, Panels};
use ide3al::domains;
use ide3al::error::Result;
use ide3al::formulation::{Formulation, Problem};
use ide3al::learn::student_quantile;
use ide3al::solve::{Options, SolverChoice, TieBreak, solve};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Rows and columns of Knight Quest.
    sizes: Vec<usize>,
    /// Solves per time; the fastest counts.
    repeats: usize,
    #[serde(default)]
    otherwise_conic: String,
    #[serde(default)]
    otherwise_structured: String,
}

const SOLVERS: [(&str, SolverChoice); 2] = [
    ("conic", SolverChoice::Conic),
    ("structured", SolverChoice::Auto),
];
const FORMULATIONS: [(Formulation, &str); 2] = [
    (Formulation::ColumnSum, "Column Sum"),
    (Formulation::Dual, "Dual"),
];

pub(super) fn run(spec: &Spec, context: &Context<'_>) -> Result<Outcome> {
    let parameters: Parameters = spec.parameters(context.full)?;
    let mut table = DataTable::new(
        "",
        &[
            "rows = columns",
            "states",
            "variables S A",
            "formulation",
            "solver",
            "engine",
            "time, s",
            "certified gap",
        ],
    );
    // times[solver][formulation]: variables, seconds
    let mut times = [[Vec::new(), Vec::new()], [Vec::new(), Vec::new()]];
    let all = parameters.sizes.len() * 4;
    let mut done = 0;
    for &size in &parameters.sizes {
        let mdp = domains::load(&format!("knight-quest:rows={size},columns={size}"))?;
        for (r, (solver, choice)) in SOLVERS.iter().enumerate() {
            for (f, (formulation, name)) in FORMULATIONS.iter().enumerate() {
                context.step(done, all)?;
                done += 1;
                let options = Options {
                    solver: *choice,
                    tie_break: TieBreak::None,
                    tolerance: 1e-6,
                    ..Options::default()
                };
                let mut best: Option<ide3al::solve::Solution> = None;
                for _ in 0..parameters.repeats.max(1) {
                    let problem = Problem::new(*formulation);
                    let found = solve(&mdp, &problem, &options, None, &mut ())?;
                    let faster = best
                        .as_ref()
                        .is_none_or(|b| found.certificate.seconds < b.certificate.seconds);
                    if faster {
                        best = Some(found);
                    }
                }
                let Some(best) = best else { continue };
                times[r][f].push((mdp.n_pairs() as f64, best.certificate.seconds));
                table.rows.push(vec![
                    size.to_string(),
                    mdp.n_states().to_string(),
                    mdp.n_pairs().to_string(),
                    (*name).to_owned(),
                    (*solver).to_owned(),
                    best.solver.to_owned(),
                    format!("{:.4}", best.certificate.seconds),
                    format!("{:.0e}", best.certificate.gap),
                ]);
            }
        }
    }
    let mut outcome = Outcome::default();
    let [conic, structured] = &times;
    for (place, [column_sum, dual]) in [(0, conic), (1, structured)] {
        let (solver, otherwise) = match place {
            0 => ("conic solver", &parameters.otherwise_conic),
            _ => ("structured solver", &parameters.otherwise_structured),
        };
        let last = |t: &[(f64, f64)]| t.last().map_or(f64::NAN, |p| p.1);
        let ratio = Measurement::exact(last(dual) / last(column_sum));
        let row = Row::new(
            format!("{solver}: time of Dual over Column Sum at the largest size"),
            "above 1: Column Sum is faster",
            ratio,
            Rule::Above(1.0).judge(&ratio),
        );
        let seconds = format!("{:.3} s against {:.3} s", last(dual), last(column_sum));
        outcome
            .rows
            .push(row.because(&seconds).otherwise(otherwise));
        let (a, b) = (exponent(dual), exponent(column_sum));
        let difference = a.minus(&b);
        let row = Row::new(
            format!("{solver}: growth exponent of Dual less that of Column Sum"),
            "above 0: Column Sum scales better",
            difference,
            Rule::Above(0.0).judge(&difference),
        );
        let exponents = format!(
            "time grows like variables^{:.2} against variables^{:.2}",
            a.value, b.value
        );
        outcome
            .rows
            .push(row.because(&exponents).otherwise(otherwise));
    }
    outcome.figures.push((String::new(), picture(&times)));
    table.caption = format!(
        "ξ = 0, certified gap at most 1e-6; fastest of {} solves.",
        parameters.repeats
    );
    outcome.tables.push(table);
    Ok(outcome)
}

/// Slope of the least-squares line through the logarithms, with its 95 % interval.
fn exponent(points: &[(f64, f64)]) -> Measurement {
    let n = points.len();
    let logs = || points.iter().map(|(x, y)| (x.ln(), y.max(1e-9).ln()));
    let mean = |sum: f64| sum / n as f64;
    let (mx, my) = (
        mean(logs().map(|p| p.0).sum()),
        mean(logs().map(|p| p.1).sum()),
    );
    let (xy, xx) = logs().fold((0.0, 0.0), |(xy, xx), (x, y)| {
        (xy + (x - mx) * (y - my), xx + (x - mx) * (x - mx))
    });
    let slope = xy / xx;
    let squares: f64 = logs()
        .map(|(x, y)| (y - my - slope * (x - mx)).powi(2))
        .sum();
    let half = match n {
        0..=2 => f64::NAN,
        _ => student_quantile(n - 2) * (squares / (n - 2) as f64 / xx).sqrt(),
    };
    Measurement {
        low: slope - half,
        high: slope + half,
        ..Measurement::exact(slope)
    }
}

fn picture(times: &[[Vec<(f64, f64)>; 2]; 2]) -> Panels {
    let titles = [
        "Conic solver, as in the paper",
        "Solver made for each formulation",
    ];
    let all = || times.iter().flatten().flatten().map(|p| p.1.max(1e-6));
    let low = all().fold(f64::INFINITY, f64::min) / 1.5;
    let high = all().fold(0.0, f64::max) * 1.5;
    let panels = times.iter().zip(titles).map(|(solver, title)| {
        let x = Axis::log("Number of variables, S A");
        let y = Axis::log("Time to solve, s").with_range(low, high);
        let mut figure = Figure::new(title, x, y);
        for (points, (name, role)) in solver
            .iter()
            .zip([("Column Sum", Role::ColumnSum), ("Dual", Role::Dual)])
        {
            let points = points.iter().map(|&(x, y)| Point::new(x, y)).collect();
            figure = figure.with(name, role, Style::Both, points);
        }
        Panel::Chart(figure)
    });
    Panels {
        title: "Knight Quest of growing size: time to solve".into(),
        panels: panels.collect(),
        columns: 2,
        caption: "Both axes are logarithmic and the two pictures share the vertical one; each mark is the fastest of several solves, ξ = 0.".into(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_exponent_of_a_power_is_found() {
        let points: Vec<(f64, f64)> = [10.0, 20.0, 40.0]
            .iter()
            .map(|x: &f64| (*x, 3e-4 * x.powf(1.7)))
            .collect();
        assert!((super::exponent(&points).value - 1.7).abs() < 1e-12);
    }
}
