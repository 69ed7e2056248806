//! The solvers against what a user would pick instead, and by size, in one run:
//! `cargo bench --bench solve [-- --quick] [PART ...]`.
//!
//! Two tables. The first goes by size: every case runs in a process of its own, so that its peak
//! memory is its own; short ones are repeated and the fastest counts. The tie-break is left out,
//! since the peers have none. The second, "default settings", is described in `defaults`;
//! `-- "default settings"` runs it alone, `--list` prints every solve, `--seed=NUMBER` draws
//! other models. A part of a name chooses the cases that hold it.
//!
//! Peers live in a virtual environment that `benches/peers/solve_peers.py` makes. The tables go to
//! the terminal, figures and numbers to `bench-results/`, which is not committed.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

mod cases;
mod child;
mod defaults;
mod peers;
mod tables;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(place) = arguments.iter().position(|a| a == "--child") {
        return child::run(&arguments[place + 1..]);
    }
    if let Some(place) = arguments.iter().position(|a| a == "--child-default") {
        return defaults::child(&arguments[place + 1..]);
    }
    let quick = arguments.iter().any(|a| a == "--quick");
    let chosen: Vec<&String> = arguments[1..]
        .iter()
        .filter(|a| !a.starts_with("--"))
        .collect();
    by_size(&arguments[0], quick, &chosen);
    defaults::run(&arguments[0], &chosen, &arguments);
}

fn by_size(program: &str, quick: bool, chosen: &[&String]) {
    let mut rows = Vec::new();
    let mut worker = peers::Worker::default();
    for case in cases::all(quick) {
        let name = case.name();
        if !chosen.is_empty() && !chosen.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        if rows.is_empty() {
            println!("{}", tables::HEADING);
        }
        let ours = child::measure(program, &case);
        let peers = child::peers(&mut worker, &case);
        let row = tables::Row { case, ours, peers };
        println!("{}", row.line());
        rows.push(row);
    }
    if !rows.is_empty() {
        tables::growth(&rows);
        tables::write(&rows);
    }
}
