//! Learning parameters a newcomer can live with.

use crate::model::Mdp;

/// What the learning algorithms need to be told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearningParameters {
    /// $\xi$: least probability of every action.
    pub xi: f64,
    /// $\zeta$: largest entry of the doubly stochastic matrix.
    pub zeta: f64,
    /// $\epsilon$: share of random actions of the rivals (MaxEnt, CountBased).
    pub epsilon: f64,
    /// Number of iterations.
    pub iterations: usize,
    /// Samples per iteration.
    pub batch: usize,
}

/// The paper's parameters (its table of experiments in the appendix) for the domain that
/// `spec` names; for any other model $\xi = \epsilon = 0.1$, $\zeta = 0.7$, 300 iterations,
/// and a batch of one sample per state-action pair, between 10 and 100,000.
///
/// Always $\xi \le \frac{1}{2A}$ with $A$ the largest number of actions (at $\frac1A$ only
/// the uniform policy is left) and $\zeta \ge \frac1S$ (below it no matrix exists).
pub fn default_parameters(spec: &str, mdp: &Mdp) -> LearningParameters {
    let chain = LearningParameters {
        xi: 0.1,
        zeta: 0.7,
        epsilon: 0.1,
        iterations: 300,
        batch: 10,
    };
    let name = spec.split(':').next().unwrap_or(spec);
    let mut parameters = match name {
        "single-chain" | "double-chain" | "river-swim" => chain,
        "knight-quest" => LearningParameters {
            xi: 0.01,
            zeta: 1.0,
            epsilon: 0.01,
            iterations: 400,
            batch: 2500,
        },
        _ => LearningParameters {
            batch: mdp.n_pairs().clamp(10, 100_000),
            ..chain
        },
    };
    parameters.xi = parameters.xi.min(0.5 / mdp.max_actions() as f64);
    parameters.zeta = parameters.zeta.max(1.0 / mdp.n_states() as f64);
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domains::load;

    #[test]
    fn the_papers_table_and_feasible_defaults_elsewhere() {
        let of = |spec: &str| default_parameters(spec, &load(spec).unwrap());
        assert_eq!(of("double-chain").batch, 10);
        assert_eq!(
            (of("knight-quest").xi, of("knight-quest").zeta),
            (0.01, 1.0)
        );
        assert_eq!(of("knight-quest:rows=5").iterations, 400);
        let many = of("garnet:actions=20");
        assert_eq!((many.xi, many.batch), (0.025, 2000));
        assert_eq!(of("single-chain:states=1").zeta, 1.0);
    }
}
