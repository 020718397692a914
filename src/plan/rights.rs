//! What an agent must be allowed to do in the plan's namespace to carry the plan out: one list, for the roles that are
//! installed and for the check before the first write.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::model::{Await, LateValue, ObjectKey, Plan, PlanSpec, Stage};

/// One permission in the plan's namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource in the plural, with its subresource: `rollouts/status`.
    pub resource: String,
    /// The only object that it is for. `None`: every object of the resource in the namespace.
    pub name: Option<String>,
    /// What is done: `get`, `list`, `watch`, `create`, `patch` or `delete`.
    pub verb: &'static str,
}

/// Returns the permissions of every step, of finish and of both aborts, and of the bookkeeping around them.
///
/// The API knows no `create` by name, and no `list` or `watch` worth having: those stand without one.
pub fn rights(plan: &Plan) -> BTreeSet<Right> {
    let spec = &plan.spec;
    let mut rights = Rights::default();
    for object in &spec.paths {
        let Some((group, resource)) = resource_of(spec, &object.object) else { continue };
        rights.add(&group, &resource, None, &["list", "watch"]);
        rights.add(&group, &resource, Some(object.object.name()), &["get", "patch"]);
        if object.paths.iter().any(String::is_empty) {
            rights.add(&group, &resource, None, &["create"]);
            rights.add(&group, &resource, Some(object.object.name()), &["delete"]);
        }
    }
    for wait in all_stages(spec).flat_map(|stage| &stage.awaits) {
        rights.of_await(spec, wait);
    }
    if let Some(workload) = spec.workload_key().filter(|_| spec.bindings.iter().any(|binding| binding.value == LateValue::StableRevision)) {
        rights.of_revisions(spec, workload);
    }
    rights.of_bookkeeping(plan);
    rights.0
}

/// Returns the plural by which the API serves a kind, as Kubernetes' own tools guess it: `Ingress` is `ingresses`,
/// `NetworkPolicy` is `networkpolicies`.
pub fn plural(kind: &str) -> String {
    let kind = kind.to_lowercase();
    if ["s", "x", "z", "ch", "sh"].iter().any(|end| kind.ends_with(end)) {
        return format!("{kind}es");
    }
    match kind.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{kind}s"),
    }
}

#[derive(Default)]
struct Rights(BTreeSet<Right>);

impl Rights {
    fn add(&mut self, group: &str, resource: &str, name: Option<&str>, verbs: &[&'static str]) {
        self.0.extend(verbs.iter().map(|verb| Right {
            group: group.to_owned(),
            resource: resource.to_owned(),
            name: name.map(str::to_owned),
            verb,
        }));
    }

    fn of_await(&mut self, spec: &PlanSpec, wait: &Await) {
        match wait {
            Await::PodsReady { workload, .. } | Await::Available { workload } => {
                self.of_changes(spec, workload);
                self.of_revisions(spec, workload);
            }
            Await::Endpoints { of, .. } => {
                self.add("discovery.k8s.io", "endpointslices", None, &["list", "watch"]);
                if let Some(workload) = of {
                    self.add("", "pods", None, &["list"]);
                    self.of_revisions(spec, workload);
                }
            }
            Await::Gone { object } => {
                self.of_changes(spec, object);
                if has_pods(spec, object) {
                    self.add("", "pods", None, &["list"]);
                    self.of_revisions(spec, object);
                }
            }
            Await::Condition { object, .. } => self.of_changes(spec, object),
            Await::Grace(_) => {}
        }
    }

    /// To be told when an object changes.
    fn of_changes(&mut self, spec: &PlanSpec, object: &ObjectKey) {
        if let Some((group, resource)) = resource_of(spec, object) {
            self.add(&group, &resource, None, &["list", "watch"]);
        }
    }

    /// To find the pods of one revision of a workload: a Deployment keeps its revisions elsewhere.
    fn of_revisions(&mut self, spec: &PlanSpec, workload: &ObjectKey) {
        if resource_of(spec, workload).is_some_and(|(_, resource)| resource == "deployments") {
            self.add("apps", "replicasets", None, &["list", "watch"]);
        }
    }

    /// The plan and the Rollout with their status, what is kept of a release, and events.
    fn of_bookkeeping(&mut self, plan: &Plan) {
        let group = super::API_VERSION.split('/').next().unwrap_or_default();
        self.add(group, "rolloutplans", Some(&plan.name), &["get", "patch"]);
        self.add(group, "rolloutplans/status", Some(&plan.name), &["patch"]);
        let (rollouts, name) = (group_of(&plan.spec.rollout.api_version), Some(plan.spec.rollout.name.as_str()));
        self.add(rollouts, "rollouts", name, &["get"]);
        self.add(rollouts, "rollouts/status", name, &["patch"]);
        self.add("apps", "controllerrevisions", None, &["create", "delete", "get", "list"]);
        self.add("events.k8s.io", "events", None, &["create"]);
    }
}

fn all_stages(spec: &PlanSpec) -> impl Iterator<Item = &Stage> {
    let steps = spec.steps.iter().flat_map(|step| step.stages.iter().chain(&step.enter_from_above));
    steps.chain(&spec.finish).chain(&spec.abort).chain(&spec.abort_finish)
}

/// Whether pods are made of an object.
fn has_pods(spec: &PlanSpec, object: &ObjectKey) -> bool {
    spec.objects.iter().any(|(version, manifest)| version.object() == object && manifest.pointer("/spec/template").is_some())
}

/// The group and the plural of an object, as its versions in the plan say.
fn resource_of(spec: &PlanSpec, object: &ObjectKey) -> Option<(String, String)> {
    let (_, manifest) = spec.objects.iter().find(|(version, _)| version.object() == object)?;
    let text = |field: &str| manifest.get(field).and_then(Value::as_str).unwrap_or_default();
    Some((group_of(text("apiVersion")).to_owned(), plural(text("kind"))))
}

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::{Right, plural, rights};
    use crate::plan::fixture;

    #[test]
    fn what_only_the_plan_makes_may_be_created_and_deleted_and_nothing_else_may() {
        let rights = rights(&fixture());
        let verbs = |resource: &str, name: Option<&str>| -> Vec<&str> {
            rights.iter().filter(|right| right.resource == resource && right.name.as_deref() == name).map(|right| right.verb).collect()
        };
        assert_eq!(verbs("deployments", Some("shop")), ["get", "patch"]);
        assert_eq!(verbs("deployments", Some("shop-canary")), ["delete", "get", "patch"]);
        assert_eq!(verbs("deployments", None), ["create", "list", "watch"]);
        assert_eq!(verbs("virtualservices", None), ["list", "watch"], "no VirtualService is ever created");
        assert_eq!(verbs("virtualservices", Some("shop")), ["get", "patch"]);
    }

    #[test]
    fn no_right_is_a_wildcard_and_none_reaches_secrets() {
        let rights = rights(&fixture());
        assert!(rights.iter().all(|Right { group, resource, verb, .. }| ![group.as_str(), resource, verb].contains(&"*")));
        assert!(!rights.iter().any(|right| right.resource.contains("secret") || right.resource.contains("configmap")));
    }

    #[test]
    fn plurals_are_those_that_kubernetes_guesses() {
        for (kind, wanted) in [
            ("Deployment", "deployments"),
            ("Ingress", "ingresses"),
            ("HTTPProxy", "httpproxies"),
            ("HTTPRoute", "httproutes"),
            ("Gateway", "gateways"),
            ("ApisixRoute", "apisixroutes"),
        ] {
            assert_eq!(plural(kind), wanted);
        }
    }
}
