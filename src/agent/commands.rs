//! What people ask for in an annotation of the plan.

use serde_json::Value;

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::annotated;
    use crate::model::{PlanStatus, Verb};

    #[test]
    fn a_request_is_read_once() {
        let text = r#"{"verb":"approve","digest":"sha256:a","step":2,"id":"7"}"#;
        let plan = json!({"metadata": {"annotations": {"rollout.dev/request": text}}});
        let mut status = PlanStatus::default();
        assert_eq!(annotated(&plan, &status).unwrap().unwrap().verb, Verb::Approve);
        status.handled_request = Some("7".into());
        assert!(annotated(&plan, &status).is_none());
        let broken = json!({"metadata": {"annotations": {"rollout.dev/request": "approve"}}});
        assert!(annotated(&broken, &status).unwrap().unwrap_err().contains("is no request"));
    }
}
