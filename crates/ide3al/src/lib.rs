//! Reward-free exploration of finite Markov decision processes.
//!
//! Finds the policy that visits every state as evenly as possible, and proves how good it is:
//!
//! ```
//! use ide3al::domains;
//! use ide3al::formulation::{Formulation, Problem};
//! use ide3al::solve::{Options, Status, solve};
//!
//! let mdp = domains::load("double-chain")?;
//! let problem = Problem { xi: 0.1, ..Problem::new(Formulation::StateEntropy) };
//! let solution = solve(&mdp, &problem, &Options::default(), None, &mut ())?;
//! let certificate = solution.certificate;
//! assert_eq!(certificate.status, Status::Optimal);
//! // no policy of this model visits states more evenly than the bound says
//! assert!(certificate.objective <= certificate.bound + 1e-9);
//! # Ok::<(), ide3al::Error>(())
//! ```
//!
//! One idea each: the examples `solve_a_model`, `target_with_a_limit`, `learn`, `own_utility`,
//! `read_and_write_files`, `analyse_a_chain`, `an_episode` and `a_frontier`
//! (`cargo run --release -p ide3al --example a_frontier`).
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
