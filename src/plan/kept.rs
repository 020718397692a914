//! Reading a plan that an agent keeps of a running release, of whichever version that agent was.
//!
//! It was read as a new plan once, when the release began. A rule or a field that came later must not strand the release.

use serde_json::Value;

use super::PlanError;
use super::text::{check_digest, check_kind, pointer};
use super::validate::{self, is_name};
use crate::model::{Plan, PlanSpec, Position};

/// Returns the plan of an object that `document` made, in this version or another.
///
/// The digest is that of the stored content. Fields that this version does not know are passed over. Of the rules for new plans
/// those remain on which others depend: names, and that no object lies in another namespace.
pub fn kept(mut document: Value) -> Result<Plan, PlanError> {
    check_kind(&document)?;
    check_digest(&document)?;
    let name = |field: &str| {
        let name = document.pointer("/metadata").and_then(|metadata| metadata.get(field)).and_then(Value::as_str).unwrap_or_default();
        if is_name(name) { Ok(name.to_owned()) } else { Err(PlanError::Contradictions(vec![format!("`metadata.{field}` is no name")])) }
    };
    let (name, namespace) = (name("name")?, name("namespace")?);
    let spec = spec(document.get_mut("spec").map(Value::take).unwrap_or_default())?;
    let plan = Plan { name, namespace, spec };
    let wrong = validate::places(&plan);
    if wrong.is_empty() { Ok(plan) } else { Err(PlanError::Contradictions(wrong)) }
}

/// Reads the content without what is not known. Every round takes one field away, so that they end.
fn spec(mut stored: Value) -> Result<PlanSpec, PlanError> {
    loop {
        let error = match serde_path_to_error::deserialize::<_, PlanSpec>(&stored) {
            Ok(spec) => return Ok(spec),
            Err(error) => error,
        };
        if !take_unknown(&mut stored, &error) {
            let (field, message) = (format!("spec.{}", error.path()), error.inner().to_string());
            return Err(PlanError::Field { position: Position { line: 1, column: 1 }, field, message });
        }
    }
}

/// Takes away the field that could not be read because it is not known. Returns false where the error is another one.
fn take_unknown(stored: &mut Value, error: &serde_path_to_error::Error<serde_json::Error>) -> bool {
    // Serde has no other way to tell this error from others.
    let message = error.inner().to_string();
    let Some((field, _)) = message.strip_prefix("unknown field `").and_then(|rest| rest.split_once("`, ")) else { return false };
    let place = pointer(error.path());
    let Some((parent, _)) = place.rsplit_once('/') else { return false };
    let fields = stored.pointer_mut(parent).and_then(Value::as_object_mut);
    fields.is_some_and(|fields| fields.remove(field).is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::kept;
    use crate::plan::{PlanError, digest_of, document, fixture, from_value};

    fn sealed(change: impl FnOnce(&mut Value)) -> Value {
        let mut stored = document(&fixture());
        change(&mut stored);
        stored["metadata"]["annotations"]["rollout.dev/digest"] = json!(digest_of(&stored["spec"]));
        stored
    }

    #[test]
    fn fields_of_a_newer_version_are_passed_over_wherever_they_stand() {
        let stored = sealed(|stored| {
            stored["spec"]["newer"] = json!({"a": [1]});
            stored["spec"]["rollout"]["newer"] = json!(true);
            stored["spec"]["steps"][0]["newer"] = json!("x");
            stored["spec"]["steps"][0]["stages"][0]["newer"] = json!(null);
            stored["spec"]["steps"][0]["stages"][0]["a/b~c"] = json!(1);
            stored["spec"]["paths"][0]["newer"] = json!(1);
        });
        assert!(from_value(stored.clone()).is_err());
        assert_eq!(kept(stored).expect("a plan"), fixture());
    }

    #[test]
    fn a_rule_for_new_plans_strands_no_release() {
        let stored = sealed(|stored| stored["spec"]["steps"][1]["name"] = json!("step-3"));
        assert!(matches!(from_value(stored.clone()), Err(PlanError::Contradictions(_))));
        assert_eq!(kept(stored).expect("a plan").spec.steps[1].name, "step-3");
    }

    #[test]
    fn a_default_that_is_written_out_is_the_same_plan() {
        let stored = sealed(|stored| stored["spec"]["scripts"] = json!([]));
        assert!(!document(&kept(stored.clone()).expect("a plan"))["spec"].as_object().is_some_and(|spec| spec.contains_key("scripts")));
        assert!(from_value(stored).is_ok(), "the digest is that of what is stored");
    }

    #[test]
    fn what_was_edited_and_what_lies_elsewhere_is_refused() {
        let mut stored = document(&fixture());
        stored["spec"]["steps"][0]["name"] = json!("other");
        assert!(matches!(kept(stored), Err(PlanError::Digest { .. })));
        let stored = sealed(|stored| stored["spec"]["objects"]["Service/shop@1"]["metadata"]["namespace"] = json!("kube-system"));
        assert!(matches!(kept(stored), Err(PlanError::Contradictions(_))));
        let stored = sealed(|stored| stored["spec"]["style"] = json!("Purple"));
        assert!(matches!(kept(stored), Err(PlanError::Field { field, .. }) if field == "spec.style"));
    }
}
