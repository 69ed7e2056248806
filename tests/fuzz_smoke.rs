//! Damaged files into every reader, on the stable toolchain and for a bounded time: no panic, and
//! no more memory than the file's size deserves. The same code as the targets under `fuzz/`.
#![allow(clippy::unwrap_used)]

mod trust;

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use trust::arbitrary::Source;
use trust::mutate::{mutate, mutate_member};
use trust::readers::{Fed, READERS, feed, resealed};
use trust::{scratch, solve_bytes};

/// The stored files of a reader with their names.
fn corpus(reader: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus")
        .join(reader);
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    paths
        .iter()
        .map(|path| (name(path), std::fs::read(path).unwrap()))
        .collect()
}

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(otherwise)
}

#[test]
fn every_reader_takes_its_corpus() {
    let folder = scratch();
    for reader in READERS {
        let files = corpus(reader);
        assert!(!files.is_empty(), "no file for {reader}");
        for (name, bytes) in &files {
            let bytes = if reader == "checkpoint" {
                resealed(bytes.clone())
            } else {
                bytes.clone()
            };
            let fed = feed(reader, &bytes, folder);
            if name.starts_with("claims") {
                assert!(matches!(fed, Fed::Refused(_)), "{reader} took {name}");
            } else if let Fed::Refused(message) = fed {
                // a whole experiment's identity is of another model; everything else is sound
                assert!(reader == "experiment-json", "{reader} {name}: {message}");
            }
        }
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).unwrap();
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// The damage itself, in a process of its own whose memory is limited: `damaged_files...` below.
#[test]
#[ignore = "started by the test below, under a memory limit"]
fn child() {
    let (seed, seconds) = (setting("SMOKE_SEED", 1), setting("SMOKE_SECONDS", 20));
    let folder = scratch();
    let begun = Instant::now();
    let mut counts = vec![(0u64, 0u64); READERS.len()];
    let mut slowest = (Duration::ZERO, "");
    let mut failures = 0;
    let mut round = 0u64;
    while begun.elapsed() < Duration::from_secs(seconds) && round < 1_000_000 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(round);
        round += 1;
        for (k, reader) in READERS.iter().enumerate() {
            let files = corpus_of(reader);
            let (one, other) = (rng.below(files.len()), rng.below(files.len()));
            let mut bytes = mutate(&mut rng, &files[one], &files[other]);
            if rng.chance(0.6)
                && let Some(inside) = mutate_member(&mut rng, &files[one])
            {
                bytes = inside;
            }
            if *reader == "checkpoint" && rng.chance(0.8) {
                bytes = resealed(bytes);
            }
            let started = Instant::now();
            let result = catch_unwind(AssertUnwindSafe(|| feed(reader, &bytes, folder)));
            let took = started.elapsed();
            if took > slowest.0 {
                slowest = (took, reader);
            }
            counts[k].0 += 1;
            match result {
                Ok(Fed::Taken) => counts[k].1 += 1,
                Ok(Fed::Refused(_)) => {}
                Err(_) => {
                    failures += 1;
                    keep(reader, seed, round, &bytes);
                }
            }
            if took > Duration::from_secs(5) {
                failures += 1;
                keep(&format!("slow-{reader}"), seed, round, &bytes);
            }
        }
        // models from bytes through the solvers
        if round.is_multiple_of(4) {
            let bytes: Vec<u8> = (0..200).map(|_| rng.below(256) as u8).collect();
            let solved = catch_unwind(AssertUnwindSafe(|| solve_bytes(&bytes)));
            if solved.is_err() {
                failures += 1;
                keep("solve", seed, round, &bytes);
            }
        }
    }
    let mut out = std::io::stderr();
    writeln!(
        out,
        "seed {seed}, {round} rounds, slowest {:?} ({})",
        slowest.0, slowest.1
    )
    .unwrap();
    for (reader, (fed, taken)) in READERS.iter().zip(&counts) {
        writeln!(out, "{fed:>8} fed, {taken:>7} taken: {reader}").unwrap();
    }
    let _ = std::fs::remove_dir_all(folder);
    assert_eq!(failures, 0, "see target/tmp/fuzz-failures");
    assert!(counts.iter().any(|c| c.0 > 20), "too slow to tell");
}

/// The corpus, read once.
fn corpus_of(reader: &str) -> &'static [Vec<u8>] {
    use std::collections::HashMap;
    use std::sync::OnceLock;
    static ALL: OnceLock<HashMap<&'static str, Vec<Vec<u8>>>> = OnceLock::new();
    let bytes = |reader| corpus(reader).into_iter().map(|(_, bytes)| bytes).collect();
    let all = ALL.get_or_init(|| READERS.iter().map(|r| (*r, bytes(r))).collect());
    &all[reader]
}

fn keep(what: &str, seed: u64, round: u64, bytes: &[u8]) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz-failures");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{what}-{seed}-{round}")), bytes).unwrap();
}

/// Twice what the same work needs on sound files. A header that claims billions would need
/// gigabytes.
const MEMORY_KIB: u64 = 500_000;

#[test]
fn damaged_files_neither_panic_nor_take_more_memory_than_they_deserve() {
    let child = std::env::current_exe().unwrap();
    let script = format!("ulimit -v {MEMORY_KIB}; exec \"$0\" child --exact --ignored --nocapture");
    let output = Command::new("sh")
        .args(["-c", &script])
        .arg(child)
        .env("MALLOC_ARENA_MAX", "1")
        .env("RUST_BACKTRACE", "0")
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    let tail: Vec<&str> = error.lines().rev().take(40).collect();
    let tail: Vec<&str> = tail.into_iter().rev().collect();
    let _ = writeln!(std::io::stderr(), "{}", tail.join("\n"));
    assert!(
        output.status.success(),
        "{:?}: {}",
        output.status,
        tail.join("\n")
    );
}

/// The limit is one: a process under it that needs more is stopped.
#[test]
fn the_memory_limit_is_felt() {
    let script =
        format!("ulimit -v {MEMORY_KIB}; exec \"$0\" greedy --exact --ignored --nocapture");
    let output = Command::new("sh")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .output()
        .unwrap();
    assert!(!output.status.success());
}

#[test]
#[ignore = "started by the test above, under a memory limit"]
fn greedy() {
    let much = vec![1u8; 2 << 30];
    assert_eq!(std::hint::black_box(much).len(), 2 << 30);
}

/// Writes the corpus anew: `cargo test --release --test fuzz_smoke make_corpus -- --ignored`.
/// Only when a format changes; the checkpoint's fingerprint is mended when it is fed.
#[test]
#[ignore = "changes the stored corpus"]
fn make_corpus() {
    use ide3al::learn::{CheckpointPlan, Event, Runs};
    use ide3al::model::{Layout, Policy, io};
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let place = |reader: &str, name: &str| {
        let folder = root.join(reader);
        std::fs::create_dir_all(&folder).unwrap();
        folder.join(name)
    };
    let plain = trust::readers::model();
    let named = plain
        .clone()
        .with_state_names(["start", "<b>", "third"].map(String::from).to_vec())
        .unwrap()
        .with_action_names(["go", "stay"].map(String::from).to_vec())
        .unwrap()
        .with_layout(Layout {
            rows: 2,
            columns: 2,
            cells: vec![0, 1, 3],
        });
    let spread = ide3al::model::Mdp::from_rows_and_spread(
        2,
        &[0, 1, 2],
        &[0, 0],
        &[0, 1, 1],
        &[1],
        &[0.5],
        &[0.5, 1.0],
    )
    .unwrap();
    for (name, mdp) in [("plain", &plain), ("named", &named), ("uniform", &spread)] {
        for (reader, ending) in [
            ("model-json", "json"),
            ("model-npz", "npz"),
            ("model-umb", "umb"),
        ] {
            io::write_model(&place(reader, &format!("{name}.{ending}")), mdp).unwrap();
        }
    }
    io::write_dense_model(&place("model-npz", "dense.npz"), &plain).unwrap();
    // as other programs write it, and smaller
    let named_umb = place("model-umb", "named.umb");
    let compressed = trust::mutate::gzip(&std::fs::read(&named_umb).unwrap());
    std::fs::write(&named_umb, compressed).unwrap();
    for (name, bytes) in foreign_umb() {
        std::fs::write(place("model-umb", name), bytes).unwrap();
    }
    for (name, bytes) in bridge() {
        std::fs::write(place("model-bridge", name), bytes).unwrap();
    }
    // three files in one
    let folder = scratch();
    let path = folder.join("m.tra");
    io::write_model(&path, &named).unwrap();
    let mut joined = Vec::new();
    for (k, ending) in ["tra", "lab", "sta"].iter().enumerate() {
        if k > 0 {
            joined.extend_from_slice(trust::readers::SEPARATOR);
        }
        joined.extend(std::fs::read(path.with_extension(ending)).unwrap_or_default());
    }
    std::fs::write(place("model-tra", "joined"), joined).unwrap();
    std::fs::copy(&path, place("model-tra", "alone")).unwrap();
    let uniform = Policy::uniform(&plain);
    for ending in ["json", "npz", "npy"] {
        let path = place(&format!("policy-{ending}"), &format!("uniform.{ending}"));
        io::write_policy(&path, &plain, &uniform).unwrap();
    }
    std::fs::write(
        place("policy-json", "flat.json"),
        "[0.5, 0.5, 0.25, 0.75, 1.0]\n",
    )
    .unwrap();
    let experiment = trust::readers::experiment();
    for (name, after) in [("begun", 7), ("middle", 16), ("finished", u64::MAX)] {
        let runs = Runs::new(&experiment, &plain).unwrap();
        let plan = CheckpointPlan {
            path: place("checkpoint", name),
            interval: Duration::ZERO,
        };
        let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
        let observer = |event: Event| {
            let Event::Iterations { count, .. } = event;
            if done.fetch_add(count, Ordering::Relaxed) + count >= after {
                stop.store(true, Ordering::Relaxed);
            }
        };
        runs.execute(1, Some(&plan), &stop, &observer).unwrap();
    }
    let text = "slip = 0.1\n#####\n#S..#\n#.#.#\n#####\n";
    std::fs::write(place("map", "small.txt"), text).unwrap();
    std::fs::write(place("map", "open.txt"), "S.\n ..\n").unwrap();
    let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/report/experiments");
    for name in ["fig-xi.toml", "example-three-states.toml"] {
        std::fs::copy(experiments.join(name), place("experiment-toml", name)).unwrap();
    }
    drop(
        ide3al::learn::Folder::enter(
            &folder.join("e"),
            "tiny",
            &plain,
            &experiment,
            ide3al::learn::Entry::New,
        )
        .unwrap(),
    );
    let identity = folder.join("e").join("experiment.json");
    std::fs::copy(identity, place("experiment-json", "tiny.json")).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}

/// UMB files of shapes that this program does not write, and two that claim what they do not hold.
fn foreign_umb() -> Vec<(&'static str, Vec<u8>)> {
    use serde_json::json;
    use trust::mutate::{gzip, pack_tar, tar_header};
    let index = |states: u64, choices: u64, branches: u64, actions: u64, kind: &str| {
        let mut system = json!({
            "time": "discrete", "#players": 1, "#states": states, "#initial-states": 1,
            "#choices": choices, "#choice-actions": actions, "#branches": branches,
            "#branch-actions": 0, "#observations": 0,
        });
        if !kind.is_empty() {
            system["branch-probability-type"] = json!({"type": kind});
        }
        let index = json!({"format-version": 0, "transition-system": system});
        ("index.json".to_owned(), index.to_string().into_bytes())
    };
    let words = |name: &str, list: &[u64]| {
        let bytes: Vec<u8> = list.iter().flat_map(|k| k.to_le_bytes()).collect();
        (name.to_owned(), bytes)
    };
    // fractions, actions with names, one not used, compressed
    let rational = vec![
        index(2, 3, 4, 2, "rational"),
        words("state-to-choices.bin", &[0, 2, 3]),
        words("state-is-initial.bin", &[0b10]),
        words("choice-to-branches.bin", &[0, 2, 3, 4]),
        words("branch-to-target.bin", &[0, 1, 1, 0]),
        words("branch-to-probability.bin", &[1, 3, 2, 3, 7, 7, 1, 1]),
        (
            "actions/choices/values.bin".to_owned(),
            [1u32, 0, 1].iter().flat_map(|a| a.to_le_bytes()).collect(),
        ),
        ("actions/choices/strings.bin".to_owned(), b"upgo".to_vec()),
        words("actions/choices/string-mapping.bin", &[0, 2, 4]),
    ];
    // one choice and one branch per state, and no word about either
    let implied = vec![
        index(3, 3, 3, 0, ""),
        words("branch-to-target.bin", &[1, 2, 0]),
    ];
    // the index speaks of billions that no member holds
    let many = u64::from(u32::MAX) - 1;
    let claims = vec![
        index(many, many, many, many, "double"),
        words("branch-to-target.bin", &[1, 2, 0]),
    ];
    // a member of 8 GiB of which nothing follows
    let mut cut = pack_tar(&vec![index(3, 3, 3, 0, "")]);
    cut.truncate(cut.len() - 1024);
    cut.extend(tar_header("branch-to-target.bin", (1 << 33) - 1));
    vec![
        ("rational.umb", gzip(&pack_tar(&rational))),
        ("implied.umb", pack_tar(&implied)),
        ("claims-states.umb", pack_tar(&claims)),
        ("claims-member.umb", cut),
    ]
}

/// Tables of the BRIDGE data set: two kinds of numbers, both orders, and one that claims a
/// quintillion of them.
fn bridge() -> Vec<(&'static str, Vec<u8>)> {
    use trust::mutate::pack_zip;
    use zip::CompressionMethod::{Deflated, Stored};
    let array = |kind: &str, fortran: &str, shape: &str, data: Vec<u8>| {
        let mut header =
            format!("{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
        let length = (header.len() + 11).next_multiple_of(64) - 10;
        header.extend(std::iter::repeat_n(' ', length - header.len() - 1));
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\0".to_vec();
        bytes.extend((length as u16).to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend(data);
        bytes
    };
    let next = [1i64, 2, 2, -1, -1, 0];
    let wide: Vec<u8> = next.iter().flat_map(|t| t.to_le_bytes()).collect();
    let narrow: Vec<u8> = next
        .iter()
        .flat_map(|t| (*t as i32).to_le_bytes())
        .collect();
    let rewards: Vec<u8> = next.iter().flat_map(|_| 0.5f32.to_le_bytes()).collect();
    let file = |transitions: Vec<u8>, method| {
        let members = vec![
            ("transitions.npy".to_owned(), transitions),
            (
                "rewards.npy".to_owned(),
                array("<f4", "False", "(3, 2)", rewards.clone()),
            ),
        ];
        pack_zip(&members, method).unwrap()
    };
    let huge = "(1000000000, 1000000000)";
    vec![
        (
            "wide.npz",
            file(array("<i8", "False", "(3, 2)", wide.clone()), Stored),
        ),
        (
            "narrow.npz",
            file(array("<i4", "True", "(3, 2)", narrow), Deflated),
        ),
        (
            "claims.npz",
            file(array("<i8", "False", huge, wide), Stored),
        ),
    ]
}
