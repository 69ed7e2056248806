//! `ide3al frontier`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use ide3al::formulation::{Formulation, Problem};
use ide3al::frontier::reach::sweep as reach_sweep;
use ide3al::frontier::{Sweep, Vary, sweep};
use ide3al::model::Mdp;
use ide3al::model::io::atomic;
use ide3al::solve::Options;
use ide3al_report::Table;
use ide3al_report::frontier::Frontier;
use ide3al_report::png::png;
use ide3al_report::table::number;

use crate::analyze::mixing_time;
use crate::output;
use crate::reach::ReachArguments;
use crate::solve::{ProblemArguments, SolvingArguments};
use crate::watch::Watch;

/// Solve along zeta or xi and draw the trade-off
///
/// One solved policy per value: entropies, spectral gap and mixing time, as a table and a
/// picture (PREFIX.svg and PREFIX.png).
#[derive(clap::Args)]
#[command(after_help = "\
zeta goes from 1/states to 1, xi from 0 to 1/actions; the other one is xi 0 or zeta 1 unless given. \
Of reach also within (from 1 to 100 steps for each state) or evenness (up to the largest; frobenius along zeta is drawn beside). \
JSON: formulation, vary, interrupted, points \
(xi, zeta, status, objective, gap, seconds, entropy, entropy_normalized, state_action_entropy, \
state_action_entropy_normalized, spectral_gap, mixing_time, mixing_time_kind, recurrent_classes, hitting_time_mean, and of reach within and evenness), \
files.")]
pub(crate) struct Arguments {
    /// Domain with optional parameters, grid:FILE, graph:FILE, or a model file
    model: String,
    #[command(flatten)]
    problem: ProblemArguments,
    /// Parameter to vary [default: zeta where the formulation takes it, else xi]
    #[arg(long, value_enum)]
    vary: Option<VaryName>,
    /// Number of values
    #[arg(long, default_value_t = 20)]
    points: usize,
    #[command(flatten)]
    reach: ReachArguments,
    #[command(flatten)]
    solving: SolvingArguments,
    /// Where to draw: PREFIX.svg and PREFIX.png
    #[arg(long, value_name = "PREFIX", default_value = "frontier")]
    out: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum VaryName {
    Zeta,
    Xi,
    Within,
    Evenness,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let options = arguments.solving.options()?;
    let spec = &arguments.model;
    let mdp = ide3al::domains::load(spec)?;
    // a trade-off along one parameter shows best with the other out of the way
    let problem = arguments.problem.problem(&mdp, 0.0, 1.0)?;
    let vary = match arguments.vary {
        Some(VaryName::Zeta) => Vary::Zeta,
        Some(VaryName::Xi) => Vary::Xi,
        Some(VaryName::Within) => Vary::Within,
        Some(VaryName::Evenness) => Vary::Evenness,
        None if problem.formulation.takes_zeta() => Vary::Zeta,
        None => Vary::Xi,
    };
    let fixed_twice = match vary {
        Vary::Zeta => arguments.problem.zeta,
        Vary::Xi => arguments.problem.xi,
        Vary::Within => arguments.reach.within,
        Vary::Evenness => arguments.reach.evenness,
    };
    if let Some(value) = fixed_twice {
        let name = vary.name();
        bail!("--{name} {value}: {name} is what varies; leave --{name} out");
    }
    let (svg_file, png_file) = (
        with_ending(&arguments.out, "svg"),
        with_ending(&arguments.out, "png"),
    );
    let mut watch = Watch::start(problem.formulation.name())?;
    let points = arguments.points;
    let found = if problem.formulation == Formulation::Reach {
        let reach = arguments.reach.reach(problem.xi, Vec::new(), 0.0)?;
        reach_sweep(&mdp, &reach, vary, points, &options, &mut watch)?
    } else {
        (arguments.reach).must_be_absent(problem.formulation.name())?;
        sweep(&mdp, &problem, vary, points, &options, &mut watch)?
    };
    watch.finish();
    if found.points.is_empty() {
        bail!("interrupted before the first point was solved");
    }
    let mut picture = Frontier::of_sweep(&found, spec, &problem, vary);
    if vary == Vary::Evenness && !found.interrupted {
        picture.beside = beside(&mdp, &problem, spec, points, &options, &watch)?.map(Box::new);
    }
    let svg = picture.panels().svg();
    let picture = png(&svg, 2.0)?;
    atomic::write_bytes(&svg_file, svg.as_bytes())?;
    atomic::write_bytes(&png_file, &picture)?;
    if arguments.json {
        let mut value = serde_json::to_value(&found)?;
        value["files"] = serde_json::json!([svg_file, png_file]);
        return output::print_json(&format!("{value}\n"));
    }
    let mut text = table(&found).to_string();
    if found.interrupted {
        writeln!(text, "\nInterrupted: {} points solved.", found.points.len())?;
    }
    let classes = found.points.iter().filter(|p| p.recurrent_classes > 1);
    match classes.count() {
        0 => {}
        n => writeln!(
            text,
            "\nNote: at {n} of the points the chain has several recurrent classes."
        )?,
    }
    writeln!(
        text,
        "\nDrawn in {} and {}.",
        svg_file.display(),
        png_file.display()
    )?;
    output::print(&text)
}

/// The paper's trade-off of the same model, to be drawn beside reach.
fn beside(
    mdp: &Mdp,
    problem: &Problem,
    spec: &str,
    points: usize,
    options: &Options,
    watch: &Watch,
) -> anyhow::Result<Option<Frontier>> {
    let paper = Problem {
        xi: problem.xi,
        ..Problem::new(Formulation::Frobenius)
    };
    let mut watch = Watch::again("frobenius", watch);
    let found = sweep(mdp, &paper, Vary::Zeta, points, options, &mut watch)?;
    let drawn = Frontier::of_sweep(&found, spec, &paper, Vary::Zeta);
    Ok((!found.points.is_empty()).then_some(drawn))
}

/// Adds an ending; a prefix that already has it stays as it is.
fn with_ending(prefix: &Path, ending: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    if let Some(stem) = prefix
        .to_str()
        .and_then(|p| p.strip_suffix(".svg").or_else(|| p.strip_suffix(".png")))
    {
        name = stem.into();
    }
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

fn table(found: &Sweep) -> Table {
    let header = [
        found.vary,
        "state entropy",
        "state-action entropy",
        "spectral gap",
        "mixing time",
        "gap",
        "status",
    ];
    let mut table = Table::new(&header).rights(0..6);
    for point in &found.points {
        let parameter = match found.vary {
            "zeta" => point.zeta.unwrap_or(1.0),
            "within" => point.within.unwrap_or(f64::INFINITY),
            "evenness" => point.evenness.unwrap_or(0.0),
            _ => point.xi,
        };
        table.row([
            format!("{parameter:.4}"),
            format!("{:.4}", point.entropy_normalized),
            format!("{:.4}", point.state_action_entropy_normalized),
            number(point.spectral_gap, 4),
            mixing_time(point.mixing_time, point.mixing_time_kind),
            format!("{:.0e}", point.gap),
            point.status.replace('_', " "),
        ]);
    }
    table
}
