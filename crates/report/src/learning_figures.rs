//! The pictures of a learning experiment.

use super::axes::Axis;
use super::bars::{Bars, PolicyBars};
use super::figure::{Figure, Point, Style};
use super::heat::HeatMap;
use super::learning::{AlgorithmResult, CurvePoint, GoalSuccess, Interval, LearningReport};
use super::panels::{Panel, Panels};
use ide3al::model::Layout;

/// Most states shown bar by bar.
const STATES: usize = 60;

/// A quantity of a curve: title, unit, whether it is a share with fixed limits, access.
pub(crate) struct Metric {
    pub(crate) title: &'static str,
    pub(crate) label: &'static str,
    pub(crate) column: &'static str,
    pub(crate) share: bool,
    pub(crate) get: fn(&CurvePoint) -> Option<Interval>,
}

/// How many of them, the first ones, are of policies; the table shows these.
pub(crate) const OF_POLICIES: usize = 5;

pub(crate) const METRICS: [Metric; 8] = [
    Metric {
        title: "State entropy",
        label: "H(d) / ln S, share of the maximum",
        column: "H(d) / ln S",
        share: true,
        get: |p| p.entropy,
    },
    Metric {
        title: "State-action entropy",
        label: "H(d Π) / ln(SA), share of the maximum",
        column: "H(d Π) / ln(SA)",
        share: true,
        get: |p| p.state_action_entropy,
    },
    Metric {
        title: "Least visited state",
        label: "min d, probability",
        column: "min d",
        share: false,
        get: |p| p.min_probability,
    },
    Metric {
        title: "Speed of mixing",
        label: "Spectral gap, 1 − |λ₂|",
        column: "spectral gap",
        share: false,
        get: |p| p.spectral_gap,
    },
    Metric {
        title: "Model error",
        label: "Frobenius norm of estimated − true transitions",
        column: "model error",
        share: false,
        get: |p| p.model_error,
    },
    Metric {
        title: "States met",
        label: "States in which the agent acted",
        column: "states met",
        share: false,
        get: |p| p.states_met,
    },
    Metric {
        title: "Pairs tried",
        label: "State-action pairs tried",
        column: "pairs tried",
        share: false,
        get: |p| p.pairs_tried,
    },
    Metric {
        title: "Effective states of the data",
        label: "exp(entropy of the states acted in)",
        column: "effective states",
        share: false,
        get: |p| p.effective_states,
    },
];

impl LearningReport {
    fn state_name(&self, state: usize) -> String {
        self.state_names
            .get(state)
            .cloned()
            .unwrap_or_else(|| state.to_string())
    }

    /// Learning curves: one picture per quantity that was measured.
    pub fn curves(&self) -> Panels {
        let mut panels = Vec::new();
        for metric in &METRICS {
            let y = Axis::linear(metric.label);
            let mut figure = Figure::new(metric.title, Axis::linear("Samples"), y);
            for algorithm in &self.algorithms {
                let points: Vec<Point> = algorithm
                    .curve
                    .iter()
                    .filter_map(|p| {
                        let value = (metric.get)(p)?;
                        // None of the quantities can be negative; a symmetric interval may be.
                        let low = if value.low < 0.0 { 0.0 } else { value.low };
                        Some(Point::with_interval(
                            p.samples as f64,
                            value.mean,
                            low,
                            value.high,
                        ))
                    })
                    .collect();
                if !points.is_empty() {
                    figure = figure.with(&algorithm.name, algorithm.role, Style::Line, points);
                }
            }
            if figure.series.is_empty() {
                continue;
            }
            if metric.share {
                figure.y = share_axis(metric.label, &figure);
            }
            if metric.column == METRICS[0].column
                && let Some(best) = self.best_entropy
            {
                figure = figure.with_reference(best, "largest possible state entropy");
            }
            panels.push(Panel::Chart(figure));
        }
        let judge = if self.judged_by_truth {
            "the true model"
        } else {
            "the estimated model (the truth is not known)"
        };
        let band = if self.runs > 1 {
            format!(
                "Lines are means over {} runs, bands 95 % intervals of the mean. ",
                self.runs
            )
        } else {
            "A single run: no interval can be given. ".to_owned()
        };
        Panels {
            title: String::new(),
            panels,
            columns: 2,
            caption: format!("{band}Every policy is judged by its long-run behaviour on {judge}."),
        }
    }

    /// Long-run visits: maps on grids, bars for few states, sorted curves for many.
    pub fn visits(&self) -> Option<Panels> {
        let shown: Vec<&AlgorithmResult> = self
            .algorithms
            .iter()
            .filter(|a| !a.visitation.is_empty())
            .collect();
        if shown.is_empty() {
            return None;
        }
        let (panels, caption) = match &self.layout {
            Some(layout) => (
                self.visit_maps(&shown, layout),
                "Probability of each cell in the long run under the final policies, mean over runs; walls are grey. All \
                 maps share one scale: the evener, the better."
                    .to_owned(),
            ),
            None if self.n_states <= STATES => (
                self.visit_bars(&shown),
                "Probability of each state in the long run under the final policies, mean over runs. The dashed line is \
                 what an even visit of all states would give."
                    .to_owned(),
            ),
            None => (
                vec![self.visit_ranks(&shown)],
                format!(
                    "Probability in the long run of the {} states, sorted from most to least visited for each \
                     algorithm. The flatter, the evener.",
                    self.n_states
                ),
            ),
        };
        Some(Panels {
            title: String::new(),
            panels,
            columns: 2,
            caption,
        })
    }

    /// Goal-conditioned success against the steps explored; `None` where it was not asked for.
    pub fn goals(&self) -> Option<Panels> {
        type Get = fn(&GoalSuccess) -> Interval;
        let quantities: [(&str, &str, Get); 2] = [
            ("Success", "Probability of reaching the goal", |g| {
                g.probability
            }),
            ("Value", "Discounted value, share of the best", |g| {
                g.value_share
            }),
        ];
        let shown: Vec<&AlgorithmResult> = self
            .algorithms
            .iter()
            .filter(|a| !a.goal.is_empty())
            .collect();
        if shown.is_empty() {
            return None;
        }
        let panels = quantities.map(|(title, label, get)| {
            let x = Axis::linear("Steps explored, T");
            let mut figure = Figure::new(title, x, Axis::linear(label).with_range(0.0, 1.0));
            for a in &shown {
                let points = a.goal.iter().map(|g| {
                    let value = get(g);
                    // a share; the symmetric interval of a mean knows nothing of its limits
                    let within = |end: f64| {
                        if end.is_nan() {
                            end
                        } else {
                            end.clamp(0.0, 1.0)
                        }
                    };
                    let (low, high) = (within(value.low), within(value.high));
                    Point::with_interval(g.horizon as f64, value.mean, low, high)
                });
                figure = figure.with(&a.name, a.role, Style::Both, points.collect());
            }
            Panel::Chart(figure)
        });
        let band = if self.runs > 1 {
            format!(
                " Means over {} runs, bands 95 % intervals of the mean.",
                self.runs
            )
        } else {
            String::new()
        };
        Some(Panels {
            title: String::new(),
            panels: panels.to_vec(),
            columns: 2,
            caption: format!(
                "Each final policy explores for T steps from the start; from these steps alone a policy that reaches a \
                 goal is computed off-line and measured on the true model. {}{band}",
                self.goal_in_words
            ),
        })
    }

    fn visit_maps(&self, shown: &[&AlgorithmResult], layout: &Layout) -> Vec<Panel> {
        let mut maps: Vec<HeatMap> = shown
            .iter()
            .map(|a| HeatMap::on_layout(&a.name, "Probability per cell", layout, &a.visitation))
            .collect();
        let largest = maps.iter().filter_map(HeatMap::largest).fold(0.0, f64::max);
        for map in &mut maps {
            map.range = (largest > 0.0).then_some((0.0, largest));
        }
        maps.into_iter().map(Panel::Heat).collect()
    }

    fn visit_bars(&self, shown: &[&AlgorithmResult]) -> Vec<Panel> {
        let largest = shown
            .iter()
            .flat_map(|a| &a.visitation)
            .copied()
            .filter(|v| v.is_finite())
            .fold(0.0, f64::max);
        let even = 1.0 / self.n_states.max(1) as f64;
        shown
            .iter()
            .map(|a| {
                Panel::Bars(Bars {
                    title: a.name.clone(),
                    x_label: "State".into(),
                    y_label: "Long-run probability d(s)".into(),
                    categories: (0..a.visitation.len())
                        .map(|s| self.state_name(s))
                        .collect(),
                    values: a.visitation.clone(),
                    role: a.role,
                    largest: Some(largest),
                    reference: Some((even, format!("even: 1 / {}", self.n_states))),
                })
            })
            .collect()
    }

    fn visit_ranks(&self, shown: &[&AlgorithmResult]) -> Panel {
        let y = Axis::log("Long-run probability d(s)");
        let mut figure = Figure::new("Visits, sorted", Axis::linear("Rank of the state"), y);
        for a in shown {
            let mut sorted = a.visitation.clone();
            sorted.sort_by(|p, q| q.total_cmp(p));
            let points = sorted
                .iter()
                .enumerate()
                .map(|(i, &p)| Point::new((i + 1) as f64, p))
                .collect();
            figure = figure.with(&a.name, a.role, Style::Line, points);
        }
        let even = 1.0 / self.n_states.max(1) as f64;
        Panel::Chart(figure.with_reference(even, format!("even: 1 / {}", self.n_states)))
    }

    /// Final policies as stacked bars; `None` where none is known or the states are too many.
    pub fn policies(&self) -> Option<Panels> {
        if self.n_states > STATES {
            return None;
        }
        let panels: Vec<Panel> = self
            .algorithms
            .iter()
            .filter(|a| !a.policy.is_empty())
            .map(|a| {
                Panel::Policy(PolicyBars {
                    title: a.name.clone(),
                    states: (0..a.policy.len()).map(|s| self.state_name(s)).collect(),
                    actions: self.action_names.clone(),
                    rows: a.policy.clone(),
                })
            })
            .collect();
        (!panels.is_empty()).then(|| Panels {
            title: String::new(),
            panels,
            columns: 2,
            caption: "Final policy of the first run, one bar per state: how often each action is taken there.".into(),
        })
    }
}

/// A share axis: up to 1, from 0 unless all values crowd near the top.
fn share_axis(label: &str, figure: &Figure) -> Axis {
    let least = figure
        .series
        .iter()
        .flat_map(|s| &s.points)
        .flat_map(|p| [p.y, p.low])
        .filter(|v| v.is_finite())
        .fold(1.0, f64::min);
    let from = if least >= 0.5 {
        (least * 10.0).floor() / 10.0
    } else {
        0.0
    };
    Axis::linear(label).with_range(from.min(0.9), 1.0)
}
