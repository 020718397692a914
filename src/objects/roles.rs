//! Permissions as rules of a Role: a rule for resources with the same verbs and names, and not one verb more than needed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::plan::rights::Right;

/// Returns the rules that grant `rights`.
pub(super) fn rules(rights: &BTreeSet<Right>) -> Vec<Value> {
    let unnamed = |right: &Right| Right { name: None, ..right.clone() };
    let needed = rights.iter().filter(|right| right.name.is_none() || !rights.contains(&unnamed(right)));

    let mut by_object: BTreeMap<(&str, &str, Option<&str>), BTreeSet<&str>> = BTreeMap::new();
    for right in needed {
        by_object.entry((&right.group, &right.resource, right.name.as_deref())).or_default().insert(right.verb);
    }
    let mut by_names: BTreeMap<(&str, &str, bool, BTreeSet<&str>), BTreeSet<&str>> = BTreeMap::new();
    for ((group, resource, name), verbs) in by_object {
        by_names.entry((group, resource, name.is_some(), verbs)).or_default().extend(name);
    }
    let mut by_rule: BTreeMap<Rule<'_>, BTreeSet<&str>> = BTreeMap::new();
    for ((group, resource, _, verbs), names) in by_names {
        by_rule.entry((group, names, verbs)).or_default().insert(resource);
    }
    by_rule.into_iter().map(|(rule, resources)| written(rule, &resources)).collect()
}

/// All of a rule but its resources: the group, the names (none: every object), the verbs.
type Rule<'a> = (&'a str, BTreeSet<&'a str>, BTreeSet<&'a str>);

fn written((group, names, verbs): Rule<'_>, resources: &BTreeSet<&str>) -> Value {
    let mut rule = json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    if !names.is_empty() {
        rule["resourceNames"] = json!(names);
    }
    rule
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::rules;
    use crate::plan::rights::Right;

    fn right(resource: &str, name: Option<&str>, verb: &'static str) -> Right {
        Right { group: "apps".into(), resource: resource.into(), name: name.map(str::to_owned), verb }
    }

    #[test]
    fn a_right_for_one_object_never_becomes_one_for_all_and_none_for_all_is_narrowed() {
        let rights = [
            right("deployments", None, "list"),
            right("deployments", Some("a"), "patch"),
            right("deployments", Some("b"), "patch"),
            right("deployments", Some("b"), "list"),
            right("replicasets", None, "list"),
        ];
        assert_eq!(
            rules(&rights.into()),
            [
                json!({"apiGroups": ["apps"], "resources": ["deployments", "replicasets"], "verbs": ["list"]}),
                json!({"apiGroups": ["apps"], "resources": ["deployments"], "resourceNames": ["a", "b"], "verbs": ["patch"]}),
            ]
        );
    }
}
