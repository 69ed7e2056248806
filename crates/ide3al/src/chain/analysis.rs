//! Everything about a model under a policy, in one structure.

use serde::Serialize;

use super::entropy::{entropy, least_visited, normalized, state_action_entropy};
use super::mixing::{self, MixingNorm};
use super::stationary::long_run;
use super::seen::{Seen, seen};
use super::{hitting, horizon, spectrum};
use crate::error::{Error, Result};
use crate::model::{Mdp, Policy};

/// What to compute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnalyzeOptions {
    /// Steps of the finite horizon, if one is asked for.
    pub horizon: Option<u64>,
    /// Distance that counts as mixed.
    pub mixing_threshold: f64,
    /// Norm of that distance.
    pub mixing_norm: MixingNorm,
}

impl Default for AnalyzeOptions {
    /// No horizon; total variation 1/4.
    fn default() -> Self {
        AnalyzeOptions {
            horizon: None,
            mixing_threshold: 0.25,
            mixing_norm: MixingNorm::TotalVariation,
        }
    }
}

impl AnalyzeOptions {
    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        if !(self.mixing_threshold > 0.0 && self.mixing_threshold < 1.0) {
            return Err(Error::Parameter {
                name: "mixing threshold".into(),
                value: self.mixing_threshold.to_string(),
                problem: "must lie strictly between 0 and 1; 0.25 is usual".into(),
            });
        }
        if self.horizon == Some(0) {
            return Err(Error::Parameter {
                name: "horizon".into(),
                value: "0".into(),
                problem: "must be at least one step".into(),
            });
        }
        Ok(())
    }
}

/// Long-run behaviour of a model under a policy. Serialises with these names as keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// Number of states $S$.
    pub states: usize,
    /// Number of state-action pairs.
    pub pairs: usize,
    /// Stored transitions of the model.
    pub transitions: usize,
    /// $H(d)$ in nats.
    pub entropy: f64,
    /// $H(d) / \ln S$; 1 for one state.
    pub entropy_normalized: f64,
    /// $H(d\Pi)$ in nats.
    pub state_action_entropy: f64,
    /// $H(d\Pi) / \ln(\text{pairs})$; 1 for one pair.
    pub state_action_entropy_normalized: f64,
    /// $\min_s d(s)$.
    pub min_probability: f64,
    /// The first state with that probability.
    pub least_visited_state: usize,
    /// $1 - |\lambda_2|$.
    pub spectral_gap: f64,
    /// Estimated error of the gap.
    pub spectral_gap_error: f64,
    /// "exact", "converged" or "estimate".
    pub spectral_gap_kind: &'static str,
    /// $|\lambda_2|$, the second largest eigenvalue modulus.
    pub second_eigenvalue: f64,
    /// Mixing time in steps; `None` when infinite.
    pub mixing_time: Option<u64>,
    /// "exact" or "lower_bound".
    pub mixing_time_kind: &'static str,
    /// Distance that counts as mixed.
    pub mixing_threshold: f64,
    /// "tv" or "infinity".
    pub mixing_norm: &'static str,
    /// Number of communicating classes, transient ones included.
    pub communicating_classes: usize,
    /// Number of recurrent classes.
    pub recurrent_classes: usize,
    /// Number of transient states.
    pub transient_states: usize,
    /// Least common multiple of the periods of the recurrent classes.
    pub period: usize,
    /// $\max_s |d(s) - (M^\top d)(s)|$.
    pub residual: f64,
    /// How $d$ was found.
    pub stationary_method: &'static str,
    /// Whether $d$ is as accurate as promised.
    pub stationary_converged: bool,
    /// Steps of the finite horizon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizon: Option<u64>,
    /// Entropy in nats of the average of the state distributions at $t = 0, \dots, T-1$.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizon_entropy: Option<f64>,
    /// The same as a share of $\ln S$.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizon_entropy_normalized: Option<f64>,
    /// $-\sum_s d(s) \sum_t M_{st} \ln M_{st}$ in nats: how unpredictable the next state is.
    pub entropy_rate: f64,
    /// Mean time of a step: 1, or what the policy makes of the model's travel times. The times
    /// below are in the same unit.
    pub step_time: f64,
    /// Share of the states that is seen from the start within once, twice and four times as many
    /// steps as there are states to be reached.
    pub seen: Vec<Seen>,
    /// Kemeny's constant: the mean time to a state drawn from $d$. `None` where there are several
    /// recurrent classes, or more than 1,000 recurrent states.
    pub kemeny_constant: Option<f64>,
    /// Largest mean time from one recurrent state to another; `None` where there are several
    /// recurrent classes. With more than 1,000 recurrent states the largest to any of 64 of them,
    /// drawn at random.
    pub hitting_time_max: Option<f64>,
    /// Average of these times over all pairs of different recurrent states, or to those drawn;
    /// `None` likewise.
    pub hitting_time_mean: Option<f64>,
    /// Standard error of that average; `None` where it is exact.
    pub hitting_time_mean_error: Option<f64>,
    /// Largest mean time from a recurrent state back to it; `None` where there are several
    /// recurrent classes.
    pub return_time_max: Option<f64>,
    /// Average of these times over recurrent states; `None` likewise.
    pub return_time_mean: Option<f64>,
    /// Long-run average state distribution $d$ from the start.
    pub stationary: Vec<f64>,
}

/// Analyses a model under a policy.
///
/// ```
/// use ide3al::chain::{AnalyzeOptions, analyze};
/// use ide3al::model::{Mdp, Policy};
/// // a coin-flip walk on three states
/// let mdp = Mdp::from_fn(3, 2, |s, a, next| {
///     next.push((if a == 0 { s.saturating_sub(1) } else { (s + 1).min(2) }, 1.0));
///     true
/// })?;
/// let analysis = analyze(&mdp, &Policy::uniform(&mdp), &AnalyzeOptions::default())?;
/// assert!((analysis.entropy_normalized - 1.0).abs() < 1e-12);
/// assert!((analysis.second_eigenvalue - 0.5).abs() < 1e-12);
/// # Ok::<(), ide3al::Error>(())
/// ```
pub fn analyze(mdp: &Mdp, policy: &Policy, options: &AnalyzeOptions) -> Result<Analysis> {
    options.validate()?;
    if policy.probabilities().len() != mdp.n_pairs() {
        return Err(Error::Size {
            what: "policy".into(),
            expected: format!("{} state-action pairs as in the model", mdp.n_pairs()),
            found: policy.probabilities().len().to_string(),
        });
    }
    let chain = mdp.chain(policy);
    let n = mdp.n_states();
    let long_run = long_run(&chain);
    let d = &long_run.distribution;
    let states = entropy(d);
    let pairs = state_action_entropy(mdp, policy, d);
    let (least_visited_state, min_probability) = least_visited(d);
    let (norm, threshold) = (options.mixing_norm, options.mixing_threshold);
    let (mixing, second) = mixing::with_second_eigenvalue(&chain, &long_run, norm, threshold);
    let second = second.unwrap_or_else(|| spectrum::second_eigenvalue(&chain, &long_run));
    let horizon_entropy = options
        .horizon
        .map(|steps| entropy(&horizon::average_distribution(&chain, steps)));
    let step = hitting::step_times(mdp, policy.probabilities());
    let hitting = hitting::hitting_times(&chain, &long_run, &step);
    let back = hitting::return_times(&long_run, &step);
    Ok(Analysis {
        states: n,
        pairs: mdp.n_pairs(),
        transitions: mdp.kernel().nnz(),
        entropy: states,
        entropy_normalized: normalized(states, n),
        state_action_entropy: pairs,
        state_action_entropy_normalized: normalized(pairs, mdp.n_pairs()),
        min_probability,
        least_visited_state,
        spectral_gap: second.spectral_gap(),
        spectral_gap_error: second.error,
        spectral_gap_kind: second.kind.name(),
        second_eigenvalue: second.modulus,
        mixing_time: mixing.steps(),
        mixing_time_kind: mixing.kind(),
        mixing_threshold: options.mixing_threshold,
        mixing_norm: options.mixing_norm.name(),
        communicating_classes: long_run.classes.n_classes,
        recurrent_classes: long_run.classes.recurrent.len(),
        transient_states: long_run.classes.n_transient(),
        period: long_run.classes.period(),
        residual: long_run.residual,
        stationary_method: long_run.method.name(),
        stationary_converged: long_run.converged,
        horizon: options.horizon,
        horizon_entropy,
        horizon_entropy_normalized: horizon_entropy.map(|h| normalized(h, n)),
        entropy_rate: hitting::entropy_rate(&chain, d),
        step_time: hitting::mean_step(d, &step),
        seen: seen(mdp, &chain),
        kemeny_constant: hitting.and_then(|times| times.kemeny),
        hitting_time_max: hitting.map(|times| times.largest),
        hitting_time_mean: hitting.map(|times| times.mean),
        hitting_time_mean_error: hitting.and_then(|times| times.mean_error),
        return_time_max: back.map(|times| times.largest),
        return_time_mean: back.map(|times| times.mean),
        stationary: long_run.distribution,
    })
}
