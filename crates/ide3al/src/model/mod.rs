//! The world: a finite Markov decision process, and policies on it.
//!
//! [`Mdp`] holds one sparse row $P(\cdot \mid s,a)$ per state-action *pair*; states may have
//! different numbers of actions. A [`Policy`] is one number per pair, a [`TimedPolicy`] one per
//! step and pair. [`Counts`] turns observed transitions into an estimated [`Mdp`] whose unvisited
//! pairs are uniform rows, stored as such.

mod builder;
mod counts;
mod kernel;
mod layout;
mod mdp;
mod mixing;
mod policy;
mod restart;
mod rewards;
mod timed_policy;
mod times;

pub mod io;

pub use builder::ROW_SUM_TOLERANCE;
pub use counts::{Counts, Unvisited};
pub use kernel::{Kernel, Row};
pub use layout::Layout;
pub use mdp::Mdp;
pub use policy::Policy;
pub use rewards::Rewards;
pub use timed_policy::{Plan, TimedPolicy};
