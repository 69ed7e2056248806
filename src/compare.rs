//! `ide3al compare`.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::bail;
use ide3al::chain::seen::{Seen, curve};
use ide3al::formulation::{Formulation, Problem};
use ide3al::model::io::atomic;
use ide3al::model::{Mdp, Policy};
use ide3al::solve::{Options, Status, solve};
use ide3al_report::Table;
use ide3al_report::palette::Role;
use ide3al_report::png::png;
use ide3al_report::seen::{SeenCurve, panels};

use crate::output;
use crate::watch::Watch;

/// Points of every line.
const POINTS: usize = 120;
/// Shares in the table: after these parts of the steps.
const COLUMNS: [usize; 4] = [8, 4, 2, 1];

/// Draw how soon the policies of several formulations see the states of a model
///
/// Solves each formulation, and draws the expected share of the states seen against steps
/// (PREFIX.svg and PREFIX.png).
#[derive(clap::Args)]
#[command(after_help = "\
JSON: curves (name, seen: steps, share and standard_error, which is null where the share is exact), files.

Example:
  ide3al compare four-rooms --xi 0")]
pub(crate) struct Arguments {
    /// Domain with optional parameters, grid:FILE, graph:FILE, or a model file
    model: String,
    /// Names of formulations, or uniform, with commas between them
    #[arg(
        long,
        value_name = "NAMES",
        default_value = "reach,frobenius,state-entropy,uniform"
    )]
    formulations: String,
    /// Least probability of every action [default: as for 'solve']
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    xi: Option<f64>,
    /// Steps that are drawn [default: 4 times the number of states]
    #[arg(long, value_name = "N")]
    steps: Option<usize>,
    /// Where to draw: PREFIX.svg and PREFIX.png
    #[arg(long, value_name = "PREFIX", default_value = "seen")]
    out: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mdp = ide3al::domains::load(&arguments.model)?;
    let longest = arguments.steps.unwrap_or(4 * mdp.n_states());
    if longest == 0 {
        bail!("--steps 0: at least 1 is needed");
    }
    let steps: Vec<usize> = (1..=POINTS)
        .map(|k| (k * longest).div_ceil(POINTS))
        .collect();
    let mut watch = Watch::start("compare")?;
    let mut curves = Vec::new();
    for name in arguments.formulations.split(',').map(str::trim) {
        let (policy, role) = policy(arguments, &mdp, name, &mut watch)?;
        curves.push(SeenCurve {
            name: name.to_owned(),
            role,
            seen: curve(&mdp, &mdp.chain(&policy), &steps),
        });
    }
    watch.finish();
    let svg = panels(&arguments.model, &curves).svg();
    let picture = png(&svg, 2.0)?;
    let (svg_file, png_file) = (
        arguments.out.with_extension("svg"),
        arguments.out.with_extension("png"),
    );
    atomic::write_bytes(&svg_file, svg.as_bytes())?;
    atomic::write_bytes(&png_file, &picture)?;
    if arguments.json {
        let lines: Vec<_> = curves
            .iter()
            .map(|c| serde_json::json!({ "name": c.name, "seen": c.seen }))
            .collect();
        let value = serde_json::json!({ "curves": lines, "files": [svg_file, png_file] });
        return output::print_json(&format!("{value}\n"));
    }
    let mut text = table(&curves).to_string();
    writeln!(
        text,
        "\nDrawn in {} and {}.",
        svg_file.display(),
        png_file.display()
    )?;
    output::print(&text)
}

/// The policy of a formulation with its defaults, and its look.
fn policy(
    arguments: &Arguments,
    mdp: &Mdp,
    name: &str,
    watch: &mut Watch,
) -> anyhow::Result<(Policy, Role)> {
    if name == "uniform" {
        return Ok((Policy::uniform(mdp), Role::Random));
    }
    let formulation = Formulation::from_name(name)?;
    let defaults = ide3al::domains::default_parameters(&arguments.model, mdp);
    let problem = Problem {
        formulation,
        xi: arguments.xi.unwrap_or(defaults.xi),
        zeta: if formulation.takes_zeta() {
            defaults.zeta
        } else {
            1.0
        },
    };
    let solution = solve(mdp, &problem, &Options::default(), None, watch)?;
    if solution.certificate.status == Status::Interrupted {
        bail!("interrupted before {name} was solved");
    }
    Ok((solution.policy, formulation.into()))
}

fn table(curves: &[SeenCurve]) -> Table {
    let mut header = vec!["formulation".to_owned()];
    let at = |curve: &SeenCurve, part: usize| -> Option<Seen> {
        curve.seen.get((POINTS / part).saturating_sub(1)).copied()
    };
    for part in COLUMNS {
        let steps = curves
            .first()
            .and_then(|c| at(c, part))
            .map_or(0, |seen| seen.steps);
        header.push(format!("seen in {steps}"));
    }
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut table = Table::new(&header).rights(1..header.len());
    for curve in curves {
        let shares = COLUMNS.iter().map(|part| {
            at(curve, *part).map_or_else(String::new, |s| match s.standard_error {
                Some(error) => format!("{:.1} ± {:.1} %", 100.0 * s.share, 100.0 * error),
                None => format!("{:.1} %", 100.0 * s.share),
            })
        });
        table.row(std::iter::once(curve.name.clone()).chain(shares));
    }
    table
}
