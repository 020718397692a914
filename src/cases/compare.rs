//! Whether two values are one to the API server.

use serde_json::Value;

/// Whether two values are equal: 1 and 1.0 are one number, and a null member of a map is as good as none.
pub(super) fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let is_in = |key: &String, value: &Value| {
                let null = Value::Null;
                is_same(value, b.get(key).unwrap_or(&null))
            };
            a.iter().all(|(key, value)| is_in(key, value)) && b.iter().all(|(key, value)| value.is_null() || a.contains_key(key))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b)),
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_), _) => a == b,
    }
}

/// What sort of value it is, in words.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::is_same;

    #[test]
    fn whole_numbers_are_equal_however_they_are_written() {
        assert!(is_same(&json!({"weight": 50}), &json!({"weight": 50.0})));
        assert!(!is_same(&json!({"weight": 50}), &json!({"weight": 51})));
    }

    #[test]
    fn a_null_member_is_as_good_as_none_in_either() {
        assert!(is_same(&json!({"a": null}), &json!({})));
        assert!(is_same(&json!({}), &json!({"a": null})));
        assert!(!is_same(&json!({}), &json!({"a": 1})));
        assert!(!is_same(&json!({"a": 1}), &json!({})));
    }

    #[test]
    fn an_empty_list_is_no_empty_map() {
        assert!(!is_same(&json!({"a": []}), &json!({"a": {}})));
    }
}
