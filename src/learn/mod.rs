//! `ide3al learn`.

mod display;
mod page;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use ide3al::domains;
use ide3al::learn::{
    self, CheckpointPlan, Ended, Entry, Experiment, Folder, RunResult, Runs, Settings, Summary,
};
use ide3al::model::Mdp;
use ide3al::model::io::atomic;

use crate::solve::TieBreakName;
use crate::{command_line, output, watch};

/// Learn to explore an unknown model from samples, and compare algorithms
///
/// Runs IDE3AL and its rivals on the model as an environment whose transitions they do not
/// know, many times with different random numbers, and judges every iteration against the
/// truth. Without options it compares IDE3AL as recommended with the paper's and with its rivals,
/// all with the same least probability of every action; --paper gives the paper's comparison.
///
/// --target, --wanted, --restart and --limit ask the same of IDE3AL as recommended as of 'solve'. A
/// limit holds while it samples, too: where the average cost so far is above the budget, it follows
/// the policy that costs least in its estimate until it is not.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The environment: domain with optional parameters, grid:FILE, graph:FILE, or a model file
    model: String,
    /// Everything as in the paper: its IDE3AL and its parameters
    #[arg(long)]
    paper: bool,
    /// Algorithms: ideal (as recommended, or with --paper the paper's), paper, max-ent,
    /// count-based, random, rmax, rmax-levels, rf-ucrl, ent-game, non-iterative;
    /// ideal:FORMULATION for one with a formulation of its own
    /// [default: the first five; beyond 500 states without paper and max-ent]
    #[arg(long = "algorithm", value_name = "NAME", value_delimiter = ',')]
    algorithms: Vec<String>,
    /// What IDE3AL optimises: infinity, frobenius, column-sum, dual, state-entropy, coverage,
    /// model-error, target [default: state-entropy, with --paper frobenius]
    #[arg(long, value_name = "NAME")]
    formulation: Option<String>,
    /// Least probability of every action (IDE3AL) [default: epsilon / actions, with --paper by
    /// model]
    #[arg(long, allow_negative_numbers = true)]
    xi: Option<f64>,
    /// Largest entry of the doubly stochastic target (IDE3AL) [default: by model]
    #[arg(long, allow_negative_numbers = true)]
    zeta: Option<f64>,
    /// Share of random actions (MaxEnt, CountBased) [default: 0.1, with --paper by model]
    #[arg(long, allow_negative_numbers = true)]
    epsilon: Option<f64>,
    /// Step size of MaxEnt: weight of each new policy in its mixture
    #[arg(long, allow_negative_numbers = true)]
    eta: Option<f64>,
    /// Tries after which R-MAX knows a pair [default: 1]
    #[arg(long)]
    known: Option<u32>,
    /// Steps that RF-UCRL and EntGame look ahead [default: 20]
    #[arg(long, value_name = "STEPS")]
    horizon: Option<u32>,
    #[command(flatten)]
    visits: crate::visits::VisitsArguments,
    /// Number of batches [default: by model]
    #[arg(long)]
    iterations: Option<u64>,
    /// Steps per batch [default: by model]
    #[arg(long, visible_alias = "batch")]
    batch_size: Option<u64>,
    /// Independent runs of each algorithm
    #[arg(long, default_value_t = 20)]
    runs: u64,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Threads; results do not depend on them [default: all cores]
    #[arg(long)]
    threads: Option<usize>,
    /// Relative gap at which each optimisation inside IDE3AL ends
    #[arg(long, value_name = "GAP", allow_negative_numbers = true)]
    relative_tolerance: Option<f64>,
    /// Among optimal policies take the one nearest to uniform, or any (faster)
    #[arg(long, value_enum, default_value_t = TieBreakName::None)]
    tie_break: TieBreakName,
    /// End a run when no probability of its policy changes by more than this for 10
    /// iterations and every action of every state was tried 10 times
    #[arg(long, value_name = "CHANGE", allow_negative_numbers = true)]
    converge: Option<f64>,
    /// Also explore for 10, 20, ..., 100 steps with each final policy, learn off-line to reach
    /// the hardest state, and report the success
    #[arg(long)]
    goal: bool,
    /// Seconds between two checkpoints
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 10.0,
        allow_negative_numbers = true
    )]
    checkpoint_every: f64,
    /// Folder for the results [default: ide3al-MODEL]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with the experiment in the folder
    #[arg(long, conflicts_with = "overwrite")]
    resume: bool,
    /// Replace the experiment in the folder
    #[arg(long)]
    overwrite: bool,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mdp = domains::load(&arguments.model)?;
    let experiment = experiment(arguments, &mdp)?;
    experiment.validate(&mdp)?;
    let interval = Duration::try_from_secs_f64(arguments.checkpoint_every)
        .with_context(|| format!("--checkpoint-every {}", arguments.checkpoint_every))?;
    let threads = command_line::threads(arguments.threads)?;
    let path = match &arguments.out {
        Some(path) => path.clone(),
        None => PathBuf::from(format!("ide3al-{}", file_name(&arguments.model))),
    };
    let entry = match (arguments.resume, arguments.overwrite) {
        (true, _) => Entry::Resume,
        (_, true) => Entry::Overwrite,
        _ => Entry::New,
    };
    let folder = Folder::enter(&path, &arguments.model, &mdp, &experiment, entry)?;
    if folder.is_finished() {
        return finished_before(arguments, &folder);
    }
    let mut runs = Runs::new(&experiment, &mdp)?;
    let checkpoint = CheckpointPlan {
        path: folder.checkpoint(),
        interval,
    };
    if checkpoint.path.exists() {
        runs.resume(&checkpoint.path)?;
    }
    let stop = watch::interrupts()?;

    let begun = Instant::now();
    let bars = display::Bars::new(&experiment);
    // inner solves of many small runs gain nothing from threads of their own
    let ended = runs.execute(threads, Some(&checkpoint), stop, &|event| bars.on(event))?;
    bars.finish();
    if ended == Ended::Interrupted {
        eprintln!(
            "interrupted; everything so far is in {}\ngo on with:  {}",
            checkpoint.path.display(),
            command_line::to_resume()
        );
        drop(folder);
        std::process::exit(130);
    }
    let results: Vec<Vec<RunResult>> = (0..experiment.algorithms.len())
        .map(|k| runs.results(k).into_iter().flatten().collect())
        .collect();
    let summary = Summary::new(&arguments.model, &mdp, &experiment, &results);
    learn::write(folder.path(), &mdp, &experiment, &results, &summary)?;
    let page = page::report(&mdp, &results, &summary).html();
    atomic::write_bytes(&folder.path().join("report.html"), page.as_bytes())?;
    folder.finish()?;
    if arguments.json {
        return output::print_json(&learn::json(&summary)?);
    }
    output::print(&display::table(&summary))?;
    output::print(&format!(
        "\n{:.1} s on {threads} thread{}. Open {} in a browser; figures and policies lie beside it.\n",
        begun.elapsed().as_secs_f64(),
        if threads == 1 { "" } else { "s" },
        path.join("report.html").display()
    ))
}

/// `--resume` of an experiment whose results are complete.
fn finished_before(arguments: &Arguments, folder: &Folder) -> anyhow::Result<()> {
    let path = folder.path().join("summary.json");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    if arguments.json {
        return output::print_json(&text);
    }
    let summary: Summary = serde_json::from_str(&text)
        .with_context(|| format!("{} is not readable as a summary", path.display()))?;
    output::print(&display::table(&summary))?;
    // an experiment that Python finished has figures, but no page
    let report = folder.path().join("report.html");
    output::print(&if report.exists() {
        format!(
            "\nThis experiment was finished before. Open {} in a browser.\n",
            report.display()
        )
    } else {
        format!(
            "\nThis experiment was finished before. Its figures are in {}.\n",
            folder.path().join("runs.csv").display()
        )
    })
}

fn experiment(arguments: &Arguments, mdp: &Mdp) -> anyhow::Result<Experiment> {
    let named = !arguments.algorithms.is_empty();
    let settings = Settings {
        paper: arguments.paper,
        algorithms: named.then(|| arguments.algorithms.clone()),
        formulation: arguments.formulation.clone(),
        xi: arguments.xi,
        zeta: arguments.zeta,
        epsilon: arguments.epsilon,
        eta: arguments.eta,
        known: arguments.known,
        horizon: arguments.horizon,
        relative_tolerance: arguments.relative_tolerance,
        iterations: arguments.iterations,
        batch_size: arguments.batch_size,
        runs: Some(arguments.runs),
        seed: Some(arguments.seed),
        converge: arguments.converge,
        goal: arguments.goal,
        visits: arguments.visits.visits(mdp)?,
        ..Settings::default()
    };
    Ok(Experiment {
        tie_break: arguments.tie_break.into(),
        ..settings.resolve(&arguments.model, mdp)?
    })
}

/// A model's name as part of a file name: the last part of a path, without what a file
/// system may not like.
fn file_name(model: &str) -> String {
    let last = model.rsplit(['/', '\\']).next().unwrap_or(model);
    let plain: String = last
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || matches!(c, '-' | '_') {
                c
            } else {
                '-'
            }
        })
        .collect();
    plain.trim_matches('-').to_owned()
}
