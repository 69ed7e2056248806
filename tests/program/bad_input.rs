//! Bad input, one by one: exit code 2, a message with file, place and remedy, no output file.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of its own for each test, removed afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let name = format!("ide3al-bad-input-{}-{test}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn ide3al(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ide3al"))
        .args(arguments)
        .output()
        .unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

/// Converts `input` and expects refusal with every one of `words` in the message.
fn refused(folder: &Folder, input: &str, words: &[&str]) {
    refused_with(folder, &["convert", input], words);
}

fn refused_with(folder: &Folder, arguments: &[&str], words: &[&str]) {
    for out in ["out.json", "out.npz", "out.tra", "out.umb"] {
        let before = files(&folder.0);
        let out = folder.0.join(out);
        let mut arguments = arguments.to_vec();
        arguments.push(out.to_str().unwrap());
        let output = ide3al(&arguments);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        for word in words {
            assert!(message.contains(word), "'{word}' is not in: {message}");
        }
        assert_eq!(
            message.trim_end().lines().count(),
            1,
            "one message: {message}"
        );
        assert_eq!(files(&folder.0), before, "a file was left behind");
        assert!(output.stdout.is_empty());
    }
}

fn json(states: usize, actions: usize, transitions: &str) -> String {
    format!("{{\"states\": {states}, \"actions\": {actions}, \"transitions\": [{transitions}]}}")
}

/// An uncompressed archive with one NumPy array.
fn npz(name: &str, description: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    zip.start_file(format!("{name}.npy"), stored).unwrap();
    let text =
        format!("{{'descr': '{description}', 'fortran_order': False, 'shape': {shape}, }}\n");
    zip.write_all(b"\x93NUMPY\x01\x00").unwrap();
    zip.write_all(&(text.len() as u16).to_le_bytes()).unwrap();
    zip.write_all(text.as_bytes()).unwrap();
    zip.write_all(data).unwrap();
    zip.finish().unwrap().into_inner()
}

fn dense(shape: &str, numbers: &[f64]) -> Vec<u8> {
    let data: Vec<u8> = numbers.iter().flat_map(|p| p.to_le_bytes()).collect();
    npz("P", "<f8", shape, &data)
}

#[test]
fn a_row_that_does_not_sum_to_one() {
    let folder = Folder::new("sum");
    let file = folder.write("m.json", json(2, 1, "[0,0,0,0.5],[0,0,1,0.25],[1,0,1,1]"));
    refused(
        &folder,
        &file,
        &["m.json", "state 0, action 0", "0.75", "rescale"],
    );
    let file = folder.write("m.npz", dense("(1, 1, 1)", &[0.75]));
    refused(&folder, &file, &["m.npz", "state 0, action 0", "0.75"]);
    let file = folder.write("m.tra", "1 1 1\n0 0 0 0.75\n");
    refused(&folder, &file, &["m.tra", "state 0, action 0", "0.75"]);
}

#[test]
fn a_negative_probability() {
    let folder = Folder::new("negative");
    let file = folder.write("m.json", json(2, 1, "[0,0,0,-0.5],[0,0,1,1.5],[1,0,1,1]"));
    refused(
        &folder,
        &file,
        &[
            "m.json",
            "state 0, action 0, next state 0",
            "-0.5",
            "correct",
        ],
    );
    let file = folder.write("m.npz", dense("(1, 1, 1)", &[-1.0]));
    refused(
        &folder,
        &file,
        &["m.npz", "state 0, action 0, next state 0", "-1"],
    );
}

#[test]
fn a_probability_that_is_not_a_number() {
    let folder = Folder::new("nan");
    let file = folder.write("m.json", json(1, 1, "[0,0,0,NaN]"));
    refused(
        &folder,
        &file,
        &["m.json", "line 1", "NaN is not a probability"],
    );
    let file = folder.write("m.npz", dense("(1, 1, 1)", &[f64::NAN]));
    refused(
        &folder,
        &file,
        &["m.npz", "state 0, action 0", "NaN", "correct"],
    );
    let file = folder.write("m.tra", "1 1 1\n0 0 0 NaN\n");
    refused(&folder, &file, &["m.tra", "line 2", "NaN", "correct"]);
}

#[test]
fn an_infinite_probability() {
    let folder = Folder::new("infinite");
    let file = folder.write("m.json", json(1, 1, "[0,0,0,Infinity]"));
    refused(
        &folder,
        &file,
        &["m.json", "line 1", "Infinity is not a probability"],
    );
    let file = folder.write("m.json", json(1, 1, "[0,0,0,1e999]"));
    refused(&folder, &file, &["m.json", "number out of range at line 1"]);
    let file = folder.write("m.npz", dense("(1, 1, 1)", &[f64::INFINITY]));
    refused(&folder, &file, &["m.npz", "state 0, action 0", "inf"]);
}

#[test]
fn an_index_out_of_range() {
    let folder = Folder::new("range");
    let cases = [
        ("[0,0,5,1]", "next state 5"),
        ("[7,0,0,1]", "state 7"),
        ("[0,3,0,1]", "action 3"),
    ];
    for (entry, place) in cases {
        let file = folder.write("m.json", json(1, 1, &format!("[0,0,0,1],{entry}")));
        refused(
            &folder,
            &file,
            &["m.json", place, "there are 1", "transitions[1]"],
        );
    }
    let file = folder.write("m.json", json(1, 1, "[0,0,-1,1]"));
    refused(&folder, &file, &["m.json", "-1", "line 1 column"]);
    let file = folder.write("m.tra", "1 1 1\n0 0 4 1\n");
    refused(&folder, &file, &["m.tra", "line 2", "next state 4"]);
    let start = "{\"states\":1,\"actions\":1,\"start\":3,\"transitions\":[[0,0,0,1]]}";
    let file = folder.write("m.json", start);
    refused(&folder, &file, &["m.json", "start state 3", "there are 1"]);
}

#[test]
fn a_state_without_an_action() {
    let folder = Folder::new("no-action");
    let file = folder.write("m.json", json(3, 1, "[0,0,1,1],[2,0,0,1]"));
    refused(
        &folder,
        &file,
        &["m.json", "state 1 has no action", "self-loop"],
    );
    let file = folder.write("m.npz", dense("(2, 1, 2)", &[1.0, 0.0, 0.0, 0.0]));
    refused(&folder, &file, &["m.npz", "state 1 has no action"]);
    // a claim of four billion states must not allocate them
    let file = folder.write("m.json", json(4_000_000_000, 1, "[0,0,0,1]"));
    refused(&folder, &file, &["state 1 has no action"]);
}

#[test]
fn an_empty_model() {
    let folder = Folder::new("empty");
    let file = folder.write("m.json", json(0, 1, ""));
    refused(&folder, &file, &["m.json", "empty", "at least one state"]);
    let file = folder.write("m.json", json(1, 0, ""));
    refused(&folder, &file, &["m.json", "empty"]);
    let file = folder.write("m.npz", dense("(0, 1, 0)", &[]));
    refused(&folder, &file, &["m.npz", "empty"]);
    let file = folder.write("m.tra", "");
    refused(&folder, &file, &["m.tra", "empty"]);
    let file = folder.write("m.json", "");
    refused(&folder, &file, &["m.json", "truncated"]);
}

#[test]
fn sizes_that_disagree() {
    let folder = Folder::new("sizes");
    let one = "\"states\":1,\"actions\":1,\"transitions\":[[0,0,0,1]]";
    let cases = [
        ("\"start\":[0.5,0.5]", "2 entries for 1 states"),
        ("\"state_names\":[\"a\",\"b\"]", "state names: expected 1"),
        ("\"action_names\":[\"a\",\"b\"]", "action_names: expected 1"),
        (
            "\"layout\":{\"rows\":1,\"columns\":1,\"cells\":[0,0]}",
            "layout cells: expected 1",
        ),
    ];
    for (key, problem) in cases {
        let file = folder.write("m.json", format!("{{{one},{key}}}"));
        refused(&folder, &file, &["m.json", problem]);
    }
    let file = folder.write("m.npz", dense("(1, 2, 3)", &[0.0; 6]));
    refused(&folder, &file, &["m.npz", "[1, 2, 3]", "disagree"]);
    let file = folder.write("m.npz", dense("(2, 3)", &[0.0; 6]));
    refused(&folder, &file, &["m.npz", "[2, 3]", "(S, A, S)"]);
    let file = folder.write("m.tra", "1 1 9\n0 0 0 1\n");
    refused(
        &folder,
        &file,
        &["m.tra", "says 9 transitions", "there are 1"],
    );
}

#[test]
fn a_truncated_archive() {
    let folder = Folder::new("truncated");
    let whole = dense("(1, 1, 1)", &[1.0]);
    for cut in [0, 10, whole.len() / 2, whole.len() - 1] {
        let file = folder.write("m.npz", &whole[..cut]);
        refused(
            &folder,
            &file,
            &["m.npz", "truncated or corrupted", "write it again"],
        );
    }
    let file = folder.write("m.npz", dense("(1, 1, 1)", &[]));
    refused(
        &folder,
        &file,
        &["m.npz", "'P'", "end after 0", "truncated"],
    );
}

#[test]
fn a_corrupted_archive() {
    let folder = Folder::new("corrupted");
    let mut bytes = dense("(1, 1, 1)", &[1.0]);
    // one bit of the number itself: only the archive's checksum can tell
    let number = bytes.windows(8).position(|w| w == 1.0f64.to_le_bytes());
    bytes[number.unwrap()] ^= 1;
    let file = folder.write("m.npz", &bytes);
    refused(
        &folder,
        &file,
        &["m.npz", "'P'", "corrupted", "write it again"],
    );
    let file = folder.write("m.npz", "this is no archive");
    refused(&folder, &file, &["m.npz", "not a readable NPZ"]);
    let file = folder.write("m.npz", npz("Q", "<f8", "(1,)", &[0; 8]));
    refused(&folder, &file, &["m.npz", "neither", "only: Q"]);
}

#[test]
fn a_header_that_claims_too_much_does_not_allocate() {
    let folder = Folder::new("claims");
    for shape in [
        "(1000000, 1000000, 1000000)",
        "(1000000000000000000,)",
        "(99999999999, 99999999999, 99999999999)",
    ] {
        let file = folder.write("m.npz", dense(shape, &[1.0]));
        refused(&folder, &file, &["m.npz", "'P'"]);
    }
}

#[test]
fn malformed_json_names_its_line() {
    let folder = Folder::new("json");
    let file = folder.write(
        "m.json",
        "{\n\"states\": 1,\n\"actions\": 1,\n\"transitions\": [[0,0,0,1]\n}",
    );
    refused(
        &folder,
        &file,
        &["m.json", "line 5 column 1", "malformed JSON"],
    );
    let file = folder.write("m.json", "{\n\"states\": \"one\"}");
    refused(&folder, &file, &["m.json", "line 2", "correct that place"]);
    let file = folder.write("m.json", "{\"states\": 1, \"acitons\": 1}");
    refused(
        &folder,
        &file,
        &["m.json", "'acitons'", "did you mean 'actions'"],
    );
}

#[test]
fn an_unknown_domain_or_parameter() {
    let folder = Folder::new("unknown");
    refused(
        &folder,
        "duoble-chain",
        &["'duoble-chain'", "did you mean 'double-chain'"],
    );
    refused(
        &folder,
        "garnet:satates=3",
        &["'garnet:satates'", "did you mean 'states'"],
    );
    refused(
        &folder,
        "garnet:states=3.5",
        &["states = 3.5", "whole number"],
    );
    refused(&folder, "single-chain:slip=2", &["slip = 2", "0 to 1"]);
    refused(
        &folder,
        "no/such/file.json",
        &["no/such/file.json", "cannot read"],
    );
}

#[test]
fn a_policy_of_another_shape() {
    let folder = Folder::new("policy");
    let cases: [(&str, &[&str]); 6] = [
        (
            "{\"policy\": [[0.5,0.5]]}",
            &["p.json", "expected 6 rows", "found 1"],
        ),
        (
            "{\"policy\": [[1],[1],[1],[1],[1],[1]]}",
            &["p.json", "state 0", "1 probabilities for 2 actions"],
        ),
        (
            "{\"policy\": [0.5, 0.5]}",
            &["p.json", "12 state-action pairs", "found 2"],
        ),
        ("{\"polcy\": []}", &["p.json", "'policy' is missing"]),
        (
            "{\"policy\": [[0.5,0.5],[0.5,0.4],[1,0],[1,0],[1,0],[1,0]]}",
            &["p.json", "state 1", "sum to 0.9"],
        ),
        (
            "{\"policy\": [[0.5,0.5],[-1,2],[1,0],[1,0],[1,0],[1,0]]}",
            &["p.json", "state 1", "-1"],
        ),
    ];
    for (text, words) in cases {
        let file = folder.write("p.json", text);
        let out = folder.0.join("out.npz");
        let arguments = [
            "convert",
            "--model",
            "river-swim",
            &file,
            out.to_str().unwrap(),
        ];
        let output = ide3al(&arguments);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        for word in words {
            assert!(message.contains(word), "'{word}' is not in: {message}");
        }
        assert!(!out.exists());
    }
}

#[test]
fn a_map_without_a_free_cell() {
    let folder = Folder::new("map");
    let file = folder.write("walls.txt", "###\n###\n");
    refused(
        &folder,
        &format!("grid:{file}"),
        &["walls.txt", "no free cell", "draw"],
    );
    let file = folder.write("odd.txt", "###\n#x#\n");
    refused(
        &folder,
        &format!("grid:{file}"),
        &["odd.txt", "line 2, column 2", "'x'"],
    );
}

#[test]
fn an_output_that_exists_or_has_no_format() {
    let folder = Folder::new("output");
    let file = folder.write("kept.json", "precious");
    let output = ide3al(&["convert", "river-swim", &file]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(message.contains("--force"), "{message}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
    assert!(
        ide3al(&["convert", "--force", "river-swim", &file])
            .status
            .success()
    );
    let output = ide3al(&["convert", "river-swim", "model.xyz"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains(".json, .npz, .tra or .umb")
    );
}

#[test]
fn json_to_npz_to_tra_to_json_returns_the_same_bytes() {
    let folder = Folder::new("round");
    let uneven = "{\"states\":3,\"actions\":3,\"start\":[0.1,0.2,0.7],\
        \"transitions\":[[0,2,1,0.3333333333333333],[0,2,0,0.6666666666666667],[1,0,2,1],[1,1,1,1e-300],[1,1,0,1],[2,1,2,1]],\
        \"state_names\":[\"a b\",\"\",\"\\\"q\\\"\"],\"action_names\":[\"up\",\"to the left\",\"up\"],\
        \"layout\":{\"rows\":1,\"columns\":4,\"cells\":[0,1,3]},\"author\":\"kept by others\"}";
    let models = [
        folder.write("uneven.json", uneven),
        "knight-quest".to_owned(),
        "garnet:states=300".to_owned(),
        "four-rooms:slip=0.1".to_owned(),
    ];
    for (k, model) in models.iter().enumerate() {
        let path = |name: &str| {
            folder
                .0
                .join(format!("{k}-{name}"))
                .to_str()
                .unwrap()
                .to_owned()
        };
        let files = [
            model.clone(),
            path("1.json"),
            path("2.npz"),
            path("3.tra"),
            path("4.json"),
        ];
        for step in files.windows(2) {
            let output = ide3al(&["convert", &step[0], &step[1]]);
            let message = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.success(), "{message}");
            let printed = String::from_utf8(output.stdout).unwrap();
            assert!(
                printed.starts_with("wrote ") && printed.contains(" states, "),
                "{printed}"
            );
        }
        let first = std::fs::read(&files[1]).unwrap();
        assert!(first == std::fs::read(&files[4]).unwrap(), "{model}");
    }
}
