//! Objects of kind `List`, which stand for the objects in them.

use serde_json::Value;

/// Returns the objects of a list, each with its JSON pointer; any other value alone, with the empty pointer.
///
/// A list is what kubectl takes for one: its kind ends in `List` and it has `items`. Lists in lists are opened too.
pub fn expand_list(value: Value) -> Vec<(String, Value)> {
    let mut objects = Vec::new();
    expand(String::new(), value, &mut objects);
    objects
}

fn expand(pointer: String, mut value: Value, objects: &mut Vec<(String, Value)>) {
    match items(&mut value) {
        Some(items) => {
            for (index, item) in items.into_iter().enumerate() {
                expand(format!("{pointer}/items/{index}"), item, objects);
            }
        }
        None => objects.push((pointer, value)),
    }
}

fn items(value: &mut Value) -> Option<Vec<Value>> {
    let is_list = value.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
    match value.get_mut("items") {
        Some(Value::Array(items)) if is_list => Some(std::mem::take(items)),
        _ => None,
    }
}
