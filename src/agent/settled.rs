//! What a release left behind, as digests: a later release may begin there too, whatever git says was before it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::api::Api;
use super::objects::{Objects, Target};
use super::trouble::Trouble;
use crate::digest;
use crate::model::{ObjectKey, PlanStatus};

/// The one thing that people change in a template and that is no release: `kubectl rollout restart`.
const RESTART: &str = "kubectl.kubernetes.io/restartedAt";

/// Returns the digests of what stands at the objects' paths.
pub(super) async fn read(api: &Api, objects: &Objects) -> Result<BTreeMap<ObjectKey, BTreeMap<String, String>>, Trouble> {
    let mut settled = BTreeMap::new();
    for target in objects.iter().filter(|target| !target.is_companion) {
        if let Some(live) = target.live(api).await? {
            settled.insert(target.key.clone(), digests(target, &live));
        }
    }
    Ok(settled)
}

/// Whether the object stands as the last release left it, at every path.
pub(super) fn is_so(status: &PlanStatus, target: &Target, live: &Value) -> bool {
    let Some(settled) = status.settled.get(&target.key) else { return false };
    digests(target, live).iter().all(|(path, digest)| settled.get(path) == Some(digest))
}

/// Takes away the annotation of a restart, and the maps that only held it.
pub(super) fn forget_restart(object: &mut Value) {
    let Some(metadata) = object.pointer_mut("/spec/template/metadata").and_then(Value::as_object_mut) else { return };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else { return };
    annotations.remove(RESTART);
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}

fn digests(target: &Target, live: &Value) -> BTreeMap<String, String> {
    let mut live = live.clone();
    forget_restart(&mut live);
    let at = |path: &String| digest::of_json(live.pointer(path).unwrap_or(&Value::Null));
    target.paths.iter().map(|path| (path.clone(), at(path))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::forget_restart;

    #[test]
    fn a_restart_is_forgotten_and_nothing_else() {
        let mut object = json!({"spec": {"template": {"metadata": {"labels": {"a": "b"}, "annotations": {
            "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}}}}});
        forget_restart(&mut object);
        assert_eq!(object, json!({"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}));
        let mut object = json!({"spec": {"template": {"metadata": {"annotations": {"x": "y"}}}}});
        forget_restart(&mut object);
        assert_eq!(object, json!({"spec": {"template": {"metadata": {"annotations": {"x": "y"}}}}}));
    }
}
