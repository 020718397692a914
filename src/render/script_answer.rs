//! Where the parts of an object that a script speaks of lie: what it is shown, and where its answer goes.

use serde_json::{Map, Value};

use super::pointers::put;

/// The names that scripts know the parts by, with the places in the object.
pub(super) const PARTS: [(&str, &str); 3] = [("spec", "/spec"), ("labels", "/metadata/labels"), ("annotations", ANNOTATIONS)];

/// All that the script of an Ingress dialect speaks of.
const ANNOTATIONS: &str = "/metadata/annotations";

/// Returns the object with the parts of an answer in the places of its own; a part that the answer leaves out goes.
pub fn with_answer(object: &Value, mut answer: Map<String, Value>) -> Value {
    // The largest part goes in any case, so that there is no need to copy it.
    let others = object.as_object().into_iter().flatten().filter(|(key, _)| *key != "spec");
    let mut changed = Value::Object(others.map(|(key, member)| (key.clone(), member.clone())).collect());
    for (part, place) in PARTS {
        put(&mut changed, place, answer.remove(part));
    }
    changed
}

/// Returns the object with other annotations, for the scripts that know no more; without any where there are none.
pub fn with_ingress_answer(object: &Value, annotations: Option<Value>) -> Value {
    let mut changed = object.clone();
    put(&mut changed, ANNOTATIONS, annotations);
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_replaces_the_parts_that_scripts_speak_of_and_nothing_else() {
        let object = json!({"kind": "Route", "metadata": {"name": "shop", "labels": {"a": "b"}}, "spec": {"x": 1}, "status": {"y": 2}});
        let answer = json!({"spec": {"x": 3}, "annotations": {"c": "d"}, "status": {"y": 4}});
        assert_eq!(
            with_answer(&object, answer.as_object().unwrap().clone()),
            json!({"kind": "Route", "metadata": {"name": "shop", "annotations": {"c": "d"}}, "spec": {"x": 3}, "status": {"y": 2}})
        );
    }

    #[test]
    fn an_ingress_keeps_all_but_its_annotations() {
        let object = json!({"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "spec": {"x": 1}});
        assert_eq!(with_ingress_answer(&object, None), json!({"metadata": {"labels": {"a": "b"}}, "spec": {"x": 1}}));
        assert_eq!(
            with_ingress_answer(&object, Some(json!({"e": "f"}))),
            json!({"metadata": {"labels": {"a": "b"}, "annotations": {"e": "f"}}, "spec": {"x": 1}})
        );
    }
}
