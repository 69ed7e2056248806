//! A strategy is a short list: which engine, for models of which size, one after the other until an
//! answer is certified. `docs/explanation/solvers.md` shows the same lists.

use std::fmt;

use crate::solve::cost::SizeLimits;
use crate::solve::driver::Driver;

/// An engine, and the models that it is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Engine {
    /// The interior-point method, where the columns' system is within the limits.
    InteriorPoint(SizeLimits),
    /// At most so many steps of the first-order engines at the end of the list, where the
    /// interior-point method of these limits may follow.
    FirstOrderTrial(usize, SizeLimits),
    /// Column Sum as a relaxation, then level sets.
    LevelSets,
    /// Primal-dual gradient steps, to the end.
    FirstOrder,
    /// The interior-point method on the whole target, up to so many states.
    WholeTarget(usize),
    /// Proximal Newton steps.
    ProximalNewton,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Engine::InteriorPoint(SizeLimits { order, work }) => write!(
                f,
                "interior point, if the columns' matrix is sparse or has at most {order} rows, \
                 and a step takes at most {work:.0e} multiplications"
            ),
            Engine::FirstOrderTrial(steps, SizeLimits { order, .. }) => {
                write!(
                    f,
                    "at most {steps} first-order steps, as at the end of this list, if there are at \
                     most {order} states"
                )
            }
            Engine::LevelSets => write!(f, "Column Sum, then level sets, if `zeta` is 1"),
            Engine::FirstOrder => write!(f, "primal-dual gradient"),
            Engine::WholeTarget(states) => {
                write!(f, "interior point, if there are at most {states} states")
            }
            Engine::ProximalNewton => write!(f, "proximal Newton"),
        }
    }
}

/// Runs the engines in turn until the answer is certified, or the solve is to stop. `run` returns
/// whether an engine applies to this model. After one that does, other than a trial, later
/// interior-point and trial entries are skipped.
pub(super) fn run(
    strategy: &[Engine],
    driver: &mut Driver<'_>,
    mut run: impl FnMut(Engine, &mut Driver<'_>) -> bool,
) {
    let mut applied = false;
    for engine in strategy {
        if driver.done() || !driver.should_continue() {
            break;
        }
        if let Engine::InteriorPoint(_) | Engine::FirstOrderTrial(..) = engine
            && applied
        {
            continue;
        }
        let ran = run(*engine, driver);
        applied |= ran && !matches!(engine, Engine::FirstOrderTrial(..));
    }
}

#[cfg(test)]
mod tests {
    use crate::solve::distance::{column_sum, frobenius, infinity};

    /// The documents show the lists as they are.
    #[test]
    fn documents_show_every_line() {
        let place = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/explanation/solvers.md"
        );
        let text = std::fs::read_to_string(place).unwrap();
        for (problem, strategy) in [
            ("column-sum", &column_sum::STRATEGY[..]),
            ("infinity", &infinity::STRATEGY),
            ("frobenius", &frobenius::STRATEGY),
        ] {
            let section = text.split(&format!("## {problem}\n")).nth(1);
            let section = section.and_then(|rest| rest.split("\n## ").next());
            let section = section.unwrap_or_else(|| panic!("no section on {problem}"));
            let shown: Vec<String> = (section.lines())
                .filter_map(|line| {
                    line.split_once(". ")
                        .filter(|(n, _)| n.parse::<u8>().is_ok())
                })
                .map(|(_, engine)| engine.to_owned())
                .collect();
            let lines: Vec<String> = strategy.iter().map(ToString::to_string).collect();
            assert_eq!(shown, lines, "{problem}");
        }
    }
}
