//! Mutated inputs for every reader: none may panic, hang, take much memory, or break what a reader promises.
//!
//! `cargo test --test fuzz` gives each target two seconds; `cargo test --test fuzz -- yaml 600` gives one of them ten minutes.
//! `all` names every target. An input that fails is kept in `target/fuzz`; moved to `tests/fuzz/found/TARGET` it is tried first in each
//! run. Runs are the same for the same corpus, but for where time ends them; a third argument is another seed.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program of its own, outside of the rooms")]

mod corpus;
mod mutate;
mod targets;

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mutate::Mutator;
use targets::{TARGETS, Target};

/// The longest that one input may take, in seconds, on a machine that has other work.
const LONGEST: u64 = 60;

/// The most that the process may ever have in memory, in KiB.
const MOST_MEMORY: u64 = 1 << 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let name = arguments.first().map_or("all", String::as_str);
    let number = |index: usize, default: u64| arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(default);
    let (seconds, seed) = (number(1, 2), number(2, 1));
    let chosen: Vec<&Target> = TARGETS.iter().filter(|target| name == "all" || target.name == name).collect();
    if chosen.is_empty() {
        let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("no target `{name}`; there are {}", names.join(", "));
        return ExitCode::from(2);
    }
    watch();
    let failed = chosen.into_iter().filter(|target| !run(target, Duration::from_secs(seconds), seed)).count();
    ExitCode::from(u8::from(failed > 0))
}

/// When the input that is being tried began, in seconds since the start; 0 while there is none.
static SINCE: AtomicU64 = AtomicU64::new(0);

/// Ends the process when an input takes too long: nothing else ends a thread.
fn watch() {
    let start = Instant::now();
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_secs(1));
            let since = SINCE.fetch_add(u64::from(SINCE.load(Ordering::Relaxed) > 0), Ordering::Relaxed);
            if since > LONGEST {
                eprintln!(
                    "an input takes more than {LONGEST} seconds, {} s after the start: see target/fuzz/*.input",
                    start.elapsed().as_secs()
                );
                std::process::exit(1);
            }
        }
    });
}

fn run(target: &Target, time: Duration, seed: u64) -> bool {
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/found").join(target.name);
    let kept = kept(target.name);
    for (path, input) in corpus::files(&found) {
        if !is_fine(target, &input, &kept) {
            eprintln!("{}: {} fails again", target.name, path.display());
            return false;
        }
    }
    let seeds = (target.corpus)();
    let mut mutator = Mutator::new(seed, &seeds, target.words);
    let (began, mut tried) = (Instant::now(), 0_usize);
    while began.elapsed() < time {
        let input = seeds.get(tried).map_or_else(|| mutator.input(), Clone::clone);
        if !is_fine(target, &input, &kept) {
            eprintln!("{}: input {tried} of seed {seed} fails, kept as {}", target.name, kept.display());
            return false;
        }
        tried += 1;
    }
    println!("{}: {tried} inputs from {} files, peak {} MiB", target.name, seeds.len(), peak() >> 10);
    true
}

/// Where the input that is being tried stands, for one that ends the process.
fn kept(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../fuzz");
    fs::create_dir_all(&folder).expect("a folder below `target`");
    folder.join(format!("{name}.input"))
}

fn is_fine(target: &Target, input: &[u8], kept: &Path) -> bool {
    fs::write(kept, input).expect("a file below `target`");
    SINCE.store(1, Ordering::Relaxed);
    let is_kept = catch_unwind(|| (target.try_one)(input)).is_ok();
    SINCE.store(0, Ordering::Relaxed);
    let memory = peak();
    if memory > MOST_MEMORY {
        eprintln!("{}: {} MiB of memory", target.name, memory >> 10);
    }
    is_kept && memory <= MOST_MEMORY
}

/// The most that this process has had in memory, in KiB; 0 where the system does not tell.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok()).unwrap_or(0)
}
