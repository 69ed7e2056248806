//! Claims about learning curves.

use serde::Deserialize;

use super::Row;
use super::verdict::{Measurement, Rule};
use ide3al::error::{Error, Result};
use ide3al::learn::{Metrics, RunResult};
use ide3al::model::Mdp;

/// A claim about one algorithm, alone or against another.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Claim {
    name: String,
    /// The paper's words.
    paper: String,
    /// A metric at the end of the runs (see [`Metrics::NAMES`]), or one of [`OTHERS`].
    quantity: String,
    /// The algorithm.
    of: String,
    /// Its rival; none for a claim about a number.
    than: Option<String>,
    /// Of the difference, or of the number where there is no rival.
    rule: Rule,
    #[serde(default)]
    otherwise: String,
}

/// Quantities that are no metrics: samples until the entropy first reaches 95 % of what the
/// algorithm ends with; share of the less visited side of the centre state; mean
/// goal-conditioned success over all horizons.
pub(super) const OTHERS: [&str; 3] = ["samples-to-95", "smaller-arm", "goal-success"];

/// The runs of one algorithm.
pub(super) struct Line {
    pub(super) label: String,
    pub(super) name: String,
    pub(super) batch: u64,
    pub(super) iterations: u64,
    pub(super) results: Vec<RunResult>,
}

impl Line {
    /// One number per run.
    pub(super) fn values(
        &self,
        quantity: &str,
        mdp: &Mdp,
        centre: Option<usize>,
    ) -> Result<Vec<f64>> {
        let last = |run: &RunResult, k: usize| {
            let metrics = run.curve.last();
            metrics.map_or(f64::NAN, |m| m.values(mdp.n_states(), mdp.n_pairs())[k])
        };
        if let Some(k) = Metrics::NAMES.iter().position(|name| *name == quantity) {
            return Ok(self.results.iter().map(|run| last(run, k)).collect());
        }
        let finals: Vec<f64> = self.results.iter().map(|run| last(run, 0)).collect();
        let wanted = 0.95 * finals.iter().sum::<f64>() / finals.len().max(1) as f64;
        let of_run = |run: &RunResult| match quantity {
            "samples-to-95" => {
                let reached = run.curve.iter().position(|m| m.entropy >= wanted);
                Some(reached.unwrap_or(run.curve.len()) as f64 * self.batch as f64)
            }
            "smaller-arm" => {
                let centre = centre?;
                let below: f64 = run.distribution.get(..centre)?.iter().sum();
                let above: f64 = run.distribution.get(centre + 1..)?.iter().sum();
                Some(below.min(above) / (below + above))
            }
            "goal-success" => {
                let n = run.goal.len() as f64;
                Some(run.goal.iter().map(|g| g.probability).sum::<f64>() / n)
            }
            _ => None,
        };
        self.results
            .iter()
            .map(of_run)
            .collect::<Option<Vec<f64>>>()
            .ok_or_else(|| Error::unknown("quantity", quantity, &OTHERS))
    }
}

impl Claim {
    pub(super) fn judge(&self, lines: &[Line], mdp: &Mdp, centre: Option<usize>) -> Result<Row> {
        let find = |label: &str| {
            lines
                .iter()
                .find(|line| line.label == label)
                .ok_or_else(|| {
                    let known: Vec<&str> = lines.iter().map(|l| l.label.as_str()).collect();
                    Error::unknown("algorithm", label, &known)
                })
        };
        let line = find(&self.of)?;
        let own = Measurement::of_runs(&line.values(&self.quantity, mdp, centre)?);
        let (measured, reason) = match &self.than {
            None => (
                own,
                format!("mean of {} over {} runs", line.name, line.results.len()),
            ),
            Some(other) => {
                let other = find(other)?;
                let rival = Measurement::of_runs(&other.values(&self.quantity, mdp, centre)?);
                (own.minus(&rival), against(line, &own, other, &rival))
            }
        };
        let judged = self.rule.judge(&measured);
        Ok(
            Row::new(self.name.as_str(), self.paper.as_str(), measured, judged)
                .because(&reason)
                .otherwise(&self.otherwise),
        )
    }
}

fn against(line: &Line, own: &Measurement, other: &Line, rival: &Measurement) -> String {
    let one = |l: &Line, m: &Measurement| {
        let digits = if m.value.abs() >= 10.0 { 0 } else { 4 };
        format!(
            "{} {:.digits$} [{:.digits$}, {:.digits$}], {} runs of {} iterations",
            l.name,
            m.value,
            m.low,
            m.high,
            l.results.len(),
            l.iterations
        )
    };
    format!("difference of: {}; {}", one(line, own), one(other, rival))
}
