//! `ide3al learn`, as a user meets it.

#![allow(clippy::unwrap_used)]

use serde_json::Value;

use crate::process::{Scratch, ide3al, text};

/// Two states that lead to each other and one that is never left.
const TRAP: &str = r#"{"states": 3, "actions": 2, "start": 0, "transitions":
    [[0,0,1,1], [0,1,0,1], [1,0,0,1], [1,1,2,1], [2,0,2,1], [2,1,2,1]]}"#;

#[test]
fn what_a_learner_has_to_say_stands_under_the_table_in_the_summary_and_on_the_page() {
    let scratch = Scratch::new("notes");
    let (model, out) = (scratch.join("trap.json"), scratch.join("out"));
    std::fs::write(&model, TRAP).unwrap();
    let learn = |more: &[&str]| {
        let (model, out) = (model.to_str().unwrap(), out.to_str().unwrap());
        let words = ["learn", model, "--algorithm", "ideal,random", "--runs", "2"];
        let rest = ["--iterations", "10", "--batch-size", "20", "--out", out];
        let output = ide3al(&[&words[..], &rest, more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let said = "ideal, 2 of 2 runs: state 2 looks absorbing";
    let table = learn(&[]);
    assert_eq!(table.matches(said).count(), 1, "{table}");
    // the table of a finished experiment is read back from its files
    assert!(learn(&["--resume"]).contains(said));

    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains(said), "{page}");

    let summary: Value = serde_json::from_str(&learn(&["--overwrite", "--json"])).unwrap();
    let notes = &summary["algorithms"]["ideal"]["notes"];
    assert_eq!(notes[0]["runs"], 2, "{notes}");
    let first = notes[0]["text"].as_str().unwrap();
    assert!(first.starts_with("state 2 looks absorbing"), "{first}");
    // whoever has nothing to say has no key
    let random = &summary["algorithms"]["random"];
    assert!(random["runs"] == 2 && random.get("notes").is_none());
}

/// Policies inside the loop are valued roughly: a value above the bound must not make a plan that
/// is done look stalled.
#[test]
fn plans_of_small_models_have_nothing_to_note() {
    let scratch = Scratch::new("quiet");
    let out = scratch.join("out");
    let words = ["learn", "river-swim", "--algorithm", "ideal", "--runs", "2"];
    let rest = ["--iterations", "100", "--out", out.to_str().unwrap()];
    let output = ide3al(&[&words[..], &rest].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(!table.contains("Note:"), "{table}");
}
