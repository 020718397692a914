//! Taking our own traces away when a release is over.

use serde_json::{Value, json};

use super::api::{Api, MANAGER, Mode};
use super::capture;
use super::claims::PlanKey;
use super::objects::Objects;
use super::trouble::Trouble;
use crate::patch::hand_back;

/// Stands on a plan in mid-release only: deleting it then restores first.
pub(super) const FINALIZER: &str = "rollout.dev/restore";

/// How often a patch begins again because the object changed in between.
const TRIES: usize = 6;

/// Removes our entries in `managedFields`: from now on the objects are as if the engine had written them.
pub(super) async fn managed_fields(api: &Api, objects: &Objects) -> Result<(), Trouble> {
    for target in objects.iter() {
        let mut tried = 0;
        loop {
            tried += 1;
            let Some(live) = target.live(api).await? else { break };
            let operations = hand_back(&live, MANAGER);
            if operations.is_empty() {
                break;
            }
            match api.patch(&target.address, &operations, Mode::Real).await {
                Ok(_) | Err(Trouble::NotFound(_)) => break,
                // The entries have moved: the test of the patch has failed.
                Err(Trouble::Conflict(_) | Trouble::Refused(_)) if tried < TRIES => {}
                Err(trouble) => return Err(trouble),
            }
        }
    }
    Ok(())
}

/// Removes all that was kept of the plan's releases.
pub(super) async fn captures(api: &Api, key: &PlanKey) -> Result<(), Trouble> {
    for name in capture::names(api, &key.name, &key.namespace).await? {
        capture::remove(api, &key.namespace, &name).await?;
    }
    Ok(())
}

/// Makes the finalizer stand on the plan, or not.
pub(super) async fn finalizer(api: &Api, address: &str, wanted: bool) -> Result<(), Trouble> {
    let Some(live) = api.get(address).await? else { return Ok(()) };
    finalizer_of(api, address, &live, wanted).await.map(|_| ())
}

/// The same for an object that was read already. Returns the object as it was written; `None`: it was so, or is gone.
pub(super) async fn finalizer_of(api: &Api, address: &str, known: &Value, wanted: bool) -> Result<Option<Value>, Trouble> {
    let mut live = known.clone();
    let mut tried = 0;
    loop {
        tried += 1;
        let Some(operations) = finalizer_patch(&live, wanted) else { return Ok(None) };
        match api.patch(address, &operations, Mode::Real).await {
            Ok(written) => return Ok(Some(written)),
            Err(Trouble::NotFound(_)) => return Ok(None),
            Err(Trouble::Conflict(_) | Trouble::Refused(_)) if tried < TRIES => {}
            Err(trouble) => return Err(trouble),
        }
        let Some(again) = api.get(address).await? else { return Ok(None) };
        live = again;
    }
}

/// Whether the finalizer stands there.
pub(super) fn has_finalizer(object: &Value) -> bool {
    finalizers(object).contains(&FINALIZER)
}

fn finalizer_patch(live: &Value, wanted: bool) -> Option<Vec<Value>> {
    let names = finalizers(live);
    let index = names.iter().position(|name| *name == FINALIZER);
    let version = json!({"op": "replace", "path": "/metadata/resourceVersion", "value": live.pointer("/metadata/resourceVersion")});
    let operation = match (index, wanted) {
        (Some(_), true) | (None, false) => return None,
        (Some(index), false) => json!({"op": "remove", "path": format!("/metadata/finalizers/{index}")}),
        // An object that is being deleted takes no new finalizer.
        (None, true) if super::write::is_terminating(live) => return None,
        (None, true) if names.is_empty() => json!({"op": "add", "path": "/metadata/finalizers", "value": [FINALIZER]}),
        (None, true) => json!({"op": "add", "path": "/metadata/finalizers/-", "value": FINALIZER}),
    };
    Some(vec![version, operation])
}

fn finalizers(object: &Value) -> Vec<&str> {
    let names = object.pointer("/metadata/finalizers").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    names.iter().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{FINALIZER, finalizer_patch};

    #[test]
    fn only_our_own_finalizer_moves() {
        let patch = |finalizers: serde_json::Value, wanted| {
            let live = json!({"metadata": {"resourceVersion": "1", "finalizers": finalizers}});
            finalizer_patch(&live, wanted).map(|operations| operations[1].clone())
        };
        assert_eq!(patch(json!(null), true).unwrap()["value"], json!([FINALIZER]));
        assert_eq!(patch(json!(["a"]), true).unwrap()["path"], "/metadata/finalizers/-");
        assert_eq!(patch(json!(["a", FINALIZER]), false).unwrap()["path"], "/metadata/finalizers/1");
        assert!(patch(json!(["a"]), false).is_none() && patch(json!([FINALIZER]), true).is_none());
    }
}
