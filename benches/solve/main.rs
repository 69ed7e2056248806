//! The solvers against what a user would pick instead, and by size, in one run:
//! `cargo bench --bench solve [-- --quick]`.
//!
//! Every case runs in a process of its own, so that its peak memory is its own; short ones are
//! repeated and the fastest counts. The tie-break is left out, since the peers have none.
//! Peers are CVXPY with Clarabel and with HiGHS, in a virtual environment that
//! `bench/peers/solve_peers.py` makes. The table goes to the terminal, figures and numbers to
//! `bench-results/`, which is not committed.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

mod cases;
mod child;
mod tables;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(place) = arguments.iter().position(|a| a == "--child") {
        return child::run(&arguments[place + 1..]);
    }
    let quick = arguments.iter().any(|a| a == "--quick");
    let chosen: Vec<&String> = arguments[1..]
        .iter()
        .filter(|a| !a.starts_with("--"))
        .collect();
    let mut rows = Vec::new();
    println!("{}", tables::HEADING);
    for case in cases::all(quick) {
        let name = case.name();
        if !chosen.is_empty() && !chosen.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        let ours = child::measure(&arguments[0], &case);
        let peers = child::peers(&case);
        let row = tables::Row { case, ours, peers };
        println!("{}", row.line());
        rows.push(row);
    }
    tables::growth(&rows);
    tables::write(&rows);
}
