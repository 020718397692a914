//! One Kubernetes object as it is written in a file.

use serde_json::Value;

use super::ObjectRef;
use super::object_ref::group_of;

/// An object with an API version, a kind and a name; the rest is as the user wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest(Value);

/// Why a value is no manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// It is a list, a text, a number.
    #[error("a Kubernetes object is a map")]
    NotAMap,
    /// A field that names the object is missing, empty, or no text.
    #[error("a Kubernetes object needs `{0}`")]
    Missing(&'static str),
}

impl Manifest {
    /// The API version: `apps/v1`, `v1`.
    pub fn api_version(&self) -> &str {
        self.text("/apiVersion")
    }

    /// The API group; empty for the core group.
    pub fn group(&self) -> &str {
        group_of(self.api_version())
    }

    /// The kind.
    pub fn kind(&self) -> &str {
        self.text("/kind")
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    /// The namespace, if the file says one.
    pub fn namespace(&self) -> Option<&str> {
        self.0.pointer("/metadata/namespace").and_then(Value::as_str).filter(|namespace| !namespace.is_empty())
    }

    /// The object's name in a cluster, in `namespace` when the file says none.
    pub fn object_ref(&self, namespace: &str) -> ObjectRef {
        ObjectRef::new(self.api_version(), self.kind(), self.namespace().unwrap_or(namespace), self.name())
    }

    /// The value at a JSON pointer.
    pub fn at(&self, pointer: &str) -> Option<&Value> {
        self.0.pointer(pointer)
    }

    /// The annotation `key`.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.0.pointer("/metadata/annotations")?.get(key)?.as_str()
    }

    /// The label `key`.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.0.pointer("/metadata/labels")?.get(key)?.as_str()
    }

    /// The whole object.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// The whole object.
    pub fn into_value(self) -> Value {
        self.0
    }

    /// The value of a manifest as one again.
    pub(super) fn known(value: Value) -> Self {
        Self(value)
    }

    fn text(&self, pointer: &str) -> &str {
        self.0.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }
}

impl TryFrom<Value> for Manifest {
    type Error = ManifestError;

    fn try_from(value: Value) -> Result<Self, ManifestError> {
        if !value.is_object() {
            return Err(ManifestError::NotAMap);
        }
        for (pointer, field) in [("/apiVersion", "apiVersion"), ("/kind", "kind"), ("/metadata/name", "metadata.name")] {
            if value.pointer(pointer).and_then(Value::as_str).is_none_or(str::is_empty) {
                return Err(ManifestError::Missing(field));
            }
        }
        Ok(Self(value))
    }
}
