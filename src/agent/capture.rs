//! What is kept of a running release: its plan, and what stood at its paths before, in one ControllerRevision.
//!
//! With it the way back needs neither the plan's object nor git.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::api::{Api, Mode, segment};
use super::claims::PlanKey;
use super::objects::{Objects, PLAN_LABEL};
use super::trouble::Trouble;
use super::write::Originals;
use crate::model::Plan;
use crate::plan::permitted::is_content;
use crate::{patch, plan as plans};

/// As long as the longest text of a plan that is read. Whoever may make a ControllerRevision decides what unpacks to this.
const LONGEST: u64 = 4 * 1024 * 1024;

/// A plan and the values from before its release.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Captured {
    /// The plan that runs.
    pub(super) plan: Arc<Plan>,
    /// What stood at its paths.
    pub(super) originals: Originals,
}

/// The address of what is kept in a namespace.
pub(super) fn collection(namespace: &str) -> String {
    format!("/apis/apps/v1/namespaces/{}/controllerrevisions", segment(namespace))
}

/// Reads the live values at the plan's paths. Those of `before` stay as they are: the release has changed them since.
pub(super) async fn read_originals(api: &Api, objects: &Objects, before: Option<&Originals>) -> Result<Originals, Trouble> {
    let mut originals = Originals::new();
    for target in objects.iter().filter(|target| !target.is_companion) {
        let Some(live) = target.live(api).await? else { continue };
        let mut values = patch::values_at(&live, &target.paths);
        let kept = before.and_then(|before| before.get(&target.key));
        values.extend(kept.into_iter().flatten().map(|(path, value)| (path.clone(), value.clone())));
        originals.insert(target.key.clone(), values);
    }
    for (key, values) in before.into_iter().flatten() {
        originals.entry(key.clone()).or_insert_with(|| values.clone());
    }
    Ok(originals)
}

/// Keeps the plan and the values; returns the name under which they are kept. What an attempt that was cut short has left
/// under this name is replaced: nothing was written since.
pub(super) async fn keep(api: &Api, captured: &Captured, turn: u64) -> Result<String, Trouble> {
    let namespace = &captured.plan.namespace;
    let name = name_of(&captured.plan, turn);
    let object = written(&name, captured)?;
    let address = format!("{}/{}", collection(namespace), segment(&name));
    for _ in 0..5 {
        match api.create(&collection(namespace), &object, Mode::Real).await {
            Ok(_) => return Ok(name),
            Err(Trouble::Exists(_)) => {}
            Err(trouble) => return Err(trouble),
        }
        let Some(other) = api.get(&address).await? else { continue };
        if plan_label(&other) != Some(label(&captured.plan.name).as_str()) {
            let help = "remove or rename it";
            return Err(Trouble::Refused(format!("the ControllerRevision `{name}` exists, and no release has made it: {help}")));
        }
        delete(api, &address, &other).await?;
    }
    Err(Trouble::Conflict(format!("the ControllerRevision `{name}` keeps coming back")))
}

/// Returns what is kept under a name for a plan; `None` if nothing is.
pub(super) async fn load(api: &Api, plan: &PlanKey, name: &str) -> Result<Option<Captured>, Trouble> {
    let address = format!("{}/{}", collection(&plan.namespace), segment(name));
    let Some(object) = api.get(&address).await? else { return Ok(None) };
    let captured = read(&object).and_then(|captured| {
        let of = &captured.plan.name;
        if *of == plan.name { Ok(captured) } else { Err(format!("it holds the plan `{}`, not `{}`", of.escape_debug(), plan.name)) }
    });
    captured.map(Some).map_err(|problem| {
        let help = "restore it, or delete it and the release goes on with the plan's object";
        Trouble::Refused(format!("the ControllerRevision `{}` cannot be used ({help}): {problem}", name.escape_debug()))
    })
}

/// Removes what is kept under a name.
pub(super) async fn remove(api: &Api, namespace: &str, name: &str) -> Result<(), Trouble> {
    let address = format!("{}/{}", collection(namespace), segment(name));
    let Some(object) = api.get(&address).await? else { return Ok(()) };
    delete(api, &address, &object).await
}

async fn delete(api: &Api, address: &str, object: &Value) -> Result<(), Trouble> {
    let uid = object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
    api.delete(address, uid, "Background").await
}

/// The label that says of which plan an object is.
fn plan_label(object: &Value) -> Option<&str> {
    object.pointer("/metadata/labels")?.get(PLAN_LABEL)?.as_str()
}

/// Returns the names of all that is kept for a plan.
pub(super) async fn names(api: &Api, plan: &str, namespace: &str) -> Result<Vec<String>, Trouble> {
    let selector = format!("&labelSelector={}", segment(&format!("{PLAN_LABEL}={}", label(plan))));
    let all = api.list(&collection(namespace), &selector).await?;
    let name = |object: &Value| object.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
    Ok(all.iter().filter(|object| object.pointer("/data/plan").is_some()).filter_map(name).collect())
}

/// Reads what a ControllerRevision of ours holds, of whichever version of the agent. Anybody with rights in its namespace may
/// have written it, so that it says nothing about other namespaces, nor about more of an object than a plan may.
pub(super) fn read(object: &Value) -> Result<Captured, String> {
    let part = |field: &str| -> Result<Value, String> {
        let packed = object.pointer("/data").and_then(|data| data.get(field)).ok_or_else(|| format!("`data.{field}` is missing"))?;
        unpack(packed).map_err(|problem| format!("`data.{field}`: {problem}"))
    };
    let plan = plans::kept(part("plan")?).map_err(|error| error.to_string())?;
    let of = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
    if plan.namespace != of {
        return Err(format!("it holds a plan of the namespace `{}`", plan.namespace.escape_debug()));
    }
    let originals: Originals = serde_json::from_value(part("originals")?).map_err(|error| format!("`data.originals`: {error}"))?;
    if let Some(path) = originals.values().flat_map(BTreeMap::keys).find(|path| !is_content(path)) {
        return Err(format!("`data.originals`: a plan may not touch {}", path.escape_debug()));
    }
    Ok(Captured { plan: Arc::new(plan), originals })
}

/// The value of the label that leads from an object to its plan: the name, or its digest where it is too long.
pub(super) fn label(plan: &str) -> String {
    if plan.len() <= 63 {
        return plan.to_owned();
    }
    crate::digest::of_bytes(plan.as_bytes()).trim_start_matches("sha256:").chars().take(63).collect()
}

/// Each turn of a plan keeps under another name, so that what is kept already stays until the new is recorded. The end of a
/// name that is too long is its digest: other plans may begin with the same.
fn name_of(plan: &Plan, turn: u64) -> String {
    let name = &plan.name;
    if name.len() <= 200 {
        return format!("rollout-{name}-{turn}");
    }
    let digest = crate::digest::of_bytes(name.as_bytes());
    let digest: String = digest.trim_start_matches("sha256:").chars().take(16).collect();
    format!("rollout-{}-{digest}-{turn}", &name[..name.floor_char_boundary(180)])
}

fn written(name: &str, captured: &Captured) -> Result<Value, Trouble> {
    let packed = |value: &Value| pack(value).map_err(|error| Trouble::Refused(error.to_string()));
    let originals = serde_json::to_value(&captured.originals).map_err(|error| Trouble::Refused(error.to_string()))?;
    Ok(json!({
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": name,
            "namespace": captured.plan.namespace,
            "labels": {PLAN_LABEL: label(&captured.plan.name)},
        },
        "revision": 1,
        "data": {"plan": packed(&plans::document(&captured.plan))?, "originals": packed(&originals)?},
    }))
}

fn pack(value: &Value) -> std::io::Result<Value> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(value.to_string().as_bytes())?;
    Ok(json!(ByteString(encoder.finish()?)))
}

fn unpack(packed: &Value) -> Result<Value, String> {
    let ByteString(bytes) = serde_json::from_value(packed.clone()).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let read = GzDecoder::new(bytes.as_slice()).take(LONGEST + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if read as u64 > LONGEST {
        return Err("it has more than 4 MiB".to_owned());
    }
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Captured, LONGEST, name_of, pack, read, written};
    use crate::model::ObjectKey;
    use crate::plan::fixture;

    #[test]
    fn what_is_kept_comes_back() {
        let values = [("/spec/selector".to_owned(), Some(json!({"app": "shop"}))), ("/spec/other".to_owned(), None)];
        let originals = [(ObjectKey::new("Service", "shop"), values.into_iter().collect())].into_iter().collect();
        let captured = Captured { plan: fixture().into(), originals };
        let object = written(&name_of(&captured.plan, 7), &captured).unwrap();
        assert_eq!(read(&object).unwrap(), captured);
        assert!(object.to_string().len() < 8_000);
    }

    #[test]
    fn plans_whose_long_names_begin_alike_keep_under_other_names() {
        let named = |end: &str| name_of(&crate::model::Plan { name: format!("{}{end}", "a".repeat(220)), ..fixture() }, 7);
        assert_ne!(named("x"), named("y"));
        assert!(named("x").len() <= 253 && named("x").ends_with("-7"), "{}", named("x"));
    }

    #[test]
    fn what_somebody_has_changed_is_refused() {
        let captured = Captured { plan: fixture().into(), originals: std::collections::BTreeMap::new() };
        let mut object = written("a", &captured).unwrap();
        object["data"]["plan"] = json!("bm90IGd6aXA=");
        assert!(read(&object).unwrap_err().starts_with("`data.plan`: "));
        assert_eq!(read(&json!({})).unwrap_err(), "`data.plan` is missing");
    }

    #[test]
    fn what_is_kept_speaks_of_its_own_namespace_and_of_what_a_plan_may_touch() {
        let captured = Captured { plan: fixture().into(), originals: std::collections::BTreeMap::new() };
        let mut object = written("a", &captured).unwrap();
        object["metadata"]["namespace"] = json!("another");
        assert_eq!(read(&object).unwrap_err(), "it holds a plan of the namespace `prod`");

        let values = [("/metadata/finalizers".to_owned(), Some(json!([])))];
        let originals = [(ObjectKey::new("Service", "shop"), values.into_iter().collect())].into_iter().collect();
        let object = written("a", &Captured { originals, ..captured }).unwrap();
        assert_eq!(read(&object).unwrap_err(), "`data.originals`: a plan may not touch /metadata/finalizers");
    }

    #[test]
    fn what_unpacks_to_more_than_any_plan_is_not_unpacked() {
        let captured = Captured { plan: fixture().into(), originals: std::collections::BTreeMap::new() };
        let mut object = written("a", &captured).unwrap();
        object["data"]["plan"] = pack(&json!(vec![json!([]); usize::try_from(LONGEST).unwrap() / 3 + 1])).unwrap();
        assert!(object.to_string().len() < 20_000);
        assert_eq!(read(&object).unwrap_err(), "`data.plan`: it has more than 4 MiB");
    }
}
