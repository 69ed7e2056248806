//! What is to be visited, as flags: files of numbers, budgets, restarts.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use ide3al::evaluation::SolveReport;
use ide3al::formulation::occupancy_spec::{Limit, OccupancySpec, per_pair};
use ide3al::model::{Mdp, io};
use ide3al_report::table::number;

/// What to visit. Files are JSON, CSV or NPY of S numbers, or S x A.
#[derive(clap::Args)]
pub(crate) struct VisitsArguments {
    /// Wanted proportions of states, for target
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,
    /// Wanted samples of each state or pair, for coverage [default: all alike]
    #[arg(long, value_name = "FILE")]
    wanted: Option<PathBuf>,
    /// Probability of starting over, at every step
    #[arg(
        long,
        value_name = "R",
        conflicts_with = "discount",
        allow_negative_numbers = true
    )]
    restart: Option<f64>,
    /// The same as a restart of one less this
    #[arg(long, value_name = "G", allow_negative_numbers = true)]
    discount: Option<f64>,
    /// Keep the long-run average of a cost within a budget; may be given several times
    #[arg(long, value_name = "FILE:BUDGET")]
    limit: Vec<String>,
}

impl VisitsArguments {
    /// The files read, everything but the formulation checked.
    pub(crate) fn visits(&self, mdp: &Mdp) -> anyhow::Result<OccupancySpec> {
        let pairs = |path: &Path| -> anyhow::Result<Vec<f64>> {
            let numbers = io::read_numbers(path)?;
            Ok(per_pair(mdp, &path.display().to_string(), &numbers)?)
        };
        let mut limits = Vec::new();
        for text in &self.limit {
            let (file, budget) = text.rsplit_once(':').with_context(|| {
                format!("--limit {text}: write FILE:BUDGET, for example cost.csv:0.25")
            })?;
            let budget: f64 = budget.parse().with_context(|| {
                format!("--limit {text}: '{budget}' is not a number; write FILE:BUDGET")
            })?;
            limits.push(Limit {
                cost: pairs(Path::new(file))?,
                budget,
            });
        }
        let target = self.target.as_deref().map(io::read_numbers).transpose()?;
        let wanted = self.wanted.as_deref().map(pairs).transpose()?;
        let restart = match (self.restart, self.discount) {
            (Some(restart), _) => restart,
            (None, Some(discount)) if !(0.0..=1.0).contains(&discount) => {
                bail!("--discount {discount}: must be a number from 0 to 1")
            }
            (None, Some(discount)) => 1.0 - discount,
            (None, None) => 0.0,
        };
        Ok(OccupancySpec {
            target: target.unwrap_or_default(),
            wanted: wanted.unwrap_or_default(),
            restart,
            limits,
            ..OccupancySpec::default()
        })
    }
}

/// What was asked for, in words.
pub(crate) fn in_words(report: &SolveReport, samples: Option<f64>) -> String {
    let mut text = String::new();
    for (j, limit) in report.limits.iter().enumerate() {
        text += &format!(
            "Limit {}: {} of {}, price {}.\n",
            j + 1,
            number(limit.value, 6),
            number(limit.budget, 6),
            number(limit.price, 4)
        );
    }
    if report.formulation == "coverage" {
        let samples = samples.unwrap_or(1.0);
        text += &if report.objective > 0.0 {
            format!(
                "{} times the wanted samples of every pair take about {:.0} steps in the long run; no policy needs fewer than {:.0}.\n",
                number(samples, 6),
                (samples / report.objective).ceil(),
                (samples / report.bound).floor()
            )
        } else {
            "No number of steps has the wanted samples of every pair.\n".to_owned()
        };
    }
    text
}
