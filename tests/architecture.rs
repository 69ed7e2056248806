//! Data flows one way: no module imports one that comes later in the order that its `lib.rs` states
//! (`crates/ide3al`); between crates the compiler keeps the order. Tests inside the sources may
//! look anywhere.
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

/// The lines of the order in `lib.rs`, each with the modules it names.
fn order() -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(source().join("lib.rs")).unwrap();
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

/// Every source of the library: path, module it belongs to, depth below the crate's root.
fn files() -> Vec<(PathBuf, String, usize)> {
    let mut found = Vec::new();
    let mut folders = vec![source()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let parts: Vec<String> = path
                .strip_prefix(source())
                .unwrap()
                .with_extension("")
                .iter()
                .map(|part| part.to_string_lossy().into_owned())
                .collect();
            let last = parts.last().unwrap().clone();
            if last == "lib" || last == "tests" || last.ends_with("_tests") {
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

/// The modules of the crate's root that a path behind `crate::` names: one, or all in braces.
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

/// Modules of the crate's root that the code names, by `crate::` or by `super::` up to the root.
fn imports(code: &str, depth: usize) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, mark) in code.match_indices("crate::") {
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

#[test]
fn no_module_imports_one_further_down() {
    let order = order();
    let mut wrong = Vec::new();
    let files = files();
    assert!(files.len() > 50, "only {} sources were read", files.len());
    for (path, module, depth) in &files {
        let own = place(&order, module)
            .unwrap_or_else(|| panic!("{module} has no place in the order of lib.rs"));
        let text = std::fs::read_to_string(path).unwrap();
        for import in imports(&code(&text), *depth) {
            if import == *module {
                continue;
            }
            // what the root re-exports (`Error`, `Result`) is no module
            let Some(theirs) = place(&order, &import) else {
                continue;
            };
            let stranger =
                STRANGERS.contains(&(module, &import)) || STRANGERS.contains(&(&import, module));
            if theirs > own || stranger {
                wrong.push(format!("{}: {module} -> {import}", path.display()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "imports against the flow:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn every_module_has_a_place_and_is_read() {
    let order = order();
    let modules: BTreeSet<String> = files().into_iter().map(|(_, module, _)| module).collect();
    for name in ["model", "chain", "formulation", "solve", "learn"] {
        assert!(modules.contains(name), "{name} was not read");
    }
    for module in modules {
        assert!(place(&order, &module).is_some(), "{module} has no place");
    }
}

#[test]
fn imports_are_read_in_every_form() {
    let read = |code: &str, depth| imports(code, depth).into_iter().collect::<Vec<_>>();
    assert_eq!(read("use crate::chain::Chain;", 2), ["chain"]);
    assert_eq!(
        read("use crate::{model::{Mdp, io}, solve};", 2),
        ["model", "solve"]
    );
    assert_eq!(read("let x = crate::learn::run();", 2), ["learn"]);
    assert_eq!(read("use super::super::report::Table;", 2), ["report"]);
    assert_eq!(read("use super::kernel::Row;", 2), Vec::<String>::new());
    assert_eq!(read("use ide3al_crate::x;", 2), Vec::<String>::new());
    let hidden = "// crate::report\n#[cfg(test)]\nmod tests {\n use crate::report;\n}\n";
    assert_eq!(read(&code(hidden), 1), Vec::<String>::new());
}
