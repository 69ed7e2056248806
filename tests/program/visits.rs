//! What to visit, on the command line: files of numbers, limits, restarts, and what is wrong with
//! them.

#![allow(clippy::unwrap_used)]

use crate::process::{Scratch, ide3al, text};

fn json(arguments: &[&str]) -> serde_json::Value {
    let output = ide3al(arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// River Swim has six states; the first and the last are the hard ones.
fn files(scratch: &Scratch) -> (String, String) {
    let (target, cost) = (scratch.join("q.csv"), scratch.join("cost.json"));
    std::fs::write(&target, "0.1, 0.2, 0.2, 0.2, 0.2, 0.1\n").unwrap();
    std::fs::write(&cost, "[1, 0, 0, 0, 0, 0]").unwrap();
    let name = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
    (name(target), name(cost))
}

#[test]
fn a_target_with_a_limit_and_restarts() {
    let scratch = Scratch::new("visits");
    let (target, cost) = files(&scratch);
    let limit = format!("{cost}:0.08");
    let wish = [
        "solve",
        "river-swim",
        "--formulation",
        "target",
        "--xi",
        "0",
        "--json",
    ];
    let free = json(&[&wish[..], &["--target", &target]].concat());
    let tight = json(&[&wish[..], &["--target", &target, "--limit", &limit]].concat());
    let conic = ["--target", &target, "--limit", &limit, "--solver", "conic"];
    let conic = json(&[&wish[..], &conic].concat());
    for found in [&free, &tight, &conic] {
        assert_eq!(found["status"], "optimal");
    }
    let value = |found: &serde_json::Value| found["objective"].as_f64().unwrap();
    assert!(value(&tight) > value(&free) - 1e-9);
    assert!((value(&tight) - value(&conic)).abs() < 1e-6);
    let reached = tight["limits"][0]["value"].as_f64().unwrap();
    assert!(reached <= 0.08 + 1e-9);
    assert!((tight["stationary"][0].as_f64().unwrap() - reached).abs() < 1e-6);
}

/// What is printed of the long run is the long run with restarts, the one that was planned for.
#[test]
fn restarts_are_judged_as_planned() {
    let wish = [
        "solve",
        "river-swim",
        "--formulation",
        "state-entropy",
        "--json",
    ];
    let found = json(&[&wish[..], &["--restart", "0.2"]].concat());
    let same = json(&[&wish[..], &["--discount", "0.8"]].concat());
    let number = |found: &serde_json::Value, key: &str| found[key].as_f64().unwrap();
    assert!((number(&found, "entropy") - number(&found, "objective")).abs() < 1e-6);
    assert!((number(&found, "objective") - number(&same, "objective")).abs() < 1e-9);
    let plain = json(&wish);
    assert!((number(&plain, "entropy") - number(&found, "entropy")).abs() > 1e-3);
}

#[test]
fn what_is_wrong_is_named() {
    let scratch = Scratch::new("visits-wrong");
    let (target, cost) = files(&scratch);
    let bad = scratch.join("bad.csv");
    std::fs::write(&bad, "0.1, 0.2\n0.3, many\n").unwrap();
    let bad = bad.to_str().unwrap();
    let (below, no_number, nan) = (
        format!("{cost}:-1"),
        format!("{cost}:much"),
        format!("{cost}:nan"),
    );
    let with_target = |more: &[&str]| -> Vec<String> {
        let given = [&["--formulation", "target", "--target", &target], more].concat();
        given.into_iter().map(str::to_owned).collect()
    };
    let owned = |given: &[&str]| given.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
    let cases: Vec<(Vec<String>, &[&str])> = vec![
        (owned(&["--formulation", "target"]), &["target"]),
        (
            owned(&["--formulation", "target", "--target", "nowhere.csv"]),
            &["nowhere.csv"],
        ),
        (
            owned(&["--formulation", "target", "--target", bad]),
            &["bad.csv", "many"],
        ),
        (
            owned(&["--formulation", "target", "--target", &cost, "--xi", "0.1"]),
            &["target"],
        ),
        (with_target(&["--limit", &cost]), &["FILE:BUDGET"]),
        (
            with_target(&["--limit", &no_number]),
            &["much", "not a number"],
        ),
        (with_target(&["--limit", &nan]), &["limit"]),
        (with_target(&["--limit", &below]), &["least attainable"]),
        (
            with_target(&["--restart", "1.5"]),
            &["restart", "from 0 to 1"],
        ),
        (with_target(&["--horizon", "20"]), &["--horizon"]),
        (
            owned(&["--formulation", "coverage", "--samples", "0"]),
            &["--samples"],
        ),
        (
            owned(&["--formulation", "frobenius", "--restart", "0.1"]),
            &["restart"],
        ),
    ];
    for (given, words) in cases {
        let mut arguments = vec!["solve", "river-swim"];
        arguments.extend(given.iter().map(String::as_str));
        let output = ide3al(&arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        for word in words {
            assert!(
                said.contains(word),
                "{arguments:?}: '{word}' is not in: {said}"
            );
        }
    }
}

/// What cannot be had is said, with how near one can come, and is no success where a number would
/// be meaningless.
#[test]
fn what_cannot_be_had_is_named() {
    let scratch = Scratch::new("visits-impossible");
    let path = |name: &str, text: &str| {
        let path = scratch.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    // state 0 is left for ever
    let model = path(
        "model.json",
        r#"{"states": 3, "actions": 2, "transitions": [[0,0,1,0.5],[0,0,2,0.5],[0,1,2,1],[1,0,2,1],[1,1,1,0.5],[1,1,2,0.5],[2,0,1,1],[2,1,2,1]]}"#,
    );
    let coverage = ["solve", &model, "--formulation", "coverage", "--json"];
    let found = json(&coverage);
    assert_eq!(found["objective"], 0.0);
    assert_eq!(found["bound"], 0.0);
    let notes = found["notes"].to_string();
    assert!(notes.contains("infeasible: state 0, action 0"), "{notes}");
    let wanted = path("wanted.json", "[0, 1, 1]");
    let found = json(&[&coverage[..], &["--wanted", &wanted]].concat());
    assert!(found["objective"].as_f64().unwrap() > 0.01);
    let cost = path("cost.json", "[0, 1, 2]");
    let other = path("other.json", "[0, 2, 1]");
    let (low, tight, together) = (
        format!("{cost}:0.5"),
        format!("{cost}:1.4"),
        format!("{other}:1.5"),
    );
    let zero = path("zero.json", "[0.5, 0.5, 0]");
    let short = path("short.json", "[0.5, 0.5]");
    let nan = path("nan.csv", "0.5,0.5,nan");
    let sum = path("sum.json", "[0.5, 0.5, 0.5]");
    let with = |formulation: &'static str, more: &[&str]| {
        let given = [&["solve", &model, "--formulation", formulation], more].concat();
        given.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let cases: Vec<(Vec<String>, &[&str])> = vec![
        (with("model-error", &[]), &["state 0", "restart"]),
        (
            with("target", &["--target", &zero, "--xi", "0.1"]),
            &["target", "cannot be avoided"],
        ),
        (
            with("target", &["--target", &short]),
            &["target", "3 numbers"],
        ),
        (with("target", &["--target", &nan]), &["nan"]),
        (with("target", &["--target", &sum]), &["sum 1.5"]),
        (
            with("state-entropy", &["--limit", &low]),
            &["limit 1", "least attainable value is 1."],
        ),
        (
            with("state-entropy", &["--limit", &tight, "--limit", &together]),
            &["limit 2", "together", "least attainable value is 1."],
        ),
        (
            with(
                "state-entropy",
                &["--limit", &tight, "--limit", &together, "--solver", "conic"],
            ),
            &["limit 2", "together", "least attainable value is 1."],
        ),
        (with("episode", &["--steps", "0"]), &["steps = 0"]),
    ];
    for (arguments, words) in cases {
        let output = ide3al(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        let said = text(&output.stderr).to_lowercase();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        for word in words {
            assert!(
                said.contains(word),
                "{arguments:?}: '{word}' is not in: {said}"
            );
        }
    }
}
