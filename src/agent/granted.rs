//! What the agent may do in a namespace: all of its rules at once where the API server knows them all, else one right after the other.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::{FutureExt as _, future};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::api::Api;
use super::trouble::Trouble;
use crate::plan::rights::Right;

/// How many rights are asked for at the same time.
const AT_ONCE: usize = 8;
/// How long an answer holds: all plans of a namespace share it.
const LASTS: Duration = Duration::from_secs(5);

/// The rules of namespaces, as far as somebody asked a moment ago.
#[derive(Debug, Default)]
pub(super) struct Granted(Mutex<BTreeMap<String, Answer>>);

/// What the API server has answered about a namespace.
#[derive(Debug, Clone)]
struct Answer {
    at: Instant,
    /// Absent where it does not know all rules.
    rules: Option<Arc<Rules>>,
}

/// All rules of a namespace.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Rules {
    resource_rules: Vec<Rule>,
    incomplete: bool,
}

/// One rule: each of the verbs on each of the resources.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Rule {
    verbs: Vec<String>,
    api_groups: Vec<String>,
    resources: Vec<String>,
    /// Empty: objects of every name.
    resource_names: Vec<String>,
}

impl Granted {
    /// Returns in words which of the rights are missing in a namespace.
    pub(super) async fn missing(&self, api: &Api, namespace: &str, wanted: &[Right]) -> Result<Vec<String>, Trouble> {
        if let Some(rules) = self.rules(api, namespace).await? {
            return Ok(wanted.iter().filter(|right| !rules.allow(right)).map(words).collect());
        }
        let mut missing = Vec::new();
        for some in wanted.chunks(AT_ONCE) {
            let asked = some.iter().map(|right| is_allowed(api, namespace, right).boxed());
            let answers = future::try_join_all(asked).await?;
            missing.extend(some.iter().zip(answers).filter(|(_, is_allowed)| !is_allowed).map(|(right, _)| words(right)));
        }
        Ok(missing)
    }

    /// The rules of a namespace; `None` where the API server does not know all of them.
    async fn rules(&self, api: &Api, namespace: &str) -> Result<Option<Arc<Rules>>, Trouble> {
        if let Some(known) = self.known(namespace) {
            return Ok(known.rules);
        }
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": namespace},
        });
        let mut answer = api.ask("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", &review).await?;
        let rules: Option<Rules> = answer.get_mut("status").map(Value::take).and_then(|status| serde_json::from_value(status).ok());
        let rules = rules.filter(|rules| !rules.incomplete).map(Arc::new);
        self.all().insert(namespace.to_owned(), Answer { at: Instant::now(), rules: rules.clone() });
        Ok(rules)
    }

    fn known(&self, namespace: &str) -> Option<Answer> {
        let mut all = self.all();
        all.retain(|_, answer| answer.at.elapsed() < LASTS);
        all.get(namespace).cloned()
    }

    fn all(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Answer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rules {
    fn allow(&self, right: &Right) -> bool {
        self.resource_rules.iter().any(|rule| rule.allows(right))
    }
}

impl Rule {
    fn allows(&self, right: &Right) -> bool {
        let has = |all: &[String], wanted: &str| all.iter().any(|one| one == "*" || one == wanted);
        let is_named = right.name.as_ref().is_some_and(|name| self.resource_names.contains(name));
        has(&self.verbs, right.verb)
            && has(&self.api_groups, &right.group)
            && (has(&self.resources, &right.resource) || self.covers_subresource(&right.resource))
            && (self.resource_names.is_empty() || is_named)
    }

    /// Whether it says `*/status`.
    fn covers_subresource(&self, resource: &str) -> bool {
        let Some((_, subresource)) = resource.split_once('/') else { return false };
        self.resources.iter().any(|one| one.strip_prefix("*/") == Some(subresource))
    }
}

/// Asks for one right.
async fn is_allowed(api: &Api, namespace: &str, right: &Right) -> Result<bool, Trouble> {
    let (resource, subresource) = right.resource.split_once('/').unwrap_or((&right.resource, ""));
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {
            "namespace": namespace, "verb": right.verb, "group": right.group, "resource": resource,
            "subresource": subresource, "name": right.name.as_deref().unwrap_or_default(),
        }},
    });
    let answer = api.ask("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &review).await?;
    Ok(answer.pointer("/status/allowed").and_then(Value::as_bool) == Some(true))
}

fn words(right: &Right) -> String {
    let plain = right.resource.split('/').next().unwrap_or_default();
    let group = if right.group.is_empty() { String::new() } else { format!(".{}", right.group) };
    let name = right.name.as_ref().map(|name| format!(" `{name}`")).unwrap_or_default();
    format!("{} {plain}{group}{name}", right.verb)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Rules;
    use crate::plan::rights::Right;

    #[test]
    fn a_right_is_there_when_one_rule_has_all_of_it() {
        let rules: Rules = serde_json::from_value(json!({"resourceRules": [
            {"verbs": ["get", "patch"], "apiGroups": ["apps"], "resources": ["deployments"], "resourceNames": ["shop"]},
            {"verbs": ["list"], "apiGroups": ["apps"], "resources": ["deployments"]},
            {"verbs": ["patch"], "apiGroups": ["rollout.dev"], "resources": ["*/status"]},
            {"verbs": ["*"], "apiGroups": ["*"], "resources": ["services"], "resourceNames": []},
        ]}))
        .unwrap();
        let allowed = |verb, group: &str, resource: &str, name: Option<&str>| {
            rules.allow(&Right { group: group.to_owned(), resource: resource.to_owned(), name: name.map(str::to_owned), verb })
        };
        assert!(allowed("get", "apps", "deployments", Some("shop")) && allowed("list", "apps", "deployments", None));
        assert!(!allowed("get", "apps", "deployments", Some("other")) && !allowed("get", "apps", "deployments", None));
        assert!(!allowed("get", "", "deployments", Some("shop")) && !allowed("create", "apps", "deployments", None));
        assert!(allowed("patch", "rollout.dev", "rolloutplans/status", Some("shop")));
        assert!(
            !allowed("patch", "rollout.dev", "rolloutplans", Some("shop")) && !allowed("patch", "apps", "deployments/scale", Some("shop"))
        );
        assert!(allowed("delete", "", "services", Some("shop-canary")) && allowed("create", "", "services", None));
    }
}
