//! The objects that a release meets although its Rollout does not name them: whose pods the Service selects, what else selects
//! the workload's pods or routes to the Service.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use crate::model::{Catalog, GatewayRef, LabelSet, Links, Neighbors, ObjectRef, Rollout, Source, Stored, linked_kinds};

/// Whether an object of the kind may be connected to a release without being named by a Rollout.
pub(super) fn is_linked(kind: &str) -> bool {
    linked_kinds().any(|linked| linked == kind)
}

/// The words that a text holds if it is connected to one of the objects: values of labels, and names.
pub(super) fn words<'a>(objects: impl Iterator<Item = &'a Arc<Stored>>) -> HashSet<&'a str> {
    let mut words = HashSet::new();
    for object in objects {
        let Links { pods, claims, selector, backends: _ } = &object.links;
        let labels = pods.iter().chain(selector).flat_map(LabelSet::iter).map(|(_, value)| value);
        words.extend(labels.chain(claims.iter().map(String::as_str)));
        if selector.is_some() {
            words.insert(&object.object.name);
        }
    }
    words
}

/// Whether a text holds one of the words. A backslash may hide one.
pub(super) fn has_any(text: &str, words: &HashSet<&str>) -> bool {
    let is_part = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_' | '.');
    // Of a host the first part is the Service.
    let is_word = |token: &str| words.contains(token) || token.split_once('.').is_some_and(|(first, _)| words.contains(first));
    text.contains('\\') || text.split(|sign| !is_part(sign)).any(is_word)
}

/// The neighbors of a release of `workload` behind `service`, routed by `gateways`.
pub(super) fn of(
    catalog: &Catalog,
    rollout: &Rollout,
    workload: Option<&Source>,
    service: Option<&Source>,
    gateways: &[(GatewayRef, Option<Arc<Source>>)],
) -> Neighbors {
    let (namespace, index) = (rollout.namespace.as_str(), &catalog.neighbors);
    let others = |found: Vec<Arc<Stored>>, is_own: &dyn Fn(&ObjectRef) -> bool| -> Vec<Arc<Source>> {
        found.into_iter().filter(|stored| !is_own(&stored.object)).map(|stored| stored.source()).collect()
    };
    let links = workload.map(|workload| Links::of(&workload.object, &workload.manifest)).unwrap_or_default();
    let is_own = |object: &ObjectRef| [workload, service].into_iter().flatten().any(|own| own.object == *object);
    let is_named = |object: &ObjectRef| gateways.iter().filter_map(|(_, source)| source.as_ref()).any(|named| named.object == *object);
    let selector = service.and_then(|service| service.manifest.at("/spec/selector")).and_then(Value::as_object).map(LabelSet::of);
    let claims = links.claims.iter().flat_map(|name| index.claims(namespace, name));
    Neighbors {
        workloads: selector.map(|selector| others(index.workloads(namespace, &selector), &is_own)).unwrap_or_default(),
        services: links.pods.map(|pods| others(index.services(namespace, &pods), &is_own)).unwrap_or_default(),
        routes: service.map(|service| others(index.routes(&service.object), &is_named)).unwrap_or_default(),
        claims: claims.map(|stored| stored.source()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::has_any;

    #[test]
    fn a_text_is_read_if_it_may_hold_a_word() {
        let words = ["shop", "v1.2"].into_iter().collect();
        for text in ["app: shop\n", "{app: \"shop\"}", "host: shop.prod.svc.cluster.local", "version: v1.2", "app: \"\\x73hop\""] {
            assert!(has_any(text, &words), "{text}");
        }
        for text in ["app: shopping\n", "app: my-shop", "version: v1"] {
            assert!(!has_any(text, &words), "{text}");
        }
    }
}
