//! A stranger's pull request: every payload of `tests/hostile`, in every format.

mod look;
mod payload;
mod scene;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use self::payload::Payload;
use self::scene::Scene;
use crate::tools;

/// A run that takes longer keeps a job from its answer.
const LONGEST: Duration = Duration::from_mins(1);

#[test]
fn no_payload_of_a_stranger_does_harm() {
    let payloads = payload::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile"));
    let only = std::env::var("ROLLOUT_HOSTILE").unwrap_or_default();
    let payloads: Vec<Payload> = payloads.into_iter().filter(|payload| payload.name.contains(&only)).collect();
    let server = Server::start();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(payload) = payloads.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = harm(payload, &server.host);
                    if !found.is_empty() {
                        wrong.lock().unwrap().insert(payload.name.clone(), found);
                    }
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().unwrap();
    let asked = server.stop();
    if !asked.is_empty() {
        wrong.insert("all".into(), vec![format!("the server on loopback was asked: {asked:?}")]);
    }
    let told: Vec<String> = wrong.iter().map(|(name, found)| format!("{name}\n  {}", found.join("\n  "))).collect();
    assert!(told.is_empty(), "{} of {} payloads do harm:\n{}", told.len(), payloads.len(), told.join("\n"));
    let count: usize = payloads.iter().map(|payload| payload.count).sum();
    assert!(count >= 600 || !only.is_empty(), "{count} payloads");
}

/// What a payload does that it must not do.
fn harm(payload: &Payload, host: &str) -> Vec<String> {
    let names: Vec<&str> = payload.needs.iter().map(String::as_str).collect();
    let Some(path) = tools::search_path(&[&names[..], &["git"]].concat()) else { return Vec::new() };
    let scene = Scene::new(payload, host, path);
    let before = scene.state();
    let mut wrong = Vec::new();
    let arguments: Vec<&str> = ["render"].into_iter().chain(payload.run.iter().map(String::as_str)).collect();
    for format in payload.formats.iter().map(String::as_str) {
        let begun = Instant::now();
        let output = scene.rollout(&[&arguments[..], &["--format", format]].concat());
        let mut found = look::at(format, &output, payload);
        if begun.elapsed() > LONGEST {
            found.push(format!("no end within {} s", LONGEST.as_secs()));
        }
        if !output.status.code().is_some_and(|code| payload.exits.contains(&code)) {
            found.push(format!("exit status {:?}: {}", output.status.code(), String::from_utf8_lossy(&output.stderr)));
        }
        if format == "json" {
            found.extend(unsaid(payload, &output.stdout, &output.stderr));
        }
        wrong.extend(found.into_iter().map(|what| format!("--format {format}: {what}")));
    }
    wrong.extend(touched(&before, &scene.state()).into_iter().map(|what| format!("reading: {what}")));
    let written: Vec<&str> = arguments.iter().copied().filter(|argument| *argument != "--changed").collect();
    if written.iter().any(|argument| ["--out", "--check", "--commit"].contains(argument)) {
        return wrong;
    }
    let output = scene.rollout(&[&written[..], &["--out"]].concat());
    wrong.extend(look::at("text", &output, payload).into_iter().map(|what| format!("--out: {what}")));
    wrong.extend(touched(&before, &scene.state()).into_iter().map(|what| format!("--out: {what}")));
    for (path, text) in texts_in(&scene.at("repo/rollouts")) {
        wrong.extend(look::file(&text).into_iter().map(|what| format!("{}: {what}", path.display())));
    }
    wrong
}

/// The codes that must be among the findings and are not.
fn unsaid(payload: &Payload, stdout: &[u8], stderr: &[u8]) -> Vec<String> {
    let report: serde_json::Value = serde_json::from_slice(stdout).unwrap_or_default();
    let codes: Vec<&str> = report["findings"].as_array().into_iter().flatten().filter_map(|finding| finding["code"].as_str()).collect();
    let is_unsaid = |code: &&String| !codes.contains(&code.as_str());
    payload.says.iter().filter(is_unsaid).map(|code| format!("no `{code}`, but {codes:?}\n{}", String::from_utf8_lossy(stderr))).collect()
}

/// The files that are others than before.
fn touched(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
    let paths = before.keys().chain(after.keys()).collect::<std::collections::BTreeSet<_>>();
    let is_touched = |path: &&&PathBuf| before.get(**path) != after.get(**path);
    paths.iter().filter(is_touched).map(|path| format!("{} was made, changed or removed", path.display())).collect()
}

fn texts_in(folder: &Path) -> Vec<(PathBuf, String)> {
    let files = walkdir::WalkDir::new(folder).into_iter().flatten().filter(|entry| entry.file_type().is_file());
    files.map(|entry| (entry.path().to_owned(), std::fs::read_to_string(entry.path()).expect("text"))).collect()
}

/// A server on loopback that nobody may ask.
struct Server {
    host: String,
    listener: TcpListener,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Self { host: listener.local_addr().unwrap().to_string(), listener }
    }

    /// What was asked. A connection waits in the listener's queue until somebody looks.
    fn stop(self) -> Vec<String> {
        self.listener.set_nonblocking(true).unwrap();
        let mut asked = Vec::new();
        while let Ok((mut stream, _)) = self.listener.accept() {
            let mut bytes = [0; 200];
            stream.set_nonblocking(true).unwrap();
            let length = stream.read(&mut bytes).unwrap_or_default();
            asked.push(String::from_utf8_lossy(&bytes[..length]).into_owned());
        }
        asked
    }
}
