//! What holds the house up: who may import whom, that every test is compiled, and that every code is explained.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A room, and the rooms that it may import. A new room gets a line here.
const IMPORTS: &[(&str, &[&str])] = &[
    ("agent", &["model", "plan", "patch", "machine", "kruise_status", "digest"]),
    ("build", &["model", "files", "yaml", "config"]),
    ("cases", &["model", "files", "yaml", "lua", "discover", "render", "diff"]),
    ("check", &["model", "exposure"]),
    ("coexist", &["model"]),
    ("config", &["model", "files", "yaml"]),
    ("diff", &["model", "yaml"]),
    ("digest", &[]),
    ("discover", &["model", "files", "yaml", "config", "digest"]),
    ("disk", &["files"]),
    ("exposure", &["model"]),
    ("files", &[]),
    ("function", &["model", "files", "yaml", "config", "discover", "render", "plan", "check"]),
    ("git", &["files"]),
    ("kruise_status", &["model"]),
    ("lua", &[]),
    ("machine", &["model", "plan"]),
    ("model", &[]),
    ("operate", &["model"]),
    ("patch", &["model"]),
    ("objects", &["model", "plan"]),
    ("plan", &["model", "files", "yaml", "digest"]),
    ("render", &["model", "lua", "digest"]),
    ("report", &["exposure", "simulate", "coexist", "model", "files", "yaml", "diff", "cases", "digest"]),
    ("simulate", &["model", "yaml", "digest", "plan", "patch", "machine", "exposure"]),
    ("tree", &["coexist", "yaml", "model", "files", "plan", "diff", "report"]),
    ("yaml", &["model"]),
];

/// Rooms that may import every other.
const ABOVE_ALL: &[&str] = &["cli", "lib", "main"];

/// A crate, and the one room that may name it.
const OWNED: &[(&str, &[&str])] = &[
    ("annotate_snippets", &["report"]),
    ("clap", &["cli"]),
    ("flate2", &["agent"]),
    ("full_moon", &["lua"]),
    ("git2", &["git"]),
    ("ignore", &["disk"]),
    ("k8s_openapi", &["agent"]),
    ("kube", &["agent", "operate"]),
    ("libyaml_safer", &["yaml"]),
    ("maud", &["report"]),
    ("mlua", &["lua"]),
    ("serde_json_canonicalizer", &["digest"]),
    ("sha2", &["digest"]),
    ("similar", &["diff"]),
    ("tempfile", &["build", "disk"]),
    ("tokio", &["agent", "operate"]),
    ("walkdir", &["build", "disk"]),
];

#[test]
fn rooms_import_only_what_lies_below_them() {
    let table: BTreeMap<&str, &[&str]> = IMPORTS.iter().copied().collect();
    let mut faults = Vec::new();
    for file in sources("src").into_iter().filter(|file| name_of(file) != "tests.rs") {
        let room = room_of(&file);
        if ABOVE_ALL.contains(&room.as_str()) || is_test(&file) {
            continue;
        }
        let Some(allowed) = table.get(room.as_str()) else {
            faults.push(format!("{}: the room `{room}` is not in the table", file.display()));
            continue;
        };
        for import in imports(&text_of(&file)) {
            if import != room && !allowed.contains(&import.as_str()) {
                faults.push(format!("{}: `{room}` may not import `{import}`", file.display()));
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn contributors_read_the_same_table() {
    let row = |(room, imports): &(&str, &[&str])| {
        let imports: BTreeSet<String> = imports.iter().map(|import| format!("`{import}`")).collect();
        let imports = if imports.is_empty() { "–".to_owned() } else { imports.into_iter().collect::<Vec<_>>().join(", ") };
        format!("| `{room}` | {imports} |")
    };
    let held: BTreeSet<String> = IMPORTS.iter().map(row).chain(["| `cli` | everything |".to_owned()]).collect();
    let text = text_of(&root().join("CONTRIBUTING.md"));
    let (_, rooms) = text.split_once("| room | may import |\n|---|---|\n").expect("a table of rooms");
    let told: BTreeSet<String> = rooms.lines().take_while(|line| line.starts_with('|')).map(str::to_owned).collect();
    assert_eq!(told, held);
}

#[test]
fn a_crate_is_named_in_its_own_room_only() {
    let mut faults = Vec::new();
    for file in sources("src") {
        let room = room_of(&file);
        let text = code_of(&text_of(&file));
        for (name, rooms) in OWNED {
            if !rooms.contains(&room.as_str()) && has_word_path(&text, name) {
                faults.push(format!("{}: `{name}` belongs to {rooms:?}", file.display()));
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn every_source_file_and_test_file_is_compiled() {
    let mut faults = Vec::new();
    for (folder, roots) in [("src", &["lib.rs", "main.rs"][..]), ("tests/it", &["main.rs"][..])] {
        for file in sources(folder) {
            let is_root = file.parent() == Some(&root().join(folder)) && roots.contains(&name_of(&file).as_str());
            if !is_root && !is_declared(&file) {
                faults.push(format!("{}: no `mod` names it", file.display()));
            }
        }
    }
    let strays = fs::read_dir(root().join("tests")).expect("the folder of tests").flatten();
    let strays = strays.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "rs"));
    faults.extend(strays.map(|entry| format!("{}: tests live in tests/it", entry.path().display())));
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn every_code_of_a_finding_is_explained() {
    let explained: BTreeSet<&str> = rollout::report::codes::CODES.iter().map(|(code, _)| *code).collect();
    let mut missing = BTreeSet::new();
    // Attributes of HTML have the shape of codes; the page makes no findings.
    for file in sources("src").into_iter().filter(|file| !file.starts_with(root().join("src/report/html")) && !is_test(file)) {
        for code in codes(&code_of(&text_of(&file))) {
            if !explained.contains(code.as_str()) {
                missing.insert(format!("{code} ({})", file.strip_prefix(root()).unwrap_or(&file).display()));
            }
        }
    }
    assert_eq!(missing, BTreeSet::new(), "explain these in src/report/codes.rs");
}

/// Texts of the shape of a code that are none.
const NO_CODES: &[&str] = &["kruise-rollout-configuration", "pod-template-hash", "shop-canary"];

#[test]
fn every_explained_code_is_one_of_a_finding() {
    let is_code = |file: &PathBuf| !file.ends_with("src/report/codes.rs") && !is_test(file);
    let all: String = sources("src").into_iter().filter(is_code).map(|file| code_of(&text_of(&file))).collect();
    let idle: Vec<_> =
        rollout::report::codes::CODES.iter().map(|(code, _)| *code).filter(|code| !all.contains(&format!("\"{code}\""))).collect();
    assert_eq!(idle, Vec::<&str>::new(), "nothing finds these any more");
}

/// Literals that are given as a code, or have the shape of one, in code that makes findings.
fn codes(text: &str) -> BTreeSet<String> {
    if !text.contains("findings") && !text.contains("Finding::") {
        return BTreeSet::new();
    }
    let given = ["Finding::error(", "Finding::warning(", "Finding::note(", ".error(", ".warning(", ".error_at_key("];
    let given = given.iter().flat_map(|call| text.match_indices(call).map(|(start, call)| &text[start + call.len()..]));
    let given = given.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
    let is_name = |literal: &&str| literal.chars().all(|character| character.is_ascii_lowercase() || character == '-');
    let literals = text.split('"').skip(1).step_by(2);
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|character| character.is_ascii_lowercase());
    let is_code = |literal: &&str| literal.contains('-') && literal.split('-').all(is_word) && !NO_CODES.contains(literal);
    literals.filter(is_code).chain(given.filter(is_name)).map(str::to_owned).collect()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &str) -> Vec<PathBuf> {
    files_below(&root().join(folder)).into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

fn text_of(path: &Path) -> String {
    fs::read_to_string(path).expect("a text of this repository")
}

fn name_of(path: &Path) -> String {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned()
}

/// The part of the path below `src`, without `.rs`.
fn room_of(path: &Path) -> String {
    let below = path.strip_prefix(root().join("src")).expect("a source file");
    let first = below.components().next().expect("a path has parts").as_os_str().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// Whether the file is a module of tests, which may use whatever proves something.
fn is_test(file: &Path) -> bool {
    let below = file.strip_prefix(root()).unwrap_or(file);
    below.ends_with("tests.rs") || below.components().any(|part| part.as_os_str() == "tests")
}

/// What is compiled into the product: comments gone, and tests too, which may use whatever proves something.
fn code_of(text: &str) -> String {
    let mut code = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            skip_item(&mut lines, line.len() - line.trim_start().len());
        } else if !line.trim_start().starts_with("//") {
            code.push(line);
        }
    }
    code.join("\n")
}

/// Goes past an item: to its `;`, or to the bracket that closes it at its own indent.
fn skip_item<'a>(lines: &mut impl Iterator<Item = &'a str>, indent: usize) {
    let is_attribute = |line: &str| line.trim_start().starts_with("#[") || line.trim_start().starts_with("//");
    let mut item = lines.skip_while(|line| is_attribute(line));
    let Some(first) = item.next() else { return };
    if first.trim_end().ends_with([';', '}']) {
        return;
    }
    let _ = item.find(|line| line.len() - line.trim_start().len() == indent && line.trim_start().starts_with('}'));
}

#[test]
fn code_after_tests_is_looked_at_too() {
    let text = "use a;\n#[cfg(test)]\nmod golden;\nfn b() {}\n#[cfg(test)]\n#[allow(x)]\nmod tests {\n    use c;\n}\nuse d;\nimpl E {\n    #[cfg(test)]\n    fn f() {\n        g();\n    }\n    fn h() {}\n}\n";
    assert_eq!(code_of(text), "use a;\nfn b() {}\nuse d;\nimpl E {\n    fn h() {}\n}");
}

/// The rooms that a file's `crate::…` paths name.
fn imports(text: &str) -> BTreeSet<String> {
    let code = code_of(text);
    let mut rooms = BTreeSet::new();
    for (start, path) in code.match_indices("crate::") {
        let rest = &code[start + path.len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut word = String::new();
            for character in group.chars() {
                match character {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => rooms.extend(first_word(&std::mem::take(&mut word))),
                    other if depth == 0 => word.push(other),
                    _ => {}
                }
            }
            rooms.extend(first_word(&word));
        } else {
            rooms.extend(first_word(rest));
        }
    }
    rooms
}

fn first_word(text: &str) -> Option<String> {
    let word: String = text.trim_start().chars().take_while(|character| character.is_ascii_alphanumeric() || *character == '_').collect();
    (!word.is_empty()).then_some(word)
}

/// Whether `name::` stands there as a path of its own.
fn has_word_path(text: &str, name: &str) -> bool {
    text.match_indices(&format!("{name}::")).any(|(start, _)| {
        text[..start].chars().next_back().is_none_or(|before| !before.is_ascii_alphanumeric() && before != '_' && before != ':')
    })
}

/// Whether the file's parent module says `mod name;`.
fn is_declared(file: &Path) -> bool {
    let (name, folder) = match name_of(file).as_str() {
        "mod.rs" => (file.parent().map(name_of).unwrap_or_default(), file.parent().and_then(Path::parent)),
        other => (other.trim_end_matches(".rs").to_owned(), file.parent()),
    };
    let Some(folder) = folder else { return false };
    let parents = [folder.join("mod.rs"), folder.join("lib.rs"), folder.join("main.rs"), folder.with_extension("rs")];
    parents
        .iter()
        .filter(|parent| parent.is_file())
        .any(|parent| text_of(parent).lines().any(|line| line.trim().ends_with(&format!("mod {name};"))))
}
