//! An experiment that is killed and resumed ends with the same bytes as one that is not.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crate::process::{PROGRAM, Scratch, interrupt, kill_after, moments};

/// All algorithms on a small chain: a second or two of work, all in the middle of runs.
const EXPERIMENT: [&str; 11] = [
    "learn",
    "double-chain",
    "--algorithm",
    "ideal,max-ent,count-based,random,non-iterative",
    "--runs",
    "2",
    "--iterations",
    "150",
    "--goal",
    "--checkpoint-every",
    "0.01",
];

fn command(folder: &Path, extra: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args(EXPERIMENT)
        .arg("--out")
        .arg(folder)
        .args(extra)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn finish(folder: &Path, extra: &[&str]) -> Output {
    let output = command(folder, extra).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

fn refused(folder: &Path, extra: &[&str]) -> String {
    let output = command(folder, extra).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Everything that must not depend on how the work was done.
fn products(folder: &Path) -> Vec<Vec<u8>> {
    let mut names: Vec<PathBuf> = ["runs.csv", "data.csv", "goal.csv"]
        .map(|name| folder.join(name))
        .into();
    let mut policies: Vec<PathBuf> = std::fs::read_dir(folder.join("policies"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    policies.sort();
    assert_eq!(policies.len(), 10);
    names.extend(policies);
    names.iter().map(|p| std::fs::read(p).unwrap()).collect()
}

#[test]
fn threads_kills_and_resumes_change_nothing() {
    let scratch = Scratch::new("resume");
    let begun = Instant::now();
    finish(&scratch.join("one"), &["--threads", "1"]);
    let whole = begun.elapsed();
    let expected = products(&scratch.join("one"));

    let begun = Instant::now();
    finish(&scratch.join("two"), &["--threads", "2"]);
    assert!(products(&scratch.join("two")) == expected, "two threads");
    let whole = whole.min(begun.elapsed());

    let (mut killed, mut resumed_from_file) = (0, 0);
    for (moment, share) in moments(20).enumerate() {
        let folder = scratch.join(&format!("killed-{moment}"));
        let threads = if moment % 2 == 0 { "1" } else { "2" };
        let mut extra = vec!["--threads", threads];
        let child = command(&folder, &extra).spawn().unwrap();
        if kill_after(child, whole.mul_f64(share)) {
            killed += 1;
            resumed_from_file += u32::from(folder.join("checkpoint.bin").exists());
            if folder.join("experiment.json").exists() {
                extra.push("--resume");
            }
        }
        if folder.join("checkpoint.bin").exists() || !folder.join("summary.json").exists() {
            finish(&folder, &extra);
        }
        assert!(
            products(&folder) == expected,
            "killed at {share:.2} of the run"
        );
        let left: Vec<_> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".tmp") || name == "checkpoint.bin")
            .collect();
        assert!(left.is_empty(), "{left:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
    // the test must have tested something
    assert!(killed >= 10, "only {killed} kills hit a running process");
    assert!(
        resumed_from_file >= 5,
        "only {resumed_from_file} kills left a checkpoint"
    );
}

/// Begins the experiment anew and kills it early enough to leave a checkpoint.
fn caught(folder: &Path) {
    for delay in [100, 200, 400, 50, 25, 800] {
        let mut child = command(folder, &["--overwrite", "--threads", "1"]);
        kill_after(child.spawn().unwrap(), Duration::from_millis(delay));
        if folder.join("checkpoint.bin").exists() {
            return;
        }
    }
    panic!("no checkpoint was caught");
}

/// What a clock set back or ahead between two sessions leaves behind.
#[test]
fn the_times_of_files_do_not_matter() {
    let scratch = Scratch::new("times");
    finish(&scratch.join("whole"), &[]);
    let expected = products(&scratch.join("whole"));
    let day = Duration::from_secs(86_400);
    for (name, time) in [
        ("past", SystemTime::UNIX_EPOCH + day),
        ("future", SystemTime::now() + 50_000 * day),
    ] {
        let folder = scratch.join(name);
        caught(&folder);
        // files alternately at the time and now, so that their order is no longer that of writing
        let entries = std::fs::read_dir(&folder).unwrap();
        for (k, entry) in entries.map(Result::unwrap).enumerate() {
            if entry.path().is_file() && (k % 2 == 0 || entry.file_name() == "checkpoint.bin") {
                let file = std::fs::File::options().append(true).open(entry.path());
                file.unwrap().set_modified(time).unwrap();
            }
        }
        finish(&folder, &["--resume"]);
        assert!(products(&folder) == expected, "{name}");
    }
}

#[test]
fn foreign_and_damaged_checkpoints_are_refused_and_results_stay() {
    let scratch = Scratch::new("foreign");
    let folder = scratch.join("experiment");
    caught(&folder);
    std::fs::write(folder.join("runs.csv"), "earlier results").unwrap();
    let sound = std::fs::read(folder.join("checkpoint.bin")).unwrap();

    let other = refused(&folder, &["--seed", "8", "--resume"]);
    assert!(
        other.contains("another experiment") && other.contains("seed 0 there, 8 here"),
        "{other}"
    );
    let again = refused(&folder, &[]);
    assert!(again.contains("--resume"), "{again}");
    let nothing = refused(&scratch.join("nowhere"), &["--resume"]);
    assert!(nothing.contains("no experiment to resume"), "{nothing}");
    assert!(!scratch.join("nowhere").exists());

    for (damage, expected) in [
        ("flip", "damaged"),
        ("cut", "damaged"),
        ("empty", "no checkpoint of ide3al"),
        ("version", "format 77"),
        ("text", "no checkpoint of ide3al"),
    ] {
        let mut bytes = sound.clone();
        match damage {
            "flip" => {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 4;
            }
            "cut" => bytes.truncate(sound.len() - 3),
            "empty" => bytes.clear(),
            "version" => bytes[8] = 77,
            _ => bytes = b"{\"not\": \"a checkpoint\"}".to_vec(),
        }
        std::fs::write(folder.join("checkpoint.bin"), &bytes).unwrap();
        let message = refused(&folder, &["--resume"]);
        assert!(
            message.contains(expected) && message.contains("checkpoint.bin"),
            "{damage}: {message}"
        );
        assert_eq!(
            std::fs::read_to_string(folder.join("runs.csv")).unwrap(),
            "earlier results"
        );
    }
    std::fs::write(folder.join("checkpoint.bin"), &sound).unwrap();
    finish(&folder, &["--resume"]);
    // finished: resuming once more only shows the result
    let shown = finish(&folder, &["--resume"]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("finished before"));
    let anew = finish(&folder, &["--overwrite"]);
    assert!(!String::from_utf8_lossy(&anew.stdout).contains("finished before"));
    let policy = folder.join("policies").join("max-ent-001.json");
    let analysis = Command::new(PROGRAM)
        .args(["analyze", "double-chain", "--json", "--policy"])
        .arg(policy)
        .output()
        .unwrap();
    assert!(analysis.status.success(), "{analysis:?}");
}

#[test]
fn two_processes_do_not_share_a_folder() {
    let scratch = Scratch::new("lock");
    let folder = scratch.join("experiment");
    let long = |extra: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command
            .args(["learn", "double-chain", "--runs", "500", "--out"])
            .arg(&folder)
            .args(extra);
        command
    };
    let mut first = long(&[]).stdout(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while !folder.join("experiment.json").exists() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = long(&["--resume"]).output().unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    let second = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{second}");
    assert!(second.contains("another ide3al process"), "{second}");
}

#[cfg(unix)]
#[test]
fn an_interrupt_writes_a_checkpoint_and_says_how_to_go_on() {
    let scratch = Scratch::new("interrupt");
    let folder = scratch.join("experiment");
    // a checkpoint only because of the interrupt
    let child = Command::new(PROGRAM)
        .args(&EXPERIMENT[..4])
        .args(["--runs", "200", "--checkpoint-every", "1000", "--out"])
        .arg(&folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(400));
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.contains("go on with:") && message.trim_end().ends_with("--resume"),
        "{message}"
    );
    assert!(folder.join("checkpoint.bin").exists());
}

#[test]
fn bad_input_is_named() {
    let scratch = Scratch::new("bad");
    let folder = scratch.join("experiment");
    let plain = |arguments: &[&str]| {
        let output = Command::new(PROGRAM)
            .args(["learn", "double-chain", "--out"])
            .arg(&folder)
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(!folder.exists(), "{arguments:?} made a folder");
        String::from_utf8(output.stderr).unwrap()
    };
    for (arguments, expected) in [
        (&["--algorithm", "maxnet"][..], "did you mean 'max-ent'?"),
        (&["--runs", "0"], "runs = 0"),
        (&["--batch-size", "0"], "batch_size = 0"),
        (&["--iterations", "0"], "iterations = 0"),
        (&["--threads", "0"], "at least 1"),
        (&["--xi", "0.6"], "xi = 0.6"),
        (&["--zeta", "0.01"], "zeta = 0.01"),
        (&["--eta", "1.5"], "eta = 1.5"),
        (&["--formulation", "frobenus"], "did you mean 'frobenius'?"),
        (
            &["--tie-break", "unifrom"],
            "a similar value exists: 'uniform'",
        ),
        (&["--checkpoint-every", "-1"], "--checkpoint-every"),
        (&["--algorithm", "random,random"], "named twice"),
        (
            &["--algorithm", "paper:model-error"],
            "recommended IDE3AL alone",
        ),
        (
            &["--algorithm", "ideal:coverage", "--paper"],
            "recommended IDE3AL alone",
        ),
        (
            &["--algorithm", "ideal:target"],
            "one probability per state",
        ),
    ] {
        let message = plain(arguments);
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}
