//! What people ask for in an annotation of the plan, which goes away when it was handled.

use serde_json::{Value, json};

use super::attend::Attendance;
use super::trouble::Trouble;
use crate::model::pointer::escape;
use crate::model::{PlanStatus, REQUEST_ANNOTATION, Request};

/// Returns the request in the plan's annotation, unless it was handled. An annotation that is no request is told as text.
pub(super) fn annotated(plan: &Value, status: &PlanStatus) -> Option<Result<Request, String>> {
    let text = plan.pointer("/metadata/annotations")?.get(REQUEST_ANNOTATION)?.as_str()?;
    match serde_json::from_str::<Request>(text) {
        Ok(request) if status.handled_request.as_ref() == Some(&request.id) => None,
        Ok(request) => Some(Ok(request)),
        Err(error) => Some(Err(format!("the annotation `{REQUEST_ANNOTATION}` is no request: {error}"))),
    }
}

/// The text of a request that was handled.
fn handled<'a>(plan: &'a Value, status: &PlanStatus) -> Option<&'a str> {
    let text = plan.pointer("/metadata/annotations")?.get(REQUEST_ANNOTATION)?.as_str()?;
    let request: Request = serde_json::from_str(text).ok()?;
    (status.handled_request == Some(request.id)).then_some(text)
}

impl Attendance {
    /// Takes the annotation of a request away whose answer is recorded. A newer one is left alone.
    pub(super) async fn forget_request(&mut self) -> Result<(), Trouble> {
        let Some(text) = handled(&self.object, &self.recorded) else { return Ok(()) };
        let path = format!("/metadata/annotations/{}", escape(REQUEST_ANNOTATION));
        let version = self.object.pointer("/metadata/resourceVersion");
        let operations = [
            json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version}),
            json!({"op": "test", "path": path, "value": text}),
            json!({"op": "remove", "path": path}),
        ];
        match self.shared.api.patch_for_metadata(&self.address, &operations).await {
            Ok(written) => {
                self.object["metadata"]["resourceVersion"] = json!(written.metadata.resource_version);
                let annotations = self.object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
                annotations.and_then(|annotations| annotations.remove(REQUEST_ANNOTATION));
            }
            // The plan has changed, and is looked at again.
            Err(Trouble::Conflict(_) | Trouble::Refused(_) | Trouble::NotFound(_)) => {}
            // It stands there for nothing; the next one replaces it.
            Err(Trouble::Forbidden(problem)) => tracing::debug!(plan = %self.key, problem, "a request stays on its plan"),
            Err(trouble) => return Err(trouble),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{annotated, handled};
    use crate::model::{PlanStatus, Verb};

    #[test]
    fn a_request_is_read_once() {
        let text = r#"{"verb":"approve","digest":"sha256:a","step":2,"id":"7"}"#;
        let plan = json!({"metadata": {"annotations": {"rollout.dev/request": text}}});
        let mut status = PlanStatus::default();
        assert_eq!(annotated(&plan, &status).unwrap().unwrap().verb, Verb::Approve);
        assert_eq!(handled(&plan, &status), None);
        status.handled_request = Some("7".into());
        assert_eq!(handled(&plan, &status), Some(text));
        assert!(annotated(&plan, &status).is_none());
        let broken = json!({"metadata": {"annotations": {"rollout.dev/request": "approve"}}});
        assert!(annotated(&broken, &status).unwrap().unwrap_err().contains("is no request"));
    }
}
