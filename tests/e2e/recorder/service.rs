//! From a Service or a subset of it to the versions behind it: the ready endpoints, and whose pods they are.

use std::collections::BTreeMap;

use serde_json::Value;

use super::backend::Backend;
use super::view::View;
use super::virtual_service::service_of;

/// Who answers: the share of each version, by the image of the pods.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Share {
    /// From 0 to 1, by image.
    pub(crate) versions: BTreeMap<String, f64>,
    /// What goes to a Service or subset without ready endpoints, and to whom.
    pub(crate) dead: BTreeMap<String, f64>,
}

impl Share {
    /// The share of one version.
    pub(crate) fn of(&self, image: &str) -> f64 {
        self.versions.get(image).copied().unwrap_or(0.0)
    }

    /// The share that nobody answers.
    pub(crate) fn lost(&self) -> f64 {
        self.dead.values().sum()
    }
}

/// Adds up what the backends' pods are. Definitions are looked up in `routes`, endpoints and pods in `view`.
pub(crate) fn answered(routes: &View, view: &View, backends: &[Backend]) -> Share {
    let mut share = Share::default();
    if backends.is_empty() {
        share.dead.insert("no backend".to_owned(), 1.0);
    }
    for backend in backends {
        let images = images(routes, view, backend);
        if images.is_empty() {
            let shown =
                backend.subset.as_ref().map_or_else(|| backend.service.clone(), |subset| format!("{} subset {subset}", backend.service));
            *share.dead.entry(shown).or_default() += backend.share;
        }
        let count = f64::from(u32::try_from(images.len()).unwrap_or(u32::MAX));
        for image in images {
            *share.versions.entry(image).or_default() += backend.share / count;
        }
    }
    share
}

/// The image of each ready endpoint.
fn images(routes: &View, view: &View, backend: &Backend) -> Vec<String> {
    let labels = match &backend.subset {
        None => Some(BTreeMap::new()),
        Some(subset) => subset_labels(routes, &backend.service, subset),
    };
    // A subset that no rule defines has no pods.
    let Some(labels) = labels else { return Vec::new() };
    let slices = view.all("EndpointSlice").map(|(_, slice)| slice);
    let slices = slices.filter(|slice| slice["metadata"]["labels"]["kubernetes.io/service-name"] == backend.service.as_str());
    let endpoints = slices.flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten());
    let ready = endpoints.filter(|endpoint| endpoint["conditions"]["ready"] != false);
    let pods = ready.filter_map(|endpoint| view.pod(endpoint["targetRef"]["name"].as_str()?));
    let chosen = pods.filter(|pod| labels.iter().all(|(name, value)| pod["metadata"]["labels"][name] == value.as_str()));
    chosen.map(image_of).collect()
}

fn image_of(pod: &Value) -> String {
    pod["spec"]["containers"][0]["image"].as_str().unwrap_or("?").to_owned()
}

fn subset_labels(routes: &View, service: &str, subset: &str) -> Option<BTreeMap<String, String>> {
    let rules = routes.all("DestinationRule").map(|(_, rule)| rule);
    let mut rules = rules.filter(|rule| rule["spec"]["host"].as_str().is_some_and(|host| service_of(host) == service));
    let entry = rules.find_map(|rule| rule["spec"]["subsets"].as_array()?.iter().find(|entry| entry["name"] == subset))?;
    let labels = entry["labels"].as_object().into_iter().flatten();
    Some(labels.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned())).collect())
}
