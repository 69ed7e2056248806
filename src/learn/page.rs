//! The results of `ide3al learn` as the data of its page.

use std::time::Duration;

use ide3al::formulation::{Formulation, Problem};
use ide3al::learn::{
    Algorithm, Estimate, Experiment, Kind, Point, RunResult, Summary, hardest_state,
};
use ide3al::model::Mdp;
use ide3al::solve::{self, Options, Status, TieBreak};
use ide3al_report::learning::{AlgorithmResult, CurvePoint, GoalSuccess, Interval, LearningReport};
use ide3al_report::palette::Role;

use crate::command_line;

pub(crate) fn report(mdp: &Mdp, results: &[Vec<RunResult>], summary: &Summary) -> LearningReport {
    let experiment = &summary.parameters;
    let floor = floor(mdp, experiment);
    let algorithms = experiment
        .algorithms
        .iter()
        .zip(results)
        .enumerate()
        .filter_map(|(place, (algorithm, runs))| {
            let of = summary.algorithms.get(&algorithm.label())?;
            Some(AlgorithmResult {
                name: name(algorithm, experiment),
                role: role(algorithm, place),
                curve: of.curve.iter().map(|p| point(p, experiment.runs)).collect(),
                visitation: mean_distribution(mdp.n_states(), runs),
                policy: runs.first().map_or(Vec::new(), |run| run.policy.rows(mdp)),
                seconds: Some(of.seconds),
                goal: of
                    .goal
                    .iter()
                    .filter_map(|g| {
                        Some(GoalSuccess {
                            horizon: g.horizon,
                            probability: interval(&g.probability, experiment.runs)?,
                            value_share: interval(&g.value_share, experiment.runs)?,
                        })
                    })
                    .collect(),
            })
        })
        .collect();
    LearningReport {
        model: summary.model.clone(),
        n_states: mdp.n_states(),
        n_pairs: mdp.n_pairs(),
        state_names: mdp.state_names().map_or(Vec::new(), <[String]>::to_vec),
        action_names: mdp.action_names().map_or(Vec::new(), <[String]>::to_vec),
        algorithms,
        layout: mdp.layout().cloned(),
        runs: experiment.runs as usize,
        seed: experiment.seed,
        parameters: parameters(experiment),
        command: command_line::typed(),
        judged_by_truth: true,
        best_entropy: best_entropy(mdp, floor),
        goal_in_words: experiment.goal.as_ref().map_or(String::new(), |goal| {
            format!(
                "The goal is state {}, the one that random actions visit least, to be reached within {} steps.",
                mdp.state_name(hardest_state(mdp)),
                goal.within
            )
        }),
        notes: std::iter::once(format!(
            "Limits: IDE3AL plays every action with a probability of at least xi = {}, the \
             epsilon-greedy policies of MaxEnt and CountBased with at least epsilon / actions = {}. The \
             largest possible state entropy is drawn for the smaller of the limits in use, {floor}.",
            experiment.xi,
            experiment.epsilon / mdp.max_actions() as f64
        ))
        .chain(summary.remarks())
        .collect(),
    }
}

fn name(algorithm: &Algorithm, experiment: &Experiment) -> String {
    let formulation = experiment
        .problem(algorithm)
        .map_or("", |problem| title(problem.formulation));
    match algorithm.kind {
        Kind::Ideal => format!("IDE3AL ({formulation})"),
        Kind::Paper => format!("IDE3AL, as in the paper ({formulation})"),
        Kind::NonIterative => format!("Non-iterative ({formulation})"),
        Kind::MaxEnt => "MaxEnt".into(),
        Kind::CountBased => "CountBased".into(),
        Kind::RMax => "R-MAX".into(),
        Kind::RMaxLevels => "R-MAX by levels".into(),
        Kind::RfUcrl => "RF-UCRL".into(),
        Kind::EntGame => "EntGame".into(),
        Kind::Random => "Random".into(),
    }
}

fn title(formulation: Formulation) -> &'static str {
    match formulation {
        Formulation::Infinity => "Infinity",
        Formulation::Frobenius => "Frobenius",
        Formulation::ColumnSum => "Column Sum",
        Formulation::Dual => "Dual",
        Formulation::StateEntropy => "State Entropy",
        Formulation::Target => "Target",
        Formulation::Coverage => "Coverage",
        Formulation::ModelError => "Model Error",
        Formulation::Reach => "Reach",
        Formulation::Own => "Own",
    }
}

fn role(algorithm: &Algorithm, place: usize) -> Role {
    match (algorithm.kind, algorithm.formulation) {
        (Kind::Ideal, None) => Role::Ideal,
        (Kind::Ideal, Some(formulation)) => {
            Role::from_name(formulation.name()).unwrap_or(Role::Other(place))
        }
        (Kind::MaxEnt, _) => Role::MaxEnt,
        (Kind::CountBased, _) => Role::CountBased,
        (Kind::Random, _) => Role::Random,
        _ => Role::Other(4 + place),
    }
}

fn point(point: &Point, runs: u64) -> CurvePoint {
    let figure = |name: &str| interval(point.metrics.get(name)?, runs);
    CurvePoint {
        iteration: point.iteration as usize,
        samples: point.samples,
        entropy: figure("entropy_normalized"),
        state_action_entropy: figure("state_action_entropy_normalized"),
        min_probability: figure("min_probability"),
        spectral_gap: figure("spectral_gap"),
        model_error: figure("model_error"),
        states_met: figure("states_met"),
        pairs_tried: figure("pairs_tried"),
        effective_states: figure("effective_states"),
    }
}

/// A mean with its interval, which a single run does not have.
fn interval(estimate: &Estimate, runs: u64) -> Option<Interval> {
    let end = |end: Option<f64>| match end {
        Some(end) if runs > 1 => end,
        _ => f64::NAN,
    };
    Some(Interval {
        mean: estimate.mean?,
        low: end(estimate.low),
        high: end(estimate.high),
    })
}

fn mean_distribution(n_states: usize, runs: &[RunResult]) -> Vec<f64> {
    let mut mean = vec![0.0; n_states];
    for run in runs {
        for (sum, p) in mean.iter_mut().zip(&run.distribution) {
            *sum += p / runs.len() as f64;
        }
    }
    mean
}

fn parameters(experiment: &Experiment) -> Vec<(String, String)> {
    [
        ("iterations", experiment.iterations.to_string()),
        ("steps per iteration", experiment.batch_size.to_string()),
        ("formulation of IDE3AL", experiment.formulation.clone()),
        ("xi", experiment.xi.to_string()),
        ("zeta", experiment.zeta.to_string()),
        (
            "epsilon (MaxEnt, CountBased)",
            experiment.epsilon.to_string(),
        ),
        ("eta (MaxEnt)", experiment.eta.to_string()),
        (
            "discount of value iteration",
            experiment.discount.to_string(),
        ),
        (
            "relative gap of each solve",
            experiment.relative_tolerance.to_string(),
        ),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

/// The least probability of an action that the algorithms compared may go down to.
fn floor(mdp: &Mdp, experiment: &Experiment) -> f64 {
    let even = 1.0 / mdp.max_actions() as f64;
    let of = |algorithm: &Algorithm| match algorithm.kind {
        Kind::Ideal | Kind::Paper | Kind::NonIterative => experiment.xi,
        Kind::MaxEnt | Kind::CountBased => experiment.epsilon * even,
        Kind::RMax | Kind::RMaxLevels | Kind::RfUcrl | Kind::EntGame => 0.0,
        Kind::Random => even,
    };
    experiment.algorithms.iter().map(of).fold(even, f64::min)
}

/// The largest share of the entropy that any policy with that least probability has; `None`
/// where the answer would take long.
fn best_entropy(mdp: &Mdp, floor: f64) -> Option<f64> {
    let problem = Problem {
        xi: floor,
        ..Problem::new(Formulation::StateEntropy)
    };
    let options = Options {
        tie_break: TieBreak::None,
        tolerance: 1e-6,
        time_limit: Some(Duration::from_secs(5)),
        ..Options::default()
    };
    let solution = solve::solve(mdp, &problem, &options, None, &mut ()).ok()?;
    let known = solution.certificate.status == Status::Optimal && mdp.n_states() > 1;
    known.then(|| solution.certificate.objective / (mdp.n_states() as f64).ln())
}
