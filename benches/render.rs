//! How long the built binary takes, from a cold process to its exit: the renderer's rows of the budgets.
//!
//! `cargo bench --bench render` measures all of them (some minutes); `-- changed` only the rows whose name has `changed` in
//! it. Each row is run several times; told are the median and the least time, the processor's time for one run, which a
//! busy machine stretches less, and the peak of resident memory. Linux only: the last two are read from `/proc`.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program of its own, outside of the rooms")]

mod generate;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use generate::Shape;
use tempfile::TempDir;

const ROLLOUT: &str = env!("CARGO_BIN_EXE_rollout");

const BIG: Shape = Shape { rollouts: 1_000, gateways: 1, files: 10_000, changed: 1_000 };

/// What is measured, and what it may take.
struct Row {
    name: &'static str,
    shape: Shape,
    arguments: &'static [&'static str],
    /// Whether plans are written, into a folder that is empty each time.
    output: Output,
    runs: usize,
    budget: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    None,
    New,
    Same,
}

const ROWS: &[Row] = &[
    Row {
        name: "one rollout, 3 gateway objects",
        shape: Shape { rollouts: 1, gateways: 3, files: 6, changed: 1 },
        arguments: &[],
        output: Output::None,
        runs: 50,
        budget: "20 ms",
    },
    Row {
        name: "1000 rollouts in 10,000 files, text",
        shape: BIG,
        arguments: &[],
        output: Output::None,
        runs: 7,
        budget: "1.0 s, 200 MiB",
    },
    Row { name: "1000 rollouts, --out to an empty folder", shape: BIG, arguments: &[], output: Output::New, runs: 5, budget: "3 s" },
    Row { name: "1000 rollouts, --out, nothing new", shape: BIG, arguments: &[], output: Output::Same, runs: 5, budget: "3 s" },
    Row {
        name: "1000 rollouts, --changed, one",
        shape: Shape { changed: 1, ..BIG },
        arguments: &["--changed"],
        output: Output::None,
        runs: 15,
        budget: "150 ms",
    },
    Row {
        name: "100 rollouts, 600 unrelated files",
        shape: Shape { rollouts: 100, gateways: 1, files: 1_000, changed: 100 },
        arguments: &[],
        output: Output::None,
        runs: 15,
        budget: "",
    },
    Row {
        name: "100 rollouts, 6000 unrelated files",
        shape: Shape { rollouts: 100, gateways: 1, files: 6_400, changed: 100 },
        arguments: &[],
        output: Output::None,
        runs: 15,
        budget: "1.5 times the row above",
    },
];

/// What one row took.
struct Taken {
    walls: Vec<Duration>,
    processor: Duration,
    peak_kibibytes: u64,
}

fn main() {
    // `cargo bench` adds an argument of its own to every harness.
    let filters: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    println!("{:<42} {:>9} {:>9} {:>9} {:>9}  budget", "", "median", "least", "processor", "peak");
    for row in ROWS.iter().filter(|row| filters.iter().all(|filter| row.name.contains(filter.as_str()))) {
        let taken = measured(row);
        println!(
            "{:<42} {:>6} ms {:>6} ms {:>6} ms {:>5} MiB  {}",
            row.name,
            taken.walls[taken.walls.len() / 2].as_millis(),
            taken.walls[0].as_millis(),
            taken.processor.as_millis(),
            taken.peak_kibibytes / 1024,
            row.budget
        );
    }
}

/// Runs a row once to warm up, then as often as it says.
fn measured(row: &Row) -> Taken {
    let repository = tempfile::tempdir().expect("a temporary folder");
    generate::repository(repository.path(), row.shape);
    let mut output = tempfile::tempdir().expect("a temporary folder");
    run(row, repository.path(), &output);
    let (mut walls, mut peak_kibibytes) = (Vec::new(), 0);
    let before = processor_of_children();
    for _ in 0..row.runs {
        if row.output == Output::New {
            output = tempfile::tempdir().expect("a temporary folder");
        }
        let (wall, peak) = run(row, repository.path(), &output);
        walls.push(wall);
        peak_kibibytes = peak_kibibytes.max(peak);
    }
    let runs = u32::try_from(row.runs).expect("a small number");
    walls.sort();
    Taken { walls, processor: processor_of_children().saturating_sub(before) / runs, peak_kibibytes }
}

fn run(row: &Row, repository: &Path, output: &TempDir) -> (Duration, u64) {
    let mut command = Command::new(ROLLOUT);
    command.arg("render").args(row.arguments).current_dir(repository);
    if row.output != Output::None {
        command.arg("--out").arg(output.path());
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let mut child = command.spawn().expect("the binary was built");
    let mut peak = 0;
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is our child") {
            break status;
        }
        peak = peak.max(high_water_mark(&child));
        thread::sleep(Duration::from_micros(500));
    };
    let wall = began.elapsed();
    assert!(status.success(), "{}: {status}", row.name);
    (wall, peak)
}

/// The most memory that the process had so far, in KiB.
fn high_water_mark(child: &Child) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// What all children that have ended took of the processors.
fn processor_of_children() -> Duration {
    const TICK: Duration = Duration::from_millis(10);
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name in brackets: the 14th and 15th field are the children's time in user and system mode.
    let fields = text.rsplit_once(") ").map_or("", |(_, fields)| fields).split(' ').skip(13).take(2);
    let ticks: u32 = fields.filter_map(|field| field.parse::<u32>().ok()).sum();
    TICK * ticks
}
