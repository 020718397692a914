//! YAML as kubectl writes it: two spaces, lists at the column of their key, literal blocks, quotes where a reader could
//! take a string for something else. Lines are never folded.

mod emit;
mod order;
mod quote;
mod tree;

use serde::Serialize;
use serde_json::Value;

/// Returns a value as one document that ends with a line break.
///
/// The fields of a struct keep their declared order; the keys of a map are sorted as kubectl sorts them.
///
/// # Panics
///
/// When a value refuses to be serialized. Neither JSON values nor our own types do.
pub fn write<T: Serialize>(value: &T) -> String {
    let tree = value.serialize(tree::Serializer).expect("values that are written serialize");
    emit::document(&tree)
}

/// Returns a JSON value as `write` does, without a copy of it on the way.
pub fn write_json(value: &Value) -> String {
    emit::document(&tree::Tree::from(value))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn case(value: &Value, expected: &str) {
        assert_eq!(write(value), expected);
        assert_eq!(write_json(value), expected);
    }

    #[test]
    fn values_stand_as_kubectl_writes_them() {
        let value = json!({"b": [{"c": 1, "d": [[], {}, [1, [2]]]}, "x"], "a": {"e": null, "f": true, "g": 1.5}});
        case(&value, "a:\n  e: null\n  f: true\n  g: 1.5\nb:\n- c: 1\n  d:\n  - []\n  - {}\n  - - 1\n    - - 2\n- x\n");
        case(&json!([]), "[]\n");
        case(&json!("x"), "x\n");
    }

    #[test]
    fn nothing_is_hidden() {
        let value = json!({"a\u{202e}b": "x\u{2066}\u{61c}y\n\u{ad}z", "c": "\u{3164}\u{e0041}"});
        case(&value, "\"a\\u202Eb\": \"x\\u2066\\u061Cy\\n\\xADz\"\nc: \"\\u3164\\U000E0041\"\n");
        assert_eq!(crate::yaml::read_value(&write(&value)), Ok(value));
    }

    #[test]
    fn keys_are_sorted_as_people_count() {
        let keys = ["_x", "9", "10", "B", "a2", "a10", "a-b", "a.b", "app", "app-x", "app.k8s.io"];
        let map: BTreeMap<&str, u8> = keys.iter().map(|key| (*key, 0)).collect();
        let written = write(&map);
        let sorted: Vec<&str> = written.lines().map(|line| line.trim_end_matches(": 0").trim_matches('"')).collect();
        assert_eq!(sorted, ["_x", "9", "10", "B", "a-b", "a.b", "a2", "a10", "app", "app-x", "app.k8s.io"]);
    }

    #[test]
    fn the_fields_of_a_struct_keep_their_order() {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        enum Gate {
            Approval {},
            Seconds(u32),
            None,
        }
        #[derive(Serialize)]
        struct Step {
            name: &'static str,
            gates: Vec<Gate>,
            deadline: Option<u32>,
        }
        let step = Step { name: "1", gates: vec![Gate::Approval {}, Gate::Seconds(3), Gate::None], deadline: None };
        assert_eq!(write(&step), "name: \"1\"\ngates:\n- approval: {}\n- seconds: 3\n- none\ndeadline: null\n");
    }

    #[test]
    fn strings_are_quoted_where_a_reader_could_err() {
        case(
            &json!({"on": "yes", "k": "a: b", "l": "2024-01-02", "m": "=", "n": "1e999", "o": "😀"}),
            "k: 'a: b'\nl: \"2024-01-02\"\nm: \"=\"\n\"n\": \"1e999\"\no: 😀\n\"on\": \"yes\"\n",
        );
    }

    #[test]
    fn lines_stay_lines() {
        case(
            &json!({"a": "x\n  y\n", "b": ["p\n\nq"], "c": "  i\nj\n\n", "d": "x \ny"}),
            "a: |\n  x\n    y\nb:\n- |-\n  p\n\n  q\nc: |2+\n    i\n  j\n\nd: \"x \\ny\"\n",
        );
    }

    #[test]
    fn a_long_key_is_still_read() {
        let value = json!({"k".repeat(3000): {"a": [1]}, "z\n": 2});
        assert_eq!(crate::yaml::read_value(&write(&value)), Ok(value));
    }

    #[test]
    fn floats_are_floats_to_every_reader() {
        case(&json!([1e30, 1.5e-7, -2.5]), "- 1.0e+30\n- 1.5e-7\n- -2.5\n");
    }

    fn json_values() -> impl Strategy<Value = Value> {
        let text = prop::sample::select(vec![
            "", "a", "on", "yes", "12:30:45", "a: b", "é", "x\ny\n", "1e999", "-", "a2", "a10", "Name", "name-x", "nul",
        ]);
        let text = prop_oneof![text.prop_map(str::to_owned), ".{0,6}"];
        let numbers =
            prop_oneof![any::<i64>().prop_map(Value::from), any::<u64>().prop_map(Value::from), any::<f64>().prop_map(Value::from)];
        let leaf = prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), numbers, text.clone().prop_map(Value::from)];
        leaf.prop_recursive(4, 40, 6, move |inner| {
            let map =
                prop::collection::btree_map(text.clone(), inner.clone(), 0..6).prop_map(|map| Value::Object(map.into_iter().collect()));
            prop_oneof![prop::collection::vec(inner, 0..6).prop_map(Value::from), map]
        })
    }

    proptest! {
        #[test]
        fn a_value_is_written_alike_on_both_ways(value in json_values()) {
            prop_assert_eq!(write_json(&value), write(&value));
        }
    }
}
