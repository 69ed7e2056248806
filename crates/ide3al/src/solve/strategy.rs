//! The strategy of each problem: which engines are tried, in which order, under which condition,
//! and what follows if one does not reach the wanted gap.
//!
//! Each problem states its own beside the code that runs it, as a function
//! `strategy() -> Strategy`; size limits are formatted from the constants that the code compares
//! with. `docs/explanation/solvers.md` shows the same tables, and `tests/solving/strategies.rs`
//! compares both.

use std::fmt;

/// One engine of a strategy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// Name of the engine, as [`Solution::solver`](super::Solution::solver) reports it.
    pub engine: &'static str,
    /// The condition under which it runs.
    pub when: String,
    /// What follows if it does not reach the wanted gap.
    pub otherwise: String,
}

impl Stage {
    /// A stage from its three columns.
    pub fn new(
        engine: &'static str,
        when: impl Into<String>,
        otherwise: impl Into<String>,
    ) -> Self {
        Stage {
            engine,
            when: when.into(),
            otherwise: otherwise.into(),
        }
    }
}

/// The engines of one problem or of several that are solved alike, in the order in which they are
/// tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strategy {
    /// The problems, by the names of their formulations.
    pub problems: Vec<&'static str>,
    /// The engines.
    pub stages: Vec<Stage>,
}

impl fmt::Display for Strategy {
    /// A Markdown table under the names of the problems.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.problems.iter().map(|p| format!("`{p}`")).collect();
        writeln!(f, "### {}\n", names.join(", "))?;
        writeln!(
            f,
            "| engine | when | if the gap stays open |\n|---|---|---|"
        )?;
        for stage in &self.stages {
            let Stage {
                engine,
                when,
                otherwise,
            } = stage;
            writeln!(f, "| `{engine}` | {when} | {otherwise} |")?;
        }
        Ok(())
    }
}
