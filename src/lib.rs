//! Reward-free exploration of finite Markov decision processes.
//!
//! Data flows one way:
//!
//! ```text
//! model  ->  formulation  ->  solve  ->  chain  ->  learn  ->  report
//! ```

pub mod chain;
pub mod domains;
pub mod error;
pub mod formulation;
pub mod frontier;
pub mod learn;
pub mod model;
mod linalg;
pub mod report;
pub mod reproduce;
pub mod solve;

pub use error::{Error, Result};
