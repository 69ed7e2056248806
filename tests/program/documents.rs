//! Every ```sh block of the documents runs as it is printed, one after the other within a page, in a folder of its own. A block
//! without `sh` is only shown: output, or commands that take minutes.

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

fn blocks(text: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match (inside, line) {
            (false, "```sh") => {
                inside = true;
                blocks.push(String::new());
            }
            (true, "```") => inside = false,
            (true, _) => {
                let block = blocks.last_mut().unwrap();
                *block += line;
                block.push('\n');
            }
            (false, _) => {}
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
    let mut run = 0;
    for page in pages() {
        let scratch = Scratch::new("documents");
        for block in blocks(&std::fs::read_to_string(&page).unwrap()) {
            let output = Command::new("sh")
                .args(["-eu", "-c", &block])
                .current_dir(&scratch.0)
                .env("PATH", &path)
                .output()
                .unwrap();
            assert!(
                output.status.success(),
                "{}:\n{block}\n{}",
                page.display(),
                String::from_utf8_lossy(&output.stderr)
            );
            run += 1;
        }
    }
    assert!(run > 0, "no page has a block to run");
}
