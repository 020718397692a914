//! Late values in their places.

use serde_json::Value;

use super::values::put;
use crate::model::{Binding, LateValue, VersionKey};

/// A value that has to be known before an object can be written, and is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{object}` has no value yet at `{pointer}`")]
pub struct Unbound {
    /// The version that cannot be written.
    pub object: VersionKey,
    /// Where the value belongs.
    pub pointer: String,
    /// Which value is missing.
    pub value: LateValue,
}

/// Returns the version `key` with its late values in place; `resolve` knows them.
pub fn bind(
    key: &VersionKey,
    object: &Value,
    bindings: &[Binding],
    resolve: impl Fn(LateValue) -> Option<Value>,
) -> Result<Value, Unbound> {
    let mut bound = object.clone();
    for binding in bindings.iter().filter(|binding| binding.object == *key) {
        let missing = || Unbound { object: key.clone(), pointer: binding.pointer.clone(), value: binding.value };
        put(&mut bound, &binding.pointer, Some(resolve(binding.value).ok_or_else(missing)?));
    }
    Ok(bound)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::bind;
    use crate::model::{Binding, LateValue, ObjectKey};

    #[test]
    fn a_value_goes_to_its_place_in_its_version_only() {
        let service = ObjectKey::new("Service", "shop");
        let pointer = "/spec/selector/pod-template-hash";
        let bindings = [Binding { object: service.version(2), pointer: pointer.into(), value: LateValue::StableRevision }];
        let object = json!({"spec": {"selector": {"app": "shop"}}});
        let bound = bind(&service.version(2), &object, &bindings, |_| Some(json!("abc"))).unwrap();
        assert_eq!(bound, json!({"spec": {"selector": {"app": "shop", "pod-template-hash": "abc"}}}));
        assert_eq!(bind(&service.version(1), &object, &bindings, |_| None).unwrap(), object);
        let unbound = bind(&service.version(2), &object, &bindings, |_| None).unwrap_err();
        assert_eq!(unbound.to_string(), "`Service/shop@2` has no value yet at `/spec/selector/pod-template-hash`");
    }
}
