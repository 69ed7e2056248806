//! The trade-off between even visits and fast mixing: solving along a parameter, and
//! picking the parameter that suits a budget of steps.
//!
//! A small `zeta` keeps the target far from the identity, so its chain mixes fast, at the price of
//! a less even steady state. Over a finite number of steps $T$ from the start neither extreme is
//! best: [`for_horizon`] finds the `zeta` whose policy visits states most evenly *within* $T$
//! steps.

pub mod reach;

use serde::Serialize;

use crate::chain::{AnalyzeOptions, analyze, entropy, horizon};
use crate::error::{Error, Result};
use crate::formulation::{Formulation, Problem};
use crate::model::Mdp;
use crate::solve::{Observer, Options, Solution, Status, solve};

/// The parameter that varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vary {
    /// Largest entry of the target.
    Zeta,
    /// Least probability of every action.
    Xi,
    /// Mean time of the walk of [reach](crate::formulation::reach).
    Within,
    /// Least evenness of its steady state.
    Evenness,
}

impl Vary {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Vary::Zeta => "zeta",
            Vary::Xi => "xi",
            Vary::Within => "within",
            Vary::Evenness => "evenness",
        }
    }
}

/// One solved point of a sweep. Serialises with these names as keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SweepPoint {
    /// Least probability of every action.
    pub xi: f64,
    /// Largest entry of the target; `None` where the formulation has no target.
    pub zeta: Option<f64>,
    /// How the solve ended.
    pub status: &'static str,
    /// Value of the policy.
    pub objective: f64,
    /// Certified distance from the optimum.
    pub gap: f64,
    /// Seconds of this solve.
    pub seconds: f64,
    /// $H(d)$ in nats.
    pub entropy: f64,
    /// $H(d) / \ln S$.
    pub entropy_normalized: f64,
    /// $H(d\Pi)$ in nats.
    pub state_action_entropy: f64,
    /// $H(d\Pi) / \ln(\text{pairs})$.
    pub state_action_entropy_normalized: f64,
    /// $1 - |\lambda_2|$.
    pub spectral_gap: f64,
    /// Steps to total variation 1/4; `None` when infinite.
    pub mixing_time: Option<u64>,
    /// "exact" or "lower_bound".
    pub mixing_time_kind: &'static str,
    /// Number of recurrent classes.
    pub recurrent_classes: usize,
    /// Mean time from one recurrent state to another; `None` with several recurrent classes.
    pub hitting_time_mean: Option<f64>,
    /// Reach: mean time of the walk; `None` where it is unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
    /// Reach: least evenness asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evenness: Option<f64>,
}

/// A solved trade-off.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sweep {
    /// Name of the formulation.
    pub formulation: &'static str,
    /// "zeta", "xi", "within" or "evenness".
    pub vary: &'static str,
    /// In ascending order of the parameter.
    pub points: Vec<SweepPoint>,
    /// Whether the sweep was interrupted before its last point.
    pub interrupted: bool,
}

/// Where a sweep goes: `points` evenly spaced values, from $1/S$ to 1 for `zeta`, from 0 to one
/// over the largest number of actions for `xi`.
pub fn values(mdp: &Mdp, vary: Vary, points: usize) -> Vec<f64> {
    let (low, high) = match vary {
        Vary::Zeta => (1.0 / mdp.n_states() as f64, 1.0),
        Vary::Xi => (0.0, 1.0 / mdp.max_actions() as f64),
        // what reach varies is for `reach::sweep` to say
        Vary::Within | Vary::Evenness => return Vec::new(),
    };
    if points <= 1 || low >= high {
        return vec![high];
    }
    let step = (high - low) / (points - 1) as f64;
    (0..points)
        .map(|i| {
            if i + 1 == points {
                high
            } else {
                low + step * i as f64
            }
        })
        .collect()
}

/// Most points of a sweep.
const MOST_POINTS: usize = 10_000;

/// Solves along `vary`, each point warm-started from the one before.
pub fn sweep(
    mdp: &Mdp,
    problem: &Problem,
    vary: Vary,
    points: usize,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Sweep> {
    if !(2..=MOST_POINTS).contains(&points) {
        return Err(Error::Parameter {
            name: "points".into(),
            value: points.to_string(),
            problem: format!("must lie between 2 and {MOST_POINTS}"),
        });
    }
    if vary == Vary::Zeta {
        must_take_zeta(
            problem,
            "there is nothing to vary; vary xi instead (parameter 'vary' = xi)",
        )?;
    }
    if problem.formulation == Formulation::Reach {
        let asked = crate::formulation::reach::Reach::with_xi(problem.xi);
        return reach::sweep(mdp, &asked, vary, points, options, observer);
    }
    if matches!(vary, Vary::Within | Vary::Evenness) {
        let (name, vary) = (problem.formulation.name(), vary.name());
        return Err(Error::Unsupported(format!(
            "{name} takes no {vary}; vary zeta or xi (parameter 'vary'), or choose the \
             formulation reach"
        )));
    }
    let values = values(mdp, vary, points);
    // every value is checked before the first solve
    let problems: Vec<Problem> = values.iter().map(|v| at(problem, vary, *v)).collect();
    problems.iter().try_for_each(|p| p.validate(mdp))?;
    let mut out = Sweep {
        formulation: problem.formulation.name(),
        vary: vary.name(),
        points: Vec::with_capacity(points),
        interrupted: false,
    };
    let mut warm: Option<Solution> = None;
    // from the upper end: at the largest xi only the uniform policy is left, at zeta 1 the target
    // is free, and both are quickly solved
    for problem in problems.iter().rev() {
        let solution = solve(mdp, problem, options, warm.as_ref(), observer)?;
        if solution.certificate.status == Status::Interrupted {
            out.interrupted = true;
            break;
        }
        out.points.push(evaluate_point(mdp, problem, &solution)?);
        warm = Some(solution);
    }
    out.points.reverse();
    Ok(out)
}

fn must_take_zeta(problem: &Problem, remedy: &str) -> Result<()> {
    if problem.formulation.takes_zeta() {
        return Ok(());
    }
    Err(Error::Unsupported(format!(
        "{} takes no zeta, so {remedy}, or choose the formulation frobenius or infinity",
        problem.formulation.name()
    )))
}

fn at(problem: &Problem, vary: Vary, value: f64) -> Problem {
    let mut moved = *problem;
    match vary {
        Vary::Zeta => moved.zeta = value,
        Vary::Xi => moved.xi = value,
        Vary::Within | Vary::Evenness => {}
    }
    moved
}

fn evaluate_point(mdp: &Mdp, problem: &Problem, solution: &Solution) -> Result<SweepPoint> {
    let analysis = analyze(mdp, &solution.policy, &AnalyzeOptions::default())?;
    let certificate = &solution.certificate;
    Ok(SweepPoint {
        xi: problem.xi,
        zeta: problem.formulation.takes_zeta().then_some(problem.zeta),
        status: certificate.status.name(),
        objective: certificate.objective,
        gap: certificate.gap,
        seconds: certificate.seconds,
        entropy: analysis.entropy,
        entropy_normalized: analysis.entropy_normalized,
        state_action_entropy: analysis.state_action_entropy,
        state_action_entropy_normalized: analysis.state_action_entropy_normalized,
        spectral_gap: analysis.spectral_gap,
        mixing_time: analysis.mixing_time,
        mixing_time_kind: analysis.mixing_time_kind,
        recurrent_classes: analysis.recurrent_classes,
        hitting_time_mean: analysis.hitting_time_mean,
        within: None,
        evenness: None,
    })
}

/// The best `zeta` for a budget of steps.
#[derive(Debug, Clone)]
pub struct HorizonChoice {
    /// The problem with the `zeta` found.
    pub problem: Problem,
    /// Its solution.
    pub solution: Solution,
    /// Entropy in nats of the average state distribution over the horizon.
    pub horizon_entropy: f64,
    /// Every `zeta` tried with its entropy, in ascending order.
    pub tried: Vec<(f64, f64)>,
}

/// Points of the coarse grid of [`for_horizon`].
const COARSE: usize = 13;
/// Refining steps of [`for_horizon`].
const FINE: usize = 12;

/// Finds the `zeta` whose optimal policy has the highest entropy of the average state
/// distribution over `steps` steps from the start.
///
/// A logarithmic grid of 13 values from $1/S$ to 1, then golden-section steps between
/// the neighbours of the best. The entropy need not have a single peak in `zeta`, so the best of
/// all values tried is returned (the largest among equals); `tried` tells them all.
/// Deterministic. An interrupted search returns the best found so far, marked as interrupted.
pub fn for_horizon(
    mdp: &Mdp,
    problem: &Problem,
    steps: u64,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<HorizonChoice> {
    must_take_zeta(problem, "a horizon has nothing to choose")?;
    AnalyzeOptions {
        horizon: Some(steps),
        ..AnalyzeOptions::default()
    }
    .validate()?;
    let low = 1.0 / mdp.n_states() as f64;
    let mut search = Search {
        mdp,
        problem,
        steps,
        options,
        observer,
        best: None,
        tried: Vec::new(),
        warm: None,
        stopped: false,
    };
    let grid: Vec<f64> = (0..COARSE)
        .map(|i| low.powf(i as f64 / (COARSE - 1) as f64).max(low))
        .collect();
    for zeta in &grid {
        search.visit(*zeta)?;
        if low >= 1.0 || search.stopped {
            break;
        }
    }
    if low < 1.0 && !search.stopped {
        let best = search.best.as_ref().map_or(1.0, |b| b.problem.zeta);
        // the grid descends
        let place = grid.iter().position(|z| *z <= best).unwrap_or(0);
        let mut right = grid[place.saturating_sub(1)].ln();
        let mut left = grid[(place + 1).min(COARSE - 1)].ln();
        let ratio = (5f64.sqrt() - 1.0) / 2.0;
        let (mut a, mut b) = (
            right - ratio * (right - left),
            left + ratio * (right - left),
        );
        let (mut at_a, mut at_b) = (search.visit(a.exp())?, search.visit(b.exp())?);
        for _ in 0..FINE {
            if search.stopped || right - left < 1e-4 {
                break;
            }
            if at_a > at_b {
                right = b;
                (b, at_b) = (a, at_a);
                a = right - ratio * (right - left);
                at_a = search.visit(a.exp())?;
            } else {
                left = a;
                (a, at_a) = (b, at_b);
                b = left + ratio * (right - left);
                at_b = search.visit(b.exp())?;
            }
        }
    }
    let (mut tried, stopped) = (search.tried, search.stopped);
    tried.sort_by(|x, y| x.0.total_cmp(&y.0));
    let mut best = search.best.ok_or(Error::Interrupted)?;
    best.tried = tried;
    if stopped {
        best.solution.certificate.status = Status::Interrupted;
        best.solution
            .notes
            .push("the search over zeta was interrupted: this is the best of those tried".into());
    }
    Ok(best)
}

struct Search<'a> {
    mdp: &'a Mdp,
    problem: &'a Problem,
    steps: u64,
    options: &'a Options,
    observer: &'a mut dyn Observer,
    best: Option<HorizonChoice>,
    tried: Vec<(f64, f64)>,
    warm: Option<Solution>,
    stopped: bool,
}

impl Search<'_> {
    /// Solves at one `zeta` and remembers the best; returns its entropy.
    fn visit(&mut self, zeta: f64) -> Result<f64> {
        if self.stopped {
            return Ok(f64::NEG_INFINITY);
        }
        let low = 1.0 / self.mdp.n_states() as f64;
        let problem = at(self.problem, Vary::Zeta, zeta.clamp(low, 1.0));
        let (mdp, options) = (self.mdp, self.options);
        let solution = solve(mdp, &problem, options, self.warm.as_ref(), self.observer)?;
        self.stopped = solution.certificate.status == Status::Interrupted;
        let chain = mdp.chain(&solution.policy);
        let average = horizon::average_distribution(&chain, self.steps);
        let value = entropy::entropy(&average);
        self.tried.push((problem.zeta, value));
        let better = match &self.best {
            None => true,
            Some(best) => {
                value > best.horizon_entropy
                    || (value >= best.horizon_entropy && problem.zeta > best.problem.zeta)
            }
        };
        if better {
            self.best = Some(HorizonChoice {
                problem,
                solution: solution.clone(),
                horizon_entropy: value,
                tried: Vec::new(),
            });
        }
        self.warm = Some(solution);
        Ok(value)
    }
}
