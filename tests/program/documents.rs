//! Every block of the documents that is marked `sh` runs as it is printed, one after the other
//! within a page, in a folder of its own. What a block marked `text` behind it shows is what was
//! printed. A block without either is only shown: commands that take minutes.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{PROGRAM, Scratch};

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// Commands, and lines of what they print.
#[derive(Default)]
struct Block {
    commands: String,
    output: Vec<String>,
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    // the kind of the block that a line stands in, and of the last one that was not output
    let (mut inside, mut before) = (None, "");
    for line in text.lines() {
        match (inside, line.strip_prefix("```")) {
            (None, None) => {}
            (None, Some(kind)) => {
                inside = Some(kind);
                if kind == "sh" {
                    blocks.push(Block::default());
                }
            }
            (Some(kind), Some("")) => {
                inside = None;
                if kind != "text" {
                    before = kind;
                }
            }
            (Some("sh"), _) => {
                let block = blocks.last_mut().unwrap();
                block.commands += line;
                block.commands.push('\n');
            }
            // what Python prints is compared by its own tests
            (Some("text"), _) if before == "sh" => {
                blocks.last_mut().unwrap().output.push(line.to_owned());
            }
            (Some(_), _) => {}
        }
    }
    blocks
}

#[cfg(unix)]
#[test]
fn the_commands_of_the_documents_run() {
    let folder = Path::new(PROGRAM).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", folder.display());
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let (mut run, mut shown) = (0, 0);
    for page in pages() {
        let scratch = Scratch::new("documents");
        // pages name the repository's examples as seen from its root
        std::os::unix::fs::symlink(&examples, scratch.join("examples")).unwrap();
        for block in blocks(&std::fs::read_to_string(&page).unwrap()) {
            let output = Command::new("sh")
                .args(["-eu", "-c", &block.commands])
                .current_dir(&scratch.0)
                .env("PATH", &path)
                .output()
                .unwrap();
            assert!(
                output.status.success(),
                "{}:\n{}\n{}",
                page.display(),
                block.commands,
                String::from_utf8_lossy(&output.stderr)
            );
            run += 1;
            // digits of learning hang on the system's logarithms; times at the end of a line are
            // left out
            if cfg!(target_os = "linux") {
                let printed = String::from_utf8(output.stdout).unwrap();
                for line in &block.output {
                    assert!(
                        printed.lines().any(|other| other.starts_with(line)),
                        "{}: '{line}' was not printed:\n{printed}",
                        page.display()
                    );
                }
                shown += block.output.len();
            }
        }
    }
    assert!(run > 0, "no page has a block to run");
    assert!(
        shown > 0 || !cfg!(target_os = "linux"),
        "no page shows output"
    );
}

/// Programs, tests and modules that a document names are where it says.
#[test]
fn the_files_that_the_documents_name_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = pages();
    pages.extend(["CONTRIBUTING.md", "python/README.md"].map(|name| root.join(name)));
    let mut named = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        // odd pieces stand between backticks
        for name in text.split('`').skip(1).step_by(2) {
            let path = Path::new(name);
            let code = path.extension().is_some_and(|e| e == "rs" || e == "py");
            // a name alone stands beside a path; NAME is to be filled in
            if !code || !name.contains('/') || name.contains("NAME") || name.contains(' ') {
                continue;
            }
            let folders = [
                "",
                "src",
                "python",
                "crates/ide3al/src",
                "crates/report/src",
                "crates/studio/src",
            ];
            let there = folders.map(|folder| root.join(folder).join(path));
            assert!(
                there.iter().any(|path| path.is_file()),
                "{}: there is no {name}",
                page.display()
            );
            named += 1;
        }
    }
    assert!(named > 20, "only {named} files are named");
}
