//! What an engine has to leave alone: the paths that a plan changes of objects that stand in git.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::model::{ObjectRef, Plan};

/// The paths of one object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Setting {
    /// The API group; empty for the core group.
    pub group: String,
    /// The API version without its group.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// JSON pointers.
    pub paths: Vec<String>,
}

impl Setting {
    /// The object.
    pub fn object(&self) -> ObjectRef {
        ObjectRef { group: self.group.clone(), kind: self.kind.clone(), namespace: self.namespace.clone(), name: self.name.clone() }
    }
}

/// What a plan changes, by object. Objects that only the plan makes stand in no file that an engine syncs.
pub fn settings(plan: &Plan) -> Vec<Setting> {
    let mut settings = Vec::new();
    for changed in &plan.spec.paths {
        let paths: Vec<String> = changed.paths.iter().filter(|path| !path.is_empty()).cloned().collect();
        let value = plan.spec.objects.iter().find(|(key, _)| *key.object() == changed.object).map(|(_, value)| value);
        let Some(value) = value.filter(|_| !paths.is_empty()) else { continue };
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (group, version) = text("/apiVersion").split_once('/').unwrap_or(("", text("/apiVersion")));
        settings.push(Setting {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: text("/kind").to_owned(),
            namespace: plan.namespace.clone(),
            name: changed.object.name().to_owned(),
            paths,
        });
    }
    settings.sort();
    settings
}
