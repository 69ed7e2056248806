//! `ide3al solve --formulation reach`.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::bail;
use ide3al::chain::AnalyzeOptions;
use ide3al::evaluation::Compare;
use ide3al::evaluation::reach::{ReachReport, report};
use ide3al::formulation::reach::{Origin, Reach};
use ide3al::model::{Mdp, io};
use ide3al::solve::{Solution, reach::solve};
use ide3al_report::Table;
use ide3al_report::escape::plain;
use ide3al_report::table::number;

use crate::solve::Arguments;
use crate::watch::Watch;
use crate::{analyze, certificate, output};

/// Name on the command line.
pub(crate) const NAME: &str = "reach";

/// What reach takes beside xi, --target (weights of states) and --restart.
#[derive(clap::Args)]
pub(crate) struct ReachArguments {
    /// Mean time within which states are to be seen, or inf for the mean hitting time; only reach
    /// takes it [default: 4 times the states that can be reached]
    #[arg(long, value_name = "T|inf", allow_negative_numbers = true)]
    pub(crate) within: Option<f64>,
    /// Where the walk of reach begins [default: start; with --within inf anywhere]
    #[arg(long, value_name = "start|anywhere")]
    from: Option<String>,
    /// Least entropy of the steady state of reach, as a share of the largest, 0 to 1
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(crate) evenness: Option<f64>,
    /// What the steady state of reach must be: a file of S numbers; with --within inf the least
    /// Kemeny constant
    #[arg(long, value_name = "FILE")]
    proportions: Option<PathBuf>,
}

impl ReachArguments {
    /// Refuses what another formulation does not take.
    pub(crate) fn must_be_absent(&self, formulation: &str) -> anyhow::Result<()> {
        let given = [
            ("within", self.within.is_some()),
            ("from", self.from.is_some()),
            ("evenness", self.evenness.is_some()),
            ("proportions", self.proportions.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((name, _)) => {
                bail!("--{name}: {formulation} takes none; choose --formulation reach")
            }
            None => Ok(()),
        }
    }

    /// The problem on a model.
    pub(crate) fn reach(&self, xi: f64, weights: Vec<f64>, restart: f64) -> anyhow::Result<Reach> {
        Ok(Reach {
            within: self.within,
            origin: self.from.as_deref().map(Origin::from_name).transpose()?,
            xi,
            evenness: self.evenness.unwrap_or(0.0),
            weights,
            proportions: (self.proportions.as_deref())
                .map(io::read_numbers)
                .transpose()?
                .unwrap_or_default(),
            restart,
        })
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(zeta) = arguments.problem.zeta {
        bail!(
            "zeta = {zeta}: reach takes no zeta; leave --zeta out, or choose frobenius or infinity"
        );
    }
    if let Some(horizon) = arguments.horizon {
        bail!("--horizon {horizon}: reach is about its own --within; leave --horizon out");
    }
    let options = arguments.solving.options()?;
    let mdp = ide3al::domains::load(&arguments.model)?;
    let defaults = ide3al::domains::default_parameters(&arguments.model, &mdp);
    let visits = arguments.visits.visits(&mdp)?;
    if !(visits.wanted.is_empty() && visits.limits.is_empty()) {
        bail!("reach takes no --wanted and no --limit; leave them out");
    }
    let xi = arguments.problem.xi.unwrap_or(defaults.xi);
    let reach = arguments.reach.reach(xi, visits.target, visits.restart)?;
    let mut watch = Watch::start(NAME)?;
    let solution = solve(&mdp, &reach, &options, None, &mut watch)?;
    // the answer is safe on disk before anything else is computed
    if let Some(path) = &arguments.out {
        io::write_policy(path, &mdp, &solution.policy)?;
    }
    let analyze_options = AnalyzeOptions::default();
    let compare: Compare = arguments.compare.into();
    let judged = report(
        &mdp,
        &reach,
        &solution,
        &analyze_options,
        compare,
        &mut watch,
    )?;
    watch.finish();
    if arguments.json {
        return output::print_json(&(serde_json::to_string(&judged)? + "\n"));
    }
    let mut text = certificate_table(&judged, &solution).to_string();
    writeln!(text)?;
    text += &analyze::table(&mdp, &judged.solved.analysis).to_string();
    text += &analyze::map(&mdp, &judged.solved.analysis.stationary);
    writeln!(text, "\n{}", in_words(&mdp, &judged))?;
    for note in &judged.solved.notes {
        writeln!(text, "Note: {}.", plain(&output::with_flags(note)))?;
    }
    if let Some(path) = &arguments.out {
        writeln!(
            text,
            "Policy written to {}.",
            plain(&path.display().to_string())
        )?;
    }
    output::print(&text)
}

fn certificate_table(report: &ReachReport, solution: &Solution) -> Table {
    let (within, objective, proven) = match report.within {
        Some(time) => (
            format!("within {}", number(time, 6)),
            "share of the states seen, maximised",
            "no policy sees more",
        ),
        None => (
            "within inf".to_owned(),
            "mean time to a state, minimised",
            "no policy needs less",
        ),
    };
    let parameters = format!("{within} from {}, xi {}", report.origin, report.solved.xi);
    let said = [NAME.to_owned(), parameters, objective.into(), proven.into()];
    certificate::table(&solution.certificate, solution.solver, said)
}

/// One plain sentence.
fn in_words(mdp: &Mdp, report: &ReachReport) -> String {
    let unit = if mdp.times().is_some() {
        "units of time"
    } else {
        "steps"
    };
    let from = match report.origin {
        "anywhere" => "a state drawn at random",
        _ => "the start",
    };
    let (value, bound) = (report.solved.objective, report.solved.bound);
    let of_bound = 100.0 * report.share_of_bound;
    match report.within {
        Some(time) => format!(
            "Within a random time of {} {unit} on average this policy sees {:.1} % of the states \
             from {from}; no policy, with memory or without, sees more than {:.1} % \
             ({of_bound:.1} % of the bound).",
            number(time, 6),
            100.0 * value,
            100.0 * bound
        ),
        None => format!(
            "From {from} a state is first seen after {} {unit} on average; no policy, with memory \
             or without, needs less than {} (the bound is {of_bound:.1} % of it).",
            number(value, 5),
            number(bound, 5)
        ),
    }
}
