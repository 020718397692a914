//! Our YAML against kubectl's recorded answers in `tests/golden`.
#![expect(clippy::disallowed_methods, reason = "tests read their cases")]

use std::fs;
use std::path::Path;

use rollout::yaml;
use serde_json::{Value, json};

/// The cases of a file in `tests/golden`, one JSON object a line.
fn cases(name: &str) -> Vec<Value> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)).unwrap();
    let cases: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!cases.is_empty(), "{name} holds no cases");
    cases
}

/// What the first document of a stream says; null when it says nothing.
fn first_document(input: &str) -> Result<Value, yaml::ReadError> {
    match yaml::split(input)?.first() {
        Some(raw) => Ok(yaml::read(raw)?.map_or(Value::Null, |document| document.value)),
        None => Ok(Value::Null),
    }
}

#[track_caller]
fn check_reading(cases: &[Value]) {
    let mut failures = Vec::new();
    for case in cases {
        let input = case["input"].as_str().unwrap();
        let expected = case["json"].as_str().map(|json| {
            let mut deserializer = serde_json::Deserializer::from_str(json);
            serde::Deserialize::deserialize(&mut deserializer).unwrap_or_else(|error| panic!("{json}: {error}"))
        });
        let found: Option<Value> = first_document(input).inspect_err(|error| assert!(!error.message.is_empty())).ok();
        if found != expected {
            failures.push(format!("{}: {input:?}\n  kubectl: {expected:?}\n  we: {found:?}", case["name"]));
        }
    }
    assert!(failures.is_empty(), "{} of {} differ\n{}", failures.len(), cases.len(), failures.join("\n"));
}

#[test]
fn golden_documents_are_read_as_kubectl_reads_them() {
    check_reading(&cases("yaml-documents.jsonl"));
}

#[test]
fn golden_documents_of_our_own_are_read_as_kubectl_reads_them() {
    check_reading(&cases("yaml-read.jsonl"));
}

#[test]
fn golden_strings_are_never_misread() {
    let cases = cases("yaml-strings.jsonl");
    let mut equal = 0;
    for case in &cases {
        let string = case["string"].as_str().unwrap();
        let written = yaml::write(&json!({ "k": string }));
        assert_eq!(yaml::read_value(&written), Ok(json!({ "k": string })), "{written}");
        if case["kubectl"] == written.as_str() {
            equal += 1;
        } else {
            eprintln!("written otherwise than by kubectl: {} {written:?}", case["kubectl"]);
        }
    }
    eprintln!("{equal} of {} strings are written as kubectl writes them", cases.len());
}

#[test]
fn golden_answers_of_our_own_are_those_of_the_kubectl_at_hand() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("object.yaml");
    let own = cases("yaml-read.jsonl");
    for case in own.iter().filter(|case| case["name"] != EITHER) {
        let header = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
        fs::write(&file, format!("{header}{}", case["input"].as_str().unwrap())).unwrap();
        let arguments = ["label", "--local", "--output=json", "x=y", "--filename"];
        let Ok(output) = std::process::Command::new("kubectl").args(arguments).arg(&file).output() else {
            eprintln!("skipped: no kubectl to ask");
            return;
        };
        let found = serde_json::from_slice(&output.stdout).ok().map(|mut object: Value| {
            let fields = object.as_object_mut().unwrap();
            fields.retain(|key, _| !["apiVersion", "kind", "metadata"].contains(&key.as_str()));
            object
        });
        let expected = case["json"].as_str().map(|json| serde_json::from_str::<Value>(json).unwrap());
        assert_eq!(found, expected, "{}", case["name"]);
    }
}

/// Of the keys `1` and `"1"` kubectl keeps the one that its map happens to have last, another one each time; we the later one.
const EITHER: &str = "key twice, of two types";
