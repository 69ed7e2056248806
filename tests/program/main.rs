//! The program as its users run it: commands, bad input, faults, resuming, determinism, reproduction.

mod bad_input;
mod determinism;
mod faults;
mod injection;
mod interrupts;
mod process;
mod reproduce;
mod resume;
mod solve_cli;
