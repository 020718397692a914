//! What a watch reads of an object: the few fields of its metadata that decide who looks at it.
//!
//! Of metadata the greatest part says who wrote which field, and takes ten times its length when it is read. A plan has as many
//! fields as all its objects together.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use kube::Resource;
use kube::api::ApiResource;
use kube::core::{DynamicResourceScope, ObjectMeta};
use serde::Deserialize;

/// An object of any kind, as far as a watch reads it.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Read")]
pub(super) struct Glimpse {
    /// Only the fields of `Metadata` are ever there.
    pub(super) metadata: ObjectMeta,
}

#[derive(Deserialize)]
struct Read {
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    generation: Option<i64>,
    resource_version: Option<String>,
    deletion_timestamp: Option<Time>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    finalizers: Option<Vec<String>>,
    owner_references: Option<Vec<OwnerReference>>,
}

impl From<Read> for Glimpse {
    fn from(Read { metadata }: Read) -> Self {
        let metadata = ObjectMeta {
            name: metadata.name,
            namespace: metadata.namespace,
            uid: metadata.uid,
            generation: metadata.generation,
            resource_version: metadata.resource_version,
            deletion_timestamp: metadata.deletion_timestamp,
            labels: metadata.labels,
            annotations: metadata.annotations,
            finalizers: metadata.finalizers,
            owner_references: metadata.owner_references,
            ..ObjectMeta::default()
        };
        Self { metadata }
    }
}

impl Resource for Glimpse {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    /// The API server is asked for metadata only.
    fn metadata_api() -> bool {
        true
    }

    fn kind(of: &ApiResource) -> Cow<'_, str> {
        of.kind.as_str().into()
    }

    fn group(of: &ApiResource) -> Cow<'_, str> {
        of.group.as_str().into()
    }

    fn version(of: &ApiResource) -> Cow<'_, str> {
        of.version.as_str().into()
    }

    fn api_version(of: &ApiResource) -> Cow<'_, str> {
        of.api_version.as_str().into()
    }

    fn plural(of: &ApiResource) -> Cow<'_, str> {
        of.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Glimpse;

    #[test]
    fn who_wrote_what_is_not_kept() {
        let object = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {
            "name": "shop", "namespace": "prod", "generation": 3, "resourceVersion": "7", "finalizers": ["rollout.dev/restore"],
            "annotations": {"rollout.dev/digest": "sha256:1"}, "managedFields": [{"manager": "flux", "fieldsV1": {"f:spec": {}}}],
        }});
        let metadata = serde_json::from_value::<Glimpse>(object).unwrap().metadata;
        assert_eq!((metadata.name.as_deref(), metadata.generation), (Some("shop"), Some(3)));
        assert_eq!(metadata.finalizers.unwrap_or_default(), ["rollout.dev/restore"]);
        assert!(metadata.managed_fields.is_none());
    }
}
