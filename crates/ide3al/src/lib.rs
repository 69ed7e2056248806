//! Reward-free exploration of finite Markov decision processes.
//!
//! Data flows one way, and no module imports one further down:
//!
//! ```text
//! error                     the one error type
//! model                     decision processes, policies, files
//! domains                   models by name
//! chain                     what a policy does in the long run
//! formulation               what is best: statements, objectives, bounds; no solver
//! solve                     finding it
//! evaluation, frontier      judging a solution; solving along a parameter
//! plan                      the best policy for a reward
//! learn                     from samples
//! ```
//!
//! `domains` and `chain` do not know each other, nor do `formulation` and `domains`, nor `learn`
//! and the two that judge and sweep. Linear algebra lies below, in the crate `ide3al-numerics`;
//! tables, charts and the reproduction of the paper lie above, in `ide3al-report`, and the local
//! page in `ide3al-studio`. The program and the Python package stand on top and hold no logic of
//! their own. `tests/architecture.rs` reads this order and keeps it.

pub mod chain;
pub mod domains;
pub mod error;
pub mod evaluation;
pub mod formulation;
pub mod frontier;
pub mod learn;
pub mod model;
pub mod plan;
pub mod solve;

pub use error::{Error, Result};
