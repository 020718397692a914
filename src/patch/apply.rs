//! The object after an exact write, without an API server.

use serde_json::Value;

use super::values::{PathValues, put};

/// Returns the object with exactly these values at their pointers, as the patch of `exact` leaves it.
pub fn apply(live: &Value, values: &PathValues) -> Value {
    let mut object = live.clone();
    for (path, value) in values {
        put(&mut object, path, value.clone());
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::apply;
    use crate::patch::values_at;

    #[test]
    fn values_of_one_object_are_put_into_another_and_nothing_else_is_touched() {
        let paths = ["/spec/template".to_owned(), "/spec/paused".to_owned()];
        let wanted = json!({"spec": {"template": {"b": 1}, "replicas": 9}});
        let live = json!({"spec": {"template": {"a": 1}, "paused": true, "replicas": 2}});
        assert_eq!(apply(&live, &values_at(&wanted, &paths)), json!({"spec": {"template": {"b": 1}, "replicas": 2}}));
    }
}
