//! Data flows one way: no module imports one that comes later in the order that its `lib.rs` states
//! (`crates/ide3al`), nor within `solve` and its `distance` one that comes later in theirs; between
//! crates the compiler keeps the order. Tests inside the sources may look anywhere.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Modules that share a line of the order and do not know each other, or that skip what stands
/// above them.
const STRANGERS: [(&str, &str); 8] = [
    ("chain", "domains"),
    ("formulation", "domains"),
    ("solve", "domains"),
    ("evaluation", "domains"),
    ("frontier", "domains"),
    ("evaluation", "frontier"),
    ("learn", "evaluation"),
    ("learn", "frontier"),
];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/ide3al/src")
}

/// The lines of the order that a file states, each with the modules it names.
fn order(file: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(source().join(file)).unwrap();
    let block = text.split("//! ```text\n").nth(1).expect("an order");
    let block = block.split("//! ```").next().unwrap();
    block
        .lines()
        .map(|line| {
            let names = line.trim_start_matches("//!").trim();
            // explanations follow after two spaces
            let names = names.split("  ").next().unwrap_or("");
            names.split(", ").map(str::to_owned).collect()
        })
        .collect()
}

fn place(order: &[Vec<String>], module: &str) -> Option<usize> {
    order
        .iter()
        .position(|line| line.iter().any(|name| name == module))
}

/// Every source below a folder of the library but the folder's own: path, module it belongs to,
/// depth below the folder.
fn files(below: &str) -> Vec<(PathBuf, String, usize)> {
    let mut found = Vec::new();
    let root = source().join(below);
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let parts: Vec<String> = path
                .strip_prefix(&root)
                .unwrap()
                .with_extension("")
                .iter()
                .map(|part| part.to_string_lossy().into_owned())
                .collect();
            let last = parts.last().unwrap().clone();
            let own = parts == ["lib"] || parts == ["mod"];
            if own || last == "tests" || last.ends_with("_tests") {
                continue;
            }
            let depth = parts.len() - usize::from(last == "mod");
            found.push((path, parts[0].clone(), depth));
        }
    }
    found
}

/// The code without comments, and without the tests at its end.
fn code(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let next_is_module = lines
            .peek()
            .is_some_and(|next| next.trim_start().starts_with("mod tests {"));
        if line.trim() == "#[cfg(test)]" && next_is_module {
            break;
        }
        // `//` inside a string would cut the line short: no import is lost by that
        out += line.split("//").next().unwrap_or("");
        out.push('\n');
    }
    out
}

fn identifier(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

/// The modules that a path behind its beginning names: one, or all in braces.
fn named(rest: &str) -> Vec<String> {
    let Some(inside) = rest.trim_start().strip_prefix('{') else {
        return vec![identifier(rest)];
    };
    let (mut depth, mut names, mut fresh) = (0, Vec::new(), true);
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => fresh = true,
            c if fresh && (c.is_alphanumeric() || c == '_') => {
                names.push(identifier(&inside[at..]));
                fresh = false;
            }
            _ => {}
        }
    }
    names
}

/// Modules of a folder that the code names, by its path (`crate::` for the root) or by `super::` up
/// to it.
fn imports(code: &str, path: &str, depth: usize) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, mark) in code.match_indices(path) {
        let before = code[..at].chars().next_back();
        if !before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            found.extend(named(&code[at + mark.len()..]));
        }
    }
    let to_root = "super::".repeat(depth);
    for (at, mark) in code.match_indices(&to_root) {
        if !code[..at].ends_with("super::") {
            found.extend(named(&code[at + mark.len()..]));
        }
    }
    found
}

/// Imports against an order, file by file: of modules further down, and of strangers.
fn against(
    order: &[Vec<String>],
    files: &[(PathBuf, String, usize)],
    path: &str,
    is_stranger: impl Fn(&str, &str) -> bool,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for (file, module, depth) in files {
        let own = place(order, module).unwrap_or_else(|| panic!("{module} has no place"));
        let text = std::fs::read_to_string(file).unwrap();
        for import in imports(&code(&text), path, *depth) {
            if import == *module {
                continue;
            }
            // what the root re-exports (`Error`, `Result`) is no module
            let Some(theirs) = place(order, &import) else {
                continue;
            };
            if theirs > own || is_stranger(module, &import) {
                wrong.push(format!("{}: {module} -> {import}", file.display()));
            }
        }
    }
    wrong
}

#[test]
fn no_module_imports_one_further_down() {
    let files = files("");
    assert!(files.len() > 50, "only {} sources were read", files.len());
    let wrong = against(&order("lib.rs"), &files, "crate::", |module, import| {
        STRANGERS.contains(&(module, import)) || STRANGERS.contains(&(import, module))
    });
    assert!(
        wrong.is_empty(),
        "imports against the flow:\n{}",
        wrong.join("\n")
    );
}

/// Within `solve` and within its distances, too; there, modules on one line are strangers.
#[test]
fn no_solver_imports_one_further_down() {
    for (folder, path, least) in [
        ("solve", "crate::solve::", 40),
        ("solve/distance", "crate::solve::distance::", 20),
    ] {
        let (order, files) = (order(&format!("{folder}/mod.rs")), files(folder));
        assert!(
            files.len() > least,
            "only {} sources were read",
            files.len()
        );
        let wrong = against(&order, &files, path, |module, import| {
            place(&order, module) == place(&order, import)
        });
        assert!(
            wrong.is_empty(),
            "imports against the flow:\n{}",
            wrong.join("\n")
        );
    }
}

#[test]
fn every_module_has_a_place_and_is_read() {
    let order = order("lib.rs");
    let modules: BTreeSet<String> = files("").into_iter().map(|(_, module, _)| module).collect();
    for name in ["model", "chain", "formulation", "solve", "learn"] {
        assert!(modules.contains(name), "{name} was not read");
    }
    for module in modules {
        assert!(place(&order, &module).is_some(), "{module} has no place");
    }
}

#[test]
fn imports_are_read_in_every_form() {
    let read = |code: &str, depth| {
        imports(code, "crate::", depth)
            .into_iter()
            .collect::<Vec<_>>()
    };
    assert_eq!(read("use crate::chain::Chain;", 2), ["chain"]);
    assert_eq!(
        read("use crate::{model::{Mdp, io}, solve};", 2),
        ["model", "solve"]
    );
    assert_eq!(read("let x = crate::learn::run();", 2), ["learn"]);
    assert_eq!(read("use super::super::report::Table;", 2), ["report"]);
    assert_eq!(read("use super::kernel::Row;", 2), Vec::<String>::new());
    assert_eq!(read("use ide3al_crate::x;", 2), Vec::<String>::new());
    let below = imports("use crate::solve::{cost::X, kkt};", "crate::solve::", 1);
    assert_eq!(below.into_iter().collect::<Vec<_>>(), ["cost", "kkt"]);
    let hidden = "// crate::report\n#[cfg(test)]\nmod tests {\n use crate::report;\n}\n";
    assert_eq!(read(&code(hidden), 1), Vec::<String>::new());
}
