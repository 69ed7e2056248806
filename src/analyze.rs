//! `ide3al analyze`.

use std::io::IsTerminal;
use std::path::Path;

use ide3al::chain::episode::analyze_episode;
use ide3al::chain::seen::Seen;
use ide3al::chain::{Analysis, AnalyzeOptions, MixingNorm, analyze};
use ide3al::model::{Mdp, Plan, Policy, TimedPolicy};
use ide3al_report::table::number;
use ide3al_report::{Ink, Table, heat_map};

use crate::output;

/// Long-run behaviour of a model under a policy
///
/// Communicating classes, long-run state distribution from the start, entropies, spectral
/// gap, mixing time.
#[derive(clap::Args)]
#[command(after_help = "\
JSON keys: entropy, state_action_entropy (nats), entropy_normalized and \
state_action_entropy_normalized (shares of ln states and ln pairs; 1 where that is 0), \
min_probability, least_visited_state, spectral_gap with spectral_gap_error and \
spectral_gap_kind (exact, converged, estimate), second_eigenvalue (modulus), mixing_time (null \
when infinite) with mixing_time_kind (exact, or lower_bound where that takes too long), \
communicating_classes, recurrent_classes, transient_states, period, residual (max |d - M'd|), \
stationary_method, stationary_converged, stationary; entropy_rate (nats per step), step_time (mean; \
1 without travel times), kemeny_constant, hitting_time_max, hitting_time_mean, return_time_max, return_time_mean \
(in the unit of step_time; null with several recurrent classes; above 1000 states kemeny_constant is null and the hitting times are those to 64 states drawn at random, with hitting_time_mean_error); seen (share of the states seen within steps, with standard_error where it is sampled); with --horizon also horizon, horizon_entropy \
and horizon_entropy_normalized. For a policy that depends on the step: steps, entropy, \
state_action_entropy and their normalized forms, min_probability, least_visited_state, states_reached and \
distribution, all of the average over its episode from the start.")]
pub(crate) struct Arguments {
    /// Domain with optional parameters, grid:FILE, graph:FILE, or a model file
    model: String,
    /// Policy file (.json, .npz, .npy; one table, or one per step), or 'uniform'
    #[arg(long, value_name = "FILE|uniform", default_value = "uniform")]
    policy: String,
    /// Also report the entropy of the average state distribution over steps 0 to T-1
    #[arg(long, value_name = "T")]
    horizon: Option<u64>,
    /// Distance that counts as mixed
    #[arg(long, value_name = "E", default_value_t = 0.25)]
    mixing_threshold: f64,
    /// Norm of that distance: total variation, or the largest difference (the paper's)
    #[arg(long, value_enum, default_value_t = Norm::Tv)]
    mixing_norm: Norm,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Norm {
    Tv,
    Infinity,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let options = AnalyzeOptions {
        horizon: arguments.horizon,
        mixing_threshold: arguments.mixing_threshold,
        mixing_norm: match arguments.mixing_norm {
            Norm::Tv => MixingNorm::TotalVariation,
            Norm::Infinity => MixingNorm::Infinity,
        },
    };
    options.validate()?;
    let mdp = ide3al::domains::load(&arguments.model)?;
    let plan = match arguments.policy.as_str() {
        "uniform" => Plan::Stationary(Policy::uniform(&mdp)),
        file => ide3al::model::io::read_plan(Path::new(file), &mdp)?,
    };
    let policy = match plan {
        Plan::Stationary(policy) => policy,
        Plan::Timed(policy) => return episode(arguments, &mdp, &policy),
    };
    let analysis = analyze(&mdp, &policy, &options)?;
    if !analysis.stationary_converged {
        eprintln!(
            "warning: the long-run distribution did not converge; residual {:.1e}",
            analysis.residual
        );
    }
    if arguments.json {
        return output::print_json(&(serde_json::to_string(&analysis)? + "\n"));
    }
    output::print(&table(&mdp, &analysis).to_string())?;
    output::print(&map(&mdp, &analysis.stationary))
}

/// A policy that depends on the step is judged over its own episode.
fn episode(arguments: &Arguments, mdp: &Mdp, policy: &TimedPolicy) -> anyhow::Result<()> {
    if let Some(horizon) = arguments.horizon {
        anyhow::bail!(
            "--horizon {horizon}: this policy is for {} steps and is judged over these; leave --horizon out",
            policy.steps()
        );
    }
    let analysis = analyze_episode(mdp, policy)?;
    if arguments.json {
        return output::print_json(&(serde_json::to_string(&analysis)? + "\n"));
    }
    output::print(&crate::episode::table(mdp, &analysis).to_string())?;
    output::print(&map(mdp, &analysis.distribution))
}

/// The figures, one per line, with what they mean.
pub(crate) fn table(mdp: &Mdp, analysis: &Analysis) -> Table {
    let share = |x: f64| format!("{:.2} % of the maximum", 100.0 * x);
    let nats = |x: f64| format!("{} nats", number(x, 5));
    let mut table = Table::new(&[]).right(1);
    table.row([
        "size".into(),
        format!("{} states", analysis.states),
        format!(
            "{} state-action pairs, {} transitions",
            analysis.pairs, analysis.transitions
        ),
    ]);
    table.row([
        "recurrent classes".to_owned(),
        analysis.recurrent_classes.to_string(),
        format!(
            "period {}, {} transient states",
            analysis.period, analysis.transient_states
        ),
    ]);
    table.row([
        "state entropy".into(),
        nats(analysis.entropy),
        share(analysis.entropy_normalized),
    ]);
    table.row([
        "state-action entropy".into(),
        nats(analysis.state_action_entropy),
        share(analysis.state_action_entropy_normalized),
    ]);
    table.row([
        "least visited".into(),
        number(analysis.min_probability, 4),
        format!("state {}", mdp.state_name(analysis.least_visited_state)),
    ]);
    table.row([
        "spectral gap".into(),
        number(analysis.spectral_gap, 5),
        match analysis.spectral_gap_kind {
            "exact" => "exact".into(),
            "converged" => format!("error about {:.0e}", analysis.spectral_gap_error),
            _ => format!("estimate, residual {:.0e}", analysis.spectral_gap_error),
        },
    ]);
    let norm = match analysis.mixing_norm {
        "tv" => "total variation",
        _ => "largest difference",
    };
    table.row([
        "mixing time".into(),
        mixing_time(analysis.mixing_time, analysis.mixing_time_kind),
        format!("to {norm} {}", analysis.mixing_threshold),
    ]);
    table.row([
        "entropy rate".into(),
        nats(analysis.entropy_rate),
        "how unpredictable the next state is".into(),
    ]);
    let percent = |seen: &Seen| match seen.standard_error {
        Some(error) => format!("{:.1} ± {:.1} %", 100.0 * seen.share, 100.0 * error),
        None => format!("{:.1} %", 100.0 * seen.share),
    };
    if let Some((last, before)) = analysis.seen.split_last() {
        let before = before.iter();
        let before = before.map(|seen| format!("{} within {}", percent(seen), seen.steps));
        let before: Vec<String> = before.collect();
        table.row([
            "states seen".into(),
            percent(last),
            format!(
                "within {} steps from the start; {}",
                last.steps,
                before.join(", ")
            ),
        ]);
    }
    let unit = if mdp.times().is_some() {
        "in the model's travel times"
    } else {
        "steps"
    };
    let times = [
        ("Kemeny constant", analysis.kemeny_constant, None),
        (
            "hitting times",
            analysis.hitting_time_mean,
            analysis.hitting_time_max,
        ),
        (
            "return times",
            analysis.return_time_mean,
            analysis.return_time_max,
        ),
    ];
    for (name, mean, largest) in times {
        if let Some(mean) = mean {
            let meaning = match largest {
                Some(largest) if name == "hitting times" => {
                    let sampled = analysis
                        .hitting_time_mean_error
                        .map_or_else(String::new, |error| {
                            format!("±{} (to 64 states drawn), ", number(error, 2))
                        });
                    format!("{sampled}mean, largest {}, {unit}", number(largest, 5))
                }
                Some(largest) => format!("mean, largest {}, {unit}", number(largest, 5)),
                None => format!("mean time to a random visit, {unit}"),
            };
            table.row([name.into(), number(mean, 5), meaning]);
        }
    }
    if let (Some(steps), Some(entropy), Some(normalized)) = (
        analysis.horizon,
        analysis.horizon_entropy,
        analysis.horizon_entropy_normalized,
    ) {
        table.row([
            format!("entropy of {steps} steps"),
            nats(entropy),
            share(normalized),
        ]);
    }
    table
}

/// A mixing time that may be infinite, or known from below only.
pub(crate) fn mixing_time(steps: Option<u64>, kind: &str) -> String {
    match steps {
        None => "infinite".into(),
        Some(t) if kind == "lower_bound" => format!("at least {t} steps"),
        Some(t) => format!("{t} steps"),
    }
}

/// The heat map of a grid world, in colour on a terminal that needs it.
pub(crate) fn map(mdp: &Mdp, d: &[f64]) -> String {
    let Some(layout) = mdp.layout() else {
        return String::new();
    };
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let colour = std::io::stdout().is_terminal() && !set("NO_COLOR");
    let ink = if colour { Ink::Colour } else { Ink::Shades };
    let drawn = heat_map(layout, d, ink, 160);
    if drawn.is_empty() {
        drawn
    } else {
        format!("\n{drawn}")
    }
}
