//! What single rooms take of the renderer's budgets: reading a folder of 10,000 files, finding what differs from the base.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program of its own, outside of the rooms")]
#![allow(missing_docs, reason = "the macros of the harness make public functions")]

mod generate;

use camino::Utf8Path;
use criterion::{Criterion, criterion_group, criterion_main};
use generate::Shape;
use rollout::{disk, git};

fn rooms(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("10,000 files");
    group.sample_size(20);
    for changed in [1, 1_000] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        generate::repository(folder.path(), Shape { rollouts: 1_000, gateways: 1, files: 10_000, changed });
        let root = Utf8Path::from_path(folder.path()).expect("a temporary folder's name is text");
        if changed == 1 {
            group.bench_function("disk: read", |bencher| bencher.iter(|| disk::read(root).expect("it can be read")));
        }
        group.bench_function(format!("git: open, base and {changed} changes"), |bencher| {
            bencher.iter(|| {
                let repository = git::Repository::discover(root).expect("it can be opened").expect("it is there");
                let base = repository.base(None, None).expect("it can be told").expect("there is one");
                let changes = repository.changes_since(&base, "", &disk::is_read).expect("they can be read");
                assert_eq!(changes.paths().len(), changed);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, rooms);
criterion_main!(benches);
