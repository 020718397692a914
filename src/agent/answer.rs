//! What the API server answers when it does not do what was asked. Others put their words into it: webhooks, quotas.

use std::time::Duration;

use hyper::StatusCode;
use serde_json::Value;

use super::trouble::Trouble;

/// How much is told of what others say. It goes into a status and into events several times.
const MOST: usize = 1024;

/// The trouble that an answer stands for.
pub(super) fn refusal(status: StatusCode, body: &[u8], after: Option<Duration>) -> Trouble {
    let value: Option<Value> = serde_json::from_slice(body).ok();
    let text = |field: &str| value.as_ref().and_then(|value| value.get(field)).and_then(Value::as_str).unwrap_or_default();
    let message = if text("message").is_empty() { said(status, body) } else { cut(text("message")) };
    if value.as_ref().is_some_and(is_about_the_namespace) {
        return Trouble::NamespaceGone(message);
    }
    Trouble::of(status.as_u16(), text("reason"), message, after)
}

/// Whether the API server takes nothing new because of the namespace. Its words are for people, and others may use the same.
fn is_about_the_namespace(status: &Value) -> bool {
    let causes = status.pointer("/details/causes").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_going = causes.iter().any(|cause| cause["reason"] == "NamespaceTerminating");
    is_going || (status["reason"] == "NotFound" && status.pointer("/details/kind").is_some_and(|kind| kind == "namespaces"))
}

/// Foreign words, as many as are told.
pub(super) fn cut(text: &str) -> String {
    if text.len() <= MOST {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(MOST)])
}

fn said(status: StatusCode, body: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(&body[..body.len().min(MOST)]).chars().take(200).collect();
    format!("{status}: {}", text.trim())
}

#[cfg(test)]
mod tests {
    use hyper::StatusCode;
    use serde_json::json;

    use super::{cut, refusal};
    use crate::agent::trouble::Trouble;

    #[test]
    fn a_webhook_that_says_a_lot_is_cut_short() {
        let said = |message: String| {
            let body = json!({"kind": "Status", "reason": "Invalid", "message": message}).to_string();
            refusal(StatusCode::UNPROCESSABLE_ENTITY, body.as_bytes(), None)
        };
        assert_eq!(said("no".to_owned()).to_string(), "no");
        let long = said("policy ".repeat(40_000)).to_string();
        assert!(long.starts_with("policy policy") && long.ends_with('…') && long.len() < 1100, "{} bytes", long.len());
        assert!(said(String::new()).to_string().len() < 300);
        let page = refusal(StatusCode::BAD_GATEWAY, "<html>".repeat(100_000).as_bytes(), None);
        assert!(page.is_passing() && page.to_string().len() < 300, "{page}");
    }

    #[test]
    fn that_a_namespace_is_going_is_not_read_from_words() {
        let trouble = |code: u16, body: serde_json::Value| refusal(StatusCode::from_u16(code).unwrap(), body.to_string().as_bytes(), None);
        let words = "unable to create new content in namespace prod because it is being terminated: namespaces";
        let causes = json!([{"reason": "NamespaceTerminating", "message": words, "field": "metadata.namespace"}]);
        let going = trouble(403, json!({"message": words, "reason": "Forbidden", "details": {"causes": causes}}));
        assert!(matches!(going, Trouble::NamespaceGone(_)), "{going:?}");
        let details = json!({"name": "prod", "kind": "namespaces"});
        let gone = trouble(404, json!({"message": "namespaces \"prod\" not found", "reason": "NotFound", "details": details}));
        assert!(matches!(gone, Trouble::NamespaceGone(_)), "{gone:?}");
        let policy = trouble(403, json!({"message": words, "reason": "Forbidden", "details": {"kind": "events"}}));
        assert!(matches!(policy, Trouble::Forbidden(_)), "{policy:?}");
    }

    #[test]
    fn words_are_cut_between_characters() {
        assert_eq!(cut(&"é".repeat(513)).chars().filter(|letter| *letter == 'é').count(), 512);
        assert_eq!(cut("short"), "short");
    }
}
