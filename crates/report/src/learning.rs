//! The page of a learning experiment: curves, visits, policies, settings.

use super::axes::number;
use super::html::{Cell, Page, Table};
use super::learning_figures::{METRICS, Metric, OF_POLICIES};
use super::palette::Role;
use ide3al::model::Layout;

/// A mean over runs with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Mean.
    pub mean: f64,
    /// Low end; NaN with a single run.
    pub low: f64,
    /// High end; NaN with a single run.
    pub high: f64,
}

/// One point of a learning curve. A quantity that was not measured is `None`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// Iterations done.
    pub iteration: usize,
    /// Samples seen.
    pub samples: u64,
    /// $H(d) / \ln S$.
    pub entropy: Option<Interval>,
    /// $H(d \Pi) / \ln(\text{pairs})$.
    pub state_action_entropy: Option<Interval>,
    /// $\min_s d(s)$.
    pub min_probability: Option<Interval>,
    /// $1 - |\lambda_2|$.
    pub spectral_gap: Option<Interval>,
    /// $\|\hat P - P\|_F$; `None` where the truth is not known.
    pub model_error: Option<Interval>,
    /// Number of states in which the agent acted.
    pub states_met: Option<Interval>,
    /// Number of state-action pairs tried.
    pub pairs_tried: Option<Interval>,
    /// The exponential of the entropy of the states in which the agent acted.
    pub effective_states: Option<Interval>,
}

/// What one algorithm achieved.
#[derive(Debug, Clone, PartialEq)]
pub struct AlgorithmResult {
    /// Name as people should read it ("IDE3AL (Frobenius)").
    pub name: String,
    /// Colour, dash, marker.
    pub role: Role,
    /// In order of samples.
    pub curve: Vec<CurvePoint>,
    /// Long-run visits of the final policy, one per state, mean over runs; may be empty.
    pub visitation: Vec<f64>,
    /// Final policy, one row per state (of the first run: a mean of policies is none); may be
    /// empty.
    pub policy: Vec<Vec<f64>>,
    /// Wall-clock seconds of all its runs, where measured.
    pub seconds: Option<f64>,
    /// Goal-conditioned success in order of horizons; empty where it was not asked for.
    pub goal: Vec<GoalSuccess>,
}

/// What an exploration of some steps is worth for reaching a goal afterwards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GoalSuccess {
    /// Exploring steps $T$.
    pub horizon: u64,
    /// Probability of reaching the goal in time.
    pub probability: Interval,
    /// Discounted value as a share of the best possible.
    pub value_share: Interval,
}

/// All that the page shows.
#[derive(Debug, Clone, PartialEq)]
pub struct LearningReport {
    /// Model as named on the command line.
    pub model: String,
    /// Number of states.
    pub n_states: usize,
    /// Number of state-action pairs.
    pub n_pairs: usize,
    /// Names of the states; empty for numbers.
    pub state_names: Vec<String>,
    /// Names of the actions; empty for numbers.
    pub action_names: Vec<String>,
    /// The algorithms in order of the legend.
    pub algorithms: Vec<AlgorithmResult>,
    /// Map of the states, on grids.
    pub layout: Option<Layout>,
    /// Runs per algorithm.
    pub runs: usize,
    /// Master seed.
    pub seed: u64,
    /// Other settings: name and value.
    pub parameters: Vec<(String, String)>,
    /// The command that makes this page again.
    pub command: String,
    /// Whether the quantities are those of the true model (else of the estimate).
    pub judged_by_truth: bool,
    /// Largest $H(d) / \ln S$ that any policy reaches under the same limits, where known.
    pub best_entropy: Option<f64>,
    /// What the goal is and how long the way to it may take, where goals were evaluated.
    pub goal_in_words: String,
    /// Remarks, e.g. that the experiment was interrupted.
    pub notes: Vec<String>,
}

impl LearningReport {
    /// The last point of every curve.
    fn final_table(&self) -> Table {
        let measured: Vec<&Metric> = METRICS[..OF_POLICIES]
            .iter()
            .filter(|m| {
                let any =
                    |a: &AlgorithmResult| a.curve.last().is_some_and(|p| (m.get)(p).is_some());
                self.algorithms.iter().any(any)
            })
            .collect();
        let timed = self.algorithms.iter().any(|a| a.seconds.is_some());
        let mut header = vec!["algorithm".to_owned(), "samples".to_owned()];
        header.extend(measured.iter().map(|m| m.column.to_owned()));
        if timed {
            header.push("time, s".into());
        }
        let mut table = Table::new(header);
        for a in &self.algorithms {
            let mut row = vec![Cell::Key(a.role, a.name.clone())];
            let last = a.curve.last();
            row.push(Cell::Number(
                last.map_or("–".into(), |p| number(p.samples as f64)),
            ));
            for metric in &measured {
                let text = last.and_then(metric.get).map_or("–".into(), interval_text);
                row.push(Cell::Number(text));
            }
            if timed {
                row.push(Cell::Number(
                    a.seconds.map_or("–".into(), |s| format!("{s:.2}")),
                ));
            }
            table.row(row);
        }
        table.caption = format!(
            "At the end: mean over {} run{}{}. H(d): entropy of the long-run state distribution; H(d Π): of state-action \
             pairs; both as shares of their maximum (1 is even).",
            self.runs,
            if self.runs == 1 { "" } else { "s" },
            if self.runs > 1 {
                " ± half the 95 % interval"
            } else {
                ""
            },
        );
        table
    }

    /// Where the states are too many for bars: how decided each policy is.
    fn policy_table(&self) -> Option<Table> {
        let mut table = Table::new([
            "algorithm",
            "mean largest action probability",
            "least action probability",
            "mean action entropy, share",
        ]);
        for a in self.algorithms.iter().filter(|a| !a.policy.is_empty()) {
            let n = a.policy.len() as f64;
            let peak: f64 = a
                .policy
                .iter()
                .map(|row| row.iter().fold(0.0, |m, &p| f64::max(m, p)))
                .sum();
            let least = a.policy.iter().flatten().fold(1.0, |m, &p| f64::min(m, p));
            let spread: f64 = a
                .policy
                .iter()
                .map(|row| {
                    let entropy: f64 = row.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum();
                    if row.len() > 1 {
                        entropy / (row.len() as f64).ln()
                    } else {
                        1.0
                    }
                })
                .sum();
            table.row([
                Cell::Key(a.role, a.name.clone()),
                Cell::Number(number(peak / n)),
                Cell::Number(number(least)),
                Cell::Number(number(spread / n)),
            ]);
        }
        table.caption = format!("{} states are too many to draw one by one.", self.n_states);
        (!table.rows.is_empty()).then_some(table)
    }

    /// The page.
    pub fn html(&self) -> String {
        let mut page = Page::new(&format!("Learning to explore: {}", self.model));
        page.lead(&format!(
            "{} states, {} state-action pairs, no reward: which algorithm learns to visit everything evenly, and how fast?",
            number(self.n_states as f64),
            number(self.n_pairs as f64)
        ));
        for note in &self.notes {
            page.paragraph(note);
        }
        page.section("Results").table(&self.final_table());
        page.section("Learning curves")
            .pictures(&self.curves(), &[]);
        if let Some(visits) = self.visits() {
            page.section("Where the final policies go")
                .pictures(&visits, &[]);
        }
        if let Some(goals) = self.goals() {
            page.section("Reaching a goal afterwards")
                .pictures(&goals, &[]);
        }
        let policies = self.policies();
        let summary = if policies.is_none() {
            self.policy_table()
        } else {
            None
        };
        if policies.is_some() || summary.is_some() {
            page.section("Final policies");
        }
        if let Some(panels) = &policies {
            page.pictures(panels, &[]);
        }
        if let Some(table) = &summary {
            page.table(table);
        }
        page.section("How this was made").code(&self.command);
        let mut settings = Table::new(["setting", "value"]);
        settings.row([
            Cell::from("runs per algorithm"),
            Cell::Number(self.runs.to_string()),
        ]);
        settings.row([
            Cell::from("master seed"),
            Cell::Number(self.seed.to_string()),
        ]);
        for (name, value) in &self.parameters {
            settings.row([Cell::from(name.as_str()), Cell::Number(value.clone())]);
        }
        page.table(&settings);
        page.paragraph(
            "The same command with the same seed gives the same numbers, on any number of threads.",
        );
        page.finish()
    }
}

/// Mean and half the interval, both to the second digit of the latter: 0.9124 ± 0.0043.
fn interval_text(value: Interval) -> String {
    let half = (value.high - value.low) / 2.0;
    // an interval as narrow as rounding is none
    let none = half <= 1e-12 * value.mean.abs();
    if !(half.is_finite() && value.mean.is_finite()) || none {
        return number(value.mean);
    }
    let decimals = (1.0 - half.log10().floor()).clamp(0.0, 9.0) as usize;
    if decimals > 6 {
        return format!("{} ± {}", number(value.mean), number(half));
    }
    format!("{:.decimals$} ± {half:.decimals$}", value.mean)
}

#[cfg(test)]
mod tests {
    use super::super::panels::Panel;
    use super::*;

    fn report(n_states: usize, name: &str) -> LearningReport {
        let value = |mean: f64| {
            Some(Interval {
                mean,
                low: mean - 0.01,
                high: mean + 0.01,
            })
        };
        let curve = (1..=30)
            .map(|i| CurvePoint {
                iteration: i,
                samples: 10 * i as u64,
                entropy: value(0.9),
                state_action_entropy: value(0.8),
                min_probability: value(0.02),
                spectral_gap: None,
                model_error: value(1.0 / i as f64),
                states_met: value(4.0),
                pairs_tried: value(8.0),
                effective_states: value(3.5),
            })
            .collect();
        LearningReport {
            model: name.into(),
            n_states,
            n_pairs: 2 * n_states,
            state_names: vec![name.into(); n_states],
            action_names: vec![name.into()],
            algorithms: vec![AlgorithmResult {
                name: name.into(),
                role: Role::Ideal,
                curve,
                visitation: vec![1.0 / n_states as f64; n_states],
                policy: vec![vec![0.5, 0.5]; n_states],
                seconds: Some(1.0),
                goal: Vec::new(),
            }],
            layout: None,
            runs: 20,
            seed: 1,
            parameters: vec![(name.into(), name.into())],
            command: name.into(),
            judged_by_truth: true,
            best_entropy: Some(0.97),
            goal_in_words: name.into(),
            notes: vec![name.into()],
        }
    }

    #[test]
    fn measured_quantities_have_a_picture_each() {
        let curves = report(20, "m").curves();
        let titles: Vec<&str> = curves.panels.iter().map(Panel::title).collect();
        assert_eq!(
            titles,
            [
                "State entropy",
                "State-action entropy",
                "Least visited state",
                "Model error",
                "States met",
                "Pairs tried",
                "Effective states of the data"
            ]
        );
        assert!(curves.caption.contains("20 runs") && curves.caption.contains("95 %"));
    }

    #[test]
    fn the_way_of_showing_follows_the_size() {
        let small = report(20, "m");
        assert!(matches!(small.visits().unwrap().panels[0], Panel::Bars(_)));
        assert!(small.policies().is_some());
        let large = report(61, "m");
        assert!(matches!(large.visits().unwrap().panels[0], Panel::Chart(_)));
        assert!(large.policies().is_none() && large.html().contains("too many to draw"));
        let mut grid = report(4, "m");
        grid.layout = Some(Layout {
            rows: 2,
            columns: 2,
            cells: vec![0, 1, 2, 3],
        });
        assert!(matches!(grid.visits().unwrap().panels[0], Panel::Heat(_)));
    }

    #[test]
    fn names_from_files_stay_text() {
        let html = report(5, "<script>alert(1)</script>\" onload=\"x").html();
        assert!(!html.contains("<script") && !html.contains("\" onload=\"x"));
        let body = &html[html.find("<main>").unwrap()..html.find("</body>").unwrap()];
        let document = roxmltree::Document::parse(body).unwrap();
        assert!(
            document
                .descendants()
                .all(|n| n.attributes().all(|a| a.name() != "onload"))
        );
    }

    #[test]
    fn goals_have_two_pictures_where_they_were_asked_for() {
        let mut asked = report(20, "m");
        assert!(asked.goals().is_none() && !asked.html().contains("Reaching a goal"));
        let value = |mean: f64| Interval {
            mean,
            low: mean - 0.1,
            high: mean + 0.1,
        };
        asked.algorithms[0].goal = [10, 20]
            .map(|horizon| GoalSuccess {
                horizon,
                probability: value(0.05),
                value_share: value(0.97),
            })
            .to_vec();
        asked.goal_in_words = "The goal is state 9.".into();
        let goals = asked.goals().unwrap();
        let titles: Vec<&str> = goals.panels.iter().map(Panel::title).collect();
        assert_eq!(titles, ["Success", "Value"]);
        let Panel::Chart(chart) = &goals.panels[0] else {
            panic!("a chart")
        };
        let first = chart.series[0].points[0];
        assert_eq!((first.x, first.low), (10.0, 0.0), "no negative probability");
        let html = asked.html();
        assert!(html.contains("Reaching a goal") && html.contains("The goal is state 9."));
    }

    #[test]
    fn intervals_are_as_long_as_they_are_sharp() {
        let text = |mean: f64, half: f64| {
            interval_text(Interval {
                mean,
                low: mean - half,
                high: mean + half,
            })
        };
        assert_eq!(text(0.912_44, 0.004_321), "0.9124 ± 0.0043");
        assert_eq!(text(123.456, 12.3), "123 ± 12");
        assert_eq!(text(0.5, f64::NAN), "0.5");
        assert_eq!(text(0.5, 0.0), "0.5");
        assert_eq!(text(1.0, 8.4e-14), "1");
    }

    #[test]
    fn no_algorithms_no_panic() {
        let mut empty = report(0, "m");
        empty.algorithms.clear();
        assert!(empty.html().contains("Learning to explore"));
        assert!(empty.visits().is_none());
    }
}
