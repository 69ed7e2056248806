//! `ide3al plan`.

#![allow(clippy::unwrap_used)]

use crate::process::{Scratch, ide3al};

fn said(arguments: &[&str]) -> String {
    let output = ide3al(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &[&str], words: &str) {
    let output = ide3al(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains(words), "{arguments:?}: {told}");
}

#[test]
fn rewards_from_a_file_and_from_the_model() {
    let folder = Scratch::new("plan");
    let reward = folder.join("reward.csv");
    std::fs::write(&reward, "# stay left\n1\n0\n0\n0\n0\n0\n").unwrap();
    let (reward, out) = (
        reward.to_str().unwrap().to_owned(),
        folder.join("policy.json"),
    );
    let out = out.to_str().unwrap().to_owned();
    let text = said(&[
        "plan",
        "river-swim",
        "--reward",
        &reward,
        "--discount",
        "0.9",
        "--out",
        &out,
    ]);
    assert!(
        text.contains("optimal") && text.contains("at discount 0.9"),
        "{text}"
    );
    // the left end is where one starts to swim, and staying there is sure
    let json = said(&[
        "plan",
        "river-swim",
        "--reward",
        &reward,
        "--discount",
        "0.9",
        "--json",
    ]);
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["status"], "optimal");
    assert!(
        (report["values"][0].as_f64().unwrap() - 10.0).abs() < 1e-6,
        "{json}"
    );
    assert!(std::fs::metadata(&out).is_ok());
    let analysed = said(&["analyze", "river-swim", "--policy", &out]);
    assert!(analysed.contains("states"));
    // rewards that a model came with
    let model = folder.join("model.json");
    let text = r#"{"states":2,"actions":2,"start":0,"rewards":[0,0,1,0],
        "transitions":[[0,0,0,1],[0,1,1,1],[1,0,1,1],[1,1,0,1]]}"#;
    std::fs::write(&model, text).unwrap();
    let model = model.to_str().unwrap();
    let average = said(&["plan", model, "--average"]);
    assert!(
        average.contains("earns 1 per step") || average.contains("earns 1.0"),
        "{average}"
    );
    let within = said(&["plan", model, "--within", "3", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&within).unwrap();
    assert_eq!(report["objective"], 2.0);
    assert_eq!(report["policy"].as_array().unwrap().len(), 3);
}

#[test]
fn goals_by_number() {
    let json = said(&[
        "plan",
        "four-rooms",
        "--goal",
        "10,11",
        "--avoid",
        "3",
        "--json",
    ]);
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&report["criterion"], &report["objective"]),
        (&"goal".into(), &1.0.into())
    );
    assert_eq!(report["steps"][10], 0.0);
    let text = said(&["plan", "river-swim", "--goal", "5", "--within", "4"]);
    assert!(text.contains("within 4 steps"), "{text}");
}

#[test]
fn mistakes_are_named() {
    let folder = Scratch::new("plan-bad");
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    refused(&["plan", "river-swim"], "no rewards");
    refused(
        &["plan", "river-swim", "--reward", &file("short.csv", "1 2")],
        "2 numbers",
    );
    refused(
        &[
            "plan",
            "river-swim",
            "--reward",
            &file("nan.csv", "1 nan 1 1 1 1"),
        ],
        "number 1",
    );
    refused(
        &["plan", "river-swim", "--reward", &file("word.csv", "1 x")],
        "line 1",
    );
    let good = file("good.csv", "1 1 1 1 1 1");
    refused(
        &["plan", "river-swim", "--reward", &good, "--discount", "1"],
        "plan for the average",
    );
    refused(
        &["plan", "river-swim", "--reward", &good, "--within", "0"],
        "at least one step",
    );
    refused(&["plan", "river-swim", "--goal", "6"], "goal state 6");
    refused(&["plan", "river-swim", "--goal", "here"], "no names");
    refused(
        &["plan", "river-swim", "--goal", "1", "--avoid", "1"],
        "both",
    );
}
