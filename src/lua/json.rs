//! The `json` module of scripts: values as text and back, by the rules of the result.

use std::fmt::Write as _;

use serde_json::Value;

use super::number;

/// Returns the text that Go's `encoding/json` would write: sorted keys, no spaces, `<`, `>` and `&` escaped.
pub(super) fn to_text(value: &Value) -> String {
    let mut text = String::new();
    write_value(value, &mut text);
    text
}

fn write_value(value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(boolean) => text.push_str(if *boolean { "true" } else { "false" }),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (None, Some(double)) => text.push_str(&number::go_text(double)),
            _ => text.push_str(&number.to_string()),
        },
        Value::String(string) => write_string(string, text),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_value(item, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (index, (key, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_string(key, text);
                text.push(':');
                write_value(member, text);
            }
            text.push('}');
        }
    }
}

fn write_string(string: &str, text: &mut String) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..'\x20' => {
                let _ = write!(text, "\\u{:04x}", u32::from(character));
            }
            other => text.push(other),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_is_what_go_writes() {
        assert_eq!(
            to_text(&json!({"b": [1, 1.5, null, true], "a": "<&>\n\"", "c": {}})),
            r#"{"a":"\u003c\u0026\u003e\n\"","b":[1,1.5,null,true],"c":{}}"#
        );
    }
}
