//! Fields that no cluster would keep: misspelled, or in the wrong place.

use serde_json::Value;

use super::node::Node;
use crate::model::Finding;

/// What a user may have meant by a field that is not known here, by its name and value.
pub(super) type Hint = fn(&str, &Value) -> Option<String>;

/// Nothing is known of fields that are meant elsewhere.
pub(super) fn no_hint(_: &str, _: &Value) -> Option<String> {
    None
}

/// Where fields belong, for those that are written at the wrong depth.
const HOMES: &[(&str, &str)] = &[
    ("blueGreen", "spec.strategy"),
    ("canary", "spec.strategy"),
    ("classType", "the routing's `ingress`"),
    ("customNetworkRefs", "an element of `trafficRoutings`"),
    ("disableGenerateCanaryService", "spec.strategy.canary"),
    ("disabled", "spec"),
    ("duration", "the step's `pause`"),
    ("enableExtraWorkloadForCanary", "spec.strategy.canary"),
    ("failureThreshold", "spec.strategy.canary"),
    ("gateway", "an element of `trafficRoutings`"),
    ("gracePeriodSeconds", "an element of `trafficRoutings`"),
    ("headers", "an element of the step's `matches`"),
    ("httpRouteName", "the routing's `gateway`"),
    ("ingress", "an element of `trafficRoutings`"),
    ("matches", "a step"),
    ("patchPodTemplateMetadata", "spec.strategy.canary"),
    ("path", "an element of the step's `matches`"),
    ("pause", "a step"),
    ("paused", "spec.strategy"),
    ("queryParams", "an element of the step's `matches`"),
    ("replicas", "a step"),
    ("requestHeaderModifier", "a step"),
    ("service", "an element of `trafficRoutings`"),
    ("steps", "spec.strategy.canary"),
    ("strategy", "spec"),
    ("traffic", "a step"),
    ("trafficRoutings", "spec.strategy.canary"),
    ("workloadRef", "spec"),
];

/// So many unknown fields of one map are told one by one: more are no slips.
const MOST: usize = 16;

/// Finds the fields of a map that are not among `known`.
pub(super) fn unknown(node: &Node<'_>, known: &[&str], elsewhere: Hint, findings: &mut Vec<Finding>) {
    let Some(fields) = node.value.as_object() else { return };
    // A null is no value: clusters drop it before they look at the field's name.
    let unknown = || fields.iter().filter(|(field, value)| !value.is_null() && !known.contains(&field.as_str()));
    for (field, value) in unknown().take(MOST) {
        let Some(child) = node.child(field) else { continue };
        let finding = child.error_at_key("field-unknown", format!("unknown field `{field}` with {}", child.written()));
        findings.push(finding.help(help(field, value, known, elsewhere)));
    }
    let more = unknown().count().saturating_sub(MOST);
    if more > 0 {
        let message = format!("{more} more fields in this map are unknown");
        findings.push(node.error("field-unknown", message).help(listed(known)));
    }
}

fn listed(known: &[&str]) -> String {
    let listed: Vec<_> = known.iter().map(|field| format!("`{field}`")).collect();
    format!("the fields here: {}", listed.join(", "))
}

fn help(field: &str, value: &Value, known: &[&str], elsewhere: Hint) -> String {
    if let Some(hint) = elsewhere(field, value) {
        return hint;
    }
    if let Some(near) = nearest(field, known) {
        return format!("did you mean `{near}`?");
    }
    if let Some((_, home)) = HOMES.iter().find(|(name, _)| *name == field) {
        return format!("`{field}` belongs to {}", if home.starts_with("spec") { format!("`{home}`") } else { (*home).to_owned() });
    }
    listed(known)
}

/// The known name that is the same but for case, or one or two slips away.
pub(super) fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    if name.len() > 64 {
        return None;
    }
    let distances = known.iter().map(|candidate| (distance(&name.to_lowercase(), &candidate.to_lowercase()), *candidate));
    let (slips, candidate) = distances.min()?;
    (slips <= 2 && slips * 3 <= candidate.len().max(name.len())).then_some(candidate)
}

fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, letter) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_recognized_and_other_words_are_not() {
        let known = ["replicas", "traffic", "matches", "pause"];
        assert_eq!(nearest("replica", &known), Some("replicas"));
        assert_eq!(nearest("Traffic", &known), Some("traffic"));
        assert_eq!(nearest("macthes", &known), Some("matches"));
        assert_eq!(nearest("weight", &known), None);
        assert_eq!(nearest("", &known), None);
    }
}
