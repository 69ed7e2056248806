//! Completions and manual pages, made by the program from its own command line.

#![allow(clippy::unwrap_used)]

use crate::process::{Scratch, ide3al};

const COMMANDS: [&str; 5] = ["analyze", "frontier", "learn", "solve", "reproduce"];

fn said(arguments: &[&str]) -> String {
    let output = ide3al(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_shell_completes_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = said(&["completions", shell]);
        for command in COMMANDS {
            assert!(text.contains(command), "{shell} does not know {command}");
        }
        assert!(text.contains("formulation"), "{shell} knows no flags");
    }
    assert_eq!(ide3al(&["completions", "tcsh"]).status.code(), Some(2));
}

#[test]
fn one_manual_page_per_command() {
    let scratch = Scratch::new("man");
    let folder = scratch.join("man1");
    said(&["man", "--out", folder.to_str().unwrap()]);
    for command in COMMANDS {
        let page = std::fs::read_to_string(folder.join(format!("ide3al-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{command}");
    }
    let first = std::fs::read_to_string(folder.join("ide3al.1")).unwrap();
    assert_eq!(first, said(&["man"]));
}
