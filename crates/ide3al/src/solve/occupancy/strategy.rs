//! The strategies of functions of what is visited: which engine, under which condition, one after
//! the other until an answer is certified. `docs/explanation/solvers.md` shows the same lists.

use std::fmt;

use crate::solve::cost::{DENSE, FACTOR_FIRST};

/// An engine, and where it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    /// Newton's method on the entropies' dual, until its steps come to next to nothing.
    Newton,
    /// The same, where the target's normal equations are too large to be factored.
    NewtonOfTarget,
    /// The same from where it stopped, until it makes no progress at all: for models whose normal
    /// equations are too large for the interior-point method. On small ones it hardly ever helps
    /// (`cargo test --test solving differential`: 37 of 772 solves not reached with it, 35 of 740
    /// without).
    NewtonToTheEnd,
    /// The primal-dual gradient on the linear program of coverage. Without it the models of
    /// `cargo test --test solving coverage_of_models_too_large` take minutes instead of seconds.
    PrimalDual,
    /// The interior-point method, where Newton's method on an entropy without weights has stopped.
    /// Without it, or the next one, `state_entropy_of_an_elevator` in `tests/solving/larger.rs` is
    /// not reached, and without it some model of `tests/solving/differential.rs` fails.
    InteriorPointAfterNewton,
    /// The interior-point method.
    InteriorPoint,
}

/// Dual and State Entropy without restarts and limits, component by component.
pub(super) const ENTROPIES: [Engine; 3] = [
    Engine::Newton,
    Engine::InteriorPointAfterNewton,
    Engine::NewtonToTheEnd,
];
/// Targets, coverage, model error, and all of these and the entropies with restarts or limits: the
/// first engine that is for the problem.
pub(super) const VISITS: [Engine; 3] = [
    Engine::PrimalDual,
    Engine::NewtonOfTarget,
    Engine::InteriorPoint,
];

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Engine::Newton => write!(
                f,
                "Newton on the dual until its steps come to next to nothing; each system by \
                 conjugate gradients where that costs less than a factor, by a factor at once \
                 below {FACTOR_FIRST} states"
            ),
            Engine::NewtonOfTarget => write!(
                f,
                "Newton on the dual of the weighted state entropy, if a target without restarts \
                 and limits is wanted and the normal equations cannot be factored"
            ),
            Engine::NewtonToTheEnd => write!(f, "Newton on the dual until it makes no progress"),
            Engine::PrimalDual => write!(
                f,
                "primal-dual gradient, if coverage without limits is wanted and the normal \
                 equations cannot be factored"
            ),
            Engine::InteriorPointAfterNewton => write!(
                f,
                "interior point, if the entropies have no weights and the normal equations can be \
                 factored"
            ),
            Engine::InteriorPoint => write!(
                f,
                "interior point; its normal equations are factored if they are sparse or have at \
                 most {} rows, else solved by conjugate gradients",
                DENSE.order
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The documents show the lists as they are.
    #[test]
    fn documents_show_every_line() {
        let place = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/explanation/solvers.md"
        );
        let text = std::fs::read_to_string(place).unwrap();
        for (problem, strategy) in [
            ("dual, state-entropy", &ENTROPIES[..]),
            (
                "target, coverage, model-error, restarts and limits",
                &VISITS,
            ),
        ] {
            let section = text.split(&format!("## {problem}\n")).nth(1);
            let section = section.and_then(|rest| rest.split("\n## ").next());
            let section = section.unwrap_or_else(|| panic!("no section on {problem}"));
            let shown: Vec<&str> = (section.lines())
                .filter_map(|line| line.split_once(". "))
                .filter(|(n, _)| n.parse::<u8>().is_ok())
                .map(|(_, engine)| engine)
                .collect();
            let lines: Vec<String> = strategy.iter().map(ToString::to_string).collect();
            assert_eq!(shown, lines, "{problem}");
        }
    }
}
