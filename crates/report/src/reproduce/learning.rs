//! Learning curves, and goal-conditioned success.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Deserialize;

use super::learning_claims::{Claim, Line};
use super::registry::Spec;
use super::{Context, DataTable, Outcome};
use crate::axes::Axis;
use crate::figure::{Figure, Point as Mark, Style};
use crate::learning::{AlgorithmResult, CurvePoint, Interval, LearningReport};
use crate::palette::Role;
use crate::panels::{Panel, Panels};
use ide3al::domains;
use ide3al::error::{Error, Result};
use ide3al::formulation::{Formulation, Problem};
use ide3al::learn::{
    Algorithm, AlgorithmSummary, Ended, Estimate, Event, Experiment, Goal, Kind, Metrics, Point,
    Runs, Summary,
};
use ide3al::model::Mdp;
use ide3al::solve::{Options, Status, TieBreak, solve};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    model: String,
    #[serde(default)]
    seed: u64,
    /// Goal-conditioned evaluation of the final policies.
    #[serde(default)]
    goal: bool,
    /// The state between two arms.
    centre: Option<usize>,
    /// Runs that share their numbers.
    group: Vec<Group>,
    /// Which algorithms to draw together.
    figure: Vec<FigureOf>,
    claim: Vec<Claim>,
    /// What a reader should know.
    #[serde(default)]
    note: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    algorithms: Vec<Algorithm>,
    runs: u64,
    /// The paper's number unless given.
    iterations: Option<u64>,
    /// Relative gap at which each solve inside the loop ends, unless the usual one.
    tolerance: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureOf {
    #[serde(default)]
    name: String,
    title: String,
    algorithms: Vec<String>,
}

/// All that is known about one algorithm.
struct Learned {
    line: Line,
    role: Role,
    runs: u64,
    summary: AlgorithmSummary,
}

pub(super) fn run(spec: &Spec, context: &Context<'_>) -> Result<Outcome> {
    let parameters: Parameters = spec.parameters(context.full)?;
    let mdp = domains::load(&parameters.model)?;
    let base = Experiment::for_model(&parameters.model, &mdp);
    let experiments: Vec<Experiment> = parameters
        .group
        .iter()
        .map(|group| Experiment {
            algorithms: group.algorithms.clone(),
            runs: group.runs,
            iterations: group.iterations.unwrap_or(base.iterations),
            seed: parameters.seed,
            relative_tolerance: group.tolerance.unwrap_or(base.relative_tolerance),
            goal: parameters.goal.then(Goal::default),
            ..base.clone()
        })
        .collect();
    let work = |e: &Experiment| e.algorithms.len() as u64 * e.runs * e.iterations;
    let all: u64 = experiments.iter().map(work).sum();
    let done = AtomicU64::new(0);
    let mut learned = Vec::new();
    for experiment in &experiments {
        let runs = Runs::new(experiment, &mdp)?;
        let ended = runs.execute(context.threads, None, context.stop, &|event| {
            let Event::Iterations { count, .. } = event;
            let now = done.fetch_add(count, Ordering::Relaxed) + count;
            (context.progress)(now as f64 / all.max(1) as f64);
        })?;
        if ended == Ended::Interrupted {
            return Err(Error::Interrupted);
        }
        let results: Vec<_> = (0..experiment.algorithms.len())
            .map(|k| runs.results(k).into_iter().flatten().collect::<Vec<_>>())
            .collect();
        let mut summary = Summary::new(&parameters.model, &mdp, experiment, &results);
        for (algorithm, results) in experiment.algorithms.iter().zip(results) {
            let label = algorithm.label();
            let Some(summary) = summary.algorithms.remove(&label) else {
                continue;
            };
            learned.push(Learned {
                role: role(algorithm, learned.len()),
                runs: experiment.runs,
                summary,
                line: Line {
                    name: name(algorithm, experiment),
                    label,
                    batch: experiment.batch_size,
                    iterations: experiment.iterations,
                    results,
                },
            });
        }
    }
    let mut outcome = Outcome::default();
    let lines: Vec<&Learned> = learned.iter().collect();
    outcome.tables.push(final_table(&lines));
    outcome.tables.push(curve_table(&lines));
    let best = best_entropy(&mdp, &base);
    for figure in &parameters.figure {
        let chosen: Vec<&Learned> = figure
            .algorithms
            .iter()
            .filter_map(|label| learned.iter().find(|l| l.line.label == *label))
            .collect();
        let mut panels = if parameters.goal {
            goal_picture(&chosen)
        } else {
            curves(&parameters.model, &mdp, &chosen, best)
        };
        figure.title.clone_into(&mut panels.title);
        outcome.figures.push((figure.name.clone(), panels));
    }
    if parameters.goal {
        outcome.tables.push(goal_table(&lines));
    }
    if !parameters.note.is_empty() {
        outcome.notes.push(parameters.note.clone());
    }
    let lines: Vec<Line> = learned.into_iter().map(|l| l.line).collect();
    for claim in &parameters.claim {
        outcome
            .rows
            .push(claim.judge(&lines, &mdp, parameters.centre)?);
    }
    Ok(outcome)
}

fn name(algorithm: &Algorithm, experiment: &Experiment) -> String {
    let formulation = match experiment.problem(algorithm).map(|p| p.formulation) {
        Ok(Formulation::Infinity) => "Infinity",
        Ok(Formulation::Frobenius) => "Frobenius",
        Ok(Formulation::ColumnSum) => "Column Sum",
        Ok(Formulation::Dual) => "Dual",
        Ok(Formulation::StateEntropy) => "State Entropy",
        Ok(Formulation::Target) => "Target",
        Ok(Formulation::Coverage) => "Coverage",
        Ok(Formulation::ModelError) => "Model Error",
        Ok(Formulation::Reach) => "Reach",
        Ok(Formulation::Own) => "Own",
        Err(_) => "",
    };
    match algorithm.kind {
        Kind::Ideal | Kind::Paper => format!("IDE3AL ({formulation})"),
        Kind::NonIterative => format!("Non-iterative ({formulation})"),
        Kind::MaxEnt => "MaxEnt".into(),
        Kind::CountBased => "CountBased".into(),
        Kind::Random => "Random".into(),
        Kind::RMax => "R-MAX".into(),
        Kind::RMaxLevels => "R-MAX by levels".into(),
        Kind::RfUcrl => "RF-UCRL".into(),
        Kind::EntGame => "EntGame".into(),
    }
}

fn role(algorithm: &Algorithm, place: usize) -> Role {
    match (algorithm.kind, algorithm.formulation) {
        (Kind::Ideal | Kind::Paper, None) => Role::Ideal,
        (Kind::Ideal | Kind::Paper, Some(f)) => {
            Role::from_name(f.name()).unwrap_or(Role::Other(place))
        }
        (Kind::MaxEnt, _) => Role::MaxEnt,
        (Kind::CountBased, _) => Role::CountBased,
        (Kind::Random, _) => Role::Random,
        (Kind::NonIterative, _) => Role::Other(5),
        (Kind::RMax, _) => Role::Other(6),
        (Kind::RMaxLevels, _) => Role::Other(7),
        (Kind::RfUcrl, _) => Role::Other(8),
        (Kind::EntGame, _) => Role::Other(9),
    }
}

fn interval(estimate: &Estimate, runs: u64) -> Option<Interval> {
    let end = |x: Option<f64>| x.filter(|_| runs > 1).unwrap_or(f64::NAN);
    Some(Interval {
        mean: estimate.mean?,
        low: end(estimate.low),
        high: end(estimate.high),
    })
}

fn curve_point(point: &Point, runs: u64) -> CurvePoint {
    let of = |name: &str| interval(point.metrics.get(name)?, runs);
    CurvePoint {
        iteration: point.iteration as usize,
        samples: point.samples,
        entropy: of("entropy_normalized"),
        state_action_entropy: of("state_action_entropy_normalized"),
        min_probability: of("min_probability"),
        spectral_gap: of("spectral_gap"),
        model_error: of("model_error"),
        states_met: of("states_met"),
        pairs_tried: of("pairs_tried"),
        effective_states: of("effective_states"),
    }
}

fn curves(model: &str, mdp: &Mdp, chosen: &[&Learned], best: Option<f64>) -> Panels {
    let algorithms = chosen.iter().map(|l| AlgorithmResult {
        name: l.line.name.clone(),
        role: l.role,
        curve: l
            .summary
            .curve
            .iter()
            .map(|p| curve_point(p, l.runs))
            .collect(),
        visitation: Vec::new(),
        policy: Vec::new(),
        seconds: None,
        goal: Vec::new(),
    });
    let report = LearningReport {
        model: model.to_owned(),
        n_states: mdp.n_states(),
        n_pairs: mdp.n_pairs(),
        state_names: Vec::new(),
        action_names: Vec::new(),
        algorithms: algorithms.collect(),
        layout: None,
        runs: chosen.iter().map(|l| l.runs).max().unwrap_or(0) as usize,
        seed: 0,
        parameters: Vec::new(),
        command: String::new(),
        judged_by_truth: true,
        best_entropy: best,
        goal_in_words: String::new(),
        notes: Vec::new(),
    };
    let mut panels = report.curves();
    panels.caption = format!(
        "Lines are means over runs ({}), bands 95 % intervals of the mean (none for a single run). Every policy is \
         judged by its long-run behaviour on the true model.",
        runs_text(chosen)
    );
    panels
}

/// "20 each", or every algorithm's number where they differ.
fn runs_text(chosen: &[&Learned]) -> String {
    match chosen {
        [first, rest @ ..] if rest.iter().all(|l| l.runs == first.runs) => {
            format!("{} each", first.runs)
        }
        _ => {
            let parts: Vec<String> = chosen
                .iter()
                .map(|l| format!("{} {}", l.line.name, l.runs))
                .collect();
            parts.join(", ")
        }
    }
}

fn goal_picture(chosen: &[&Learned]) -> Panels {
    let x = || Axis::linear("Exploring steps T");
    let mut success = Figure::new(
        "Reaching the hardest state",
        x(),
        Axis::linear("Probability of reaching it within 100 steps").with_range(0.0, 1.0),
    );
    let mut value = Figure::new(
        "Value of the learned policy",
        x(),
        Axis::linear("Discounted value, share of the best").with_range(0.0, 1.0),
    );
    for l in chosen {
        let marks = |get: fn(&ide3al::learn::GoalPoint) -> &Estimate| -> Vec<Mark> {
            let points = l.summary.goal.iter().filter_map(|p| {
                let i = interval(get(p), l.runs)?;
                let x = p.horizon as f64;
                Some(Mark::with_interval(
                    x,
                    i.mean,
                    i.low.max(0.0),
                    i.high.min(1.0),
                ))
            });
            points.collect()
        };
        success = success.with(&l.line.name, l.role, Style::Both, marks(|p| &p.probability));
        value = value.with(&l.line.name, l.role, Style::Both, marks(|p| &p.value_share));
    }
    Panels {
        title: String::new(),
        panels: vec![Panel::Chart(success), Panel::Chart(value)],
        columns: 2,
        caption: format!(
            "Explore for T steps with the learned policy, learn off-line from these steps alone to reach the hardest \
             state. Means over runs ({}), bands 95 % intervals of the mean.",
            runs_text(chosen)
        ),
    }
}

fn estimate_cell(estimate: Option<&Estimate>) -> String {
    match estimate.and_then(|e| Some((e.mean?, e.low?, e.high?))) {
        Some((mean, low, high)) if high > low => format!("{mean:.4} [{low:.4}, {high:.4}]"),
        Some((mean, ..)) => format!("{mean:.4}"),
        None => String::new(),
    }
}

fn final_table(learned: &[&Learned]) -> DataTable {
    let mut table = DataTable::new(
        "final",
        &[
            "algorithm",
            "runs",
            "samples",
            "H(d) / ln S",
            "H(d Π) / ln(SA)",
            "min d",
            "spectral gap",
            "model error",
            "samples to 95 %",
        ],
    );
    for l in learned {
        let mut row = vec![
            l.line.name.clone(),
            l.runs.to_string(),
            l.summary.last.samples.to_string(),
        ];
        for metric in [
            "entropy_normalized",
            "state_action_entropy_normalized",
            "min_probability",
            "spectral_gap",
            "model_error",
        ] {
            row.push(estimate_cell(l.summary.last.metrics.get(metric)));
        }
        row.push(l.summary.samples_to_95_percent.to_string());
        table.rows.push(row);
    }
    table.caption = "At the end of the runs: mean and 95 % interval. Samples to 95 %: until the mean H(d) first reaches 95 % of \
        its final value."
        .into();
    table
}

fn curve_table(learned: &[&Learned]) -> DataTable {
    let mut header = vec!["algorithm".to_owned(), "iteration".into(), "samples".into()];
    for metric in Metrics::NAMES {
        header.extend(["mean", "low", "high"].map(|end| format!("{metric}_{end}")));
    }
    let cell = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    let mut rows = Vec::new();
    for l in learned {
        for point in &l.summary.curve {
            let mut row = vec![
                l.line.label.clone(),
                point.iteration.to_string(),
                point.samples.to_string(),
            ];
            for metric in Metrics::NAMES {
                let e = point.metrics.get(metric);
                row.push(cell(e.and_then(|e| e.mean)));
                row.push(cell(e.and_then(|e| e.low)));
                row.push(cell(e.and_then(|e| e.high)));
            }
            rows.push(row);
        }
    }
    DataTable {
        name: "curves".into(),
        header,
        rows,
        caption: String::new(),
        shown: false,
    }
}

fn goal_table(learned: &[&Learned]) -> DataTable {
    let mut table = DataTable::new(
        "goal",
        &[
            "algorithm",
            "exploring steps",
            "success probability",
            "value share",
        ],
    );
    for l in learned {
        for p in &l.summary.goal {
            table.rows.push(vec![
                l.line.name.clone(),
                p.horizon.to_string(),
                estimate_cell(Some(&p.probability)),
                estimate_cell(Some(&p.value_share)),
            ]);
        }
    }
    table.shown = false;
    table
}

/// Largest H(d) / ln S of any policy with the least probability that the algorithms may go
/// down to; `None` where it is not found quickly.
fn best_entropy(mdp: &Mdp, base: &Experiment) -> Option<f64> {
    let problem = Problem {
        xi: base.xi.min(base.epsilon / mdp.max_actions() as f64),
        ..Problem::new(Formulation::StateEntropy)
    };
    let options = Options {
        tie_break: TieBreak::None,
        tolerance: 1e-6,
        time_limit: Some(Duration::from_secs(10)),
        ..Options::default()
    };
    let solution = solve(mdp, &problem, &options, None, &mut ()).ok()?;
    let known = solution.certificate.status == Status::Optimal && mdp.n_states() > 1;
    known.then(|| solution.certificate.objective / (mdp.n_states() as f64).ln())
}
