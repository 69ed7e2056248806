//! Built-in models, each in its own file with its source, and a registry by name.
//!
//! [`load`] turns what a person types into a model:
//!
//! | specification | meaning |
//! |---|---|
//! | `double-chain` | a built-in domain with its default parameters |
//! | `garnet:states=1000,seed=3` | the same with parameters |
//! | `grid:maze.txt`, `grid:maze.txt,slip=0.1` | a text map (see [`GridMap`]) |
//! | `graph:city.graphml`, `graph:roads.csv,clock=true` | places and ways with travel times (see [`Graph`]) |
//! | `model.json`, `model.npz`, `model.tra` | a model file (see [`io`](crate::model::io)) |
//!
//! ```
//! let mdp = ide3al::domains::load("single-chain:states=20,slip=0.05")?;
//! assert_eq!(mdp.n_states(), 20);
//! # Ok::<(), ide3al::Error>(())
//! ```

mod arguments;
mod double_chain;
mod four_rooms;
mod garnet;
mod graph;
mod graph_file;
mod grid;
mod grid_map;
mod knight_quest;
mod learning;
mod open_grid;
mod registry;
mod river_swim;
mod single_chain;

pub use double_chain::DoubleChain;
pub use four_rooms::FourRooms;
pub use garnet::Garnet;
pub use graph::{Graph, GraphOptions};
pub use grid_map::GridMap;
pub use knight_quest::KnightQuest;
pub use learning::{LearningParameters, default_parameters};
pub use open_grid::OpenGrid;
pub use registry::{Domain, Parameter, list, load};
pub use river_swim::RiverSwim;
pub use single_chain::SingleChain;

use crate::error::{Error, Result};

/// Most transitions a built-in domain may have (about 6 GB): a slip of the finger in a
/// parameter should give an error, not an exhausted machine.
pub const MAX_TRANSITIONS: usize = 500_000_000;

/// An [`Error::Parameter`].
fn bad(name: &str, value: impl ToString, problem: impl Into<String>) -> Error {
    Error::Parameter {
        name: name.to_owned(),
        value: value.to_string(),
        problem: problem.into(),
    }
}

/// Refuses a count outside `least..=most`.
fn check_count(name: &str, value: usize, least: usize, most: usize) -> Result<()> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(bad(
        name,
        value,
        format!("it must lie between {least} and {most}"),
    ))
}

/// Refuses a probability outside $[0, 1]$, NaN included.
fn check_share(name: &str, value: f64) -> Result<()> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(bad(name, value, "it must be a probability, 0 to 1"))
}

/// Refuses a product of sizes above [`MAX_TRANSITIONS`].
fn check_transitions(name: &str, factors: &[usize]) -> Result<()> {
    let product = factors
        .iter()
        .try_fold(1usize, |product, &factor| product.checked_mul(factor));
    match product {
        Some(n) if n <= MAX_TRANSITIONS => Ok(()),
        _ => {
            let shown: Vec<String> = factors.iter().map(ToString::to_string).collect();
            Err(bad(
                name,
                shown.join(" x "),
                format!("a built-in domain may have at most {MAX_TRANSITIONS} transitions"),
            ))
        }
    }
}

/// Owned names.
fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|&name| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_domain_builds_and_its_rows_sum_to_one() {
        for domain in list() {
            let mdp = load(domain.name).unwrap();
            for pair in 0..mdp.n_pairs() {
                let sum: f64 = mdp.row(pair).values.iter().sum();
                assert!((sum - 1.0).abs() < 1e-14, "{}: {sum}", domain.name);
            }
            assert!((mdp.start().iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(mdp.action_names().is_some(), "{}", domain.name);
        }
    }

    #[test]
    fn absurd_sizes_are_refused_before_any_allocation() {
        for spec in [
            "single-chain:states=99999999999",
            "double-chain:states=99999999999",
            "river-swim:states=99999999999",
            "knight-quest:rows=99999999,columns=99999999",
            "open-grid:rows=18446744073709551615,columns=18446744073709551615",
            "garnet:states=4000000000,actions=1000",
        ] {
            assert!(load(spec).is_err(), "{spec}");
        }
    }
}
