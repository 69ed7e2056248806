//! `ide3al solve`.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use ide3al::chain::AnalyzeOptions;
use ide3al::evaluation::{Compare, SolveReport, report};
use ide3al::formulation::episode::Episode;
use ide3al::formulation::{Formulation, Problem};
use ide3al::frontier::for_horizon;
use ide3al::model::{Mdp, io};
use ide3al::solve::{Options, Solution, SolverChoice, TieBreak, solve_visits};
use ide3al_report::Table;
use ide3al_report::escape::plain;
use ide3al_report::table::number;

use crate::watch::Watch;
use crate::{analyze, certificate, command_line, episode, output};

/// Find the best exploring policy of a known model
///
/// Solves one formulation to a proven gap, then judges the policy: how evenly it visits
/// the states, how fast it mixes, how near it comes to the largest entropy any policy has.
#[derive(clap::Args)]
#[command(after_help = "\
Formulations: frobenius (default; the paper's best), infinity, column-sum, dual (state-action \
entropy), state-entropy (the largest steady-state entropy), target (states in given proportions, \
--target), coverage (samples of every pair in the fewest steps, --wanted), model-error (the least \
error of the estimated model), episode (the most even visits within --steps T steps from the start, \
with a policy that depends on the step), reach (as many states as possible seen within a random time \
of mean --within T, or the least mean time to a state with --within inf; --target weighs the states).

Defaults: xi and zeta are the paper's for its domains (xi 0.1, zeta 0.7; knight-quest 0.01 and 1); \
for other models xi is 0.1, but at most half of 1/actions, and zeta 0.7.

JSON keys: formulation, xi, zeta (null where the formulation takes none), solver, status (optimal, \
iteration_limit, time_limit, interrupted, stalled), objective, bound, gap, iterations, seconds, \
for reach also within (null for inf), origin, evenness, restart, share_of_bound, and the status local_optimum, \
limits (value, budget, price of each --limit), policy (one row per state), bounds (paper: what the paper's theorems claim, which can be wrong; \
corrected: the theorem mended; certified: the best that is proven), optimal_entropy, optimal_entropy_share, with --horizon also horizon_optimal_entropy (of \
any policy within the horizon, by 'episode') and horizon_optimal_entropy_share, notes, and all keys of 'analyze'.

Examples:
  ide3al solve double-chain
  ide3al solve knight-quest --formulation column-sum --xi 0.01 --json
  ide3al solve double-chain --formulation coverage --xi 0 --samples 100
  ide3al solve four-rooms --horizon 500 --out policy.json
  ide3al solve four-rooms --formulation episode --steps 200 --out policy.npz
  ide3al solve four-rooms --formulation reach --within 416 --xi 0")]
pub(crate) struct Arguments {
    /// Domain with optional parameters, grid:FILE, graph:FILE, or a model file
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) problem: ProblemArguments,
    #[command(flatten)]
    pub(crate) visits: crate::visits::VisitsArguments,
    /// Say how many steps this many times the wanted samples need (coverage)
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    samples: Option<f64>,
    #[command(flatten)]
    pub(crate) reach: crate::reach::ReachArguments,
    #[command(flatten)]
    pub(crate) solving: SolvingArguments,
    /// Steps of an episode, the start included; only episode takes it
    #[arg(long, value_name = "T")]
    pub(crate) steps: Option<usize>,
    /// Choose the zeta whose policy visits states most evenly within T steps from the start
    #[arg(long, value_name = "T", conflicts_with = "zeta")]
    pub(crate) horizon: Option<u64>,
    /// Solve state-entropy too, to report the share of the largest entropy: auto leaves it out on
    /// models with more than 500,000 transitions
    #[arg(long, value_enum, default_value_t = CompareName::Auto)]
    pub(crate) compare: CompareName,
    /// Write the policy (.json, .npz or .npy)
    #[arg(long, value_name = "POLICY")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which problem.
#[derive(clap::Args)]
pub(crate) struct ProblemArguments {
    /// infinity, frobenius, column-sum, dual or state-entropy; 'solve' also takes target, coverage,
    /// model-error, episode and reach
    #[arg(long, value_name = "NAME", default_value = "frobenius")]
    pub(crate) formulation: String,
    /// Least probability of every action, 0 to 1/actions; larger tries actions more evenly
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub(crate) xi: Option<f64>,
    /// Largest entry of the doubly stochastic target, 1/states to 1; smaller mixes faster; only
    /// frobenius and infinity take it
    #[arg(long, value_name = "Z", allow_negative_numbers = true)]
    pub(crate) zeta: Option<f64>,
}

impl ProblemArguments {
    /// The problem on a model, with these values of xi and zeta where none is given, and
    /// everything checked.
    pub(crate) fn problem(&self, mdp: &Mdp, xi: f64, zeta: f64) -> anyhow::Result<Problem> {
        let formulation = Formulation::from_name(&self.formulation)?;
        if let Some(zeta) = self.zeta
            && !formulation.takes_zeta()
        {
            bail!(
                "zeta = {zeta}: {} takes no zeta; leave --zeta out, or choose frobenius or infinity",
                formulation.name()
            );
        }
        let problem = Problem {
            formulation,
            xi: self.xi.unwrap_or(xi),
            zeta: if formulation.takes_zeta() {
                self.zeta.unwrap_or(zeta)
            } else {
                1.0
            },
        };
        problem.validate(mdp)?;
        Ok(problem)
    }
}

/// How to solve it.
#[derive(clap::Args)]
pub(crate) struct SolvingArguments {
    /// auto chooses by formulation and size; conic is the general reference solver
    #[arg(long, value_enum, default_value_t = SolverName::Auto)]
    solver: SolverName,
    /// Among optimal policies take the one nearest to uniform, or any (faster)
    #[arg(long, value_enum, default_value_t = TieBreakName::Uniform)]
    tie_break: TieBreakName,
    /// Wanted gap, absolute
    #[arg(
        long,
        value_name = "G",
        default_value_t = 5e-8,
        allow_negative_numbers = true
    )]
    tolerance: f64,
    /// Wanted gap as a share of the objective; either one ends the solve
    #[arg(
        long,
        value_name = "R",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    relative_tolerance: f64,
    /// Stop after this many seconds with the best answer so far
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    time_limit: Option<f64>,
    /// Threads [default: all cores]; the result does not depend on it
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

impl SolvingArguments {
    /// Checked options; sets the number of threads.
    pub(crate) fn options(&self) -> anyhow::Result<Options> {
        for (name, value) in [
            ("tolerance", self.tolerance),
            ("relative-tolerance", self.relative_tolerance),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                bail!("--{name} {value}: must be a number, 0 or more");
            }
        }
        let time_limit = match self.time_limit {
            None => None,
            Some(seconds) => Some(
                Duration::try_from_secs_f64(seconds)
                    .ok()
                    .filter(|limit| !limit.is_zero())
                    .with_context(|| {
                        format!("--time-limit {seconds}: must be a positive number of seconds")
                    })?,
            ),
        };
        if let Some(threads) = self.threads {
            let threads = command_line::threads(Some(threads))?;
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build_global()
                .context("cannot start the threads")?;
        }
        Ok(Options {
            solver: match self.solver {
                SolverName::Auto => SolverChoice::Auto,
                SolverName::Conic => SolverChoice::Conic,
            },
            tie_break: self.tie_break.into(),
            tolerance: self.tolerance,
            relative_tolerance: self.relative_tolerance,
            time_limit,
            ..Options::default()
        })
    }
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum SolverName {
    Auto,
    Conic,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum TieBreakName {
    Uniform,
    None,
}

impl From<TieBreakName> for TieBreak {
    fn from(name: TieBreakName) -> Self {
        match name {
            TieBreakName::Uniform => TieBreak::Uniform,
            TieBreakName::None => TieBreak::None,
        }
    }
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum CompareName {
    Auto,
    Always,
    Never,
}

impl From<CompareName> for Compare {
    fn from(name: CompareName) -> Self {
        match name {
            CompareName::Auto => Compare::Auto,
            CompareName::Always => Compare::Always,
            CompareName::Never => Compare::Never,
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.problem.formulation == Episode::NAME {
        return episode::run(arguments);
    }
    if arguments.problem.formulation == crate::reach::NAME && arguments.steps.is_none() {
        return crate::reach::run(arguments);
    }
    arguments
        .reach
        .must_be_absent(&arguments.problem.formulation)?;
    if let Some(steps) = arguments.steps {
        bail!(
            "--steps {steps}: {} takes no steps; choose --formulation episode, or --horizon for the best zeta \
             within that many",
            arguments.problem.formulation
        );
    }
    let options = arguments.solving.options()?;
    let analyze_options = AnalyzeOptions {
        horizon: arguments.horizon,
        ..AnalyzeOptions::default()
    };
    analyze_options.validate()?;
    let spec = &arguments.model;
    let mdp = ide3al::domains::load(spec)?;
    let defaults = ide3al::domains::default_parameters(spec, &mdp);
    let problem = arguments
        .problem
        .problem(&mdp, defaults.xi, defaults.zeta)?;
    let visits = arguments.visits.visits(&mdp)?;
    if let Some(samples) = arguments.samples
        && !(samples > 0.0 && samples.is_finite())
    {
        bail!("--samples {samples}: must be a positive number");
    }
    let mut watch = Watch::start(problem.formulation.name())?;
    let (problem, solution, tried) = match arguments.horizon {
        None => {
            let solution = solve_visits(&mdp, &problem, &visits, &options, None, &mut watch)?;
            (problem, solution, 0)
        }
        Some(_) if !visits.is_plain() => {
            bail!(
                "--horizon goes with evenness alone: leave out --target, --wanted, --restart and --limit, or --horizon"
            )
        }
        Some(steps) => {
            let choice = for_horizon(&mdp, &problem, steps, &options, &mut watch)?;
            (choice.problem, choice.solution, choice.tried.len())
        }
    };
    // the answer is safe on disk before anything else is computed
    if let Some(path) = &arguments.out {
        io::write_policy(path, &mdp, &solution.policy)?;
    }
    let compare = arguments.compare.into();
    let report = report(
        &mdp,
        &problem,
        &solution,
        &analyze_options,
        compare,
        &mut watch,
    )?;
    watch.finish();
    if arguments.json {
        return output::print_json(&(serde_json::to_string(&report)? + "\n"));
    }
    let mut text = certificate_table(&problem, &solution).to_string();
    writeln!(text)?;
    text += &judgement_table(&mdp, &report).to_string();
    text += &analyze::map(&mdp, &report.analysis.stationary);
    writeln!(text, "\n{}", in_words(&report, tried))?;
    text += &crate::visits::in_words(&report, arguments.samples);
    for note in &report.notes {
        writeln!(text, "Note: {}.", plain(&output::with_flags(note)))?;
    }
    if let Some(path) = &arguments.out {
        let path = path.display().to_string();
        writeln!(text, "Policy written to {}.", plain(&path))?;
    }
    output::print(&text)
}

/// What was solved and how well.
fn certificate_table(problem: &Problem, solution: &Solution) -> Table {
    let parameters = if problem.formulation.takes_zeta() {
        format!("xi {}, zeta {}", problem.xi, number(problem.zeta, 4))
    } else {
        format!("xi {}", problem.xi)
    };
    let (objective, proven) = match problem.formulation {
        Formulation::Target => ("nats of divergence, minimised", "no policy has less"),
        Formulation::Coverage => ("least share of the wanted, maximised", "no policy has more"),
        Formulation::ModelError => ("error, minimised", "no policy has less"),
        other if other.maximises() => ("nats, maximised", "no policy has more"),
        _ => ("distance, minimised", "no policy has less"),
    };
    let name = problem.formulation.name().to_owned();
    let said = [name, parameters, objective.into(), proven.into()];
    certificate::table(&solution.certificate, solution.solver, said)
}

/// The long run under the policy, with the bounds on its entropy.
fn judgement_table(mdp: &Mdp, report: &SolveReport) -> Table {
    let mut table = analyze::table(mdp, &report.analysis);
    let nats = |x: f64| format!("{} nats", number(x, 5));
    if let (Some(optimum), Some(share)) = (report.optimal_entropy, report.optimal_entropy_share) {
        table.row([
            "largest entropy".into(),
            nats(optimum),
            format!(
                "of any policy with this xi; this one has {:.2} %",
                100.0 * share
            ),
        ]);
    }
    if let (Some(optimum), Some(share)) = (
        report.horizon_optimal_entropy,
        report.horizon_optimal_entropy_share,
    ) {
        table.row([
            "largest in the horizon".into(),
            nats(optimum),
            format!(
                "of any policy, time-dependent ones included; this one has {:.2} %",
                100.0 * share
            ),
        ]);
    }
    table.row([
        "proven entropy".into(),
        nats(report.bounds.certified),
        "certified lower bound".into(),
    ]);
    table.row([
        "corrected theorem".into(),
        nats(report.bounds.corrected),
        "lower bound by the distance from doubly stochastic".into(),
    ]);
    let paper = &report.bounds.paper;
    let claims = [
        ("infinity", paper.infinity),
        ("frobenius", paper.frobenius),
        ("column sum", Some(paper.column_sum)),
    ];
    for (name, claim) in claims {
        if let Some(claim) = claim {
            let verdict = if claim > report.analysis.entropy + 1e-9 {
                "WRONG here"
            } else {
                "holds here"
            };
            table.row([
                format!("paper's claim, {name}"),
                nats(claim),
                format!("no guarantee; {verdict}"),
            ]);
        }
    }
    table
}

/// One plain sentence.
fn in_words(report: &SolveReport, tried: usize) -> String {
    let analysis = &report.analysis;
    let evenly = format!(
        "visits states {:.1} % as evenly as possible",
        100.0 * analysis.entropy_normalized
    );
    let truth = match report.optimal_entropy_share {
        Some(share) if report.formulation != "state-entropy" => format!(
            " ({:.1} % of what any policy with xi {} can reach)",
            100.0 * share,
            report.xi
        ),
        _ => String::new(),
    };
    let mixing = match (analysis.mixing_time, analysis.mixing_time_kind) {
        (None, _) => "never forgets where it started".to_owned(),
        (Some(t), "lower_bound") => format!("needs at least {t} steps to forget where it started"),
        (Some(1), _) => "forgets where it started in one step".to_owned(),
        (Some(t), _) => format!("forgets where it started in about {t} steps"),
    };
    let within = match (analysis.horizon, analysis.horizon_entropy_normalized) {
        (Some(steps), Some(share)) => format!(
            " Within {steps} steps from the start it visits states {:.1} % as evenly as possible, the \
             best of {tried} values of zeta tried{}.",
            100.0 * share,
            report
                .horizon_optimal_entropy_share
                .map_or_else(String::new, |share| format!(
                    "; that is {:.1} % of what any policy reaches in that time",
                    100.0 * share
                ))
        ),
        _ => String::new(),
    };
    format!("In the long run this policy {evenly}{truth} and {mixing}.{within}")
}
