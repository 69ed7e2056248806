//! What the program prints, word for word: help texts (docs/reference/commands.md is made of them)
//! and tables. A change of the words is a change of these files, for a reviewer to see:
//! `SNAPSHOTS=write cargo test --release --test program snapshots` writes them anew. What `learn`
//! writes is kept, too, for agents whose rules are settled: a change of the loop that drives them
//! must not change it (`python/tests/test_snapshots.py` does the same for Python).

#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use crate::process::{PROGRAM, Scratch};

fn said(arguments: &[&str]) -> String {
    let output = Command::new(PROGRAM)
        .args(arguments)
        .env_remove("COLUMNS")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn compare(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("SNAPSHOTS").is_some_and(|v| v == "write") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let line = kept.lines().zip(text.lines()).position(|(a, b)| a != b);
    let line = line.unwrap_or(kept.lines().count().min(text.lines().count()));
    assert!(
        kept == text,
        "{file}, line {}: kept {:?}, now {:?}; SNAPSHOTS=write keeps what is said now",
        line + 1,
        kept.lines().nth(line),
        text.lines().nth(line)
    );
}

/// The commands in the order of `ide3al --help`.
fn commands(help: &str) -> Vec<&str> {
    let list = help.split("Commands:\n").nth(1).unwrap();
    let list = list.split("\n\n").next().unwrap();
    let names = list.lines().filter(|l| !l.starts_with("    "));
    let names = names.filter_map(|l| l.split_whitespace().next());
    names.filter(|name| *name != "help").collect()
}

#[test]
fn help_is_what_the_reference_shows() {
    let help = said(&["--help"]);
    let mut page = String::from(
        "# Commands\n\nWhat `ide3al COMMAND --help` says. This page is made by the tests and compared by them.\n",
    );
    let mut add = |title: &str, text: &str| {
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        writeln!(
            page,
            "\n## {title}\n\n```\n{}\n```",
            lines.join("\n").trim()
        )
        .unwrap();
    };
    add("ide3al", &help);
    for command in commands(&help) {
        let title = format!("ide3al {command}");
        add(&title, &said(&[command, "--help"]));
    }
    compare("docs/reference/commands.md", &page);
}

#[test]
fn tables() {
    let folder = "tests/data/snapshots";
    compare(&format!("{folder}/domains.txt"), &said(&["domains"]));
    let analysis = said(&["analyze", "river-swim", "--policy", "uniform"]);
    compare(&format!("{folder}/analyze-river-swim.txt"), &analysis);
    let solved = said(&["solve", "single-chain", "--formulation", "dual"]);
    // the only line that differs from run to run
    let timeless: Vec<&str> = solved.lines().filter(|l| !l.starts_with("time ")).collect();
    compare(
        &format!("{folder}/solve-single-chain.txt"),
        &(timeless.join("\n") + "\n"),
    );
}

/// Figures of every iteration of a learning experiment, to six digits: the last bits depend on the
/// machine's logarithm.
#[test]
fn what_is_learned() {
    for (model, seed) in [
        ("double-chain", "1"),
        ("river-swim", "2"),
        ("four-rooms", "3"),
    ] {
        let folder = Scratch::new("learned");
        let out = folder.join("runs");
        let out = out.to_str().unwrap();
        let algorithms = match model {
            "four-rooms" => "max-ent,count-based,random,rmax",
            _ => "paper,max-ent,count-based,random,rmax,non-iterative",
        };
        let size = ["--runs", "2", "--iterations", "4", "--batch-size", "40"];
        let named = ["learn", model, "--algorithm", algorithms];
        said(&[&named[..], &["--seed", seed, "--out", out], &size].concat());
        let table = std::fs::read_to_string(folder.join("runs/runs.csv")).unwrap();
        let rows = table.lines().map(|line| {
            let cells = line.split(',').map(|cell| match cell.parse::<f64>() {
                Ok(number) if cell.contains('.') => format!("{number:.5e}"),
                _ => cell.to_owned(),
            });
            cells.collect::<Vec<_>>().join(",")
        });
        let text = rows.collect::<Vec<_>>().join("\n") + "\n";
        compare(&format!("tests/data/snapshots/learn-{model}.csv"), &text);
    }
}
