//! Disks that are full, folders that are read-only, processes that are killed: what was there
//! stays, what is there is whole, and the message says what happened.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::process::{PROGRAM, Scratch, ide3al, kill_after, moments, text};

/// Runs a shell script with the program as `$IDE3AL` and a folder as `$1`.
fn shell(wrapper: &[&str], script: &str, folder: &Path) -> Output {
    let mut words = wrapper.to_vec();
    words.extend(["sh", "-c", script, "sh"]);
    Command::new(words[0])
        .args(&words[1..])
        .arg(folder)
        .env("IDE3AL", PROGRAM)
        .output()
        .unwrap()
}

/// How to get a mount table of one's own: as root, or as root of a user namespace.
fn namespace() -> Option<Vec<&'static str>> {
    let ways: [&[&str]; 2] = [&["unshare", "-m"], &["unshare", "-r", "-m"]];
    let works = |way: &&&[&str]| {
        let script = "mount -t tmpfs -o size=64k tmpfs /mnt";
        let tried = Command::new(way[0])
            .args(&way[1..])
            .args(["sh", "-c", script])
            .output();
        tried.is_ok_and(|output| output.status.success())
    };
    let found = ways.iter().find(works).map(|way| way.to_vec());
    if found.is_none() {
        // not captured by the test harness, so that it is seen
        let _ = writeln!(
            std::io::stderr(),
            "skipped: this machine lets nobody mount a small tmpfs (unshare -r -m); the tests with a \
             file-size limit still ran"
        );
    }
    found
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// No temporary file is left, and every file that is there is whole.
fn whole(folder: &Path) {
    for name in names(folder) {
        let path = folder.join(&name);
        assert!(!name.ends_with(".tmp"), "{name} was left behind");
        if path.is_dir() {
            whole(&path);
        } else if name.ends_with(".json") {
            let content = std::fs::read_to_string(&path).unwrap();
            let parsed = serde_json::from_str::<serde_json::Value>(&content);
            assert!(parsed.is_ok(), "{name} is torn: {parsed:?}");
        } else if name.ends_with(".html") {
            let content = std::fs::read_to_string(&path).unwrap();
            assert!(content.trim_end().ends_with("</html>"), "{name} is torn");
        } else if name.ends_with(".csv") {
            let content = std::fs::read_to_string(&path).unwrap();
            assert!(content.ends_with('\n'), "{name} is torn");
        }
    }
}

const SMALL: &str = "learn single-chain --runs 2 --iterations 20 --checkpoint-every 0";

#[test]
fn a_full_disk_stops_learning_with_a_message_and_earlier_results_stay() {
    let Some(wrapper) = namespace() else { return };
    let scratch = Scratch::new("full");
    let disk = scratch.join("disk");
    std::fs::create_dir_all(&disk).unwrap();
    // a finished experiment, then the rest of the disk filled, then another experiment beside
    // it and one into the same folder; everything is copied out before the disk goes away
    let script = format!(
        r#"mount -t tmpfs -o size=1200k tmpfs "$1" && cd "$1" || exit 99
        $IDE3AL {SMALL} --out earlier >/dev/null || exit 98
        cp -r earlier "$1/../before"
        dd if=/dev/zero of=filler bs=1k count=100000 2>/dev/null
        $IDE3AL {SMALL} --out other; echo "code $?"
        $IDE3AL {SMALL} --out earlier; echo "code $?"
        $IDE3AL solve single-chain --out earlier/policies/ideal-000.json >/dev/null; echo "code $?"
        $IDE3AL convert single-chain model.npz; echo "code $?"
        ls -a . > "$1/../names"
        cp -r earlier "$1/../after"
        cp -r other "$1/../other"
        rm -r filler other
        $IDE3AL {SMALL} --out other > /dev/null; echo "code $?""#
    );
    let output = shell(&wrapper, &script, &disk);
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{error}");
    let codes: Vec<&str> = out.lines().filter(|l| l.starts_with("code")).collect();
    let expected = ["code 2", "code 2", "code 2", "code 2", "code 0"];
    assert_eq!(codes, expected, "{out}{error}");
    assert!(error.contains("No space left on device"), "{error}");
    assert!(!error.contains("panicked"), "{error}");
    assert!(error.contains("model.npz: cannot write"), "{error}");
    assert_eq!(
        tree(&scratch.join("before")),
        tree(&scratch.join("after")),
        "the earlier experiment has changed"
    );
    let listed = std::fs::read_to_string(scratch.join("names")).unwrap();
    assert!(
        !listed.contains("model") && !listed.contains(".tmp"),
        "{listed}"
    );
    assert!(!scratch.join("other/runs.csv").exists());
    whole(&scratch.join("other"));
}

#[test]
fn a_disk_that_fills_up_in_the_middle_is_resumed_from_when_there_is_room() {
    let Some(wrapper) = namespace() else { return };
    let scratch = Scratch::new("fills");
    let disk = scratch.join("disk");
    std::fs::create_dir_all(&disk).unwrap();
    let script = format!(
        r#"mount -t tmpfs -o size=1200k tmpfs "$1" && cd "$1" || exit 99
        for free in 16 48 96 160; do
            rm -rf other filler
            dd if=/dev/zero of=filler bs=1k count=100000 2>/dev/null
            truncate -s -${{free}}k filler
            $IDE3AL {SMALL} --out other >/dev/null; echo "full $?"
            cp -r other "$1/../seen-$free"
            rm filler
            $IDE3AL {SMALL} --out other --resume > /dev/null; echo "resumed $?"
            cp other/runs.csv "$1/../runs-$free.csv"
        done"#
    );
    let output = shell(&wrapper, &script, &disk);
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{error}");
    assert_eq!(out.matches("full 2\nresumed 0").count(), 4, "{out}{error}");
    let reference = shell(
        &["env"],
        &format!("$IDE3AL {SMALL} --out \"$1\""),
        &scratch.join("r"),
    );
    assert!(reference.status.success());
    let expected = std::fs::read(scratch.join("r").join("runs.csv")).unwrap();
    for free in [16, 48, 96, 160] {
        whole(&scratch.join(&format!("seen-{free}")));
        let found = std::fs::read(scratch.join(&format!("runs-{free}.csv"))).unwrap();
        assert!(found == expected, "{free} KiB free");
    }
}

/// Every file below a folder with its content.
fn tree(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for name in names(folder) {
        let path = folder.join(&name);
        if path.is_dir() {
            let below = tree(&path);
            files.extend(
                below
                    .into_iter()
                    .map(|(p, b)| (Path::new(&name).join(p), b)),
            );
        } else {
            files.push((name.into(), std::fs::read(path).unwrap()));
        }
    }
    files
}

#[test]
fn a_write_that_fails_in_the_middle_is_named_and_nothing_torn_is_seen() {
    let scratch = Scratch::new("limit");
    let folder = scratch.join("experiment");
    let finished = format!("$IDE3AL {SMALL} --out \"$1\"");
    assert!(shell(&["env"], &finished, &folder).status.success());
    let before = tree(&folder);
    let mut met = 0;
    // limits in blocks of 512 bytes (or 1024, by shell): from the first file to the last
    for blocks in [0, 1, 2, 4, 8, 16, 32, 64, 128] {
        let beside = scratch.join(&format!("limit-{blocks}"));
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec $IDE3AL {SMALL} --out \"$1\"");
        let output = shell(&["env"], &script, &beside);
        let error = text(&output.stderr);
        assert!(!error.contains("panicked"), "{error}");
        if !output.status.success() {
            met += 1;
            assert_eq!(output.status.code(), Some(2), "{error}");
            assert!(
                error.contains("cannot write") && error.contains("File too large"),
                "{error}"
            );
            whole(&beside);
            // with room again the same command goes on to the same results
            let resume = if beside.join("experiment.json").exists() {
                " --resume"
            } else {
                ""
            };
            let again = shell(&["env"], &format!("{finished}{resume}"), &beside);
            assert!(again.status.success(), "{}", text(&again.stderr));
        }
        whole(&beside);
        let csv = |folder: &Path| std::fs::read(folder.join("runs.csv")).unwrap();
        assert_eq!(csv(&beside), csv(&folder), "limit {blocks}");
        // replacing an experiment's policy by hand fails as well, and leaves it
        let policy = folder.join("policies").join("ideal-000.json");
        let script = format!(
            "trap '' XFSZ; ulimit -f {blocks}; exec $IDE3AL solve garnet:states=500 --formulation dual --out \"$1\""
        );
        let output = shell(&["env"], &script, &policy);
        whole(&folder);
        if blocks == 0 {
            assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
            assert_eq!(tree(&folder), before);
        }
    }
    assert!(met >= 4, "only {met} limits were met");
}

#[test]
fn a_read_only_folder_is_named() {
    let Some(wrapper) = namespace() else { return };
    let scratch = Scratch::new("read-only");
    let disk = scratch.join("disk");
    std::fs::create_dir_all(&disk).unwrap();
    let script = format!(
        r#"mount -t tmpfs -o size=4m tmpfs "$1" && cd "$1" || exit 99
        $IDE3AL {SMALL} --out earlier >/dev/null || exit 98
        mount -o remount,ro "$1" || exit 97
        $IDE3AL {SMALL} --out other; echo "code $?"
        $IDE3AL {SMALL} --out earlier --overwrite; echo "code $?"
        $IDE3AL convert single-chain model.json; echo "code $?"
        $IDE3AL reproduce table-parameters --out paper; echo "code $?"
        ls earlier"#
    );
    let output = shell(&wrapper, &script, &disk);
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{error}");
    assert_eq!(out.matches("code 2").count(), 4, "{out}{error}");
    assert_eq!(error.matches("Read-only file system").count(), 4, "{error}");
    assert!(out.contains("runs.csv") && out.contains("summary.json"));
}

#[test]
fn a_folder_that_cannot_be_is_named() {
    let scratch = Scratch::new("under-file");
    let file = scratch.join("file");
    std::fs::write(&file, "precious").unwrap();
    let below = file.join("results");
    let below = below.to_str().unwrap();
    for arguments in [
        &["learn", "single-chain", "--runs", "1", "--out", below][..],
        &["reproduce", "table-parameters", "--out", below],
        &["convert", "single-chain", &format!("{below}/m.json")],
    ] {
        let output = ide3al(arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(
            error.contains("results") && error.contains("cannot"),
            "{error}"
        );
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
}

#[test]
fn a_full_terminal_log_is_an_error_not_a_panic() {
    if !Path::new("/dev/full").exists() {
        let _ = writeln!(std::io::stderr(), "skipped: no /dev/full here");
        return;
    }
    for arguments in [
        &["domains"][..],
        &["solve", "single-chain"],
        &["analyze", "single-chain"],
    ] {
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let output = Command::new(PROGRAM)
            .args(arguments)
            .stdout(full)
            .output()
            .unwrap();
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("No space left"), "{error}");
    }
}

#[test]
fn a_killed_conversion_leaves_the_old_file_or_the_new_one() {
    let scratch = Scratch::new("convert");
    for ending in ["json", "npz", "tra"] {
        let file = scratch.join(&format!("model.{ending}"));
        let path = file.to_str().unwrap();
        let read = || {
            let also = |end: &str| std::fs::read(file.with_extension(end)).ok();
            (std::fs::read(&file).unwrap(), also("lab"), also("sta"))
        };
        let model = "garnet:states=20000,actions=3";
        let begun = Instant::now();
        assert!(ide3al(&["convert", model, path]).status.success());
        let took = begun.elapsed();
        let new = read();
        let other = ["convert", "single-chain", path, "--force"];
        assert!(ide3al(&other).status.success());
        let old = read();
        let mut killed = 0;
        for share in moments(12) {
            let child = Command::new(PROGRAM)
                .args(["convert", model, path, "--force"])
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            killed += u32::from(kill_after(child, took.mul_f64(share)));
            let now = read();
            // a model of several files may be caught between two renames, never within a file
            assert!(now.0 == old.0 || now.0 == new.0, "{ending} at {share:.2}");
            for (now, old, new) in [(&now.1, &old.1, &new.1), (&now.2, &old.2, &new.2)] {
                assert!(now == old || now == new, "{ending} at {share:.2}");
            }
            assert!(ide3al(&other).status.success());
        }
        assert!(killed >= 5, "only {killed} kills hit a running process");
    }
}

#[test]
fn a_killed_reproduction_keeps_what_is_finished_and_goes_on() {
    let scratch = Scratch::new("reproduce");
    let ids = [
        "table-parameters",
        "example-three-states",
        "table-single-chain",
    ];
    let run = |folder: &Path, extra: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.arg("reproduce").args(ids).arg("--out").arg(folder);
        command
            .args(extra)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    };
    let reference = scratch.join("reference");
    let begun = Instant::now();
    assert!(run(&reference, &[]).status().unwrap().success());
    let took = begun.elapsed();
    // everything but times
    let results = |folder: &Path| {
        let content = std::fs::read_to_string(folder.join("results.json")).unwrap();
        let mut list: serde_json::Value = serde_json::from_str(&content).unwrap();
        for entry in list.as_array_mut().unwrap() {
            entry.as_object_mut().unwrap().remove("seconds");
        }
        list
    };
    let expected = results(&reference);
    let mut killed = 0;
    for (k, share) in moments(10).enumerate() {
        let folder = scratch.join(&format!("killed-{k}"));
        let child = run(&folder, &[]).spawn().unwrap();
        killed += u32::from(kill_after(child, took.mul_f64(share)));
        let done: Vec<PathBuf> = ids
            .iter()
            .map(|id| folder.join("finished").join(format!("{id}.json")))
            .filter(|path| path.exists())
            .collect();
        let before: Vec<Vec<u8>> = done.iter().map(|p| std::fs::read(p).unwrap()).collect();
        for content in &before {
            assert!(serde_json::from_slice::<serde_json::Value>(content).is_ok());
        }
        let output = run(&folder, &["--resume"]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let after: Vec<Vec<u8>> = done.iter().map(|p| std::fs::read(p).unwrap()).collect();
        assert!(before == after, "finished work was done again");
        assert_eq!(results(&folder), expected);
        whole(&folder);
    }
    assert!(killed >= 4, "only {killed} kills hit a running process");
}

#[test]
fn two_reproductions_do_not_share_a_folder() {
    let scratch = Scratch::new("two");
    let folder = scratch.join("paper");
    let run = |ids: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.arg("reproduce").args(ids).arg("--out").arg(&folder);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    let mut first = run(&["fig-double-chain"]).spawn().unwrap();
    let lock = folder.join("finished").join(".lock");
    let begun = Instant::now();
    while !lock.exists() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(100));
    let second = run(&["table-parameters"]).output().unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    let error = text(&second.stderr);
    assert_eq!(second.status.code(), Some(2), "{error}");
    assert!(error.contains("another process is writing"), "{error}");
    // the lock of a killed process is gone with it
    let third = run(&["table-parameters"]).output().unwrap();
    assert!(third.status.success(), "{}", text(&third.stderr));
}

#[test]
fn nothing_reads_the_wall_clock() {
    // a clock that jumps cannot matter where only the monotonic one is read, and no file's time
    const WORDS: [&str; 7] = [
        "SystemTime",
        "UNIX_EPOCH",
        ".modified()",
        ".created()",
        "time.time(",
        "datetime",
        "getmtime",
    ];
    fn search(folder: &Path, read: &mut u32) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                search(&path, read);
            } else if let Ok(content) = std::fs::read_to_string(&path) {
                *read += 1;
                let found = WORDS.iter().find(|word| content.contains(**word));
                assert!(found.is_none(), "{}: {found:?}", path.display());
            }
        }
    }
    let mut read = 0;
    for folder in ["src", "crates", "python/src", "python/ide3al"] {
        search(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join(folder),
            &mut read,
        );
    }
    assert!(read > 100, "only {read} files");
}
