//! The same seed gives the same bytes: on any number of threads, from the program and from the
//! library. (Across interruptions: `tests/resume.rs`. Debug against release: `make determinism`.)
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use ide3al::domains;
use ide3al::formulation::{Formulation, Problem};
use ide3al::learn::{Algorithm, Experiment, RunResult, Runs, runs_csv};
use ide3al::model::{Counts, Mdp, Unvisited, io};
use ide3al::solve::{Options, solve};

fn scratch(name: &str) -> PathBuf {
    let name = format!("ide3al-determinism-{name}-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn ide3al(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_ide3al"))
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

#[test]
fn learning_from_the_program_and_from_the_library() {
    learning(true);
}

#[test]
fn learning_as_recommended_from_the_program_and_from_the_library() {
    learning(false);
}

fn learning(paper: bool) {
    let names = if paper {
        "ideal,ideal:column-sum,ideal:dual,max-ent,count-based,random,non-iterative"
    } else {
        "ideal,ideal:column-sum,ideal:dual,ideal:model-error,ideal:coverage,max-ent,count-based,random"
    };
    let mdp = domains::load("double-chain").unwrap();
    let experiment = Experiment {
        algorithms: names
            .split(',')
            .map(|name| Algorithm::from_name(name).unwrap())
            .collect(),
        iterations: 25,
        runs: 3,
        seed: 5,
        ..if paper {
            Experiment::for_model("double-chain", &mdp)
        } else {
            Experiment::recommended("double-chain", &mdp)
        }
    };
    let mut expected: Option<String> = None;
    for threads in [1, 2, 5] {
        let runs = Runs::new(&experiment, &mdp).unwrap();
        let stop = AtomicBool::new(false);
        runs.execute(threads, None, &stop, &|_| {}).unwrap();
        let results: Vec<Vec<RunResult>> = (0..experiment.algorithms.len())
            .map(|k| runs.results(k).into_iter().flatten().collect())
            .collect();
        let csv = runs_csv(&mdp, &experiment, &results);
        let first = expected.get_or_insert_with(|| csv.clone());
        assert!(*first == csv, "{threads} threads");
    }
    let folder = scratch(if paper { "learn-paper" } else { "learn" });
    let mut words = vec!["learn", "double-chain", "--algorithm", names];
    words.extend(["--iterations", "25", "--runs", "3", "--seed", "5"]);
    words.extend(["--threads", "2", "--out", folder.to_str().unwrap()]);
    if paper {
        words.push("--paper");
    }
    ide3al(&words);
    let program = std::fs::read_to_string(folder.join("runs.csv")).unwrap();
    let _ = std::fs::remove_dir_all(&folder);
    assert!(Some(program) == expected, "the program differs");
}

#[test]
fn solving_on_any_number_of_threads_and_from_the_library() {
    // large enough for the threads of one product
    let model = "garnet:states=6000,actions=3,branching=5,seed=3";
    let mdp = domains::load(model).unwrap();
    for formulation in [Formulation::ColumnSum, Formulation::Dual] {
        let policy = |threads: &str| -> Vec<Vec<f64>> {
            let out = ide3al(&[
                "solve",
                model,
                "--formulation",
                formulation.name(),
                "--xi",
                "0.1",
                "--tie-break",
                "none",
                "--relative-tolerance",
                "1e-2",
                "--compare",
                "never",
                "--threads",
                threads,
                "--json",
            ]);
            let answer: serde_json::Value = serde_json::from_slice(&out).unwrap();
            serde_json::from_value(answer["policy"].clone()).unwrap()
        };
        let one = policy("1");
        assert!(one == policy("2") && one == policy("3"), "{formulation:?}");
        let problem = Problem {
            xi: 0.1,
            ..Problem::new(formulation)
        };
        let options = Options {
            tie_break: ide3al::solve::TieBreak::None,
            relative_tolerance: 1e-2,
            ..Options::default()
        };
        let found = solve(&mdp, &problem, &options, None, &mut ()).unwrap();
        assert!(
            found.policy.rows(&mdp) == one,
            "{formulation:?}: the library differs"
        );
    }
}

/// Half of the pairs tried once or twice, the others never.
fn half_known(spec: &str) -> Mdp {
    let mdp = domains::load(spec).unwrap();
    let actions: Vec<usize> = (0..mdp.n_states()).map(|s| mdp.n_actions(s)).collect();
    let mut counts = Counts::new(&actions);
    for s in 0..mdp.n_states() {
        for (a, pair) in mdp.pairs(s).enumerate().filter(|(a, _)| (s + a) % 2 == 0) {
            for (t, _) in mdp.row(pair).entries().take(2) {
                counts.record(s, a, t);
            }
        }
    }
    counts.estimate(Unvisited::Uniform, mdp.start())
}

/// Every formulation with the default options, tie-break included: the same bits whatever the
/// number of threads, and in a process of its own or in this one.
#[test]
fn every_formulation_with_its_defaults_on_any_number_of_threads() {
    let folder = scratch("defaults");
    std::fs::create_dir_all(&folder).unwrap();
    let written = |name: &str, mdp: &Mdp| {
        let path = folder.join(name);
        io::write_model(&path, mdp).unwrap();
        path
    };
    let garnet = "garnet:states=60,actions=3,branching=4,seed=12";
    let models = [
        written("garnet.npz", &domains::load(garnet).unwrap()),
        written("half-known.npz", &half_known("garnet:states=30,seed=2")),
        written(
            "grid.npz",
            &domains::load("open-grid:rows=7,columns=8").unwrap(),
        ),
    ];
    for path in &models {
        let mdp = io::read_model(path).unwrap();
        for formulation in Formulation::ALL {
            let problem = Problem {
                xi: 0.05,
                zeta: if formulation.takes_zeta() { 0.7 } else { 1.0 },
                ..Problem::new(formulation)
            };
            let here = solve(&mdp, &problem, &Options::default(), None, &mut ()).unwrap();
            for threads in ["1", "2", "5"] {
                let there = solved(path, &problem, threads);
                let name = path.file_name().unwrap();
                assert!(
                    there == here.policy.rows(&mdp),
                    "{name:?} {formulation:?} on {threads} threads"
                );
            }
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
}

/// The policy that the program finds with its defaults.
fn solved(model: &Path, problem: &Problem, threads: &str) -> Vec<Vec<f64>> {
    let (xi, zeta) = (problem.xi.to_string(), problem.zeta.to_string());
    let mut arguments = vec!["solve", model.to_str().unwrap(), "--xi", &xi];
    arguments.extend(["--formulation", problem.formulation.name()]);
    arguments.extend(["--compare", "never", "--json", "--threads", threads]);
    if problem.formulation.takes_zeta() {
        arguments.extend(["--zeta", &zeta]);
    }
    let answer: serde_json::Value = serde_json::from_slice(&ide3al(&arguments)).unwrap();
    serde_json::from_value(answer["policy"].clone()).unwrap()
}
