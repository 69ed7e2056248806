//! Names from model files and file names are text in every page, picture and table, whatever they
//! hold.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::process::{PROGRAM, Scratch};

/// Would run in a page, break out of an attribute, close a picture's element, or steer a
/// terminal; each ends in a mark by which to find it.
const HOSTILE: [&str; 6] = [
    "<script>document.title='owned'</script>N0",
    "\"><img src=x onerror=\"document.title='owned'\">N1",
    "</title></svg></style><script>document.title='owned'</script>N2",
    "' onload='document.title=1' x='N3",
    "]]><svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"document.title='owned'\"/>N4",
    "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}javascript:N5",
];

/// A model all of whose names are hostile, in a file whose name is, too.
fn model(folder: &Path, map: bool) -> PathBuf {
    let n = HOSTILE.len();
    let transitions: Vec<(usize, usize, usize, f64)> = (0..n)
        .flat_map(|s| [(s, 0, (s + 1) % n, 0.5), (s, 0, s, 0.5), (s, 1, 0, 1.0)])
        .collect();
    let mut document = serde_json::json!({
        "states": n,
        "actions": 2,
        "transitions": transitions,
        "state_names": HOSTILE,
        "action_names": [HOSTILE[0], HOSTILE[3]],
    });
    if map {
        document["layout"] =
            serde_json::json!({"rows": 2, "columns": 3, "cells": [0, 1, 2, 3, 4, 5]});
    }
    let path = folder.join("\"><script>document.title='owned'<!--&.json");
    std::fs::write(&path, document.to_string()).unwrap();
    path
}

fn run(arguments: &[&str]) -> Output {
    let output = Command::new(PROGRAM).args(arguments).output().unwrap();
    for bytes in [&output.stdout, &output.stderr] {
        let text = String::from_utf8(bytes.clone()).unwrap();
        let steers = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(steers), "{arguments:?}: {text:?}");
    }
    output
}

/// No element or attribute that could run anything, and none that fetches.
fn harmless(document: &roxmltree::Document<'_>, what: &str) {
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        let name = node.tag_name().name().to_lowercase();
        let runs = [
            "script",
            "iframe",
            "object",
            "embed",
            "img",
            "link",
            "base",
            "foreignobject",
            "form",
        ];
        assert!(!runs.contains(&name.as_str()), "{what}: <{name}>");
        for attribute in node.attributes() {
            let key = attribute.name().to_lowercase();
            assert!(!key.starts_with("on"), "{what}: {key}");
            let value = attribute.value().to_lowercase();
            assert!(
                !value.contains("javascript:") || key == "aria-label",
                "{what}: {key}={value}"
            );
            if key == "href" || key == "src" {
                assert!(!value.contains(':'), "{what}: {key}={value}");
            }
        }
    }
}

fn check_page(path: &Path) -> String {
    let html = std::fs::read_to_string(path).unwrap();
    assert!(html.contains("Content-Security-Policy") && html.contains("default-src 'none'"));
    let body = &html[html.find("<main>").unwrap()..html.find("</body>").unwrap()];
    let document = roxmltree::Document::parse(body).unwrap();
    harmless(&document, &path.display().to_string());
    // the head holds a title and nothing of it is an element
    let head = &html[..html.find("<main>").unwrap()];
    assert!(
        !head.contains("<script") && !head.contains("onerror=\"document"),
        "{head}"
    );
    html
}

#[test]
fn the_page_of_learn() {
    let scratch = Scratch::new("learn");
    for map in [false, true] {
        let path = model(&scratch.0, map);
        let out = scratch.0.join(format!("out-{map}"));
        let output = run(&[
            "learn",
            path.to_str().unwrap(),
            "--runs",
            "2",
            "--iterations",
            "5",
            "--goal",
            "--out",
            out.to_str().unwrap(),
        ]);
        assert!(output.status.success(), "{output:?}");
        let html = check_page(&out.join("report.html"));
        if !map {
            // the names are there, as text
            assert!(html.contains("&lt;script&gt;document.title=&#39;owned&#39;&lt;/script&gt;N0"));
            assert!(html.contains("N5"));
        }
    }
}

#[test]
fn the_picture_of_frontier() {
    let scratch = Scratch::new("frontier");
    let path = model(&scratch.0, false);
    let out = scratch.0.join("frontier.svg");
    let output = run(&[
        "frontier",
        path.to_str().unwrap(),
        "--points",
        "3",
        "--out",
        out.to_str().unwrap(),
    ]);
    assert!(output.status.success(), "{output:?}");
    let svg = std::fs::read_to_string(&out).unwrap();
    harmless(&roxmltree::Document::parse(&svg).unwrap(), "frontier.svg");
}

#[test]
fn the_tables_of_solve_and_analyze() {
    let scratch = Scratch::new("tables");
    for map in [false, true] {
        let path = model(&scratch.0, map);
        let path = path.to_str().unwrap();
        for arguments in [
            &["solve", path][..],
            &["solve", path, "--json"],
            &["analyze", path],
            &["analyze", path, "--json"],
            &["solve", path, "--xi", "0.9"],
            &["convert", path, "\u{1b}[31m.xyz"],
            &["analyze", "\u{1b}[31mno-such-model"],
            &["learn", path, "--algorithm", "\u{9b}31m"],
        ] {
            run(arguments);
        }
    }
}
