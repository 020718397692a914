use serde_json::json;

use super::*;

fn document(text: &str) -> Document {
    let documents = split(text).unwrap();
    read(&documents[0]).unwrap().unwrap()
}

#[track_caller]
fn error(text: &str, expected: &str) {
    let error = split(text).and_then(|documents| documents.iter().try_for_each(|raw| read(raw).map(drop))).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[track_caller]
fn remarks(text: &str, expected: &[&str]) {
    let document = document(text);
    let found: Vec<_> = document
        .remarks
        .iter()
        .map(|remark| format!("{}:{} {} {}", remark.position.line, remark.position.column, remark.pointer, remark.message))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn every_value_has_its_place_in_the_file() {
    let text = "# c\n---\r\na:\r\n  b: [1, {c: é, d: x}]\r\n  e/f: |\r\n    t\r\nh:\r\n- 1\r\n-\r\n  i: 2\r\n";
    let documents = split(text).unwrap();
    let document = read(&documents[1]).unwrap().unwrap();
    let at = |pointer: &str| {
        let (value, key) = (document.places.at(pointer), document.places.key_at(pointer));
        (value.line, value.column, key.line, key.column)
    };
    assert_eq!(document.value, json!({"a": {"b": [1, {"c": "é", "d": "x"}], "e/f": "t\n"}, "h": [1, {"i": 2}]}));
    assert_eq!(at(""), (3, 1, 3, 1));
    assert_eq!(at("/a"), (4, 3, 3, 1));
    assert_eq!(at("/a/b/1/d"), (4, 20, 4, 17));
    assert_eq!(at("/a/e~1f"), (5, 8, 5, 3));
    assert_eq!(at("/h/1/i"), (10, 6, 10, 3));
}

#[test]
fn what_an_alias_or_a_merge_brings_stands_where_the_alias_stands() {
    let document = document("a: &a {x: 1, z: {q: 2}}\nb: *a\nc:\n  <<: *a\n  w: 3\n");
    assert_eq!(document.value["c"], json!({"x": 1, "z": {"q": 2}, "w": 3}));
    assert_eq!(document.places.at("/b/z/q"), Position { line: 2, column: 4 });
    assert_eq!(document.places.at("/c/z/q"), Position { line: 4, column: 7 });
}

#[test]
fn a_second_json_object_on_a_line_keeps_its_columns() {
    let documents = split("{\"a\":1}{\"b\":\n2}").unwrap();
    let document = read(&documents[1]).unwrap().unwrap();
    assert_eq!(document.places.key_at("/b"), Position { line: 1, column: 9 });
    assert_eq!(document.places.at("/b"), Position { line: 2, column: 1 });
}

#[test]
fn json_may_say_what_yaml_may_not() {
    assert_eq!(read_value(r#"{"a": "b\/c\ud83d\ude00", "d": 1.0}"#), Ok(json!({"a": "b/c😀", "d": 1})));
    error("a: \"b\\/c\"\n", "1:6 the escape `\\/`, which kubectl does not know".replacen(' ', ": ", 1).as_str());
}

#[test]
fn errors_name_line_and_column_of_the_file() {
    error("a: 1\n---\nb:\n\tc: 1\n", "4:1: found character that cannot start any token, while scanning for the next token");
    error("a: 1\nb: \u{1}\n", "2:4: the control character U+0001, which YAML does not allow");
    error("a: {{ .Values.x }}\n", "1:5: a mapping or a list as a key; a template in `{{ }}` looks like one");
    error("%YAML 1.1\n---\na: 1\n", "2:1: did not find expected <document start>");
    error("a: .inf\n", "1:4: a number that is not finite, which JSON cannot say");
    error("{}\n---\n{}\n", "2:1: a `---` in a stream of JSON objects, which kubectl refuses");
}

#[test]
fn a_tag_that_ends_in_a_comma_is_an_error_and_an_exclamation_is_not() {
    error("a: [!x, b]\n", "1:5: a tag that ends in a comma");
    error("a: [!<x>, b]\n", "1:5: a tag that ends in a comma");
    error("a: [\"Hi!,\", b, !,]\n", "1:16: a tag that ends in a comma");
    let read = read_value("a: [\"Hi!,\", Hi!, 'x!,']\nb: !<tag:yaml.org,2002:str> 1 # !,\n");
    assert_eq!(read, Ok(json!({"a": ["Hi!,", "Hi!", "x!,"], "b": "1"})));
}

#[test]
fn nesting_is_bounded_also_through_aliases() {
    assert!(read_value(&format!("{}{}", "[".repeat(500), "]".repeat(500))).is_ok());
    error(&"[".repeat(100_000), "1:513: more than 512 levels of nesting");
    error(&format!("{}!a,", "[".repeat(100_000)), "1:513: more than 512 levels of nesting");
    error(&"- ".repeat(100_000), "1:1025: more than 512 levels of nesting");
    let chain = |index: u32| format!("a{}: &a{} {}*a{index}{}\n", index + 1, index + 1, "[".repeat(300), "]".repeat(300));
    let text = format!("a0: &a0 1\n{}", (0..200).map(chain).collect::<Vec<_>>().concat());
    assert!(read_value(&text).unwrap_err().message.contains("levels of nesting"));
}

#[test]
fn a_small_text_does_not_become_a_large_value() {
    let list = |index: u32| format!("a{}: &a{} [{}]\n", index + 1, index + 1, vec![format!("*a{index}"); 9].join(","));
    let text = format!("a0: &a0 x\n{}", (0..9).map(list).collect::<Vec<_>>().concat());
    assert!(read_value(&text).unwrap_err().message.contains("aliases"));
    assert!(read_value("a: &a [*a]\n").unwrap_err().message.contains("contains itself"));
    assert!(read_value("a: &a {<<: *a}\n").unwrap_err().message.contains("contains itself"));
}

#[test]
fn a_long_text_is_not_copied_by_many_aliases() {
    let long = "x".repeat(50_000);
    let read = |text: &str| read_value(text).map(drop).map_err(|error| error.message);
    let refused = Err("more than 4194304 bytes of text through aliases".to_owned());
    assert_eq!(read(&format!("a: &a {long}\nb:\n{}", "- *a\n".repeat(5000))), refused);
    assert_eq!(read(&format!("a: &a {{? {long} : 1}}\nb:\n{}", "- *a\n".repeat(5000))), refused);
    assert_eq!(read(&format!("a: &a {{? {long} : 1}}\nb:\n{}", "- <<: *a\n".repeat(5000))), refused);
    assert_eq!(read(&format!("a: &a {long}\nb:\n{}", "- *a: 1\n".repeat(5000))), refused);
    assert_eq!(read(&format!("a: &a {long}\nb:\n{}", "- *a\n".repeat(20))), Ok(()));
}

#[test]
fn a_document_has_as_many_values_as_an_object_can_have() {
    for text in
        ["- a\n".repeat(250_000), format!("[{}0]", "0,".repeat(250_000)), format!("{{\"a\": \"\\/\", \"b\": [{}0]}}", "0,".repeat(250_000))]
    {
        let error = read_value(&text).unwrap_err();
        assert!(error.message.contains("more than 200000 keys and values") || error.message.contains("escape"), "{error}");
    }
    assert!(read_value(&"- a\n".repeat(150_000)).is_ok());
}

#[test]
fn what_kustomize_reads_otherwise_is_remarked() {
    remarks("a: yes\n", &["1:4 /a `yes` is true to kubectl and \"yes\" to kustomize"]);
    remarks("on: 'yes'\n", &["1:1 /true the key `on` is \"true\" to kubectl and \"on\" to kustomize"]);
    remarks("a: 2024-1-02\n", &["1:4 /a `2024-1-02` is \"2024-1-02\" to kubectl and \"2024-01-02T00:00:00Z\" to kustomize"]);
    remarks("8080: x\n", &["1:1 /8080 the key `8080` is \"8080\" to kubectl and an error to kustomize"]);
    remarks("a: ! 12\n", &["1:4 /a `12` is \"12\" to kubectl and 12 to kustomize"]);
    remarks("a: [0644, true, 1e3, ~, '2024-01-02', 2024-01-02T03:04:05Z, \"on\"]\n", &[]);
    remarks(
        "b: &b {x: 1}\nc:\n  x: 2\n  <<: *b\n",
        &["4:7 /c/x a merge after the key `x` replaces its value for kubectl, not for kustomize"],
    );
    remarks("b: &b {x: 1}\nc:\n  <<: *b\n  x: 2\n", &[]);
}

#[test]
fn the_last_of_two_equal_keys_counts_and_is_remarked() {
    let text = "a:\n  b: 1\n  b: 2\n";
    assert_eq!(document(text).value, json!({"a": {"b": 2}}));
    assert_eq!(document(text).places.at("/a/b"), Position { line: 3, column: 6 });
    remarks(text, &["3:3 /a/b a key that stood in this mapping before; the last one counts, and kustomize refuses the file"]);
}

#[test]
fn text_after_the_end_of_a_document_is_remarked() {
    remarks("a: 1\n...\nb: 2\n", &["3:1  more text after the end of the document, which kubectl does not read"]);
    remarks("a: 1\n...\n# c\n", &[]);
}

#[test]
fn empty_documents_say_nothing() {
    for text in ["# c\n", "null\n", "~", "  \n", "{}\n---"] {
        let documents = split(text).unwrap();
        assert_eq!(read(&documents[0]).unwrap().map(|document| document.value), text.starts_with('{').then(|| json!({})), "{text:?}");
    }
}

#[test]
fn exactly_one_document_is_expected_of_a_value() {
    assert_eq!(read_value("---\n# c\n---\na: 1\n---\n"), Ok(json!({"a": 1})));
    assert!(read_value("# c\n").is_err());
    assert_eq!(read_value("a: 1\n---\nb: 1\n").unwrap_err().position, Position { line: 3, column: 1 });
}

#[test]
fn the_reader_takes_time_in_proportion_to_the_text() {
    for text in ["!".repeat(300_000), "!<".repeat(100_000), "!,".repeat(100_000), "{\"\\/".repeat(50_000), "a: [".repeat(100_000)] {
        // It only has to end.
        drop(read_value(&text));
    }
    let deep: Vec<String> = (0..200_usize).map(|depth| format!("{}{}:\n", " ".repeat(depth), "k".repeat(500))).collect();
    let text = format!("{}{}", deep.concat(), format!("{}- yes\n", " ".repeat(200)).repeat(20_000));
    assert!(document(&text).remarks.len() < 20);
}
