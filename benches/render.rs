//! How long the built binary takes, from a cold process to its exit: the renderer's rows of the budgets.
//!
//! `cargo bench --bench render` measures all of them (some minutes); `-- one` only those whose name has `one` in it. The peak of
//! resident memory is printed beside the two large rows. Budgets: 20 ms for one rollout; 1 s and 200 MiB for a
//! thousand in 10,000 files, 3 s when they are written; 150 ms for the changed one among them; with ten times the
//! unrelated files at most 1.5 times as long.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program of its own, outside of the rooms")]
#![allow(missing_docs, reason = "the macros of the harness make public functions")]

mod generate;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use generate::Shape;
use tempfile::TempDir;

const ROLLOUT: &str = env!("CARGO_BIN_EXE_rollout");

const BIG: Shape = Shape { rollouts: 1_000, gateways: 1, files: 10_000, changed: 1_000 };

fn repository(shape: Shape) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    generate::repository(folder.path(), shape);
    folder
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(ROLLOUT);
    command.arg("render").args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn run(folder: &Path, arguments: &[&str]) {
    let status = command(folder, arguments).status().expect("the binary was built");
    assert!(status.success(), "`rollout render {}` in {}: {status}", arguments.join(" "), folder.display());
}

/// Samples the high-water mark of the resident memory while the process lives. Linux only; elsewhere nothing is told.
fn tell_peak_memory(name: &str, folder: &Path, arguments: &[&str]) {
    let mut child = command(folder, arguments).spawn().expect("the binary was built");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = None;
    while child.try_wait().expect("it is our child").is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).or(peak);
        thread::sleep(Duration::from_millis(1));
    }
    if let Some(kibibytes) = peak {
        eprintln!("{name}: peak resident memory {} MiB", kibibytes / 1024);
    }
}

fn one_rollout(criterion: &mut Criterion) {
    let folder = repository(Shape { rollouts: 1, gateways: 3, files: 6, changed: 1 });
    criterion.bench_function("one rollout, 3 gateway objects", |bencher| bencher.iter(|| run(folder.path(), &[])));
    let empty = tempfile::tempdir().expect("a temporary folder");
    let version = || Command::new(ROLLOUT).arg("--version").stdout(Stdio::null()).current_dir(empty.path()).status();
    criterion.bench_function("the process alone", |bencher| bencher.iter(version));
}

fn big_repository(criterion: &mut Criterion) {
    let folder = repository(BIG);
    let mut group = criterion.benchmark_group("1000 rollouts in 10,000 files");
    group.sample_size(10);
    group.bench_function("text", |bencher| bencher.iter(|| run(folder.path(), &[])));
    let output = tempfile::tempdir().expect("a temporary folder");
    let out = output.path().to_str().expect("a temporary folder's name is text").to_owned();
    group.bench_function("out, into an empty folder", |bencher| {
        bencher.iter_batched(
            || {
                fs::remove_dir_all(&out).expect("the last output goes");
                fs::create_dir(&out).expect("the folder is made again");
            },
            |()| run(folder.path(), &["--out", &out]),
            criterion::BatchSize::PerIteration,
        );
    });
    group.bench_function("out, nothing new", |bencher| bencher.iter(|| run(folder.path(), &["--out", &out])));
    group.finish();
    tell_peak_memory("1000 rollouts in 10,000 files, text", folder.path(), &[]);
    tell_peak_memory("1000 rollouts in 10,000 files, out", folder.path(), &["--out", &out]);
}

fn one_changed(criterion: &mut Criterion) {
    let folder = repository(Shape { changed: 1, ..BIG });
    let mut group = criterion.benchmark_group("1000 rollouts in 10,000 files");
    group.sample_size(20);
    group.bench_function("changed, one", |bencher| bencher.iter(|| run(folder.path(), &["--changed"])));
    group.finish();
}

fn unrelated_files(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("100 rollouts");
    group.sample_size(10);
    for files in [1_000, 6_400] {
        // 400 files belong to the rollouts: 600 unrelated ones, and ten times as many.
        let folder = repository(Shape { rollouts: 100, gateways: 1, files, changed: 100 });
        group.bench_function(format!("{} unrelated files", files - 400), |bencher| bencher.iter(|| run(folder.path(), &[])));
    }
    group.finish();
}

criterion_group!(benches, one_rollout, one_changed, unrelated_files, big_repository);
criterion_main!(benches);
