//! Ctrl-C in the middle of a long piece of work is answered soon, with what there is.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::process::{PROGRAM, Scratch, interrupt, text};

/// Starts a solve and interrupts it after a while; the answer, and the seconds it took to come.
fn interrupted(formulation: &str, model: &str, after: Duration) -> (serde_json::Value, f64) {
    let child = Command::new(PROGRAM)
        .args(["solve", model, "--formulation", formulation])
        .args(["--tolerance", "0", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    interrupt(&child);
    let begun = Instant::now();
    let output = child.wait_with_output().unwrap();
    let seconds = begun.elapsed().as_secs_f64();
    // a process that was not yet listening, or had ended, has no answer to give
    let answer = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let error = text(&output.stderr);
    assert!(!error.contains("panicked"), "{formulation}: {error}");
    (answer, seconds)
}

#[test]
fn an_interrupt_in_the_middle_of_a_solve_returns_the_best_answer_with_its_proof() {
    for (formulation, model) in [
        ("column-sum", "garnet:states=50000,actions=4"),
        ("dual", "knight-quest:rows=40,columns=40"),
        ("frobenius", "garnet:states=10000,actions=4"),
        ("infinity", "garnet:states=10000,actions=4"),
        ("state-entropy", "garnet:states=40000,actions=4"),
    ] {
        // how fast the machine is decides which of these is in the middle; one must be
        let mut seen = Vec::new();
        let caught = [1500, 3000, 700, 350, 1000, 200]
            .into_iter()
            .find_map(|delay| {
                let (answer, seconds) =
                    interrupted(formulation, model, Duration::from_millis(delay));
                seen.push(format!("{delay} ms: {}", answer["status"]));
                (answer["status"] == "interrupted").then_some((answer, seconds))
            });
        let (answer, seconds) =
            caught.unwrap_or_else(|| panic!("{formulation} was never caught: {seen:?}"));
        let number = |key: &str| answer[key].as_f64().unwrap_or(f64::NAN);
        let (objective, bound) = (number("objective"), number("bound"));
        let _ = writeln!(
            std::io::stderr(),
            "{formulation}: interrupted, answer after {seconds:.1} s, gap {:.1e}",
            number("gap")
        );
        // generous: the machine may be busy, and the policy is judged before it is shown
        assert!(seconds < 30.0, "{formulation}: {seconds} s");
        let excess = if ["dual", "state-entropy"].contains(&formulation) {
            objective - bound
        } else {
            bound - objective
        };
        assert!(excess <= 1e-9, "{formulation}: {objective} {bound}");
        for row in answer["policy"].as_array().unwrap() {
            let row: Vec<f64> = serde_json::from_value(row.clone()).unwrap();
            let sum: f64 = row.iter().sum();
            assert!((sum - 1.0).abs() < 1e-9 && row.iter().all(|p| *p >= 0.0));
        }
    }
}

/// A plan for 8,000 states takes seconds; the interrupt reaches it inside, and what was sampled is
/// kept.
#[test]
fn an_interrupt_in_the_middle_of_learning_at_8000_states_is_answered_soon() {
    for formulation in ["frobenius", "state-entropy"] {
        let scratch = Scratch::new(&format!("learn-{formulation}"));
        let folder = scratch.join("out");
        let mut child = Command::new(PROGRAM)
            .args(["learn", "garnet:states=8000,actions=4,branching=5,seed=1"])
            .args(["--formulation", formulation, "--algorithm", "ideal"])
            .args(["--iterations", "1000", "--batch", "20000", "--runs", "1"])
            .arg("--out")
            .arg(&folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_secs(3));
        assert!(
            child.try_wait().unwrap().is_none(),
            "{formulation}: done before it was stopped"
        );
        interrupt(&child);
        let begun = Instant::now();
        let output = child.wait_with_output().unwrap();
        let seconds = begun.elapsed().as_secs_f64();
        let error = text(&output.stderr);
        assert!(!error.contains("panicked"), "{formulation}: {error}");
        assert_eq!(output.status.code(), Some(130), "{formulation}: {error}");
        let _ = writeln!(
            std::io::stderr(),
            "learn, {formulation}: answer after {seconds:.1} s"
        );
        // a second is promised on an idle machine; this one may be busy
        assert!(seconds < 10.0, "{formulation}: {seconds} s");
    }
}
