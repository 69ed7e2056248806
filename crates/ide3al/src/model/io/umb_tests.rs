//! UMB files of others, damaged ones and malicious ones.

use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::tar;
use super::tests::Folder;
use super::{read_model, write_model};

/// The members of a file: two states; state 0 has two choices, state 1 has one.
fn members() -> Vec<(&'static str, Vec<u8>)> {
    let words = |list: &[u64]| list.iter().flat_map(|k| k.to_le_bytes()).collect();
    let reals = |list: &[f64]| list.iter().flat_map(|p| p.to_le_bytes()).collect();
    vec![
        ("index.json", index().to_string().into_bytes()),
        ("state-to-choices.bin", words(&[0, 2, 3])),
        ("state-is-initial.bin", words(&[0b10])),
        ("choice-to-branches.bin", words(&[0, 2, 3, 4])),
        ("branch-to-target.bin", words(&[0, 1, 1, 0])),
        ("branch-to-probability.bin", reals(&[0.25, 0.75, 1.0, 1.0])),
        (
            "annotations/rewards/r/states/values.bin",
            reals(&[0.0, 1.0]),
        ),
    ]
}

fn index() -> Value {
    json!({
        "format-version": 0, "format-revision": 0,
        "model-data": {"name": "toy"},
        "transition-system": {
            "time": "discrete", "#players": 1, "#states": 2, "#initial-states": 1,
            "#choices": 3, "#choice-actions": 0, "#branches": 4, "#branch-actions": 0,
            "#observations": 0, "branch-probability-type": {"type": "double"},
        },
        "annotations": {"rewards": {"r": {"applies-to": ["states"], "type": {"type": "double"}}}},
    })
}

fn archive(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, contents) in members {
        tar::start_member(&mut bytes, name, contents.len() as u64).unwrap();
        bytes.extend_from_slice(contents);
        tar::finish_member(&mut bytes, contents.len() as u64).unwrap();
    }
    tar::finish(&mut bytes).unwrap();
    bytes
}

fn file(folder: &Folder, bytes: &[u8]) -> PathBuf {
    let path = folder.path("model.umb");
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn plain_and_compressed_archives_are_read() {
    let folder = Folder::new();
    let plain = archive(&members());
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&plain).unwrap();
    for bytes in [plain, gzip.finish().unwrap()] {
        let mdp = read_model(&file(&folder, &bytes)).unwrap();
        assert_eq!((mdp.n_states(), mdp.n_pairs()), (2, 3));
        assert_eq!(mdp.row(0).values, [0.25, 0.75]);
        assert_eq!(mdp.start(), [0.0, 1.0]);
        assert!(mdp.action_names().is_none());
    }
}

#[test]
fn what_is_left_out_has_its_default() {
    let folder = Folder::new();
    // a chain without probabilities: one choice, one branch per state
    let mut index = index();
    index["transition-system"] = json!({
        "time": "discrete", "#players": 0, "#states": 3, "#initial-states": 0, "#choices": 3,
        "#choice-actions": 0, "#branches": 3, "#branch-actions": 0, "#observations": 0,
    });
    let words = [1u64, 2, 0].iter().flat_map(|k| k.to_le_bytes()).collect();
    let members = [
        ("./index.json", index.to_string().into_bytes()),
        ("./branch-to-target.bin", words),
    ];
    let mdp = read_model(&file(&folder, &archive(&members))).unwrap();
    assert_eq!(mdp.row(1).indices, [2]);
    assert_eq!(mdp.start(), [1.0 / 3.0; 3]);
}

#[test]
fn fractions_and_named_actions_are_read() {
    let folder = Folder::new();
    let mut members = members();
    let mut index = index();
    index["transition-system"]["branch-probability-type"] =
        json!({"type": "rational", "size": 128});
    index["transition-system"]["#choice-actions"] = json!(2);
    members[0].1 = index.to_string().into_bytes();
    let fractions = [(1i64, 3u64), (2, 3), (7, 7), (1, 1)];
    members[5].1 = fractions
        .iter()
        .flat_map(|(n, d)| [n.to_le_bytes(), d.to_le_bytes()].concat())
        .collect();
    // choice 0 has action 1: rows are sorted by action
    members.push((
        "actions/choices/values.bin",
        [1u32, 0, 1].iter().flat_map(|a| a.to_le_bytes()).collect(),
    ));
    members.push(("actions/choices/strings.bin", b"upgo".to_vec()));
    members.push((
        "actions/choices/string-mapping.bin",
        [0u64, 2, 4].iter().flat_map(|k| k.to_le_bytes()).collect(),
    ));
    let mdp = read_model(&file(&folder, &archive(&members))).unwrap();
    assert_eq!(mdp.actions(), [0, 1, 1]);
    assert_eq!(mdp.action_names().unwrap(), ["up", "go"]);
    assert_eq!(mdp.row(1).values, [1.0 / 3.0, 2.0 / 3.0]);
    // labels that are not distinct within a state number nothing
    members[7].1 = vec![0; 12];
    let mdp = read_model(&file(&folder, &archive(&members))).unwrap();
    assert_eq!(mdp.actions(), [0, 1, 0]);
    assert!(mdp.action_names().is_none());
}

#[test]
fn mistakes_name_the_member() {
    let folder = Folder::new();
    let message = |members: &[(&str, Vec<u8>)]| {
        let path = file(&folder, &archive(members));
        read_model(&path).unwrap_err().to_string()
    };
    let with = |place: usize, contents: Vec<u8>| {
        let mut members = members();
        members[place].1 = contents;
        message(&members)
    };
    let system = |key: &str, value: Value| {
        let mut index = index();
        index["transition-system"][key] = value;
        with(0, index.to_string().into_bytes())
    };
    assert!(message(&members()[1..]).contains("no index.json"));
    assert!(with(0, b"{".to_vec()).contains("index.json"));
    assert!(system("time", json!("stochastic")).contains("time is \"stochastic\""));
    assert!(system("#players", json!(2)).contains("game of 2 players"));
    assert!(system("#branches", json!(5)).contains("branch-to-target.bin has 32 bytes"));
    assert!(system("#states", json!(1u64 << 40)).contains("too many"));
    assert!(system("#choices", json!(u64::MAX)).contains("choice-to-branches.bin"));
    assert!(
        system(
            "branch-probability-type",
            json!({"type": "double-interval"})
        )
        .contains("\"double-interval\" are not supported")
    );
    assert!(system("branch-probability-type", Value::Null).contains("one branch"));
    let words = |list: &[u64]| {
        list.iter()
            .flat_map(|k| k.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    assert!(with(4, words(&[0, 1, 2, 0])).contains("branch 2 leads to state 2"));
    assert!(with(3, words(&[0, 3, 2, 4])).contains("choice-to-branches.bin must ascend"));
    assert!(with(3, words(&[0, 2, 2, 4])).contains("choice 1 (state 0) has no branch"));
    assert!(with(1, words(&[0, 3, 3])).contains("state 1 has no action"));
    let reals = |list: [f64; 4]| {
        list.iter()
            .flat_map(|p| p.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    assert!(with(5, reals([0.25, 0.5, 1.0, 1.0])).contains("sum to 0.75"));
    assert!(with(5, reals([f64::NAN, 0.5, 1.0, 1.0])).contains("NaN"));
    let mut twice = members();
    twice.push(twice[4].clone());
    assert!(message(&twice).contains("is there twice"));
    let path = file(&folder, b"\xFD7zXZ\0 and so on");
    assert!(
        read_model(&path)
            .unwrap_err()
            .to_string()
            .contains("xz -dc")
    );
    let path = file(&folder, &[b'x'; 2000]);
    assert!(
        read_model(&path)
            .unwrap_err()
            .to_string()
            .contains("not a tar archive")
    );
    let path = file(&folder, b"");
    assert!(read_model(&path).is_err());
}

#[test]
fn claims_beyond_the_file_are_refused_without_memory_for_them() {
    let folder = Folder::new();
    // a member that claims 8 EB, and a system without any file
    let mut bytes = Vec::new();
    let text = index().to_string();
    tar::start_member(&mut bytes, "index.json", text.len() as u64).unwrap();
    bytes.extend_from_slice(text.as_bytes());
    tar::finish_member(&mut bytes, text.len() as u64).unwrap();
    tar::start_member(&mut bytes, "branch-to-target.bin", u64::MAX / 2).unwrap();
    let error = read_model(&file(&folder, &bytes)).unwrap_err().to_string();
    assert!(error.contains("truncated"), "{error}");
    let mut index = index();
    let system = &mut index["transition-system"];
    for key in ["#states", "#choices", "#branches"] {
        system[key] = json!(u32::MAX);
    }
    system["branch-probability-type"] = Value::Null;
    let members = [("index.json", index.to_string().into_bytes())];
    let error = read_model(&file(&folder, &archive(&members)));
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("no branch-to-target.bin")
    );
    // a compressed file that would fill the memory
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    let mut bomb = members.to_vec();
    bomb.push(("branch-to-target.bin", vec![0; 64 << 20]));
    gzip.write_all(&archive(&bomb)).unwrap();
    let error = read_model(&file(&folder, &gzip.finish().unwrap()));
    assert!(error.unwrap_err().to_string().contains("times its size"));
}

#[test]
fn rewards_of_states_and_branches_add_up() {
    let folder = Folder::new();
    let mut parts = members();
    assert_eq!(
        read_model(&file(&folder, &archive(&parts)))
            .unwrap()
            .rewards()
            .unwrap(),
        [0.0, 0.0, 1.0]
    );
    let mut said = index();
    said["annotations"]["rewards"]["r"]["applies-to"] = json!(["states", "branches"]);
    parts[0].1 = said.to_string().into_bytes();
    let branches = [4.0f64, 8.0, 2.0, 0.5]
        .iter()
        .flat_map(|r| r.to_le_bytes())
        .collect();
    parts.push(("annotations/rewards/r/branches/values.bin", branches));
    let mdp = read_model(&file(&folder, &archive(&parts))).unwrap();
    assert_eq!(mdp.rewards().unwrap(), [7.0, 2.0, 1.5]);
    parts.pop();
    parts.push(("annotations/rewards/r/branches/values.bin", vec![0; 8]));
    let told = read_model(&file(&folder, &archive(&parts)))
        .unwrap_err()
        .to_string();
    assert!(told.contains("branches/values.bin has 8 bytes"), "{told}");
}

#[test]
fn bridge_tables_are_read() {
    let folder = Folder::new();
    let path = folder.path("consolidated.npz");
    let table = |transitions: &[i64], shape: &[usize]| {
        let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
        let items = transitions.iter().map(|t| t.to_le_bytes());
        super::npz::member(&mut zip, "transitions", "<i8", shape, items).unwrap();
        let rewards = transitions.iter().map(|_| 0.5f32.to_le_bytes());
        super::npz::member(&mut zip, "rewards", "<f4", shape, rewards).unwrap();
        zip.finish().unwrap();
        read_model(&path)
    };
    let mdp = table(&[1, 2, 2, -1, -1, 0], &[3, 2]).unwrap();
    assert_eq!(mdp.rewards().unwrap(), [0.5; 6]);
    assert_eq!((mdp.n_states(), mdp.n_pairs()), (3, 6));
    let next: Vec<u32> = (0..6).map(|pair| mdp.row(pair).indices[0]).collect();
    assert_eq!(next, [1, 2, 2, 0, 0, 0]);
    assert_eq!(mdp.start(), [1.0, 0.0, 0.0]);
    let error = table(&[1, 3, 2, -1], &[2, 2]).unwrap_err().to_string();
    assert!(error.contains("transitions[0, 1] is 3"), "{error}");
    assert!(
        table(&[1, 0, -2, 0], &[2, 2])
            .unwrap_err()
            .to_string()
            .contains("is -2")
    );
    assert!(
        table(&[0, 0], &[2])
            .unwrap_err()
            .to_string()
            .contains("(states, actions)")
    );
    assert!(table(&[], &[0, 4]).is_err());
    // and may be kept in any format
    let mdp = table(&[1, 2, 2, -1, -1, 0], &[3, 2]).unwrap();
    write_model(&folder.path("kept.umb"), &mdp).unwrap();
    assert_eq!(read_model(&folder.path("kept.umb")).unwrap(), mdp);
}
