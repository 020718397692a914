//! Writes a generated repository to a folder: `cargo bench --bench big_repository -- FOLDER ROLLOUTS FILES CHANGED`.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program of its own, outside of the rooms")]

mod generate;

use std::path::PathBuf;

fn main() {
    // `cargo bench` adds an argument of its own to every harness.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let [folder, numbers @ ..] = arguments.as_slice() else {
        eprintln!("usage: cargo bench --bench big_repository -- FOLDER [ROLLOUTS [FILES [CHANGED]]]");
        return;
    };
    let number = |index: usize, otherwise| numbers.get(index).and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let rollouts = number(0, 1_000);
    let shape = generate::Shape { rollouts, gateways: 1, files: number(1, 10_000), changed: number(2, rollouts) };
    let folder = PathBuf::from(folder);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    generate::repository(&folder, shape);
    eprintln!("{shape:?} in {}", folder.display());
}
