//! Evenness within an episode: a time-dependent policy and its proof.

mod dynamics;
mod kl_proximal_newton;

use super::driver::{Candidate, Comparison, Driver};
use super::{Certificate, Observer, Options, SolverChoice, Status, reference};
use crate::error::Result;
use crate::formulation::episode::{Episode, bound, reached, value};
use crate::model::{Mdp, Policy, TimedPolicy};
use kl_proximal_newton::KlProximalNewton;

/// The answer: a time-dependent policy, its proof, and what it visits.
#[derive(Debug, Clone)]
pub struct EpisodeSolution {
    /// What was solved.
    pub episode: Episode,
    /// One table per step.
    pub policy: TimedPolicy,
    /// How good it is: entropy of the average distribution in nats, maximised.
    pub certificate: Certificate,
    /// $u$ behind the bound; a state that cannot be reached has 0.
    pub dual: Vec<f64>,
    /// $\bar d$, the expected share of the episode in each state.
    pub distribution: Vec<f64>,
    /// Name of the solver that ran.
    pub solver: &'static str,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Finds the time-dependent policy that visits states most evenly within an episode.
///
/// ```
/// use ide3al::formulation::episode::Episode;
/// use ide3al::model::Mdp;
/// use ide3al::solve::{Options, episode};
/// // two states, stay or go: two steps can see both
/// let mdp = Mdp::from_fn(2, 2, |s, a, next| {
///     next.push(((s + a) % 2, 1.0));
///     true
/// })?
/// .with_start_state(0)?;
/// let asked = Episode { steps: 2, xi: 0.0 };
/// let solution = episode::solve(&mdp, &asked, &Options::default(), &mut ())?;
/// assert!((solution.certificate.objective - 2f64.ln()).abs() < 1e-7);
/// # Ok::<(), ide3al::Error>(())
/// ```
pub fn solve(
    mdp: &Mdp,
    episode: &Episode,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<EpisodeSolution> {
    episode.validate(mdp)?;
    options.validate()?;
    let reached = reached(mdp, episode.steps);
    let seen = reached.iter().filter(|here| **here).count();
    let first = Candidate {
        policy: TimedPolicy::repeated(&Policy::uniform(mdp), episode.steps)
            .probabilities()
            .to_vec(),
        objective: 0.0,
        bound: (seen as f64).ln(),
        dual: vec![0.0; mdp.n_states()],
    };
    let comparison = Comparison {
        maximises: true,
        dual_follows_policy: false,
    };
    let mut driver = Driver::new(comparison, options, first, observer);
    match options.solver {
        SolverChoice::Auto => {
            let mut method = KlProximalNewton::new(mdp, episode, &reached);
            if !driver.run(&mut method) {
                // where it is stopped, what is at hand is better than nothing
                method.offer(&mut driver);
            }
        }
        SolverChoice::Conic => {
            let (flows, u) = reference::episode(mdp, episode, &reached, &mut driver)?;
            let policy = TimedPolicy::cleaned_within(mdp, episode.xi, flows);
            let candidate = Candidate {
                objective: value(mdp, &policy).0,
                bound: bound(mdp, episode, &reached, &u),
                policy: policy.probabilities().to_vec(),
                dual: u,
            };
            driver.offer(candidate, "conic");
        }
    }
    let best = driver.best().clone();
    let policy = TimedPolicy::cleaned_within(mdp, episode.xi, best.policy);
    // of the policy as it is handed over
    let (objective, distribution) = value(mdp, &policy);
    let certificate = driver.certificate(objective);
    let mut notes = Vec::new();
    if certificate.status == Status::Stalled {
        notes.push(format!(
            "no further progress in floating point at gap {:.1e}: the policy is as good as the gap says",
            certificate.gap
        ));
    }
    if seen < mdp.n_states() {
        notes.push(format!(
            "{} of {} states cannot be reached within {} steps from the start",
            mdp.n_states() - seen,
            mdp.n_states(),
            episode.steps
        ));
    }
    Ok(EpisodeSolution {
        episode: *episode,
        policy,
        certificate,
        dual: best.dual,
        distribution,
        solver: driver.solver(),
        notes,
    })
}
