//! The command line: parses arguments, calls the library, prints. No logic of its own.
//!
//! Errors go to stderr with exit code 2; a closed pipe ends quietly with 0.

mod analyze;
mod certificate;
mod command_line;
mod compare;
mod completions;
mod convert;
mod domains;
mod episode;
mod frontier;
mod learn;
mod man;
mod output;
mod plan;
mod reach;
mod reproduce;
mod solve;
#[cfg(feature = "studio")]
mod studio;
mod visits;
mod watch;

use clap::{Parser, Subcommand};

/// Exploration without rewards: policies that visit every state evenly, try every action and
/// mix fast.
#[derive(Parser)]
#[command(
    name = "ide3al",
    version,
    max_term_width = 100,
    after_help = "\
MODEL is a domain with optional parameters (single-chain, knight-quest:rows=6,columns=6; \
see 'ide3al domains'), grid:FILE for a text map, graph:FILE for places and ways, or a path to a model file \
(.json, .npz, .tra, .umb)."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Analyze(analyze::Arguments),
    Compare(compare::Arguments),
    Completions(completions::Arguments),
    Convert(convert::Arguments),
    Domains(domains::Arguments),
    Frontier(frontier::Arguments),
    Learn(Box<learn::Arguments>),
    Man(man::Arguments),
    Plan(plan::Arguments),
    Reproduce(reproduce::Arguments),
    Solve(solve::Arguments),
    #[cfg(feature = "studio")]
    Studio(studio::Arguments),
}

fn main() -> std::process::ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Command::Analyze(arguments) => analyze::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Convert(arguments) => convert::run(&arguments),
        Command::Domains(arguments) => domains::run(&arguments),
        Command::Frontier(arguments) => frontier::run(&arguments),
        Command::Learn(arguments) => learn::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Solve(arguments) => solve::run(&arguments),
        #[cfg(feature = "studio")]
        Command::Studio(arguments) => studio::run(&arguments),
    };
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) if output::is_closed_pipe(&error) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", output::in_words(&error));
            std::process::ExitCode::from(2)
        }
    }
}
