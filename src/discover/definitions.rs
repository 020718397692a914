//! `DestinationRule`s that a Rollout does not name: they may define the subsets that its routes lead to, and set a policy.

use std::sync::Arc;

use super::gateways;
use crate::model::{Catalog, ObjectRef, Rollout, Source};

/// The kind.
pub(super) const KIND: &str = "DestinationRule";

/// Its group, with any version.
const API_VERSION: &str = "networking.istio.io/v1";

/// Those of the Rollout's namespace for its Service, and for the one that a release makes beside it.
pub(super) fn of(catalog: &Catalog, rollout: &Rollout) -> Vec<Arc<Source>> {
    let Some(routing) = rollout.routing.as_ref() else { return Vec::new() };
    let first = ObjectRef::new(API_VERSION, KIND, &rollout.namespace, "");
    let start = catalog.sources.partition_point(|source| source.object < first);
    let is_alike = |object: &ObjectRef| (&object.group, &object.kind, &object.namespace) == (&first.group, &first.kind, &first.namespace);
    let all = catalog.sources[start..].iter().take_while(|source| is_alike(&source.object));
    let is_named = |name: &str| routing.gateways.iter().any(|reference| reference.kind == KIND && reference.name == name);
    let is_meant = |host: &str| {
        let name = host.split('.').next().unwrap_or_default();
        name == routing.service || name.strip_suffix(gateways::SUFFIX) == Some(routing.service.as_str())
    };
    let meant = all.filter(|source| !is_named(&source.object.name) && source.host.as_deref().is_some_and(is_meant));
    meant.map(|source| source.source()).collect()
}
