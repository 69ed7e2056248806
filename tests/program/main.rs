//! The program as its users run it: commands, bad input, faults, resuming, determinism,
//! reproduction.

mod bad_input;
mod determinism;
mod documents;
mod faults;
mod injection;
mod interrupts;
mod learn_cli;
mod manual;
mod plan;
mod process;
mod reach;
mod reproduce;
mod resume;
mod snapshots;
mod solve_cli;
#[cfg(feature = "studio")]
mod studio;
mod visits;
