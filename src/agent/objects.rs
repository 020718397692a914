//! The objects of a plan as a cluster has them: resource, address, and the paths that a write covers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::api::Api;
use super::served::{Resource, Served};
use super::trouble::Trouble;
use crate::model::{ObjectKey, Plan};
use crate::patch::paths_of;
use crate::plan::permitted::{is_content, is_permitted};

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
            if !is_permitted(api_version, kind) {
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
