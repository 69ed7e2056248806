//! Every example of the library runs to its end.

#[path = "../examples/a_frontier.rs"]
mod a_frontier;
#[path = "../examples/an_episode.rs"]
mod an_episode;
#[path = "../examples/analyse_a_chain.rs"]
mod analyse_a_chain;
#[path = "../examples/learn.rs"]
mod learn;
#[path = "../examples/own_utility.rs"]
mod own_utility;
#[path = "../examples/read_and_write_files.rs"]
mod read_and_write_files;
#[path = "../examples/solve_a_model.rs"]
mod solve_a_model;
#[path = "../examples/target_with_a_limit.rs"]
mod target_with_a_limit;

/// A name and what runs under it.
type Example = (&'static str, fn() -> ide3al::Result<()>);

const EXAMPLES: [Example; 8] = [
    ("a_frontier", a_frontier::main),
    ("an_episode", an_episode::main),
    ("analyse_a_chain", analyse_a_chain::main),
    ("learn", learn::main),
    ("own_utility", own_utility::main),
    ("read_and_write_files", read_and_write_files::main),
    ("solve_a_model", solve_a_model::main),
    ("target_with_a_limit", target_with_a_limit::main),
];

#[test]
fn every_example_runs() {
    for (name, run) in EXAMPLES {
        if let Err(error) = run() {
            panic!("{name}: {error}");
        }
    }
}

#[test]
fn no_example_is_left_out() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    found.sort();
    let known: Vec<&str> = EXAMPLES.iter().map(|(name, _)| *name).collect();
    assert_eq!(found, known);
}
