//! From a Service, or a subset of it, to the pods behind it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::objects::Found;
use super::pods::{Pods, Version};
use super::view::{Lookup, View};

/// What tells the pods of a Service.
const SELECTOR: &str = "/spec/selector";

/// What is behind a destination.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reach {
    /// Pods of the old version.
    Old,
    /// Pods of the new version.
    New,
    /// Pods of both; the new version's part of them where the numbers are known.
    Both(Option<f64>),
    /// The release's own Service or subset, without a pod.
    Nobody,
    /// Something that is no part of the release.
    Elsewhere,
    /// It cannot be told, and why.
    NotKnown(String),
}

impl Reach {
    /// Why it cannot be told, if so.
    pub(super) fn not_known(&self) -> Option<&str> {
        match self {
            Self::NotKnown(reason) => Some(reason),
            Self::Old | Self::New | Self::Both(_) | Self::Nobody | Self::Elsewhere => None,
        }
    }
}

/// What is behind each Service that a state finds.
pub(super) fn services<'a>(view: &View<'a>) -> BTreeMap<&'a str, Reach> {
    let mut services = BTreeMap::new();
    for named in view.all("", "Service") {
        if let Some(name) = named.name {
            services.entry(name).or_insert_with(|| selected(view, named.found, &[Selector::of(view, named.found, SELECTOR)]));
        }
    }
    services
}

/// What is behind a Service of the plan's namespace.
pub(super) fn service(view: &View<'_>, name: &str) -> Reach {
    if let Some(reach) = view.services.get(name) {
        return reach.clone();
    }
    match view.find("", "Service", name) {
        Lookup::Absent => Reach::Nobody,
        Lookup::Unheard | Lookup::Found(_) => Reach::Elsewhere,
    }
}

/// What is behind a host of Istio: `shop`, `shop.prod`, `shop.prod.svc.cluster.local`.
pub(super) fn host(view: &View<'_>, host: &str, subset: Option<&str>) -> Reach {
    let Some(name) = service_of(host, &view.plan.namespace) else { return Reach::Elsewhere };
    let Some(subset) = subset else { return service(view, name) };
    let found = match view.find("", "Service", name) {
        Lookup::Found(found) => found,
        Lookup::Absent => return Reach::Nobody,
        Lookup::Unheard => return Reach::Elsewhere,
    };
    let mut rules = view.all("networking.istio.io", "DestinationRule").filter(|rule| {
        let host = rule.found.value["spec"]["host"].as_str().unwrap_or_default();
        service_of(host, &view.plan.namespace) == Some(name)
    });
    let Some(rule) = rules.next() else {
        // Whatever the subset is, it is a part of the Service.
        let whole = service(view, name);
        if matches!(whole, Reach::Old | Reach::New | Reach::Nobody | Reach::Elsewhere) {
            return whole;
        }
        return Reach::NotKnown(format!("no DestinationRule of the release says what the subset `{subset}` of `{host}` is"));
    };
    let subsets = rule.found.value["spec"]["subsets"].as_array().map(Vec::as_slice).unwrap_or_default();
    match subsets.iter().position(|known| known["name"] == subset) {
        Some(index) => {
            let labels = Selector::of(view, rule.found, &format!("/spec/subsets/{index}/labels"));
            selected(view, found, &[Selector::of(view, found, SELECTOR), labels])
        }
        None => Reach::Nobody,
    }
}

/// The Service of a host, when it is one of the namespace.
fn service_of<'a>(host: &'a str, namespace: &str) -> Option<&'a str> {
    let mut parts = host.split('.');
    let name = parts.next().filter(|name| !name.is_empty() && *name != "*")?;
    let is_near = parts.next().is_none_or(|part| part == namespace) && parts.next().is_none_or(|part| part == "svc");
    is_near.then_some(name)
}

/// What pods must have to be chosen.
struct Selector<'a> {
    labels: Option<&'a Map<String, Value>>,
    /// Late values, which stand for the labels of these versions.
    revisions: Vec<Version>,
}

impl<'a> Selector<'a> {
    /// The labels at a pointer of an object, late values among them.
    fn of(view: &View<'a>, found: Found<'a>, pointer: &str) -> Self {
        Self { labels: found.value.pointer(pointer).and_then(Value::as_object), revisions: view.revisions(found, pointer) }
    }

    fn is_empty(&self) -> bool {
        self.labels.is_none_or(Map::is_empty) && self.revisions.is_empty()
    }

    fn takes(&self, pods: &Pods<'_>) -> bool {
        self.has_labels_of(pods) && self.revisions.iter().all(|revision| *revision == pods.version)
    }

    fn has_labels_of(&self, pods: &Pods<'_>) -> bool {
        let mut wanted = self.labels.into_iter().flatten();
        wanted.all(|(key, value)| pods.labels.and_then(|labels| labels.get(key)) == Some(value))
    }
}

/// The pods that all selectors take; the first is that of the Service.
fn selected<'a>(view: &View<'a>, service: Found<'a>, selectors: &[Selector<'a>]) -> Reach {
    if selectors.first().is_none_or(Selector::is_empty) {
        return Reach::NotKnown("a Service without a selector has endpoints that no file names".to_owned());
    }
    // No pod runs where zero are asked for.
    let is_behind = |pods: &&Pods<'_>| pods.count != Some(0) && selectors.iter().all(|selector| selector.takes(pods));
    let behind: Vec<_> = view.pods.iter().filter(is_behind).collect();
    let has = |version| behind.iter().any(|pods| pods.version == version);
    let count = |version| {
        let of_version = behind.iter().filter(|pods| pods.version == version);
        of_version.map(|pods| pods.count).sum::<Option<u32>>().map(f64::from)
    };
    // A Service from beside the plan whose selector no pod of the release has, whatever a subset adds.
    let is_foreign = || service.key.is_none() && !view.pods.iter().any(|pods| selectors[0].has_labels_of(pods));
    match (has(Version::Old), has(Version::New)) {
        (false, false) if is_foreign() => Reach::Elsewhere,
        (false, false) => Reach::Nobody,
        (true, false) => Reach::Old,
        (false, true) => Reach::New,
        (true, true) => Reach::Both(count(Version::Old).zip(count(Version::New)).map(|(old, new)| new / (old + new))),
    }
}
