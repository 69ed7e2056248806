//! Reward-free exploration of finite Markov decision processes.
//!
//! Data flows one way, and no module imports one further down:
//!
//! ```text
//! error, parallel, linalg   what everybody stands on
//! model                     decision processes, policies, files
//! domains                   models by name
//! chain                     what a policy does in the long run
//! formulation               what is best: statements, objectives, bounds; no solver
//! solve                     finding it
//! evaluation, frontier      judging a solution; solving along a parameter
//! learn                     from samples
//! report                    showing it
//! reproduce                 the paper, table by table
//! studio                    a local page that shows it live (feature `studio`)
//! ```
//!
//! `domains` and `chain` do not know each other, nor do `formulation` and `domains`, nor `learn`
//! and the two that judge and sweep. The program and the Python package stand on top and hold no
//! logic of their own. `tests/architecture.rs` reads this order and keeps it.

pub mod chain;
pub mod domains;
pub mod error;
pub mod evaluation;
pub mod formulation;
pub mod frontier;
pub mod learn;
mod linalg;
pub mod model;
pub mod report;
pub mod reproduce;
pub mod solve;
#[cfg(feature = "studio")]
pub mod studio;

pub use error::{Error, Result};
