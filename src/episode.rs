//! `ide3al solve --formulation episode`, and `ide3al analyze` of a policy that depends on the step.

use std::fmt::Write;

use anyhow::{Context, bail};
use ide3al::chain::episode::EpisodeAnalysis;
use ide3al::evaluation::episode::report;
use ide3al::formulation::episode::Episode;
use ide3al::model::{Mdp, io};
use ide3al::solve::episode::solve;
use ide3al_report::Table;
use ide3al_report::escape::plain;
use ide3al_report::table::number;

use crate::solve::Arguments;
use crate::watch::Watch;
use crate::{analyze, certificate, output};

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let steps = arguments
        .steps
        .context("episode needs the number of steps: give --steps T")?;
    if let Some(zeta) = arguments.problem.zeta {
        bail!(
            "zeta = {zeta}: episode takes no zeta; leave --zeta out, or choose frobenius or infinity"
        );
    }
    if let Some(horizon) = arguments.horizon {
        bail!("--horizon {horizon}: episode is about its own --steps; leave --horizon out");
    }
    let options = arguments.solving.options()?;
    let mdp = ide3al::domains::load(&arguments.model)?;
    let defaults = ide3al::domains::default_parameters(&arguments.model, &mdp);
    let episode = Episode {
        steps,
        xi: arguments.problem.xi.unwrap_or(defaults.xi),
    };
    let mut watch = Watch::start(Episode::NAME)?;
    let solution = solve(&mdp, &episode, &options, &mut watch)?;
    // the answer is safe on disk before anything else is computed
    if let Some(path) = &arguments.out {
        io::write_timed_policy(path, &mdp, &solution.policy)?;
    }
    watch.finish();
    let report = report(&mdp, &solution)?;
    if arguments.json {
        return output::print_json(&(serde_json::to_string(&report)? + "\n"));
    }
    let said = [
        Episode::NAME.to_owned(),
        format!("{steps} steps, xi {}", report.xi),
        "nats, maximised".into(),
        "no policy has more".into(),
    ];
    let mut text = certificate::table(&solution.certificate, solution.solver, said).to_string();
    writeln!(text)?;
    text += &table(&mdp, &report.analysis).to_string();
    text += &analyze::map(&mdp, &report.analysis.distribution);
    writeln!(
        text,
        "\nWithin {steps} steps from the start this policy visits states {:.1} % as evenly as possible; no policy \
         with xi {}, with memory or without, exceeds {} nats.",
        100.0 * report.analysis.entropy_normalized,
        report.xi,
        number(report.bound, 7)
    )?;
    for note in &report.notes {
        writeln!(text, "Note: {}.", plain(&output::with_flags(note)))?;
    }
    if let Some(path) = &arguments.out {
        let path = path.display().to_string();
        writeln!(
            text,
            "Policy, one table per step, written to {}.",
            plain(&path)
        )?;
    }
    output::print(&text)
}

/// What the episode sees, one figure per line.
pub(crate) fn table(mdp: &Mdp, analysis: &EpisodeAnalysis) -> Table {
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
        "episode".into(),
        format!("{} steps", analysis.steps),
        format!("{} states reached", analysis.states_reached),
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
    table
}
