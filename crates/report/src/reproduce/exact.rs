//! Exact solutions: the tables of entropies, least visited states and solve times.

use std::time::Duration;

use serde::Deserialize;

use super::optimal_policies;
use super::registry::Spec;
use super::verdict::{self, Measurement, Rule};
use super::{Context, DataTable, Outcome, Row};
use crate::axes::number;
use ide3al::chain::{Analysis, AnalyzeOptions, analyze};
use ide3al::domains;
use ide3al::error::Result;
use ide3al::formulation::{Formulation, Problem};
use ide3al::solve::{Options, Solution, TieBreak, solve};

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
            "over optimal policies found",
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
        Infinity, Column Sum and Frobenius have many optimal policies, and so has State Entropy with ξ = 0, as seen from \
        the start: ours is the one nearest to uniform; the range is over further optimal policies that were found. Where \
        ours has one recurrent class, every value in between belongs to an optimal policy too. Times: fastest solve, without the tie-break."
        .into();
    outcome.tables.push(table);
    Ok(outcome)
}

struct Solved {
    solution: Solution,
    analysis: Analysis,
    /// Other optimal policies, where there are many. Those with one recurrent class, where ours
    /// has one.
    others: Vec<Analysis>,
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
        let mut seconds = None;
        if case.seconds.is_some() {
            let mut best = f64::INFINITY;
            for _ in 0..repeats.max(1) {
                best = best.min(once(TieBreak::None)?.certificate.seconds);
            }
            seconds = Some(best);
        }
        // times are of the raw solve; the entropies need the one stated policy
        let solution = once(if case.seconds.is_some() {
            TieBreak::None
        } else {
            TieBreak::Uniform
        })?;
        let analysis = analyze(&mdp, &solution.policy, &AnalyzeOptions::default())?;
        let mut others = Vec::new();
        if case.seconds.is_none() && optimal_policies::many(&problem) {
            for policy in optimal_policies::others(&mdp, &problem, &solution)? {
                others.push(analyze(&mdp, &policy, &AnalyzeOptions::default())?);
            }
        }
        if analysis.recurrent_classes == 1 {
            others.retain(|other| other.recurrent_classes == 1);
        }
        Ok(Solved {
            solution,
            analysis,
            others,
            seconds,
        })
    }

    /// Least and largest value of a quantity over the optimal policies found. Where all of them
    /// have one recurrent class, so has every mixture of them (a closed set of the mixture is
    /// closed under each, so it contains the one class of each): the quantity is continuous
    /// between them and takes every value of the range at an optimal policy.
    fn range(&self, quantity: fn(&Analysis) -> f64) -> (f64, f64) {
        let own = quantity(&self.analysis);
        let values = self.others.iter().map(quantity);
        values.fold((own, own), |(a, b), v| (a.min(v), b.max(v)))
    }

    fn cells(&self, case: &Case) -> Vec<String> {
        let certificate = &self.solution.certificate;
        let text = |t: &Option<String>| t.clone().unwrap_or_default();
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
            match self.range(|a| a.entropy_normalized) {
                _ if self.others.is_empty() => String::new(),
                (low, high) => format!("{low:.4} to {high:.4}"),
            },
            format!("{:.4}", self.analysis.min_probability),
            text(&case.least),
            self.analysis.recurrent_classes.to_string(),
            self.seconds.map_or(String::new(), |s| format!("{s:.2e}")),
            case.seconds.map_or(String::new(), |s| format!("{s:.0e}")),
        ]
    }
}

/// A figure of a policy's long run.
type Quantity = fn(&Analysis) -> f64;

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
    let quantities: [(&Option<String>, &str, Quantity); 2] = [
        (&case.entropy, "H(d) / ln S", |a| a.entropy_normalized),
        (&case.least, "min d", |a| a.min_probability),
    ];
    for (printed, name, quantity) in quantities {
        let Some(text) = printed else { continue };
        let (low, high) = solved.range(quantity);
        let measured = Measurement {
            low,
            high,
            ..Measurement::exact(quantity(&solved.analysis))
        };
        let judged = if classes == 1 {
            verdict::printed_among(text, &measured)
        } else {
            // between policies with several classes the long run may jump: only what was found
            let found: Vec<f64> = solved.others.iter().map(quantity).collect();
            verdict::printed_in(text, measured.value, &found)
        };
        let name = format!("{}: {name}", case.name);
        rows.push(Row::new(name, text.as_str(), measured, judged).otherwise(&note));
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
