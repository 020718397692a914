//! What reading YAML takes that was written to take much: for each shape its size, its seconds, and the peak of memory of a
//! process that reads nothing else.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program of its own, outside of the rooms")]

use std::fs;
use std::process::{Command, ExitCode};
use std::time::Instant;

use rollout::yaml;

/// The most that a process may have in memory while it reads a text of so many bytes.
const fn budget(size: usize) -> usize {
    12 * size + (64 << 20)
}

/// A shape's name, and its text of about so many bytes.
type Shape = (&'static str, fn(usize) -> String);

const SHAPES: &[Shape] = &[
    ("dup_keys", |size| lines(size, |_| "key: value\n".to_owned())),
    ("docs_uniq", |size| lines(size, |line| format!("---\nkind: K{line}\nmetadata: {{name: n{line}}}\n"))),
    ("wide_map", |size| lines(size, |line| format!("key{line}: {line}\n"))),
    ("wide_list", |size| lines(size, |_| "- a\n".to_owned())),
    ("list_of_maps", |size| lines(size, |_| "- a:\n".to_owned())),
    ("excl", |size| lines(size, |_| "- !a b\n".to_owned())),
    ("merge_keys", |size| format!("a: &a {{x: 1}}\nb:\n{}", lines(size, |_| "- <<: *a\n".to_owned()))),
    ("alias_text", |size| format!("a: &a \"{}\"\nb:\n{}", "x".repeat(size / 2), lines(size / 2, |_| "- *a\n".to_owned()))),
    ("alias_key", |size| format!("a: &a {{? \"{}\" : 1}}\nb:\n{}", "x".repeat(size / 2), lines(size / 2, |_| "- *a\n".to_owned()))),
    ("alias_list", |size| format!("a: &a [{}0]\nb:\n{}", "0,".repeat(size / 4), lines(size / 2, |_| "- *a\n".to_owned()))),
    ("deep_flow", |size| format!("[{}0]", lines(size, |_| format!("{}{},\n", "[".repeat(500), "]".repeat(500))))),
    ("flow_long", |size| format!("[{}0]", "0,".repeat(size / 2))),
    ("flow_maps", |size| format!("[{}0]", "{a: },".repeat(size / 6))),
    ("json", |size| format!("{{\"a\": [{}0]}}", "0,".repeat(size / 2))),
    ("json_no_yaml", |size| format!("{{\"b\": \"\\/\", \"a\": [{}0]}}", "0,".repeat(size / 2))),
    ("json_objects", |size| "{\"a\":{}}".repeat(size / 8)),
    ("huge_scalar", |size| format!("a: {}\n", "x".repeat(size))),
    ("huge_block", |size| format!("a: |\n{}", lines(size, |_| "  some text of a line\n".to_owned()))),
    ("huge_folded", |size| format!("a: >\n{}", lines(size, |_| "  a\n".to_owned()))),
    ("escapes", |size| format!("a: \"{}\"\n", "\\x41".repeat(size / 4))),
    ("comments", |size| lines(size, |_| "# nothing\n".to_owned())),
    ("read_differently", |size| lines(size, |line| format!("k{line}: yes\n"))),
    ("objects", |size| lines(size, |line| format!("---\nkind: ConfigMap\nmetadata:\n  name: n{line}\ndata:\n  a: |\n    text\n"))),
];

fn lines(size: usize, line: impl Fn(usize) -> String) -> String {
    let mut text = String::with_capacity(size + 1024);
    let mut number = 0;
    while text.len() < size {
        text.push_str(&line(number));
        number += 1;
    }
    text
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    match arguments.as_slice() {
        [shape, size] => one(shape, size.parse().unwrap_or(1)),
        _ => all(),
    }
}

/// Reads one shape of so many MiB, and prints what it took.
fn one(name: &str, mebibytes: usize) -> ExitCode {
    let Some((_, make)) = SHAPES.iter().find(|(known, _)| *known == name) else { return ExitCode::from(2) };
    let text = make(mebibytes << 20);
    let before = peak();
    let began = Instant::now();
    let (mut read, mut error) = (0_usize, None);
    match yaml::split(&text) {
        Ok(documents) => {
            for raw in &documents {
                match yaml::read(raw) {
                    Ok(_) => read += 1,
                    Err(refused) => error = error.or(Some(refused.message)),
                }
            }
        }
        Err(refused) => error = Some(refused.message),
    }
    let (took, after) = (began.elapsed(), peak());
    // The text itself is a part of what reading a file takes.
    let verdict = if after <= budget(text.len()) { "met" } else { "EXCEEDED" };
    let outcome = error.unwrap_or_else(|| format!("{read} read"));
    println!(
        "| {name} | {mebibytes} MiB | {:.2} s | {} MiB, before {} | {verdict} | {outcome} |",
        took.as_secs_f64(),
        after >> 20,
        before >> 20
    );
    ExitCode::from(u8::from(after > budget(text.len())))
}

fn all() -> ExitCode {
    println!("| shape | size | time | peak | 12 × size + 64 MiB | |\n|---|---|---|---|---|---|");
    let Ok(program) = std::env::current_exe() else { return ExitCode::from(2) };
    let mut is_met = true;
    for (name, _) in SHAPES {
        for mebibytes in ["1", "4", "50"] {
            is_met &= Command::new(&program).args([name, mebibytes]).status().is_ok_and(|status| status.success());
        }
    }
    ExitCode::from(u8::from(!is_met))
}

/// The most that this process has had in memory, in bytes; 0 where the system does not tell.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<usize>().ok()).unwrap_or(0) << 10
}
