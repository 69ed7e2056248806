//! Reach on the command line: keys, words, what other formulations refuse, bad input.

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

fn refused(arguments: &[&str]) -> String {
    let output = ide3al(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    text(&output.stderr)
}

const REACH: [&str; 6] = ["solve", "river-swim", "--formulation", "reach", "--xi", "0"];

#[test]
fn an_optimum_says_so_with_its_keys() {
    let scratch = Scratch::new("reach");
    let out = scratch.join("policy.json");
    let out = out.to_str().unwrap();
    let found = json(&[&REACH[..], &["--json", "--out", out]].concat());
    assert_eq!(found["formulation"], "reach");
    assert_eq!(found["status"], "optimal");
    assert_eq!(found["within"], 24.0);
    assert_eq!(found["origin"], "start");
    assert!((found["share_of_bound"].as_f64().unwrap() - 1.0).abs() < 1e-6);
    let seen = found["seen"].as_array().unwrap();
    assert_eq!(seen.len(), 3);
    // the same policy, read back
    let judged = json(&["analyze", "river-swim", "--policy", out, "--json"]);
    assert_eq!(judged["seen"], found["seen"]);
    let hitting = json(
        &[
            &REACH[..],
            &["--json", "--within", "inf", "--from", "anywhere"],
        ]
        .concat(),
    );
    assert!(hitting["within"].is_null());
    let (value, bound) = (&hitting["objective"], &hitting["bound"]);
    assert!(value.as_f64().unwrap() >= bound.as_f64().unwrap() - 1e-9);
    let words = text(&ide3al(&REACH).stdout);
    assert!(
        words.contains("no policy, with memory or without, sees more"),
        "{words}"
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    let told = |more: &[&str]| refused(&[&REACH[..], more].concat());
    assert!(told(&["--within", "0.5"]).contains("1 or more"));
    assert!(told(&["--within", "nan"]).contains("1 or more"));
    assert!(told(&["--from", "nowhere"]).contains("origin"));
    assert!(told(&["--evenness", "2"]).contains("from 0 to 1"));
    assert!(told(&["--evenness", "1"]).contains("the most is"));
    assert!(told(&["--zeta", "0.5"]).contains("takes no zeta"));
    assert!(told(&["--solver", "conic"]).contains("no conic program"));
    let scratch = Scratch::new("reach-weights");
    let zero = scratch.join("zero.json");
    std::fs::write(&zero, "[0, 0, 0, 0, 0, 0]").unwrap();
    assert!(told(&["--target", zero.to_str().unwrap()]).contains("some state must have a weight"));
    let other = refused(&["solve", "river-swim", "--within", "9"]);
    assert!(other.contains("choose --formulation reach"), "{other}");
    let other = refused(&["frontier", "river-swim", "--vary", "within"]);
    assert!(
        other.contains("formulation reach") || other.contains("--formulation"),
        "{other}"
    );
}

/// What is asked of reach besides what varies.
#[test]
fn frontiers_take_what_reach_takes() {
    let scratch = Scratch::new("reach-frontier");
    let out = scratch.join("curve");
    let curve = [
        "frontier",
        "double-chain",
        "--formulation",
        "reach",
        "--json",
    ];
    let sizes = ["--points", "2", "--out", out.to_str().unwrap()];
    let more = ["--vary", "xi", "--within", "inf", "--from", "start"];
    let found = json(&[&curve[..], &sizes, &more].concat());
    let points = found["points"].as_array().unwrap();
    assert!(points[0]["xi"] == 0.0 && points[0]["within"].is_null());
    assert!(points[0]["objective"].as_f64().unwrap() < points[1]["objective"].as_f64().unwrap());
    let told = |more: &[&str]| refused(&[&curve[..], &sizes, more].concat());
    assert!(told(&["--vary", "within", "--within", "9"]).contains("what varies"));
    assert!(told(&["--vary", "zeta"]).contains("zeta"));
    let other = refused(&["frontier", "double-chain", "--within", "9"]);
    assert!(other.contains("choose --formulation reach"), "{other}");
}

#[test]
fn patrols_keep_to_their_proportions() {
    let places = concat!(
        "graph:",
        env!("CARGO_MANIFEST_DIR"),
        "/examples/patrol/san-francisco.csv,directed=true"
    );
    let shares = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/examples/patrol/san-francisco-proportions.csv"
    );
    let patrol = ["solve", places, "--formulation", "reach", "--xi", "0"];
    let more = ["--within", "inf", "--proportions", shares, "--json"];
    let found = json(&[&patrol[..], &more].concat());
    let visits = found["stationary"].as_array().unwrap();
    let wanted = std::fs::read_to_string(shares).unwrap();
    for (visits, wanted) in visits.iter().zip(wanted.lines()) {
        let wanted: f64 = wanted.parse().unwrap();
        assert!((visits.as_f64().unwrap() - wanted).abs() < 1e-9);
    }
    let value = found["objective"].as_f64().unwrap();
    // from a random place to a random one is Kemeny's constant
    assert!((value - found["kemeny_constant"].as_f64().unwrap()).abs() < 1e-8 * value);
    let other = refused(&["solve", places, "--proportions", shares]);
    assert!(other.contains("choose --formulation reach"), "{other}");
}
