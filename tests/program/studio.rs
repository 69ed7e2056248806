//! The studio's server as a stranger, a careless client and its own page meet it. The page itself
//! is tested in a browser (`python/tests/test_studio.py`).

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ide3al_studio::{Opening, Studio, World};
use serde_json::{Value, json};

use crate::process::{PROGRAM, Scratch, interrupt};

/// Address and token of a studio.
struct Place {
    host: String,
    token: String,
}

impl Place {
    fn of(url: &str) -> Self {
        let rest = url.strip_prefix("http://").unwrap();
        let (host, token) = rest.split_once('/').unwrap();
        Place {
            host: host.to_owned(),
            token: token.trim_matches('/').to_owned(),
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream
    }

    /// Sends bytes as they are; status (0 where there is none) and body.
    fn raw(&self, request: &[u8]) -> (u16, String) {
        let mut stream = self.connect();
        // a server that refuses may hang up before it has heard everything
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer).into_owned();
        let status = text.split(' ').nth(1).and_then(|s| s.parse().ok());
        let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status.unwrap_or(0), body.to_owned())
    }

    fn head(&self, method: &str, path: &str, more: &str) -> String {
        let (host, token) = (&self.host, &self.token);
        format!(
            "{method} /{token}{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n"
        )
    }

    fn post_head(&self, path: &str, length: usize) -> String {
        let more = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
        self.head("POST", path, &more)
    }

    /// Status and the lines of the answer; chunk sizes are no JSON and fall out.
    fn post(&self, path: &str, body: &str) -> (u16, Vec<Value>) {
        let request = self.post_head(path, body.len()) + body;
        let (status, answer) = self.raw(request.as_bytes());
        let lines = answer.lines().filter(|line| line.starts_with('{'));
        (
            status,
            lines
                .map(|line| serde_json::from_str(line).unwrap())
                .collect(),
        )
    }
}

fn studio() -> (Studio, Place) {
    let studio = Studio::start(Opening::default()).unwrap();
    let place = Place::of(&studio.url());
    (studio, place)
}

const MAP: &str = "ice = 0.4\nrestart = 0.01\n#####\n#S~.#\n#.#v#\n#...#\n#####\n";

fn asked(world: &Value, formulation: &str) -> String {
    json!({ "world": world, "formulation": formulation, "xi": 0.05 }).to_string()
}

#[test]
fn strangers_are_refused_and_told_nothing() {
    let (_studio, place) = studio();
    let (host, token) = (&place.host, &place.token);
    let get = |path: &str, headers: &str| {
        place.raw(format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n").as_bytes())
    };
    let own = format!("Host: {host}\r\n");
    let (status, page) = get(&format!("/{token}/"), &own);
    assert_eq!(status, 200);
    assert!(page.contains("ide3al"));
    for (path, headers) in [
        ("/".to_owned(), own.clone()),
        ("/main.js".to_owned(), own.clone()),
        (format!("/{}/", "0".repeat(32)), own.clone()),
        (format!("/{token}/"), "Host: evil.example\r\n".to_owned()),
        (
            format!("/{token}/"),
            format!("{own}Origin: http://evil.example\r\n"),
        ),
        (format!("/{token}/"), format!("{own}Origin: null\r\n")),
        (
            format!("/{token}/"),
            format!("{own}Sec-Fetch-Site: cross-site\r\n"),
        ),
    ] {
        let (status, body) = get(&path, &headers);
        assert_eq!(status, 403, "{path} {headers}");
        assert!(!body.contains(token.as_str()), "{path}");
    }
    // no host at all is malformed for HTTP/1.1
    assert!([400, 403].contains(&get(&format!("/{token}/"), "").0));
    assert_eq!(get(&format!("/{token}/../Cargo.toml"), &own).0, 404);
    assert_eq!(get(&format!("/{token}/nothing.js"), &own).0, 404);
}

#[test]
fn every_answer_carries_the_content_policy() {
    let (_studio, place) = studio();
    for path in ["/", "/main.js", "/api/opening", "/nothing"] {
        let mut stream = place.connect();
        stream
            .write_all(place.head("GET", path, "").as_bytes())
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let head = answer.split_once("\r\n\r\n").unwrap().0.to_lowercase();
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
        ] {
            assert!(head.contains(header), "{path}: no {header} in {head}");
        }
        assert!(!head.contains("access-control-allow"), "{path}");
    }
}

#[test]
fn malformed_and_too_large_requests_are_refused_and_the_server_goes_on() {
    let (_studio, place) = studio();
    let refused = |path: &str, body: &str, words: &str| {
        let (status, lines) = place.post(path, body);
        let error = lines
            .last()
            .and_then(|line| line["error"].as_str().map(str::to_owned));
        let error = error.unwrap_or_else(|| panic!("{path} {body}: {status}, no error"));
        assert!(error.contains(words), "{body}: {error}");
    };
    refused("/api/solve", "{", "malformed");
    refused("/api/solve", "[]", "malformed");
    refused("/api/world", "{\"map\": 5}", "malformed");
    refused("/api/world", "{}", "name one world");
    refused("/api/world", "{\"map\": \"#x#\"}", "line 1, column 2");
    refused(
        "/api/world",
        "{\"domain\": \"Cargo.toml\"}",
        "unknown domain",
    );
    refused(
        "/api/world",
        "{\"domain\": \"grid:Cargo.toml\"}",
        "unknown domain",
    );
    refused(
        "/api/world",
        "{\"domain\": \"garnet:states=9999999\"}",
        "too large",
    );
    refused(
        "/api/world",
        "{\"model\": \"/etc/passwd\"}",
        "no longer here",
    );
    let world = json!({ "map": MAP });
    refused(
        "/api/solve",
        &asked(&world, "nonsense"),
        "unknown formulation",
    );
    let xi = json!({ "world": world, "formulation": "dual", "xi": 0.9 }).to_string();
    refused("/api/solve", &xi, "xi");
    refused("/api/import/x.exe", "abc", ".json");
    refused("/api/import/x.json", "{\"states\": 2}", "x.json");
    let race = json!({ "world": world, "racers": ["uniform"], "steps": 10_000_000, "seed": 1 });
    refused("/api/race", &race.to_string(), "steps");
    refused(
        "/api/learn/next",
        "{\"session\": 7, \"iterations\": 1}",
        "start again",
    );
    let (status, _) = place.raw(
        place
            .head("POST", "/api/solve", "Content-Length: 2\r\n")
            .as_bytes(),
    );
    assert_eq!(status, 415);
    let (status, _) = place.raw(place.post_head("/api/solve", 1 << 40).as_bytes());
    assert_eq!(status, 413);
    let (status, _) = place.raw(b"this is no request\r\n\r\n");
    assert_eq!(status, 400);
    // a body that is longer than it may be, sent all the same
    let body = "x".repeat((16 << 20) + 10);
    let request = place.post_head("/api/solve", body.len()) + &body;
    let (status, _) = place.raw(request.as_bytes());
    assert!([0, 413].contains(&status), "{status}");
    assert_eq!(place.post("/api/world", &world.to_string()).0, 200);
}

#[test]
fn a_thousand_at_once_are_met_with_answers_or_refusals_and_the_server_goes_on() {
    let (_studio, place) = studio();
    let body = asked(&json!({ "map": MAP }), "state-entropy");
    let request = place.post_head("/api/solve", body.len()) + &body;
    let mut open = Vec::new();
    for _ in 0..1000 {
        // connections beyond the limit are closed at once, which may be an error here already
        if let Ok(mut stream) = TcpStream::connect(&place.host) {
            let _ = stream.write_all(request.as_bytes());
            open.push(stream);
        }
    }
    let (mut answered, mut refused) = (0, 0);
    for mut stream in open {
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        if answer.starts_with(b"HTTP/1.1 200") {
            answered += 1;
        } else {
            refused += 1;
        }
    }
    assert!(
        answered > 0 && refused > 0,
        "{answered} answered, {refused} refused"
    );
    assert_eq!(place.post("/api/solve", &body).0, 200);
}

#[test]
fn a_world_has_the_figures_of_solve_json() {
    let (_studio, place) = studio();
    let folder = Scratch::new("studio");
    let file = folder.join("world.txt");
    std::fs::write(&file, MAP).unwrap();
    let spec = format!("grid:{}", file.display());
    for formulation in [
        "infinity",
        "frobenius",
        "column-sum",
        "dual",
        "state-entropy",
    ] {
        let (_, lines) = place.post("/api/solve", &asked(&json!({ "map": MAP }), formulation));
        assert_eq!(lines.len(), 3, "{formulation}: {lines:?}");
        let mut page = lines[2]["report"].clone();
        let printed = Command::new(PROGRAM)
            .args([
                "solve",
                &spec,
                "--formulation",
                formulation,
                "--xi",
                "0.05",
                "--json",
            ])
            .output()
            .unwrap();
        let mut program: Value = serde_json::from_slice(&printed.stdout).unwrap();
        for report in [&mut page, &mut program] {
            report.as_object_mut().unwrap().remove("seconds");
        }
        // not to six digits: to the last bit
        assert_eq!(page, program, "{formulation}");
        assert_eq!(lines[0]["solved"]["stationary"], program["stationary"]);
        assert_eq!(
            lines[1]["analysis"]["spectral_gap"],
            program["spectral_gap"]
        );
    }
}

#[test]
fn who_hangs_up_stops_the_work() {
    let (_studio, place) = studio();
    // long solves, more of them than are computed at once
    let world = json!({ "domain": "garnet:states=3000,actions=4,branching=20" });
    let body = asked(&world, "infinity");
    let request = place.post_head("/api/solve", body.len()) + &body;
    let mut open: Vec<TcpStream> = (0..6).map(|_| place.connect()).collect();
    for stream in &mut open {
        stream.write_all(request.as_bytes()).unwrap();
    }
    std::thread::sleep(Duration::from_millis(300));
    for stream in open {
        stream.shutdown(Shutdown::Both).unwrap();
    }
    let begun = Instant::now();
    let (status, lines) = place.post("/api/world", &json!({ "map": MAP }).to_string());
    assert_eq!((status, lines[0]["states"].as_u64()), (200, Some(8)));
    // each of the solves would take its time limit of 20 s
    assert!(
        begun.elapsed() < Duration::from_secs(12),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn learners_go_on_when_asked_and_repeat_for_a_seed() {
    let (_studio, place) = studio();
    let run = |turns: &[u64]| {
        let body = json!({ "world": { "map": MAP }, "algorithms": ["ideal", "random"],
                           "iterations": 6, "batch": 50, "seed": 3 });
        let (_, lines) = place.post("/api/learn", &body.to_string());
        let session = lines[0]["session"].as_u64().unwrap();
        let mut curve = Vec::new();
        let mut last = Value::Null;
        for iterations in turns {
            let body = json!({ "session": session, "iterations": iterations }).to_string();
            let (_, lines) = place.post("/api/learn/next", &body);
            last = lines[0].clone();
            let part = last["learners"][0]["entropy_normalized"]
                .as_array()
                .unwrap();
            curve.extend(part.iter().map(|v| v.as_f64().unwrap()));
        }
        (curve, last)
    };
    let (curve, last) = run(&[1, 2, 3]);
    assert_eq!((curve.len(), last["iteration"].as_u64()), (7, Some(6)));
    assert_eq!(last["done"], true);
    let visits = last["learners"][0]["visits"].as_array().unwrap();
    let visits: u64 = visits.iter().map(|v| v.as_u64().unwrap()).sum();
    assert_eq!(visits, 300);
    assert_eq!(run(&[6]).0, curve);
    // and they are the learners of `ide3al learn`
    let folder = Scratch::new("studio-learn");
    let (map, out) = (folder.join("world.txt"), folder.join("out"));
    std::fs::write(&map, MAP).unwrap();
    let learned = Command::new(PROGRAM)
        .args([
            "learn",
            &format!("grid:{}", map.display()),
            "--algorithm",
            "ideal,random",
        ])
        .args([
            "--runs",
            "1",
            "--iterations",
            "6",
            "--batch",
            "50",
            "--seed",
            "3",
            "--out",
        ])
        .arg(&out)
        .output()
        .unwrap();
    assert!(learned.status.success(), "{learned:?}");
    let csv = std::fs::read_to_string(out.join("runs.csv")).unwrap();
    let ideal = csv.lines().filter(|line| line.starts_with("ideal,"));
    let shares = ideal.map(|line| line.split(',').nth(5).unwrap().parse::<f64>().unwrap());
    assert_eq!(shares.collect::<Vec<f64>>(), curve);
}

#[test]
fn models_come_in_and_go_out() {
    let mdp = ide3al::domains::load("river-swim").unwrap();
    let studio = Studio::start(Opening {
        world: Some(World::model("mine")),
        models: vec![("mine".to_owned(), Arc::new(mdp))],
        port: 0,
    })
    .unwrap();
    let place = Place::of(&studio.url());
    let (_, opening) = place.raw(place.head("GET", "/api/opening", "").as_bytes());
    assert!(opening.contains("\"model\":\"mine\""), "{opening}");
    let body = asked(&json!({ "model": "mine" }), "dual");
    let request = place.post_head("/api/export/model.json", body.len()) + &body;
    let (status, model) = place.raw(request.as_bytes());
    assert_eq!(status, 200);
    let (_, lines) = place.post("/api/import/again.json", &model);
    let key = lines[0]["model"].as_str().unwrap();
    let of = |world: Value| place.post("/api/solve", &asked(&world, "dual")).1[0]["solved"].clone();
    let (first, again) = (of(json!({ "model": "mine" })), of(json!({ "model": key })));
    assert_eq!(first["policy"], again["policy"]);
    let restarted = of(json!({ "model": key, "restart": 0.2 }));
    assert_ne!(first["objective"], restarted["objective"]);
}

#[cfg(unix)]
#[test]
fn the_program_prints_its_address_and_ends_with_ctrl_c() {
    let mut child = Command::new(PROGRAM)
        .args(["studio", "four-rooms", "--no-open"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let place = Place::of(first.split(' ').next_back().unwrap());
    let (status, opening) = place.raw(place.head("GET", "/api/opening", "").as_bytes());
    assert_eq!(status, 200);
    assert!(opening.contains("four-rooms"));
    interrupt(&child);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_bad_model_is_an_error_before_anything_is_served() {
    let output = Command::new(PROGRAM)
        .args(["studio", "four-romos", "--no-open"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("did you mean 'four-rooms'"), "{message}");
}
