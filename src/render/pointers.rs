//! JSON pointers as the renderer uses them: with `*` for every element of a list, and as places to write to.

use serde_json::{Map, Value};

use crate::model::pointer::unescape;

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

/// Puts `new` at `pointer`, or takes away what is there; missing maps on the way are made, and null is a missing one. Returns
/// whether it is so now, which it is not where something else than a map stands on the way.
pub(super) fn put(value: &mut Value, pointer: &str, new: Option<Value>) -> bool {
    let Some((parent, last)) = pointer.rsplit_once('/') else { return false };
    let mut place = value;
    for token in parent.split('/').skip(1) {
        let key = unescape(token);
        let Some(map) = map_at(place, new.is_some()) else { return new.is_none() };
        if new.is_none() && !map.contains_key(&*key) {
            return true;
        }
        place = map.entry(key.into_owned()).or_insert(Value::Null);
    }
    let Some(map) = map_at(place, new.is_some()) else { return new.is_none() };
    match new {
        Some(new) => map.insert(unescape(last).into_owned(), new),
        None => map.remove(&*unescape(last)),
    };
    true
}

/// The map that stands here; a new one instead of null where `is_made`.
fn map_at(place: &mut Value, is_made: bool) -> Option<&mut Map<String, Value>> {
    if is_made && place.is_null() {
        *place = Value::Object(Map::new());
    }
    place.as_object_mut()
}

/// `object` with the values that `other` has at `paths`.
pub(super) fn with_values_of(object: &Value, other: &Value, paths: &[String]) -> Value {
    let mut merged = object.clone();
    for path in paths {
        put(&mut merged, path, other.pointer(path).cloned());
    }
    merged
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
    fn null_is_a_missing_map_and_what_is_no_map_stays() {
        let mut value = json!({"spec": {"behavior": null, "list": []}});
        assert!(put(&mut value, "/spec/behavior/scaleDown", None));
        assert_eq!(value, json!({"spec": {"behavior": null, "list": []}}));
        assert!(put(&mut value, "/spec/behavior/scaleDown/selectPolicy", Some(json!("Disabled"))));
        assert!(!put(&mut value, "/spec/list/first", Some(json!(1))));
        assert_eq!(value, json!({"spec": {"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}, "list": []}}));
    }

    #[test]
    fn a_key_on_the_way_may_hold_a_slash() {
        let mut value = json!({"a/b": {"c~d": 1, "e": 2}});
        assert!(put(&mut value, "/a~1b/c~0d", None));
        assert_eq!(value, json!({"a/b": {"e": 2}}));
    }

    #[test]
    fn values_at_paths_come_from_the_other_object() {
        let head = json!({"spec": {"hosts": ["new"], "http": [1], "tls": []}});
        let base = json!({"spec": {"hosts": ["old"], "http": [0]}});
        let paths = ["/spec/http".to_owned(), "/spec/tls".to_owned()];
        assert_eq!(with_values_of(&head, &base, &paths), json!({"spec": {"hosts": ["new"], "http": [0]}}));
    }
}
