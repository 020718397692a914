//! What holds of our YAML for any input: it never panics, and what is written is read again, by us and by others.

use proptest::prelude::*;
use rollout::yaml;
use serde_json::Value;

/// Pieces that a YAML parser has opinions about.
fn piece() -> impl Strategy<Value = String> {
    let signs = [
        "a",
        "b: ",
        "- ",
        "-",
        "? ",
        ": ",
        ":",
        ",",
        "[",
        "]",
        "{",
        "}",
        "\n",
        "\n  ",
        "\n    ",
        " ",
        "\t",
        "\r",
        "\r\n",
        "'",
        "\"",
        "\\",
        "\\u",
        "\\x4",
        "\\/",
        "|",
        "|+2\n",
        ">-\n",
        "#",
        " #c",
        "!",
        "!t",
        "!!int ",
        "!<a>",
        "%",
        "%TAG ! x",
        "%YAML 1.1\n",
        "&a ",
        "*a",
        "*a ",
        "<<: ",
        "---",
        "---\n",
        "...",
        "...\n",
        "0x1F",
        "0b-1",
        "1e3",
        ".5",
        "08",
        "~",
        "yes",
        "2024-01-02",
        "é",
        "😀",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "\u{1}",
        "@",
        "`",
        "!!binary aGk",
        "=",
        "_",
    ];
    prop_oneof![8 => proptest::sample::select(signs.to_vec()).prop_map(str::to_owned), 1 => any::<String>()]
}

fn string() -> impl Strategy<Value = String> {
    let words = [
        "yes",
        "on",
        "null",
        "~",
        "0644",
        "1e3",
        "1_000",
        "12:30:45",
        "2024-01-02",
        "a: b",
        " a",
        "a ",
        "- a",
        "#",
        "a\nb",
        "a\n\nb\n\n",
        "\n",
        " a\nb",
        "=",
        "<<",
        "{{ x }}",
        "1e999",
        ".inf",
        "0x",
        "@a",
        "a\tb",
        "---",
        "--- a",
        "...",
        "é",
        "😀",
        "\u{85}",
        "\u{feff}",
    ];
    prop_oneof![proptest::sample::select(words.to_vec()).prop_map(str::to_owned), any::<String>(), "[-+0-9._eExob:yYnNoOfFtT \n'\"#]{0,12}"]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (any::<i32>(), 1_i32..9).prop_map(|(whole, eighths)| Value::from(f64::from(whole) + f64::from(eighths) / 9.0)),
        string().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(string(), inner, 0..5).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_reader_panic(pieces in prop::collection::vec(piece(), 0..24)) {
        let text = pieces.concat();
        for raw in yaml::split(&text).unwrap_or_default() {
            if let Ok(Some(document)) = yaml::read(&raw) {
                prop_assert_eq!(yaml::read_value(&yaml::write(&document.value)), Ok(document.value), "{}", text);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_again(value in value().prop_filter("a document", |value| !value.is_null())) {
        let written = yaml::write(&value);
        prop_assert_eq!(yaml::read_value(&written), Ok(value), "{}", written);
    }

    #[test]
    fn what_is_written_is_read_alike_by_a_reader_of_yaml_1_2(value in value()) {
        let written = yaml::write(&value);
        let read: Result<Value, _> = serde_yaml::from_str(&written);
        prop_assert_eq!(read.map_err(|error| error.to_string()), Ok(value), "{}", written);
    }
}
