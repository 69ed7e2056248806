//! What `ide3al learn` shows: bars while it works, a table at the end.

use std::fmt::Write as _;

use crate::output::with_flags;
use ide3al::learn::{Estimate, Event, Experiment, Summary};
use ide3al_report::Table;
use ide3al_report::escape::plain;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// One bar per algorithm, on a terminal only.
pub(crate) struct Bars {
    bars: Vec<ProgressBar>,
}

impl Bars {
    pub(crate) fn new(experiment: &Experiment) -> Self {
        let labels: Vec<String> = experiment.algorithms.iter().map(|a| a.label()).collect();
        let width = labels.iter().map(String::len).max().unwrap_or(0);
        // the template is a constant; were it wrong, the plain style would show
        let style = ProgressStyle::with_template(
            "{prefix} {bar:32} {percent:>3} %  {per_sec:>14}  {eta:>5} left",
        )
        .unwrap_or_else(|_| ProgressStyle::default_bar());
        let all = MultiProgress::new();
        let bars = labels
            .iter()
            .map(|label| {
                let bar = ProgressBar::new(experiment.runs * experiment.iterations)
                    .with_style(style.clone())
                    .with_prefix(format!("{label:width$}"));
                all.add(bar)
            })
            .collect();
        Bars { bars }
    }

    pub(crate) fn on(&self, event: Event) {
        let Event::Iterations { algorithm, count } = event;
        self.bars[algorithm].inc(count);
    }

    pub(crate) fn finish(&self) {
        for bar in &self.bars {
            bar.finish_and_clear();
        }
    }
}

/// The figures at the end of all runs.
pub(crate) fn table(summary: &Summary) -> String {
    let mut text = String::new();
    let parameters = &summary.parameters;
    // writing to a string cannot fail
    let _ = writeln!(
        text,
        "{}: {} states, {} state-action pairs; {} runs of {} iterations of {} steps\n",
        plain(&summary.model),
        summary.states,
        summary.pairs,
        parameters.runs,
        parameters.iterations,
        parameters.batch_size
    );
    let header = [
        "algorithm",
        "H(d) / ln S",
        "H(d Pi) / ln SA",
        "min d",
        "spectral gap",
        "model error",
        "samples to 95 %",
        "seconds",
    ];
    let mut rows = Table::new(&header).rights(1..header.len());
    for algorithm in &parameters.algorithms {
        let label = algorithm.label();
        let Some(of) = summary.algorithms.get(&label) else {
            continue;
        };
        let figure = |name: &str| of.last.metrics.get(name).copied();
        rows.row([
            label,
            interval(figure("entropy_normalized")),
            interval(figure("state_action_entropy_normalized")),
            mean(figure("min_probability")),
            mean(figure("spectral_gap")),
            mean(figure("model_error")),
            of.samples_to_95_percent.to_string(),
            format!("{:.2}", of.seconds),
        ]);
    }
    let _ = write!(text, "{rows}");
    text.push_str(
        "\nEntropies are shares of their maximum, mean over runs +- half the 95 % interval.\n\
         samples to 95 %: until H(d) first reaches 95 % of its final value.\n",
    );
    for remark in summary.remarks() {
        let _ = writeln!(text, "\nNote: {}", plain(&with_flags(&remark)));
    }
    let goals: Vec<_> = parameters
        .algorithms
        .iter()
        .filter_map(|a| {
            let of = summary.algorithms.get(&a.label())?;
            (!of.goal.is_empty()).then(|| (a.label(), &of.goal))
        })
        .collect();
    if let (Some((_, first)), Some(goal)) = (goals.first(), &parameters.goal) {
        let _ = writeln!(
            text,
            "\nProbability of reaching the hardest state within {} steps, learned off-line from T steps:\n",
            goal.within
        );
        let horizons: Vec<String> = first
            .iter()
            .map(|point| point.horizon.to_string())
            .collect();
        let header: Vec<&str> = std::iter::once("T")
            .chain(horizons.iter().map(String::as_str))
            .collect();
        let mut rows = Table::new(&header).rights(1..header.len());
        for (label, points) in &goals {
            let means = points.iter().map(|p| mean(Some(p.probability)));
            rows.row(std::iter::once(label.clone()).chain(means));
        }
        let _ = write!(text, "{rows}");
    }
    text
}

fn interval(estimate: Option<Estimate>) -> String {
    match estimate {
        Some(Estimate {
            mean: Some(mean),
            low: Some(low),
            high: Some(high),
            ..
        }) => format!("{mean:.4} +- {:.4}", 0.5 * (high - low)),
        _ => "-".into(),
    }
}

fn mean(estimate: Option<Estimate>) -> String {
    match estimate.and_then(|estimate| estimate.mean) {
        Some(mean) if mean == 0.0 || (1e-3..1e4).contains(&mean.abs()) => format!("{mean:.4}"),
        Some(mean) => format!("{mean:.2e}"),
        None => "-".into(),
    }
}
