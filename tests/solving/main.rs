//! Solvers and certificates: against the definitions, against each other, against reference values,
//! within limits.

#[path = "../common/mod.rs"]
mod common;
#[path = "../trust/mod.rs"]
mod trust;

mod bounds;
mod copies;
mod differential;
mod episode;
mod estimated;
mod even;
mod faint_links;
mod larger;
mod limits;
mod occupancies;
mod own;
mod properties;
mod reference;
mod regressions;
mod target;
mod untrusted;
mod visits;
mod wide;
