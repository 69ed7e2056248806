//! One error type that carries facts: what is wrong, where, and how to mend it.

use std::path::PathBuf;

/// Result of every fallible call of this library.
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that can go wrong with the input. Reaching a limit is a
/// [status](crate::solve::Status), not an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A transition row does not sum to one.
    #[error(
        "state {state}, action {action}: probabilities sum to {sum}, not 1; correct or rescale that row"
    )]
    NotStochastic {
        /// State of the row.
        state: usize,
        /// Action of the row.
        action: usize,
        /// The sum found.
        sum: f64,
    },
    /// A probability is negative, NaN or infinite.
    #[error(
        "state {state}, action {action}, next state {next}: probability {value} is not a number in [0, 1]; correct that entry"
    )]
    BadProbability {
        /// State of the entry.
        state: usize,
        /// Action of the entry.
        action: usize,
        /// Next state of the entry.
        next: usize,
        /// The value found.
        value: f64,
    },
    /// An index is not below its limit.
    #[error("{what} {index} is out of range: there are {limit}, numbered from 0{place}")]
    OutOfRange {
        /// What the index counts ("state", "action", ...).
        what: &'static str,
        /// The index found.
        index: usize,
        /// Number of valid indices.
        limit: usize,
        /// Where, as a suffix beginning with a space, or empty.
        place: String,
    },
    /// A state has no action.
    #[error(
        "state {state} has no action: give every state at least one transition row (a self-loop if it should absorb)"
    )]
    NoAction {
        /// The state.
        state: usize,
    },
    /// A model without states.
    #[error("the model is empty: it needs at least one state with one action")]
    Empty,
    /// Two sizes that must agree do not.
    #[error("{what}: expected {expected}, found {found}")]
    Size {
        /// What was measured.
        what: String,
        /// What it must be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// The start distribution is not a distribution.
    #[error(
        "start distribution: {problem}; give S probabilities that sum to 1, or one state index"
    )]
    BadStart {
        /// What is wrong with it.
        problem: String,
    },
    /// A policy row is not a distribution.
    #[error("policy, state {state}: {problem}; give one probability per action, summing to 1")]
    BadPolicy {
        /// The state.
        state: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// A parameter outside its domain.
    #[error("{name} = {value}: {problem}")]
    Parameter {
        /// Name of the parameter.
        name: String,
        /// Value given.
        value: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// An unknown name, with the nearest known one.
    #[error("unknown {what} '{name}'{hint}")]
    Unknown {
        /// What was looked up ("domain", "formulation", ...).
        what: &'static str,
        /// The name given.
        name: String,
        /// A suggestion as a suffix, e.g. "; did you mean 'garnet'?", or the list of names.
        hint: String,
    },
    /// A file that cannot be read as what it claims to be.
    #[error("{}: {problem}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Place, problem and remedy.
        problem: String,
    },
    /// A file operation failed.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried ("read", "write", ...).
        action: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// A request that this model or formulation cannot serve.
    #[error("{0}")]
    Unsupported(String),
    /// The work was interrupted (Ctrl-C, an observer that said stop).
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// An [`Error::Unknown`] whose hint names the nearest of `known`, or lists them all.
    pub fn unknown(what: &'static str, name: &str, known: &[&str]) -> Self {
        let nearest = known
            .iter()
            .map(|candidate| (edit_distance(name, candidate), *candidate))
            .min();
        let hint = match nearest {
            Some((distance, candidate)) if distance <= 2 + candidate.len() / 4 => {
                format!("; did you mean '{candidate}'?")
            }
            _ => format!("; known: {}", known.join(", ")),
        };
        Error::Unknown {
            what,
            name: name.to_owned(),
            hint,
        }
    }

    /// Puts the file's name before an error that arose while reading its contents.
    #[must_use]
    pub fn in_file(self, path: &std::path::Path) -> Self {
        match self {
            Error::Format { .. } | Error::Io { .. } | Error::Interrupted => self,
            other => Error::Format {
                path: path.to_owned(),
                problem: other.to_string(),
            },
        }
    }
}

/// Levenshtein distance, for suggestions.
pub(crate) fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_the_nearest_name() {
        let known = ["single-chain", "double-chain", "garnet"];
        let near = Error::unknown("domain", "duble-chain", &known).to_string();
        assert_eq!(
            near,
            "unknown domain 'duble-chain'; did you mean 'double-chain'?"
        );
        let far = Error::unknown("domain", "zzzzzzzz", &known).to_string();
        assert!(far.ends_with("known: single-chain, double-chain, garnet"));
    }
}
