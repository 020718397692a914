//! A Service's selector that changes with the pods: what selects pods of both versions while one takes over from the other.
//!
//! A selector is a list of labels that all have to be there, and cannot say "either". So it is made of what both have.

use serde_json::{Map, Value};

/// Labels, of pods or asked for by a selector.
pub(super) type Labels = Map<String, Value>;

/// The selectors before and after a release, and the labels of the workload's pods before and after.
pub(super) struct Change<'a> {
    /// The selector before.
    pub(super) before: &'a Labels,
    /// The selector after.
    pub(super) after: &'a Labels,
    /// The labels of the old pods.
    pub(super) old: &'a Labels,
    /// The labels of the new pods.
    pub(super) new: &'a Labels,
    /// What the workload itself tells its pods by.
    pub(super) workload: &'a Labels,
}

impl Change<'_> {
    /// The selector of pods of both versions: the old or the new one where it does, else what all of them know and both versions
    /// have. None where the versions have nothing in common.
    pub(super) fn both(&self) -> Option<Labels> {
        if selects(self.before, self.new) {
            return Some(self.before.clone());
        }
        if selects(self.after, self.old) {
            return Some(self.after.clone());
        }
        let keys = self.before.keys().chain(self.after.keys()).chain(self.workload.keys());
        let common = |key: &&String| self.old.get(*key).is_some_and(|value| self.new.get(*key) == Some(value));
        let both: Labels = keys.filter(common).map(|key| (key.clone(), self.old[key].clone())).collect();
        (!both.is_empty()).then_some(both)
    }
}

/// Whether a selector selects pods with these labels.
fn selects(selector: &Labels, labels: &Labels) -> bool {
    selector.iter().all(|(key, value)| labels.get(key) == Some(value))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Change, Labels};

    #[track_caller]
    fn case([before, after]: [Value; 2], [old, new]: [Value; 2], expected: &Value) {
        let labels = |value: Value| -> Labels { value.as_object().unwrap().clone() };
        let workload = labels(json!({"app": "shop"}));
        let change = Change { before: &labels(before), after: &labels(after), old: &labels(old), new: &labels(new), workload: &workload };
        assert_eq!(change.both().map(Value::Object).unwrap_or_default(), *expected);
    }

    #[test]
    fn pods_of_both_versions_are_selected() {
        let (one, two) = (json!({"app": "shop"}), json!({"app": "shop", "tier": "front"}));
        case([one.clone(), two.clone()], [one.clone(), two.clone()], &one);
        case([two.clone(), one.clone()], [two.clone(), one.clone()], &one);
        case([one.clone(), two.clone()], [two.clone(), two.clone()], &one);
        let (blue, green) = (json!({"app": "shop", "color": "blue"}), json!({"app": "shop", "color": "green"}));
        case([blue.clone(), green.clone()], [blue.clone(), green.clone()], &one);
        let only = |color: &str| json!({"color": color});
        case([only("blue"), only("green")], [blue, green], &one);
        case([only("blue"), only("green")], [only("blue"), only("green")], &Value::Null);
    }
}
