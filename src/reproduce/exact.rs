//! Exact solutions: the tables of entropies, least visited states and solve times.

use std::time::Duration;

use serde::Deserialize;

use super::registry::Spec;
use super::verdict::{self, Measurement, Rule};
use super::{Context, DataTable, Outcome, Row};
use crate::chain::{Analysis, AnalyzeOptions, analyze};
use crate::domains;
use crate::error::Result;
use crate::formulation::{Formulation, Problem};
use crate::model::Mdp;
use crate::report::axes::number;
use crate::solve::{Options, Solution, TieBreak, solve};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Solves per time; the fastest counts.
    #[serde(default = "one")]
    repeats: usize,
    case: Vec<Case>,
}

fn one() -> usize {
    1
}

/// One problem, and what the paper prints about its solution.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// Name of the rows.
    name: String,
    model: String,
    formulation: String,
    #[serde(default)]
    xi: f64,
    #[serde(default = "unit")]
    zeta: f64,
    /// Printed H(d) / ln S.
    entropy: Option<String>,
    /// Printed min d.
    least: Option<String>,
    /// Printed seconds.
    seconds: Option<f64>,
    /// A value that H(d) / ln S is to exceed.
    above: Option<f64>,
    /// Explains a verdict other than *holds*.
    #[serde(default)]
    otherwise: String,
}

fn unit() -> f64 {
    1.0
}

/// Longest single solve.
const LIMIT: Duration = Duration::from_secs(120);

pub(super) fn run(spec: &Spec, context: &Context<'_>) -> Result<Outcome> {
    let parameters: Parameters = spec.parameters(context.full)?;
    let mut outcome = Outcome::default();
    let mut table = DataTable::new(
        "",
        &[
            "problem",
            "ξ",
            "ζ",
            "objective",
            "certified gap",
            "H(d) / ln S",
            "paper",
            "H(d) / ln S, no tie-break",
            "min d",
            "paper, min d",
            "recurrent classes",
            "time, s",
            "paper, s",
        ],
    );
    for (done, case) in parameters.case.iter().enumerate() {
        context.step(done, parameters.case.len())?;
        let solved = Solved::new(case, parameters.repeats)?;
        rows(case, &solved, &mut outcome.rows);
        table.rows.push(solved.cells(case));
    }
    table.caption = "H(d) / ln S: entropy of the long-run state distribution from the start, share of its maximum. \
        Infinity and Column Sum have many optimal policies; ours is the one nearest to uniform, and the \
        column beside it shows what the solver alone ends on. Times: fastest solve, without the tie-break."
        .into();
    outcome.tables.push(table);
    Ok(outcome)
}

struct Solved {
    solution: Solution,
    analysis: Analysis,
    /// H(d) / ln S of whichever optimal policy the solver ends on.
    raw: Option<f64>,
    seconds: Option<f64>,
}

impl Solved {
    fn new(case: &Case, repeats: usize) -> Result<Self> {
        let mdp = domains::load(&case.model)?;
        let problem = Problem {
            formulation: Formulation::from_name(&case.formulation)?,
            xi: case.xi,
            zeta: case.zeta,
        };
        let options = |tie_break| Options {
            tie_break,
            time_limit: Some(LIMIT),
            ..Options::default()
        };
        let once = |tie_break| solve(&mdp, &problem, &options(tie_break), None, &mut ());
        let judge = |s: &Solution| analyze(&mdp, &s.policy, &AnalyzeOptions::default());
        let (mut raw, mut seconds) = (None, None);
        if case.seconds.is_some() {
            let mut best = f64::INFINITY;
            for _ in 0..repeats.max(1) {
                best = best.min(once(TieBreak::None)?.certificate.seconds);
            }
            seconds = Some(best);
        } else if many_optima(&problem) {
            raw = Some(judge(&once(TieBreak::None)?)?.entropy_normalized);
        }
        // times are of the raw solve; the entropies need the one stated policy
        let solution = once(if case.seconds.is_some() {
            TieBreak::None
        } else {
            TieBreak::Uniform
        })?;
        let analysis = judge_long_run(&mdp, &solution)?;
        Ok(Solved {
            solution,
            analysis,
            raw,
            seconds,
        })
    }

    fn cells(&self, case: &Case) -> Vec<String> {
        let certificate = &self.solution.certificate;
        let text = |t: &Option<String>| t.clone().unwrap_or_default();
        let optional = |x: Option<f64>| x.map_or(String::new(), |x| format!("{x:.4}"));
        let entropy = if case.seconds.is_some() {
            String::new()
        } else {
            format!("{:.4}", self.analysis.entropy_normalized)
        };
        vec![
            case.name.clone(),
            number(case.xi),
            number(case.zeta),
            format!("{:.6}", certificate.objective),
            format!("{:.0e}", certificate.gap),
            entropy,
            text(&case.entropy),
            optional(self.raw),
            format!("{:.4}", self.analysis.min_probability),
            text(&case.least),
            self.analysis.recurrent_classes.to_string(),
            self.seconds.map_or(String::new(), |s| format!("{s:.2e}")),
            case.seconds.map_or(String::new(), |s| format!("{s:.0e}")),
        ]
    }
}

fn judge_long_run(mdp: &Mdp, solution: &Solution) -> Result<Analysis> {
    analyze(mdp, &solution.policy, &AnalyzeOptions::default())
}

fn many_optima(problem: &Problem) -> bool {
    matches!(
        problem.formulation,
        Formulation::Infinity | Formulation::ColumnSum
    )
}

fn rows(case: &Case, solved: &Solved, rows: &mut Vec<Row>) {
    let entropy = solved.analysis.entropy_normalized;
    let classes = solved.analysis.recurrent_classes;
    let mut note = case.otherwise.clone();
    if classes > 1 {
        let more = format!("the optimal policy has {classes} recurrent classes");
        note = if note.is_empty() {
            more
        } else {
            format!("{more}; {note}")
        };
    }
    if let Some(text) = &case.entropy {
        let judged = verdict::printed(text, entropy);
        let name = format!("{}: H(d) / ln S", case.name);
        let row = Row::new(name, text.as_str(), Measurement::exact(entropy), judged);
        rows.push(row.otherwise(&note));
    }
    if let Some(text) = &case.least {
        let least = solved.analysis.min_probability;
        let judged = verdict::printed(text, least);
        let name = format!("{}: min d", case.name);
        let row = Row::new(name, text.as_str(), Measurement::exact(least), judged);
        rows.push(row.otherwise(&note));
    }
    if let Some(limit) = case.above {
        let measured = Measurement::exact(entropy);
        let judged = Rule::Above(limit).judge(&measured);
        let paper = format!("at most {limit}");
        rows.push(Row::new(case.name.as_str(), paper, measured, judged).otherwise(&note));
    }
    if let (Some(paper), Some(seconds)) = (case.seconds, solved.seconds) {
        let judged = verdict::time(paper, seconds);
        let name = format!("{}: solve time, s", case.name);
        rows.push(Row::new(name, paper, Measurement::exact(seconds), judged).otherwise(&note));
    }
}
