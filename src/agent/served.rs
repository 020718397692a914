//! Which resource holds a kind: what the API server says, never a guess from the kind's name.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::Value;

use super::api::{Api, segment};
use super::trouble::Trouble;

/// A resource that is served.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Resource {
    /// `apps/v1`, `v1`.
    pub(super) api_version: String,
    /// The kind.
    pub(super) kind: String,
    /// The name in paths: `deployments`.
    pub(super) plural: String,
    /// Whether its objects live in namespaces.
    pub(super) namespaced: bool,
}

impl Resource {
    /// A resource that every cluster has.
    pub(super) fn known(api_version: &str, kind: &str, plural: &str) -> Self {
        Self { api_version: api_version.into(), kind: kind.into(), plural: plural.into(), namespaced: true }
    }

    /// The API group; empty for the core group.
    pub(super) fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// The path of all its objects in a namespace.
    pub(super) fn all_in(&self, namespace: &str) -> String {
        if self.namespaced { format!("{}/namespaces/{}/{}", self.root(), segment(namespace), self.plural) } else { self.everywhere() }
    }

    /// The path of all its objects.
    pub(super) fn everywhere(&self) -> String {
        format!("{}/{}", self.root(), self.plural)
    }

    /// The path of one object.
    pub(super) fn one(&self, namespace: &str, name: &str) -> String {
        format!("{}/{}", self.all_in(namespace), segment(name))
    }

    fn root(&self) -> String {
        root(&self.api_version)
    }
}

/// What the API server serves, as far as somebody asked.
#[derive(Debug, Default)]
pub(super) struct Served(Mutex<BTreeMap<String, Vec<Resource>>>);

impl Served {
    /// Returns the resource of a kind; `None` if the API server does not serve it. What was found once is not asked again.
    pub(super) async fn resource(&self, api: &Api, api_version: &str, kind: &str) -> Result<Option<Resource>, Trouble> {
        let find = |resources: &[Resource]| resources.iter().find(|resource| resource.kind == kind).cloned();
        if let Some(found) = self.cache().get(api_version).and_then(|resources| find(resources)) {
            return Ok(Some(found));
        }
        let Some(list) = api.get(&root(api_version)).await? else { return Ok(None) };
        let resources = resources(api_version, &list);
        let found = find(&resources);
        self.cache().insert(api_version.to_owned(), resources);
        Ok(found)
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Vec<Resource>>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn root(api_version: &str) -> String {
    match api_version.split_once('/') {
        Some((group, version)) => format!("/apis/{}/{}", segment(group), segment(version)),
        None => format!("/api/{}", segment(api_version)),
    }
}

fn resources(api_version: &str, list: &Value) -> Vec<Resource> {
    let all = list.get("resources").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let read = |entry: &Value| {
        let text = |field: &str| entry.get(field).and_then(Value::as_str);
        let plural = text("name").filter(|name| !name.contains('/'))?;
        let namespaced = entry.get("namespaced").and_then(Value::as_bool)?;
        Some(Resource { api_version: api_version.into(), kind: text("kind")?.into(), plural: plural.into(), namespaced })
    };
    all.iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Resource, resources};

    #[test]
    fn subresources_are_no_resources() {
        let list = json!({"resources": [
            {"name": "deployments", "kind": "Deployment", "namespaced": true},
            {"name": "deployments/scale", "kind": "Scale", "namespaced": true},
            {"name": "broken"},
        ]});
        assert_eq!(resources("apps/v1", &list), [Resource::known("apps/v1", "Deployment", "deployments")]);
    }

    #[test]
    fn paths_are_those_of_the_api_server() {
        assert_eq!(Resource::known("v1", "Service", "services").one("prod", "shop"), "/api/v1/namespaces/prod/services/shop");
        assert_eq!(Resource::known("apps/v1", "Deployment", "deployments").everywhere(), "/apis/apps/v1/deployments");
    }
}
