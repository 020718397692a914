//! What the script needs to compare any two states: every version of every object once, and how versions differ.
//!
//! Differences are computed here; the script only sets them into tables.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::diff::{self, Side};
use crate::model::ObjectRef;
use crate::yaml;

use super::super::words::one_line;
use super::State;

/// The states as the text of a data block: `{stops: [name], objects: [{name, versions: [[line]], at: [version], runs: {"0.1": [equal, gone,
/// come, …]}}]}`. `at` has an index for each state, -1 where the object is absent.
pub(super) fn data(states: &[State]) -> String {
    let objects: BTreeSet<&ObjectRef> = states.iter().flat_map(|state| state.objects.keys()).collect();
    let objects: Vec<Value> = objects.into_iter().map(|object| one(object, states)).collect();
    let stops: Vec<String> = states.iter().map(|state| one_line(&state.name)).collect();
    escaped(&json!({ "stops": stops, "objects": objects }).to_string())
}

fn one(object: &ObjectRef, states: &[State]) -> Value {
    let mut versions: Vec<&Value> = Vec::new();
    let mut at: Vec<Option<usize>> = Vec::new();
    for state in states {
        at.push(state.objects.get(object).map(|value| {
            versions.iter().position(|known| *known == value).unwrap_or_else(|| {
                versions.push(value);
                versions.len() - 1
            })
        }));
    }
    let texts: Vec<String> = versions.into_iter().map(yaml::write).collect();
    let mut runs = BTreeMap::new();
    for (index, now) in at.iter().enumerate().skip(1) {
        // What the page compares a state with: the one before, and the first.
        for before in [at[index - 1], at[0]] {
            if let (Some(before), Some(now)) = (before, *now)
                && before != now
            {
                runs.entry(format!("{before}.{now}")).or_insert_with(|| runs_between(&texts[before], &texts[now]));
            }
        }
    }
    let lines = |text: &String| text.lines().map(one_line).collect::<Vec<_>>();
    let at: Vec<i64> = at.into_iter().map(|version| version.and_then(|version| i64::try_from(version).ok()).unwrap_or(-1)).collect();
    json!({
        "name": one_line(&format!("{}/{}", object.kind, object.name)),
        "versions": texts.iter().map(lines).collect::<Vec<_>>(),
        "at": at,
        "runs": runs,
    })
}

/// Numbers of lines in threes: so many are equal, then so many went, then so many came. What is left is equal.
fn runs_between(before: &str, after: &str) -> Vec<usize> {
    let mut runs = vec![0, 0, 0];
    let mut seen = 0;
    for hunk in diff::hunks(before, after) {
        let start = if hunk.before_count == 0 { hunk.before_start } else { hunk.before_start.saturating_sub(1) };
        add(&mut runs, Side::Both, start.saturating_sub(seen));
        for line in &hunk.lines {
            add(&mut runs, line.side, 1);
        }
        seen = start + hunk.before_count;
    }
    runs
}

fn add(runs: &mut Vec<usize>, side: Side, lines: usize) {
    let place = match side {
        Side::Both => 0,
        Side::Before => 1,
        Side::After => 2,
    };
    let last = runs.len() - 3;
    let is_past = runs[last + place + 1..].iter().any(|lines| *lines > 0);
    if is_past && lines > 0 {
        runs.extend([0, 0, 0]);
    }
    let last = runs.len() - 3;
    runs[last + place] += lines;
}

/// JSON that ends no element, begins no comment, and is one line for every reader.
fn escaped(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len() + json.len() / 16);
    for character in json.chars() {
        match character {
            '<' => escaped.push_str("\\u003c"),
            '>' => escaped.push_str("\\u003e"),
            '&' => escaped.push_str("\\u0026"),
            '\u{2028}' => escaped.push_str("\\u2028"),
            '\u{2029}' => escaped.push_str("\\u2029"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(name: &str, value: Option<Value>) -> State {
        let object = ObjectRef::new("v1", "Service", "prod", "shop");
        State { name: name.into(), objects: value.map(|value| (object, value)).into_iter().collect() }
    }

    #[test]
    fn a_version_is_stated_once_however_often_it_comes() {
        let (one, two) = (json!({"a": 1}), json!({"a": 2}));
        let states = [state("baseline", Some(one.clone())), state("step-1", Some(two)), state("step-2", None), state("finish", Some(one))];
        let value: Value = serde_json::from_str(&data(&states)).expect("JSON");
        let object = &value["objects"][0];
        assert_eq!(object["versions"], json!([["a: 1"], ["a: 2"]]));
        assert_eq!(object["at"], json!([0, 1, -1, 0]));
        assert_eq!(object["runs"], json!({"0.1": [0, 1, 1]}));
        assert_eq!(value["stops"], json!(["baseline", "step-1", "step-2", "finish"]));
    }

    #[test]
    fn runs_lead_from_one_text_to_the_other() {
        let same = "s\n".repeat(20);
        assert_eq!(runs_between(&format!("a\n{same}b\n"), &format!("A\n{same}c\nd\n")), [0, 1, 1, 20, 1, 2]);
        assert_eq!(runs_between(&same, &format!("{same}x\n")), [20, 0, 1]);
        assert_eq!(runs_between(&format!("x\n{same}"), &same), [0, 1, 0, 3, 0, 0]);
    }

    #[test]
    fn no_text_ends_the_block() {
        let block = data(&[state("</script><!--", Some(json!({"a": "</script>&\u{2028}"})))]);
        assert!(!block.contains(['<', '>', '&', '\u{2028}']), "{block}");
        let value: Value = serde_json::from_str(&block).expect("JSON");
        assert_eq!(value["stops"][0], "</script><!--");
    }
}
