//! Which object in a cluster: what is left of an object when its content is taken away.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// Names one object. The version of its API is not part of the name: `apps/v1` and `apps/v1beta1` hold the same Deployment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct ObjectRef {
    /// The API group; empty for the core group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectRef {
    /// The object of `api_version` (`group/version`, or `version` for the core group) and `kind`.
    pub fn new(api_version: &str, kind: &str, namespace: &str, name: &str) -> Self {
        Self { group: group_of(api_version).into(), kind: kind.into(), namespace: namespace.into(), name: name.into() }
    }
}

/// `Kind namespace/name`.
impl fmt::Display for ObjectRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// The group of an `apiVersion`; empty for the core group.
pub(super) fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}
