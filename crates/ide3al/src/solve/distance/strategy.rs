//! A distance's strategy is a short list: which engine, for models of which size, one after the
//! other until an answer is certified.

use crate::solve::driver::Driver;
use crate::solve::size::SizeLimits;
use crate::solve::strategy::{Stage, Strategy};

/// An engine, and the models that it is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Engine {
    /// The interior-point method, where the columns' system is within the limits.
    InteriorPoint(SizeLimits),
    /// So many steps of first order, where the interior-point method of these limits may follow.
    FirstOrderTrial(usize, SizeLimits),
    /// Column Sum as a relaxation, then level sets.
    LevelSets,
    /// Steps of first order, to the end.
    FirstOrder,
    /// The interior-point method on the whole target, up to so many states.
    WholeTarget(usize),
    /// Proximal Newton steps.
    ProximalNewton,
}

impl Engine {
    /// The line of the documents' table.
    fn stage(self, last: bool) -> Stage {
        let (engine, when) = match self {
            Engine::InteriorPoint(SizeLimits { order, work }) => (
                "interior-point",
                format!(
                    "the columns' matrix is sparse when factored or has at most {order} rows, and \
                     a step takes at most {work:.0e} multiplications"
                ),
            ),
            Engine::FirstOrderTrial(steps, SizeLimits { order, .. }) => (
                "primal-dual",
                format!("at most {order} states; {steps} steps"),
            ),
            Engine::LevelSets => ("level sets", "`zeta` is 1".to_owned()),
            Engine::FirstOrder => ("primal-dual", "always".to_owned()),
            Engine::WholeTarget(states) => ("interior-point", format!("at most {states} states")),
            Engine::ProximalNewton => ("proximal Newton", "always".to_owned()),
        };
        let otherwise = if last {
            "the best answer so far"
        } else {
            "the next engine"
        };
        Stage::new(engine, when, otherwise)
    }
}

/// The strategy of a problem as the documents show it: what is looked at first, then the engines.
pub(super) fn described(problem: &'static str, first: Stage, engines: &[Engine]) -> Strategy {
    let last = engines.len() - 1;
    let engines = engines.iter().enumerate();
    let engines = engines.map(|(k, engine)| engine.stage(k == last));
    Strategy {
        problems: vec![problem],
        stages: std::iter::once(first).chain(engines).collect(),
    }
}

/// Goes through the engines until the answer is certified, or the solve is to stop. `run` says
/// whether an engine was the one for this model: what comes after it on trial is then passed over.
pub(super) fn run(
    strategy: &[Engine],
    driver: &mut Driver<'_>,
    mut run: impl FnMut(Engine, &mut Driver<'_>) -> bool,
) {
    let mut applied = false;
    for engine in strategy {
        if driver.done() || !driver.alive() {
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
