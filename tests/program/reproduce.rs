//! `ide3al reproduce` as a user meets it.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

/// A folder that goes away with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ide3al-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn reproduce(arguments: &[&str], out: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ide3al"))
        .arg("reproduce")
        .args(arguments)
        .arg("--out")
        .arg(out)
        .output()
        .unwrap()
}

fn written(path: &Path) -> SystemTime {
    std::fs::metadata(path).unwrap().modified().unwrap()
}

#[test]
fn cheap_experiments_from_end_to_end_and_again() {
    let folder = Scratch::new("reproduce");
    let ids = ["fig-xi", "table-single-chain", "table-parameters"];
    let output = reproduce(&ids, &folder.0);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = std::fs::read_to_string(folder.0.join("results.json")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&text).unwrap();
    let results = results.as_array().unwrap();
    assert_eq!(results.len(), ids.len());
    for (result, id) in results.iter().zip(ids) {
        assert_eq!(result["id"], id);
        assert!(result["kind"].is_string());
        let rows = result["rows"].as_array().unwrap();
        assert!(!rows.is_empty());
        for row in rows {
            for key in [
                "name", "paper", "measured", "low", "high", "verdict", "reason",
            ] {
                assert!(row.get(key).is_some(), "{id}: {key}");
            }
            let verdict = row["verdict"].as_str().unwrap();
            assert!(["holds", "holds in part", "not reproduced"].contains(&verdict));
        }
        for file in result["files"].as_array().unwrap() {
            assert!(folder.0.join(file.as_str().unwrap()).is_file(), "{file}");
        }
    }
    // the optimal policies nearest to uniform match the paper's digits
    let rows = results[1]["rows"].as_array().unwrap();
    for name in [
        "Frobenius, ξ 0: H(d) / ln S",
        "Frobenius, ξ 0.1: H(d) / ln S",
        "Frobenius, ξ 0.1: min d",
    ] {
        let row = rows.iter().find(|r| r["name"] == name).unwrap();
        assert_eq!(row["verdict"], "holds", "{name}");
    }
    for file in [
        "figures/fig-xi.svg",
        "figures/fig-xi.png",
        "tables/table-single-chain.csv",
    ] {
        assert!(folder.0.join(file).is_file(), "{file}");
    }
    let page = std::fs::read_to_string(folder.0.join("index.html")).unwrap();
    for id in ids {
        assert!(page.contains(id));
    }
    assert!(!page.contains("<script") && !page.contains("<img"));

    // what is finished is kept, what is missing a file is done again
    let kept = written(&folder.0.join("finished/fig-xi.json"));
    std::fs::remove_file(folder.0.join("tables/table-parameters.csv")).unwrap();
    let mut again = ids.to_vec();
    again.push("--resume");
    assert!(reproduce(&again, &folder.0).status.success());
    assert_eq!(kept, written(&folder.0.join("finished/fig-xi.json")));
    assert!(folder.0.join("tables/table-parameters.csv").is_file());
    // a result of other parameters is no result of these
    let stored = folder.0.join("finished/fig-xi.json");
    let text = std::fs::read_to_string(&stored).unwrap();
    std::fs::write(&stored, text.replace("points = 26", "points = 27")).unwrap();
    assert!(reproduce(&again, &folder.0).status.success());
    let text = std::fs::read_to_string(&stored).unwrap();
    assert!(text.contains("points = 26"));
}

#[test]
fn bad_calls_explain_themselves() {
    let folder = Scratch::new("reproduce-bad");
    let output = reproduce(&["fig-duble-chain"], &folder.0);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("fig-double-chain"), "{message}");
    assert!(!folder.0.exists());
    let output = reproduce(&["fig-xi", "--threads", "0"], &folder.0);
    assert_eq!(output.status.code(), Some(2));
    // a file where the folder should be
    std::fs::write(&folder.0, "in the way").unwrap();
    let output = reproduce(&["fig-xi"], &folder.0);
    assert_eq!(output.status.code(), Some(2));
    let _ = std::fs::remove_file(&folder.0);
}
