//! Data flows one way: no module imports one that comes later in the order that its `lib.rs` states
//! (`crates/ide3al`), nor within `solve` and its `distance` one that comes later in theirs. Between
//! crates the compiler keeps the order that the manifests state, and these are read here. Tests
//! inside the sources may look anywhere.
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

/// Crates in the order of the flow: each may use those before it.
const CRATES: [(&str, &str); 6] = [
    ("ide3al-numerics", "crates/numerics"),
    ("ide3al", "crates/ide3al"),
    ("ide3al-report", "crates/report"),
    ("ide3al-studio", "crates/studio"),
    ("ide3al-cli", "."),
    ("ide3al-python", "python"),
];

/// What a user of the library does not compile: fonts, pictures, pages, arguments, a server.
const NOT_FOR_THE_LIBRARY: [&str; 7] = [
    "resvg",
    "dejavu",
    "ttf-parser",
    "maud",
    "clap",
    "axum",
    "tokio",
];

/// Names of earlier versions that only their authors understood.
const OLD_NAMES: [&str; 20] = [
    "Roads",
    "ROADS",
    "lived",
    "Celled",
    "recut",
    "Evened",
    "Promised",
    "Manner",
    "lump",
    "Lesson",
    "Lessons",
    "Unwanted",
    "thawed",
    "AT_LAST",
    "AT_ONCE",
    "told_apart",
    "helping",
    "judge_as_lived",
    "record_cut",
    "untaught",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn source() -> PathBuf {
    root().join("crates/ide3al/src")
}

/// The lines of the order that a file states, each with the modules it names.
fn order(file: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(file).unwrap();
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

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    found
}

/// Every source below a folder but the folder's own: path, module it belongs to, depth below the
/// folder.
fn files(root: &Path) -> Vec<(PathBuf, String, usize)> {
    let mut found = Vec::new();
    for path in files_below(root) {
        let parts: Vec<String> = path
            .strip_prefix(root)
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
    let (order, files) = (order(&source().join("lib.rs")), files(&source()));
    assert!(files.len() > 50, "only {} sources were read", files.len());
    let wrong = against(&order, &files, "crate::", |module, import| {
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
        let folder = source().join(folder);
        let (order, files) = (order(&folder.join("mod.rs")), files(&folder));
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
    let order = order(&source().join("lib.rs"));
    let modules = files(&source()).into_iter().map(|(_, module, _)| module);
    let modules: BTreeSet<String> = modules.collect();
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

/// An import against the order in a library made for the purpose: of a module further down, behind
/// a comment that names another.
#[test]
fn a_planted_backward_import_is_found() {
    let folder = std::env::temp_dir().join(format!("ide3al-planted-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("model")).unwrap();
    let write = |file: &str, text: &str| std::fs::write(folder.join(file), text).unwrap();
    write("lib.rs", "//! ```text\n//! model\n//! learn\n//! ```\n");
    write("learn.rs", "use crate::model::Mdp;\n");
    write("model/mdp.rs", "// use crate::learn::Agent;\n");
    let wrong = || {
        let order = order(&folder.join("lib.rs"));
        against(&order, &files(&folder), "crate::", |_, _| false)
    };
    assert_eq!(wrong(), Vec::<String>::new());
    write("model/mdp.rs", "use super::super::learn::Agent;\n");
    let found = wrong();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(
        found.len() == 1 && found[0].ends_with("model -> learn"),
        "{found:?}"
    );
}

/// Names under `[dependencies]`, those of tests left out.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let lines = manifest
        .lines()
        .skip_while(|line| *line != "[dependencies]");
    let lines = lines.skip(1).take_while(|line| !line.starts_with('['));
    let names = lines.map(|line| line.split(['.', ' ', '=']).next().unwrap_or(""));
    names
        .filter(|name| !name.is_empty() && !name.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

/// What the manifest of a crate asks for against the flow.
fn backward_dependencies(name: &str, manifest: &str) -> Vec<String> {
    let place = |name: &str| CRATES.iter().position(|(own, _)| *own == name);
    let library = place("ide3al");
    let wrong = |one: &String| {
        place(one) >= place(name) && place(one).is_some()
            || place(name) <= library && NOT_FOR_THE_LIBRARY.contains(&one.as_str())
    };
    let all = dependencies(manifest).into_iter().filter(wrong);
    all.map(|one| format!("{name} -> {one}")).collect()
}

#[test]
fn no_crate_uses_one_further_on() {
    for (name, folder) in CRATES {
        let path = root().join(folder).join("Cargo.toml");
        let manifest = std::fs::read_to_string(path).unwrap();
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{folder}");
        assert!(!dependencies(&manifest).is_empty(), "{name}");
        assert_eq!(backward_dependencies(name, &manifest), Vec::<String>::new());
    }
    let planted =
        "[dependencies]\nide3al-report.workspace = true\nresvg = \"0.49\"\nfaer = \"1\"\n";
    let found = backward_dependencies("ide3al", planted);
    assert_eq!(found, ["ide3al -> ide3al-report", "ide3al -> resvg"]);
}

#[test]
fn names_that_only_we_knew_stay_away() {
    let mut read = 0;
    for folder in CRATES.map(|(_, folder)| root().join(folder).join("src")) {
        for (file, ..) in files(&folder) {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            let old: Vec<&str> = words.filter(|word| OLD_NAMES.contains(word)).collect();
            assert!(old.is_empty(), "{}: {old:?}", file.display());
            read += 1;
        }
    }
    assert!(read > 200, "only {read} sources were read");
}

/// Lines of comments that are longer than 100 columns, but for displayed formulas, tables and code.
fn long_comments(text: &str) -> Vec<&str> {
    let mut in_formula = false;
    let is_long = |line: &&str| {
        let comment = line.trim_start();
        let words = comment.trim_start_matches(['/', '!']).trim_start();
        let is_exempt = in_formula || words.contains("$$");
        in_formula ^= words.matches("$$").count() % 2 == 1;
        let is_code = words.starts_with("let ") || words.starts_with('|');
        comment.starts_with("//") && !is_code && !is_exempt && line.chars().count() > 100
    };
    text.lines().filter(is_long).collect()
}

#[test]
fn comments_have_at_most_100_columns() {
    let long = format!("/// {}", "word ".repeat(20));
    assert_eq!(long_comments(&long), [&long]);
    let formula = format!("//! $$\n//! {}\n//! $$", "x + ".repeat(30));
    assert!(long_comments(&formula).is_empty());
    assert_eq!(long_comments(&format!("{formula}\n{long}")), [&long]);
    for folder in [
        "crates",
        "src",
        "tests",
        "benches",
        "python/src",
        "examples",
    ] {
        for path in files_below(&root().join(folder)) {
            if path.extension().is_some_and(|suffix| suffix == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let found = long_comments(&text);
                assert!(found.is_empty(), "{}: {found:?}", path.display());
            }
        }
    }
}
