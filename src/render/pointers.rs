//! JSON pointers as the renderer uses them: with `*` for every element of a list, and as places to write to.

use std::borrow::Cow;

use serde_json::Value;

/// The values that `pattern` leads to, with their exact pointers; `*` stands for every element of a list.
pub(super) fn matching<'a>(value: &'a Value, pattern: &str) -> Vec<(String, &'a Value)> {
    let mut found = vec![(String::new(), value)];
    for token in pattern.split('/').skip(1) {
        found = found
            .into_iter()
            .flat_map(|(pointer, value)| match (token, value) {
                ("*", Value::Array(list)) => {
                    list.iter().enumerate().map(|(index, element)| (format!("{pointer}/{index}"), element)).collect::<Vec<_>>()
                }
                (_, Value::Object(map)) => {
                    map.get(&*unescape(token)).map(|member| (format!("{pointer}/{token}"), member)).into_iter().collect()
                }
                _ => value.pointer(&format!("/{token}")).map(|member| (format!("{pointer}/{token}"), member)).into_iter().collect(),
            })
            .collect();
    }
    found
}

/// Puts `new` at `pointer`, or takes away what is there; missing maps on the way are made.
pub(super) fn put(value: &mut Value, pointer: &str, new: Option<Value>) {
    let Some((parent, last)) = pointer.rsplit_once('/') else { return };
    let mut place = value;
    for token in parent.split('/').skip(1) {
        let Value::Object(map) = place else { return };
        if !map.contains_key(token) && new.is_none() {
            return;
        }
        place = map.entry(unescape(token).into_owned()).or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    if let Value::Object(map) = place {
        match new {
            Some(new) => map.insert(unescape(last).into_owned(), new),
            None => map.remove(&*unescape(last)),
        };
    }
}

/// `object` with the values that `other` has at `paths`.
pub(super) fn with_values_of(object: &Value, other: &Value, paths: &[String]) -> Value {
    let mut merged = object.clone();
    for path in paths {
        put(&mut merged, path, other.pointer(path).cloned());
    }
    merged
}

/// A key as one token of a pointer.
pub(super) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn unescape(token: &str) -> Cow<'_, str> {
    if token.contains('~') { token.replace("~1", "/").replace("~0", "~").into() } else { token.into() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{matching, put, with_values_of};

    #[test]
    fn a_star_leads_to_every_element() {
        let value = json!({"spec": {"http": [{"route": [1]}, {"redirect": {}}, {"route": [2, 3]}]}});
        let found: Vec<_> = matching(&value, "/spec/http/*/route").into_iter().map(|(pointer, _)| pointer).collect();
        assert_eq!(found, ["/spec/http/0/route", "/spec/http/2/route"]);
    }

    #[test]
    fn writing_makes_the_maps_on_the_way_and_removing_makes_none() {
        let mut value = json!({});
        put(&mut value, "/spec/behavior", None);
        assert_eq!(value, json!({}));
        put(&mut value, "/metadata/annotations/a~1b", Some(json!("c")));
        assert_eq!(value, json!({"metadata": {"annotations": {"a/b": "c"}}}));
    }

    #[test]
    fn values_at_paths_come_from_the_other_object() {
        let head = json!({"spec": {"hosts": ["new"], "http": [1], "tls": []}});
        let base = json!({"spec": {"hosts": ["old"], "http": [0]}});
        let paths = ["/spec/http".to_owned(), "/spec/tls".to_owned()];
        assert_eq!(with_values_of(&head, &base, &paths), json!({"spec": {"hosts": ["new"], "http": [0]}}));
    }
}
