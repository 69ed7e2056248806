//! `ide3al plan`.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use ide3al::model::{Mdp, Plan, Rewards, io};
use ide3al::plan::{Criterion, Goal, Options, Planned, plan, plan_goal};
use ide3al_report::escape::plain;
use ide3al_report::table::number;
use serde_json::json;

use crate::watch::Watch;
use crate::{analyze, certificate, output};

/// Find the best policy of a known model for a reward or a goal
///
/// Maximises the expected sum of discounted rewards, the long-run average, or the sum within a
/// number of steps; or reaches a goal with the largest probability, and soonest among the policies
/// that do. The values come with bounds that are proven.
#[derive(clap::Args)]
#[command(after_help = "\
A reward file (.json, .csv, .txt or .npy) holds one number per state, per state-action pair, per \
action of every state (S x A; those that a state lacks are passed over), per transition, or per \
triple (S x A x S). Without --reward the model's own rewards count. In the model's terminal states \
nothing more is earned, but for --average, which goes on with the next episode.

JSON keys: criterion, discount, within, status (optimal, iteration_limit, time_limit, interrupted, \
stalled), objective (what the policy is worth from the start), bound (what no policy exceeds), gap, \
error (no value is wrong by more), iterations, seconds, values (one per state), steps (of a goal: \
the mean number until it is reached, when it is; null where it cannot be), policy (one row per \
state; with --within one table per step).

Examples:
  ide3al plan model.json
  ide3al plan river-swim --reward reward.csv --discount 0.95
  ide3al plan four-rooms --goal 103 --avoid 50,51 --out policy.json
  ide3al plan model.npz --reward reward.npy --average --json")]
pub(crate) struct Arguments {
    /// Domain with optional parameters, grid:FILE, graph:FILE, or a model file
    model: String,
    /// Rewards (.json, .csv, .txt or .npy); the model's own without it
    #[arg(long, value_name = "FILE", conflicts_with = "goal")]
    reward: Option<PathBuf>,
    /// Reach any of these states (numbers or names, separated by commas)
    #[arg(long, value_name = "STATE,...", value_delimiter = ',', conflicts_with_all = ["discount", "average"])]
    goal: Vec<String>,
    /// Never enter these states on the way to the goal
    #[arg(
        long,
        value_name = "STATE,...",
        value_delimiter = ',',
        requires = "goal"
    )]
    avoid: Vec<String>,
    /// Worth of a reward one step later, 0 to less than 1 [default: 0.99]
    #[arg(long, value_name = "G", allow_negative_numbers = true, conflicts_with_all = ["average", "within"])]
    discount: Option<f64>,
    /// Maximise the long-run average reward
    #[arg(long, conflicts_with = "within")]
    average: bool,
    /// Maximise what the first T steps earn, or the probability of reaching the goal in them
    #[arg(long, value_name = "T")]
    within: Option<usize>,
    /// Wanted width of the bounds of the values
    #[arg(long, value_name = "E", default_value_t = Options::default().tolerance, allow_negative_numbers = true)]
    tolerance: f64,
    /// Most wall-clock seconds
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    time_limit: Option<f64>,
    /// Write the policy (.json, .npz or .npy)
    #[arg(long, value_name = "POLICY")]
    out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Worth of a reward one step later unless told otherwise: looks about a hundred steps ahead.
const DISCOUNT: f64 = 0.99;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let options = options(arguments)?;
    let mdp = ide3al::domains::load(&arguments.model)?;
    let mut watch = Watch::start("plan")?;
    let found = if arguments.goal.is_empty() {
        let reward = reward(arguments, &mdp)?;
        plan(&mdp, &reward, criterion(arguments), &options, &mut watch)?
    } else {
        let goal = Goal {
            reach: states(&mdp, &arguments.goal)?,
            avoid: states(&mdp, &arguments.avoid)?,
        };
        plan_goal(&mdp, &goal, arguments.within, &options, &mut watch)?
    };
    if let Some(path) = &arguments.out {
        io::write_plan(path, &mdp, &found.policy)?;
    }
    watch.finish();
    if arguments.json {
        let text = serde_json::to_string(&report(arguments, &mdp, &found))?;
        return output::print_json(&(text + "\n"));
    }
    let mut text = certificate::table(
        &found.certificate,
        "policy iteration",
        certificate_rows(arguments),
    )
    .to_string();
    writeln!(text)?;
    text += &analyze::map(&mdp, &found.values);
    writeln!(text, "{}", in_words(arguments, &mdp, &found))?;
    if let Some(path) = &arguments.out {
        let path = path.display().to_string();
        writeln!(text, "Policy written to {}.", plain(&path))?;
    }
    output::print(&text)
}

fn options(arguments: &Arguments) -> anyhow::Result<Options> {
    let time_limit = match arguments.time_limit {
        None => None,
        Some(seconds) => {
            let limit = Duration::try_from_secs_f64(seconds);
            Some(limit.with_context(|| {
                format!("--time-limit {seconds}: a number of seconds is needed")
            })?)
        }
    };
    Ok(Options {
        tolerance: arguments.tolerance,
        time_limit,
        ..Options::default()
    })
}

fn criterion(arguments: &Arguments) -> Criterion {
    match (arguments.average, arguments.within) {
        (true, _) => Criterion::Average,
        (false, Some(steps)) => Criterion::Within(steps),
        (false, None) => Criterion::Discounted(arguments.discount.unwrap_or(DISCOUNT)),
    }
}

fn reward(arguments: &Arguments, mdp: &Mdp) -> anyhow::Result<Vec<f64>> {
    match &arguments.reward {
        Some(path) => {
            let numbers = io::read_numbers(path)?;
            let expected = Rewards::of(mdp, &numbers).and_then(|r| mdp.expected_rewards(r));
            expected.with_context(|| path.display().to_string())
        }
        None => match mdp.rewards() {
            Some(rewards) => Ok(rewards.to_vec()),
            None => bail!(
                "{}: the model has no rewards; give --reward FILE, or --goal STATE",
                arguments.model
            ),
        },
    }
}

/// States by number, or by name.
fn states(mdp: &Mdp, given: &[String]) -> anyhow::Result<Vec<usize>> {
    let of = |text: &String| {
        let named = mdp
            .state_names()
            .and_then(|names| names.iter().position(|name| name == text));
        if let Some(state) = named.or_else(|| text.trim().parse().ok()) {
            return Ok(state);
        }
        let names: Vec<&str> = mdp
            .state_names()
            .unwrap_or_default()
            .iter()
            .map(String::as_str)
            .collect();
        if names.is_empty() {
            bail!("state '{text}': the states of this model have no names; give a number from 0");
        }
        let few = &names[..names.len().min(1000)];
        Err(ide3al::Error::unknown("state", text, few).into())
    };
    given.iter().map(of).collect()
}

fn report(arguments: &Arguments, mdp: &Mdp, found: &Planned) -> serde_json::Value {
    let certificate = &found.certificate;
    let (criterion, discount) = match criterion(arguments) {
        _ if !arguments.goal.is_empty() => ("goal", None),
        Criterion::Discounted(discount) => ("discounted", Some(discount)),
        Criterion::Average => ("average", None),
        Criterion::Within(_) => ("within", None),
    };
    let mut report = json!({
        "criterion": criterion,
        "discount": discount,
        "within": arguments.within,
        "status": certificate.status.name(),
        "objective": certificate.objective,
        "bound": certificate.bound,
        "gap": certificate.gap,
        "error": found.error,
        "iterations": certificate.iterations,
        "seconds": certificate.seconds,
        "values": found.values,
        "policy": match &found.policy {
            Plan::Stationary(policy) => json!(policy.rows(mdp)),
            Plan::Timed(policy) => json!(policy.rows(mdp)),
        },
    });
    if let Some(steps) = &found.steps {
        let finite = |m: &f64| m.is_finite().then_some(*m);
        report["steps"] = json!(steps.iter().map(finite).collect::<Vec<_>>());
    }
    report
}

/// The lines of the certificate's table.
fn certificate_rows(arguments: &Arguments) -> [String; 4] {
    let (name, parameters, objective) = match (arguments.goal.is_empty(), criterion(arguments)) {
        (false, Criterion::Within(steps)) => (
            "goal",
            format!("within {steps} steps"),
            "probability from the start",
        ),
        (false, _) => ("goal", "then soonest".into(), "probability from the start"),
        (true, Criterion::Discounted(g)) => (
            "discounted",
            format!("discount {g}"),
            "from the start, maximised",
        ),
        (true, Criterion::Average) => ("average", "in the long run".into(), "per step, maximised"),
        (true, Criterion::Within(steps)) => (
            "within",
            format!("{steps} steps"),
            "from the start, maximised",
        ),
    };
    [
        name.into(),
        parameters,
        objective.into(),
        "no policy has more".into(),
    ]
}

/// One plain sentence.
fn in_words(arguments: &Arguments, mdp: &Mdp, found: &Planned) -> String {
    let value = number(found.certificate.objective, 7);
    if arguments.goal.is_empty() {
        let what = match criterion(arguments) {
            Criterion::Discounted(discount) => {
                format!("earns {value} from the start at discount {discount}")
            }
            Criterion::Average => format!("earns {value} per step in the long run"),
            Criterion::Within(steps) => format!("earns {value} in {steps} steps from the start"),
        };
        return format!(
            "This policy {what}; no policy earns more than {}.",
            number(found.certificate.bound, 7)
        );
    }
    let mean = found.steps.as_ref().map(|steps| {
        // of those starts from which the goal is reached
        let starts = || mdp.start().iter().zip(&found.values).zip(steps);
        let weights = || starts().filter(|((d, v), _)| **d > 0.0 && **v > 0.0);
        let mass: f64 = weights().map(|((d, v), _)| d * v).sum();
        weights().map(|((d, v), m)| d * v * m).sum::<f64>() / mass
    });
    let soon = match mean {
        Some(mean) if mean.is_finite() => {
            format!(", in {} steps on average when it does", number(mean, 5))
        }
        _ => String::new(),
    };
    format!("From the start this policy reaches the goal with probability {value}{soon}.")
}
