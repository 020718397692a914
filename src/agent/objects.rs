//! The objects of a plan as a cluster has them: resource, address, and the paths that a write covers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::api::Api;
use super::served::{Resource, Served};
use super::trouble::Trouble;
use crate::model::{ObjectKey, Plan};
use crate::patch::paths_of;

/// The label of the objects that a plan makes.
pub(super) const PLAN_LABEL: &str = "rollout.dev/plan";

/// One object of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// Its key in the plan.
    pub(super) key: ObjectKey,
    /// What holds it.
    pub(super) resource: Resource,
    /// Its address.
    pub(super) address: String,
    /// The address of its collection, for creating it.
    pub(super) collection: String,
    /// What a write covers.
    pub(super) paths: Vec<String>,
    /// Whether only the plan makes it.
    pub(super) is_companion: bool,
}

impl Target {
    /// Returns the object as it stands.
    pub(super) async fn live(&self, api: &Api) -> Result<Option<Value>, Trouble> {
        api.read(&self.address).await
    }
}

/// All objects of a plan.
#[derive(Debug, Clone, Default)]
pub(super) struct Objects(BTreeMap<ObjectKey, Target>);

/// Why the objects of a plan have no addresses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unresolved {
    /// A kind that the cluster does not know.
    #[error("the cluster does not serve {}: install its CustomResourceDefinition", .0.join(", "))]
    NotServed(Vec<String>),
    /// A kind that no plan may touch.
    #[error("a plan may not touch {}", .0.join(", "))]
    NotAllowed(Vec<String>),
    /// The API server did not say.
    #[error(transparent)]
    Trouble(#[from] Trouble),
}

impl Objects {
    /// The objects of the plan, once the API server has told where they are.
    pub(super) async fn of(plan: &Plan, api: &Api, served: &Served) -> Result<Self, Unresolved> {
        let (objects, missing) = Self::look_up(plan, api, served).await?;
        if missing.is_empty() { Ok(objects) } else { Err(Unresolved::NotServed(missing.into_iter().collect())) }
    }

    /// The same for the way back: a kind that the cluster does not serve any more has no objects, and keeps none of the others from
    /// being restored.
    pub(super) async fn that_are_served(plan: &Plan, api: &Api, served: &Served) -> Result<Self, Unresolved> {
        let (objects, missing) = Self::look_up(plan, api, served).await?;
        if !missing.is_empty() {
            let kinds = missing.into_iter().collect::<Vec<_>>().join(", ");
            tracing::warn!(namespace = plan.namespace, plan = plan.name, kinds, "not served any more: passed over on the way back");
        }
        Ok(objects)
    }

    /// Looks up what is served, and returns it with the kinds that are not.
    async fn look_up(plan: &Plan, api: &Api, served: &Served) -> Result<(Self, BTreeSet<String>), Unresolved> {
        let mut targets = BTreeMap::new();
        let (mut missing, mut refused) = (BTreeSet::new(), BTreeSet::new());
        for entry in &plan.spec.paths {
            let versions = || plan.spec.objects.iter().filter(|(key, _)| *key.object() == entry.object).map(|(_, value)| value);
            let Some(first) = versions().next() else { continue };
            let text = |field: &str| first.get(field).and_then(Value::as_str).unwrap_or_default();
            let (api_version, kind) = (text("apiVersion"), text("kind"));
            if !is_allowed(api_version, kind) {
                refused.insert(format!("{kind} of {api_version}"));
                continue;
            }
            let bad = entry.paths.iter().filter(|path| !is_content(path));
            refused.extend(bad.map(|path| format!("{} of {}", path.escape_debug(), entry.object)));
            let Some(resource) = served.resource(api, api_version, kind).await? else {
                missing.insert(format!("{kind} of {api_version}"));
                continue;
            };
            if !resource.namespaced {
                refused.insert(format!("{kind} of {api_version}, which lives in no namespace"));
                continue;
            }
            let key = entry.object.clone();
            let target = Target {
                address: resource.one(&plan.namespace, key.name()),
                collection: resource.all_in(&plan.namespace),
                paths: paths_of(&entry.paths, versions()),
                is_companion: entry.paths.iter().any(String::is_empty),
                key: key.clone(),
                resource,
            };
            targets.insert(key, target);
        }
        if !refused.is_empty() {
            return Err(Unresolved::NotAllowed(refused.into_iter().collect()));
        }
        Ok((Self(targets), missing))
    }

    /// The object of a key.
    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Target> {
        self.0.get(key)
    }

    /// All of them, sorted by key.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Target> {
        self.0.values()
    }

    /// The resources of all of them.
    pub(super) fn resources(&self) -> BTreeSet<Resource> {
        self.iter().map(|target| target.resource.clone()).collect()
    }
}

/// A release moves workloads, Services, autoscalers and gateway objects. Whoever can write a plan must not be able to have
/// the agent write anything else of Kubernetes' own, whatever its rights are.
fn is_allowed(api_version: &str, kind: &str) -> bool {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    match group {
        "" => kind == "Service",
        "apps" => matches!(kind, "Deployment" | "StatefulSet" | "DaemonSet"),
        "autoscaling" => kind == "HorizontalPodAutoscaler",
        "networking.k8s.io" => kind == "Ingress",
        "gateway.networking.k8s.io" => true,
        "rollout.dev" => false,
        other => other.contains('.') && !other.ends_with(".k8s.io"),
    }
}

/// Whether a path leads to what users write, and not to what names or holds the object.
pub(super) fn is_content(path: &str) -> bool {
    let below = |parent: &str| path.strip_prefix(parent).is_some_and(|rest| rest.starts_with('/'));
    path.is_empty()
        || below("/metadata/labels")
        || below("/metadata/annotations")
        || !["/apiVersion", "/kind", "/metadata", "/status"].iter().any(|parent| path == *parent || below(parent))
}

#[cfg(test)]
mod tests {
    use super::{is_allowed, is_content};

    #[test]
    fn only_what_a_release_moves_is_touched() {
        for (api_version, kind) in [
            ("v1", "Service"),
            ("apps/v1", "Deployment"),
            ("networking.istio.io/v1", "VirtualService"),
            ("apps.kruise.io/v1alpha1", "CloneSet"),
        ] {
            assert!(is_allowed(api_version, kind), "{kind}");
        }
        for (api_version, kind) in [
            ("v1", "Secret"),
            ("v1", "ServiceAccount"),
            ("rbac.authorization.k8s.io/v1", "Role"),
            ("apps/v1", "ControllerRevision"),
            ("batch/v1", "Job"),
            ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
            ("rollout.dev/v1alpha1", "RolloutPlan"),
        ] {
            assert!(!is_allowed(api_version, kind), "{kind}");
        }
    }

    #[test]
    fn what_names_or_holds_an_object_is_no_content() {
        for path in ["", "/spec/http", "/metadata/labels/a", "/metadata/annotations/b~1c", "/data", "/statusPage"] {
            assert!(is_content(path), "{path}");
        }
        for path in ["/metadata", "/metadata/finalizers", "/metadata/ownerReferences/0", "/metadata/labels", "/status/x", "/kind"] {
            assert!(!is_content(path), "{path}");
        }
    }
}
