//! Objects of kind `List`, which stand for the objects in them.

use serde_json::Value;

/// Returns the objects of a list, each with its JSON pointer; any other value alone, with the empty pointer.
///
/// A list has a kind that ends in `List`, and `items`. As with kubectl the items of a `FooList` are of kind `Foo` and of
/// the list's `apiVersion` where they do not say so themselves. Lists in lists are opened too.
pub fn expand_list(value: Value) -> Vec<(String, Value)> {
    let mut objects = Vec::new();
    expand(String::new(), value, &mut objects);
    objects
}

fn expand(pointer: String, mut value: Value, objects: &mut Vec<(String, Value)>) {
    let Some(items) = items(&mut value) else {
        objects.push((pointer, value));
        return;
    };
    let kind = value.get("kind").and_then(Value::as_str).and_then(|kind| kind.strip_suffix("List")).filter(|kind| !kind.is_empty());
    let version = value.get("apiVersion").filter(|_| kind.is_some());
    for (index, mut item) in items.into_iter().enumerate() {
        if let Some(item) = item.as_object_mut() {
            for (key, default) in [("kind", kind.map(Value::from)), ("apiVersion", version.cloned())] {
                if let (Some(default), false) = (default, item.contains_key(key)) {
                    item.insert(key.into(), default);
                }
            }
        }
        expand(format!("{pointer}/items/{index}"), item, objects);
    }
}

fn items(value: &mut Value) -> Option<Vec<Value>> {
    let is_list = value.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
    match value.get_mut("items") {
        Some(Value::Array(items)) if is_list => Some(std::mem::take(items)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_is_its_items_with_their_pointers() {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [{"kind": "A"}, {"kind": "List", "items": [{"kind": "B"}]}]});
        let expected = vec![("/items/0".to_owned(), json!({"kind": "A"})), ("/items/1/items/0".to_owned(), json!({"kind": "B"}))];
        assert_eq!(expand_list(list), expected);
    }

    #[test]
    fn the_items_of_a_list_of_one_kind_are_of_that_kind() {
        let list = json!({"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {}}, {"kind": "Other"}, 7]});
        let items: Vec<_> = expand_list(list).into_iter().map(|(_, item)| item).collect();
        let first = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}});
        assert_eq!(items, [first, json!({"apiVersion": "v1", "kind": "Other"}), json!(7)]);
    }

    #[test]
    fn what_is_no_list_stays_alone() {
        let object = json!({"kind": "ConfigMap", "items": "text"});
        assert_eq!(expand_list(object.clone()), [(String::new(), object)]);
    }
}
