//! `ide3al solve` and `ide3al frontier`, as a user meets them.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

fn ide3al(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ide3al"))
        .args(arguments)
        .output()
        .unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let mut all = arguments.to_vec();
    all.push("--json");
    let output = ide3al(&all);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Expects exit code 2, nothing on stdout and every one of `words` in the message.
fn refused(arguments: &[&str], words: &[&str]) {
    let output = ide3al(arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    for word in words {
        assert!(
            message.contains(word),
            "{arguments:?}: no '{word}' in {message}"
        );
    }
}

fn number(value: &Value, key: &str) -> f64 {
    value[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} in {value}"))
}

/// A path of its own for each test.
fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("ide3al-solve-{}-{name}", std::process::id()))
}

#[test]
fn every_key_is_there() {
    for formulation in [
        "infinity",
        "frobenius",
        "column-sum",
        "dual",
        "state-entropy",
    ] {
        let found = json(&["solve", "double-chain", "--formulation", formulation]);
        for key in [
            "formulation",
            "xi",
            "zeta",
            "solver",
            "status",
            "objective",
            "bound",
            "gap",
            "iterations",
            "seconds",
            "policy",
            "bounds",
            "optimal_entropy_share",
            "notes",
            "entropy",
            "entropy_normalized",
            "state_action_entropy",
            "state_action_entropy_normalized",
            "min_probability",
            "spectral_gap",
            "mixing_time",
            "recurrent_classes",
            "period",
            "stationary",
        ] {
            assert!(found.get(key).is_some(), "{formulation}: no {key}");
        }
        assert_eq!(found["status"], "optimal", "{formulation}");
        assert!(number(&found, "gap") <= 1e-7);
        assert_eq!(found["policy"].as_array().unwrap().len(), 20);
        let takes_zeta = ["infinity", "frobenius"].contains(&formulation);
        assert_eq!(found["zeta"].is_number(), takes_zeta, "{formulation}");
        assert!(found["bounds"]["paper"]["column_sum"].is_number());
        let (certified, entropy) = (
            number(&found["bounds"], "certified"),
            number(&found, "entropy"),
        );
        assert!(0.0 < certified && certified <= entropy);
        let share = number(&found, "optimal_entropy_share");
        assert!(
            (0.8..=1.0 + 1e-9).contains(&share),
            "{formulation}: {share}"
        );
    }
}

#[test]
fn the_table_of_entropies() {
    // H(d) / ln S of the optimal policy nearest to uniform
    let cases = [
        ("single-chain", "0", "1", "frobenius", 0.9848, 5e-5),
        ("single-chain", "0.1", "0.7", "frobenius", 0.9476, 5e-5),
        ("double-chain", "0", "1", "frobenius", 0.9709, 5e-5),
        ("double-chain", "0.1", "0.7", "frobenius", 0.9340, 5e-5),
        ("river-swim", "0.1", "0.7", "frobenius", 0.9150, 5e-5),
        ("single-chain", "0", "1", "state-entropy", 0.98588, 5e-6),
        ("single-chain", "0.1", "0.7", "state-entropy", 0.95281, 5e-6),
        ("double-chain", "0", "1", "state-entropy", 0.97128, 5e-6),
        ("double-chain", "0.1", "0.7", "state-entropy", 0.93832, 5e-6),
        ("river-swim", "0.1", "0.7", "state-entropy", 0.99554, 5e-6),
    ];
    for (model, xi, zeta, formulation, expected, tolerance) in cases {
        let mut arguments = vec!["solve", model, "--formulation", formulation, "--xi", xi];
        if formulation == "frobenius" {
            arguments.extend(["--zeta", zeta]);
        }
        let mut entropies = Vec::new();
        for solver in ["auto", "conic"] {
            let mut with_solver = arguments.clone();
            with_solver.extend(["--solver", solver]);
            let found = json(&with_solver);
            let entropy = number(&found, "entropy_normalized");
            assert!(
                (entropy - expected).abs() < tolerance,
                "{with_solver:?}: {entropy}, expected {expected}"
            );
            entropies.push(entropy);
        }
        let difference = (entropies[0] - entropies[1]).abs();
        assert!(difference < 1e-6, "{arguments:?}: {entropies:?}");
    }
}

#[test]
fn knight_quest_objectives() {
    let cases = [
        ("infinity", "0.01", 0.360479),
        ("column-sum", "0.01", 69.78048),
        ("frobenius", "0.01", 1.17320),
        ("infinity", "0", 0.355418),
        ("column-sum", "0", 68.8),
        ("frobenius", "0", 1.16769),
        ("dual", "0", 7.828916),
        // both solvers prove the optimum to lie within 4e-5 of this, above the 0.99312 first noted
        ("state-entropy", "0", 0.993_183 * 360f64.ln()),
    ];
    for (formulation, xi, expected) in cases {
        let mut arguments = vec!["solve", "knight-quest", "--formulation", formulation];
        arguments.extend(["--xi", xi, "--tie-break", "none", "--compare", "never"]);
        arguments.extend(["--relative-tolerance", "1e-6", "--time-limit", "120"]);
        let found = json(&arguments);
        let objective = number(&found, "objective");
        let error = (objective / expected - 1.0).abs();
        assert!(
            error < 6e-6,
            "{formulation} {xi}: {objective} against {expected}"
        );
        assert_eq!(found["status"], "optimal", "{formulation} {xi}");
    }
}

#[test]
fn bad_parameters_one_by_one() {
    let chain = ["solve", "single-chain"];
    let with = |extra: &[&'static str]| -> Vec<&'static str> { [&chain[..], extra].concat() };
    refused(
        &with(&["--xi", "0.6"]),
        &["xi", "0.6", "state 0", "2 actions", "0.5"],
    );
    refused(&with(&["--xi", "-0.1"]), &["xi", "-0.1"]);
    refused(&with(&["--xi", "NaN"]), &["xi", "NaN"]);
    refused(&with(&["--xi", "inf"]), &["xi", "inf"]);
    refused(&with(&["--zeta", "0.05"]), &["zeta", "0.05", "0.1"]);
    refused(&with(&["--zeta", "1.5"]), &["zeta", "1.5"]);
    refused(&with(&["--zeta", "NaN"]), &["zeta", "NaN"]);
    for formulation in ["column-sum", "dual", "state-entropy"] {
        refused(
            &[
                "solve",
                "single-chain",
                "--formulation",
                formulation,
                "--zeta",
                "0.5",
            ],
            &["zeta", formulation, "leave --zeta out"],
        );
        refused(
            &[
                "solve",
                "single-chain",
                "--formulation",
                formulation,
                "--horizon",
                "50",
            ],
            &["zeta", formulation, "horizon"],
        );
        refused(
            &[
                "frontier",
                "single-chain",
                "--formulation",
                formulation,
                "--vary",
                "zeta",
            ],
            &["zeta", formulation, "--vary xi"],
        );
    }
    refused(
        &with(&["--formulation", "frobenus"]),
        &["did you mean 'frobenius'"],
    );
    refused(
        &with(&["--horizon", "0"]),
        &["horizon", "at least one step"],
    );
    refused(
        &with(&["--horizon", "5", "--zeta", "0.5"]),
        &["--horizon", "--zeta"],
    );
    refused(&with(&["--tolerance", "NaN"]), &["tolerance", "NaN"]);
    refused(
        &with(&["--relative-tolerance", "-1"]),
        &["relative-tolerance", "-1"],
    );
    refused(&with(&["--time-limit", "-3"]), &["time-limit", "-3"]);
    refused(&with(&["--time-limit", "NaN"]), &["time-limit", "NaN"]);
    refused(&with(&["--threads", "0"]), &["threads"]);
    refused(&with(&["--solver", "simplex"]), &["solver", "conic"]);
    refused(&with(&["--tie-break", "some"]), &["tie-break", "uniform"]);
    refused(&["solve", "singel-chain"], &["single-chain"]);
    refused(
        &["frontier", "single-chain", "--points", "1"],
        &["points", "1"],
    );
    refused(
        &["frontier", "single-chain", "--vary", "xi", "--xi", "0.1"],
        &["--xi", "varies"],
    );
}

#[test]
fn xi_is_checked_against_every_state() {
    let model = scratch("uneven.json");
    let text = r#"{"states":2,"actions":3,"start":0,"state_names":["hall","study"],
        "transitions":[[0,0,1,1.0],[1,0,0,1.0],[1,1,1,1.0],[1,2,0,1.0]]}"#;
    std::fs::write(&model, text).unwrap();
    let path = model.to_str().unwrap();
    refused(
        &["solve", path, "--xi", "0.4"],
        &["xi", "study", "3 actions"],
    );
    let found = json(&["solve", path, "--xi", "0.2", "--zeta", "1"]);
    assert_eq!(found["policy"][0].as_array().unwrap().len(), 1);
    std::fs::remove_file(model).unwrap();
}

#[test]
fn several_classes_are_solved_and_said() {
    let model = scratch("classes.json");
    // two pairs of states that never meet; each can stay or hop
    let text = r#"{"states":4,"actions":2,"start":[0.5,0,0.5,0],"transitions":[
        [0,0,0,1],[0,1,1,1],[1,0,1,1],[1,1,0,1],[2,0,2,1],[2,1,3,1],[3,0,3,1],[3,1,2,1]]}"#;
    std::fs::write(&model, text).unwrap();
    let path = model.to_str().unwrap();
    for formulation in [
        "infinity",
        "frobenius",
        "column-sum",
        "dual",
        "state-entropy",
    ] {
        let found = json(&["solve", path, "--formulation", formulation, "--xi", "0.1"]);
        assert_eq!(found["recurrent_classes"], 2, "{formulation}");
        assert!(found["mixing_time"].is_null());
        let notes = found["notes"].to_string();
        assert!(
            notes.contains("recurrent classes"),
            "{formulation}: {notes}"
        );
        assert!(number(&found["bounds"], "certified") <= number(&found, "entropy"));
    }
    std::fs::remove_file(model).unwrap();
}

#[test]
fn the_policy_is_written_and_judged_the_same() {
    let policy = scratch("policy.json");
    let path = policy.to_str().unwrap();
    let solved = json(&["solve", "double-chain", "--out", path]);
    let judged = json(&["analyze", "double-chain", "--policy", path]);
    assert!((number(&solved, "entropy") - number(&judged, "entropy")).abs() < 1e-12);
    std::fs::remove_file(&policy).unwrap();
    // nothing is written when the request is bad
    refused(
        &["solve", "double-chain", "--xi", "2", "--out", path],
        &["xi"],
    );
    assert!(!policy.exists());
}

#[test]
fn a_horizon_chooses_zeta() {
    let chosen = json(&["solve", "single-chain", "--xi", "0", "--horizon", "15"]);
    let best = number(&chosen, "horizon_entropy_normalized");
    for zeta in ["0.1", "0.2", "0.4", "0.6", "0.8", "1"] {
        let policy = scratch(&format!("horizon-{zeta}.json"));
        let path = policy.to_str().unwrap();
        json(&[
            "solve",
            "single-chain",
            "--xi",
            "0",
            "--zeta",
            zeta,
            "--out",
            path,
        ]);
        let judged = json(&[
            "analyze",
            "single-chain",
            "--policy",
            path,
            "--horizon",
            "15",
        ]);
        std::fs::remove_file(&policy).unwrap();
        let other = number(&judged, "horizon_entropy_normalized");
        assert!(other <= best + 1e-6, "zeta {zeta}: {other} against {best}");
    }
    let zeta = number(&chosen, "zeta");
    assert!((0.1..=1.0).contains(&zeta));
    // deterministic
    let again = json(&["solve", "single-chain", "--xi", "0", "--horizon", "15"]);
    assert_eq!(again["policy"], chosen["policy"]);
}

#[test]
fn the_papers_trade_off_figures() {
    let prefix = scratch("frontier");
    let prefix = prefix.to_str().unwrap();
    let along = |vary: &str| -> Vec<Value> {
        let found = json(&["frontier", "single-chain", "--vary", vary, "--out", prefix]);
        for ending in ["svg", "png"] {
            let file = format!("{prefix}.{ending}");
            assert!(std::fs::metadata(&file).unwrap().len() > 1000);
            std::fs::remove_file(file).unwrap();
        }
        found["points"].as_array().unwrap().clone()
    };
    // as zeta shrinks, entropy falls and the spectral gap grows
    let zeta = along("zeta");
    assert_eq!(zeta.len(), 20);
    for pair in zeta.windows(2).filter(|p| number(&p[1], "zeta") <= 0.7) {
        assert!(number(&pair[0], "entropy") < number(&pair[1], "entropy"));
        assert!(number(&pair[0], "spectral_gap") > number(&pair[1], "spectral_gap"));
    }
    // as xi grows, state entropy falls and state-action entropy rises, until it is the states
    // that are no longer visited evenly
    let xi = along("xi");
    for pair in xi.windows(2) {
        assert!(number(&pair[0], "entropy") >= number(&pair[1], "entropy") - 1e-7);
        if number(&pair[1], "xi") <= 0.15 {
            let key = "state_action_entropy";
            assert!(number(&pair[0], key) <= number(&pair[1], key) + 1e-7);
        }
    }
    let rise = number(&xi[6], "state_action_entropy") - number(&xi[0], "state_action_entropy");
    assert!(rise > 0.05, "{rise}");
}

#[test]
fn a_time_limit_returns_a_certified_answer() {
    let mut arguments = vec![
        "solve",
        "garnet:states=3000,actions=4,branching=5",
        "--xi",
        "0.05",
    ];
    arguments.extend(["--formulation", "column-sum", "--tolerance", "0"]);
    arguments.extend([
        "--time-limit",
        "0.2",
        "--tie-break",
        "none",
        "--compare",
        "never",
    ]);
    let found = json(&arguments);
    assert!(number(&found, "bound") <= number(&found, "objective"));
    assert_ne!(found["status"], "optimal");
    assert!(!found["notes"].as_array().unwrap().is_empty());
}

#[test]
fn people_get_a_table_a_map_and_a_sentence() {
    let output = ide3al(&["solve", "four-rooms"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    for word in [
        "objective",
        "largest entropy",
        "certified lower bound",
        "no guarantee",
        "share of time per cell",
        "In the long run this policy visits states",
    ] {
        assert!(text.contains(word), "no '{word}' in\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn an_episode_is_solved_written_and_judged() {
    let path = scratch("episode.json");
    let file = path.to_str().unwrap();
    let found = json(&[
        "solve",
        "river-swim",
        "--formulation",
        "episode",
        "--steps",
        "7",
        "--out",
        file,
    ]);
    assert_eq!(found["status"], "optimal");
    assert_eq!(found["policy"].as_array().unwrap().len(), 7);
    assert!(number(&found, "gap") <= 5e-8 && found["zeta"].is_null());
    let judged = json(&["analyze", "river-swim", "--policy", file]);
    assert!((number(&judged, "entropy") - number(&found, "objective")).abs() < 1e-12);
    // a stationary policy has a share of it
    let stationary = json(&["solve", "river-swim", "--horizon", "7"]);
    let share = number(&stationary, "horizon_optimal_entropy_share");
    assert!(share > 0.5 && share <= 1.0, "{share}");
    refused(
        &["analyze", "river-swim", "--policy", file, "--horizon", "3"],
        &["--horizon 3", "7 steps"],
    );
    std::fs::remove_file(path).unwrap();
    let episode = ["solve", "river-swim", "--formulation", "episode"];
    refused(&episode, &["--steps T"]);
    let with = |rest: &[&'static str]| [&episode[..], rest].concat();
    refused(
        &with(&["--steps", "0"]),
        &["steps = 0", "at least one step"],
    );
    refused(&with(&["--steps", "5", "--zeta", "0.5"]), &["no zeta"]);
    refused(&["solve", "river-swim", "--steps", "5"], &["--steps 5"]);
}

#[test]
fn a_stalled_solve_is_said_once() {
    let model = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/regressions/ranges-beyond-doubles.json"
    );
    let found = json(&[
        "solve",
        model,
        "--formulation",
        "state-entropy",
        "--xi",
        "0",
    ]);
    assert_eq!(found["status"], "stalled");
    let notes = found["notes"].as_array().unwrap();
    let said = notes
        .iter()
        .filter(|note| note.as_str().unwrap().contains("no further progress"));
    assert_eq!(said.count(), 1, "{notes:?}");
}
