//! From a Service, or a subset of it, to the pods behind it.

use serde_json::{Map, Value};

use super::pods::Version;
use super::view::{Found, Lookup, View};

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

/// What is behind a Service of the plan's namespace.
pub(super) fn service(view: &View<'_>, name: &str) -> Reach {
    match view.find("", "Service", name) {
        Lookup::Found(found) => selected(view, &[(found, "/spec/selector".to_owned())]),
        Lookup::Absent => Reach::Nobody,
        Lookup::Unheard => Reach::Elsewhere,
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
    let rules = view.all("networking.istio.io", "DestinationRule");
    let mut rules = rules.filter(|rule| {
        let host = rule.value.pointer("/spec/host").and_then(Value::as_str).unwrap_or_default();
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
    let subsets = rule.value.pointer("/spec/subsets").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match subsets.iter().position(|known| known["name"] == subset) {
        Some(index) => selected(view, &[(found, "/spec/selector".to_owned()), (rule, format!("/spec/subsets/{index}/labels"))]),
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

/// The pods that have the labels at all the pointers, late values among them.
fn selected(view: &View<'_>, selectors: &[(Found<'_>, String)]) -> Reach {
    let first = selectors.first().and_then(|(found, pointer)| found.value.pointer(pointer)).and_then(Value::as_object);
    let has_revision = selectors.first().is_some_and(|(found, pointer)| !view.revisions(*found, pointer).is_empty());
    if first.is_none_or(Map::is_empty) && !has_revision {
        return Reach::NotKnown("a Service without a selector has endpoints that no file names".to_owned());
    }
    let is_selected = |labels: Option<&Map<String, Value>>, version: Version| {
        selectors.iter().all(|(found, pointer)| {
            let wanted = found.value.pointer(pointer).and_then(Value::as_object);
            let mut wanted = wanted.into_iter().flatten();
            wanted.all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value))
                && view.revisions(*found, pointer).into_iter().all(|revision| revision == version)
        })
    };
    // No pod runs where zero are asked for.
    let behind: Vec<_> = view.pods.iter().filter(|pods| pods.count != Some(0) && is_selected(pods.labels, pods.version)).collect();
    let has = |version| behind.iter().any(|pods| pods.version == version);
    let count = |version| {
        let of_version = behind.iter().filter(|pods| pods.version == version);
        of_version.map(|pods| pods.count).sum::<Option<u32>>().map(f64::from)
    };
    match (has(Version::Old), has(Version::New)) {
        (false, false) if is_foreign(view, selectors) => Reach::Elsewhere,
        (false, false) => Reach::Nobody,
        (true, false) => Reach::Old,
        (false, true) => Reach::New,
        (true, true) => Reach::Both(count(Version::Old).zip(count(Version::New)).map(|(old, new)| new / (old + new))),
    }
}

/// Whether the Service is one from beside the plan whose selector no pod of the release has, whatever a subset adds.
fn is_foreign(view: &View<'_>, selectors: &[(Found<'_>, String)]) -> bool {
    let Some((service, pointer)) = selectors.first().filter(|(found, _)| found.key.is_none()) else { return false };
    let wanted = service.value.pointer(pointer).and_then(Value::as_object);
    !view
        .pods
        .iter()
        .any(|pods| wanted.into_iter().flatten().all(|(key, value)| pods.labels.and_then(|labels| labels.get(key)) == Some(value)))
}
