//! The worst files found, by name. Each broke a reader once, or is what somebody would try.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ide3al::learn::Experiment;
use ide3al::model::{Mdp, io};

fn ide3al(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ide3al"))
        .args(arguments)
        .output()
        .unwrap()
}

/// A file of its own for each test.
fn file(name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("regressions");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn refused(path: &Path, words: &[&str]) {
    let message = io::read_model(path).unwrap_err().to_string();
    for word in words {
        assert!(message.contains(word), "'{word}' is not in: {message}");
    }
}

#[test]
fn a_uniform_row_of_a_state_that_does_not_exist() {
    // memory for a billion states was asked for
    let path = file(
        "uniform.json",
        r#"{"states": 2, "actions": 1, "uniform": [[0,0,0.5],[1000000000,0,1.0]], "transitions": [[0,0,1,0.5]]}"#,
    );
    refused(&path, &["state 1000000000", "there are 2", "uniform"]);
    let path = file(
        "share.json",
        r#"{"states": 1, "actions": 1, "uniform": [[0,0,1e300]], "transitions": []}"#,
    );
    refused(&path, &["share"]);
}

#[test]
fn more_states_than_the_file_could_hold() {
    let path = file(
        "many.json",
        r#"{"states": 4000000000, "actions": 1, "transitions": [[0,0,0,1]]}"#,
    );
    refused(&path, &["many.json"]);
    let path = file("many.tra", "4000000000 4000000000 4000000000\n0 0 0 1\n");
    refused(&path, &["many.tra"]);
}

#[test]
fn brackets_a_hundred_thousand_deep() {
    let deep = "[".repeat(100_000);
    let mdp = Mdp::from_triplets(1, 1, [(0, 0, 0, 1.0)]).unwrap();
    assert!(io::read_policy(&file("deep-policy.json", &deep), &mdp).is_err());
    refused(&file("deep.json", &deep), &["deep.json"]);
    let toml = format!("a = {deep}");
    assert!(ide3al_report::reproduce::registry::Spec::parse(&toml).is_err());
    let tables = "a.".repeat(100_000) + "a = 1";
    assert!(ide3al_report::reproduce::registry::Spec::parse(&tables).is_err());
}

#[test]
fn an_array_that_claims_a_million_terabytes() {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776, 1048576), }\n";
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    let mdp = Mdp::from_triplets(1, 1, [(0, 0, 0, 1.0)]).unwrap();
    let message = io::read_policy(&file("huge.npy", bytes), &mdp)
        .unwrap_err()
        .to_string();
    assert!(message.contains("huge.npy"), "{message}");
}

#[test]
fn an_empty_file_of_every_kind() {
    for name in ["empty.json", "empty.npz", "empty.tra"] {
        refused(&file(name, ""), &[name]);
    }
    let output = ide3al(&[
        "analyze",
        &format!("grid:{}", file("empty.txt", "").display()),
    ]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_folder_where_a_file_should_be() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("regressions/folder.json");
    std::fs::create_dir_all(&folder).unwrap();
    refused(&folder, &["folder.json"]);
}

#[test]
fn more_runs_than_memory() {
    let mdp = Mdp::from_triplets(1, 1, [(0, 0, 0, 1.0)]).unwrap();
    let experiment = Experiment {
        runs: 4_000_000_000,
        xi: 0.0,
        zeta: 1.0,
        ..Experiment::default()
    };
    let message = experiment.validate(&mdp).unwrap_err().to_string();
    assert!(message.contains("runs = 4000000000"), "{message}");
}

#[test]
fn a_name_that_would_steer_the_terminal() {
    let path = file(
        "names.json",
        r#"{"states": 1, "actions": 1, "transitions": [[0,0,0,1]], "state_names": ["\u001b]0;owned\u0007\u009b31m\u202e"]}"#,
    );
    let model = path.to_str().unwrap();
    for arguments in [
        &["analyze", model][..],
        &["analyze", model, "--json"],
        &["solve", model],
        &["solve", model, "--json"],
        &["solve", model, "--xi", "2"],
    ] {
        let output = ide3al(arguments);
        for bytes in [&output.stdout, &output.stderr] {
            let text = String::from_utf8(bytes.clone()).unwrap();
            let steers = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!text.contains(steers), "{arguments:?}: {text:?}");
        }
    }
}

#[test]
fn a_cause_is_said_once() {
    let output = ide3al(&["analyze", "nowhere/at-all.json"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(message.matches("No such file").count(), 1, "{message}");
}
