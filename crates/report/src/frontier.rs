//! The trade-off between even visits, tried actions and fast mixing, as a picture.

use super::axes::{Axis, number};
use super::figure::{Figure, Point, Style};
use super::palette::Role;
use super::panels::{Panel, Panels};
use ide3al::formulation::{Formulation, Problem};
use ide3al::frontier::{Sweep, SweepPoint, Vary};

/// One solved point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrontierPoint {
    /// Value of the parameter.
    pub parameter: f64,
    /// $H(d) / \ln S$.
    pub entropy: f64,
    /// $H(d \Pi) / \ln(\text{pairs})$.
    pub state_action_entropy: f64,
    /// $1 - |\lambda_2|$.
    pub spectral_gap: f64,
    /// Steps to come within the threshold; `None` where infinite.
    pub mixing_time: Option<f64>,
    /// Mean steps to a random state; `None` where infinite.
    pub hitting_time: Option<f64>,
}

/// A solved trade-off.
#[derive(Debug, Clone, PartialEq)]
pub struct Frontier {
    /// Model as named on the command line.
    pub model: String,
    /// Which problem was solved.
    pub formulation: Formulation,
    /// What varies.
    pub vary: Vary,
    /// Value of the other parameter, where the formulation takes it.
    pub fixed: Option<f64>,
    /// In order of the parameter.
    pub points: Vec<FrontierPoint>,
    /// The paper's own trade-off of the same model, drawn beside this one.
    pub beside: Option<Box<Frontier>>,
}

impl Frontier {
    /// A sweep as a picture; `model` is its name in the title.
    pub fn of_sweep(sweep: &Sweep, model: &str, problem: &Problem, vary: Vary) -> Self {
        let fixed = match vary {
            Vary::Zeta | Vary::Within | Vary::Evenness => Some(problem.xi),
            Vary::Xi => problem.formulation.takes_zeta().then_some(problem.zeta),
        };
        let point = |p: &SweepPoint| FrontierPoint {
            parameter: match vary {
                Vary::Zeta => p.zeta.unwrap_or(1.0),
                Vary::Xi => p.xi,
                Vary::Within => p.within.unwrap_or(f64::NAN),
                Vary::Evenness => p.evenness.unwrap_or(0.0),
            },
            entropy: p.entropy_normalized,
            state_action_entropy: p.state_action_entropy_normalized,
            spectral_gap: p.spectral_gap,
            // a chain that is mixed from the start has no place on a logarithmic axis
            mixing_time: p.mixing_time.map(|t| t.max(1) as f64),
            hitting_time: p.hitting_time_mean,
        };
        Frontier {
            model: model.to_owned(),
            formulation: problem.formulation,
            vary,
            fixed,
            points: sweep.points.iter().map(point).collect(),
            beside: None,
        }
    }
}

/// The parameter as an axis names it.
fn label(vary: Vary) -> &'static str {
    match vary {
        Vary::Zeta => "ζ, largest entry of the target (smaller: faster mixing)",
        Vary::Xi => "ξ, least probability of every action",
        Vary::Within => "T, mean time of the walk",
        Vary::Evenness => "least evenness H(d) / ln S of the steady state",
    }
}

impl Frontier {
    /// Evenness against speed: where each policy stands, whatever varies.
    fn speed(&self) -> Figure {
        let points = |points: &[FrontierPoint]| -> Vec<Point> {
            points
                .iter()
                .map(|p| Point::new(p.entropy, p.hitting_time.unwrap_or(f64::NAN)))
                .collect()
        };
        let figure = Figure::new(
            "Even, or soon",
            Axis::linear("state entropy H(d) / ln S"),
            Axis::log("Mean steps to a random state"),
        );
        let own = self.formulation.name();
        let figure = figure.with(own, Role::Other(0), Style::Both, points(&self.points));
        match &self.beside {
            Some(beside) => figure.with(
                "frobenius along ζ",
                Role::Other(3),
                Style::Both,
                points(&beside.points),
            ),
            None => figure,
        }
    }

    /// Three pictures: entropies and spectral gap from 0 to 1, mixing time on a logarithmic axis,
    /// and evenness against the mean time to a state.
    pub fn panels(&self) -> Panels {
        // Both pictures span the same values, even where a mixing time is missing.
        let parameters = self.points.iter().map(|p| p.parameter);
        let low = parameters.clone().fold(f64::INFINITY, f64::min);
        let high = parameters.fold(f64::NEG_INFINITY, f64::max);
        let x = || match self.vary {
            Vary::Within => Axis::log(label(self.vary)),
            _ => Axis::linear(label(self.vary)).with_range(low, high),
        };
        let line = |get: fn(&FrontierPoint) -> f64| -> Vec<Point> {
            self.points
                .iter()
                .map(|p| Point::new(p.parameter, get(p)))
                .collect()
        };
        let shares = Figure::new(
            "Evenness and speed",
            x(),
            Axis::linear("Share of the maximum, and spectral gap 1 − |λ₂|").with_range(0.0, 1.0),
        )
        .with(
            "state entropy H(d) / ln S",
            Role::Other(0),
            Style::Both,
            line(|p| p.entropy),
        )
        .with(
            "state-action entropy H(d Π) / ln(SA)",
            Role::Other(1),
            Style::Both,
            line(|p| p.state_action_entropy),
        )
        .with(
            "spectral gap",
            Role::Other(2),
            Style::Both,
            line(|p| p.spectral_gap),
        );
        let mixing = Figure::new(
            "Mixing time",
            x(),
            Axis::log("Steps to within 1/4 of the long run (total variation)"),
        )
        .with(
            "mixing time",
            Role::Other(7),
            Style::Both,
            line(|p| p.mixing_time.unwrap_or(f64::NAN)),
        );
        let infinite = self
            .points
            .iter()
            .filter(|p| p.mixing_time.is_none())
            .count();
        let other = match (self.vary, self.fixed) {
            (_, None) => String::new(),
            (Vary::Zeta | Vary::Within | Vary::Evenness, Some(xi)) => {
                format!(", ξ = {}", number(xi))
            }
            (Vary::Xi, Some(zeta)) => format!(", ζ = {}", number(zeta)),
        };
        let gaps = match infinite {
            0 => String::new(),
            1 => " One point has an infinite mixing time and no mark.".into(),
            n => format!(" {n} points have an infinite mixing time and no mark."),
        };
        Panels {
            title: format!(
                "{}: the trade-off along {}, {}{other}",
                self.model,
                self.vary.name(),
                self.formulation.name()
            ),
            panels: vec![
                Panel::Chart(shares),
                Panel::Chart(mixing),
                Panel::Chart(self.speed()),
            ],
            columns: 3,
            caption: format!(
                "Each mark is one solved policy; all values are computed from the model.{gaps}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinite_mixing_is_said_and_left_out() {
        let point = |parameter: f64, mixing_time| FrontierPoint {
            parameter,
            entropy: 0.9,
            state_action_entropy: 0.8,
            spectral_gap: 0.1,
            mixing_time,
            hitting_time: Some(30.0),
        };
        let frontier = Frontier {
            model: "single-chain".into(),
            formulation: Formulation::Frobenius,
            vary: Vary::Zeta,
            fixed: Some(0.1),
            points: vec![point(0.5, Some(12.0)), point(1.0, None)],
            beside: None,
        };
        let panels = frontier.panels();
        assert!(panels.title.contains("frobenius") && panels.title.contains("ξ = 0.1"));
        assert!(panels.caption.contains("One point has an infinite"));
        roxmltree::Document::parse(&panels.svg()).unwrap();
    }
}
