//! The gateway objects of a release: which they are, and the versions that each has over the steps.

use super::draft::Draft;
use super::order::Slot;
use super::plan::Inputs;
use super::traffic::{self, Names, Routed};
use super::{Scripts, clone, result, service};
use crate::digest;
use crate::model::{Finding, ObjectKey, Role, Rollout, Routing, ScriptUse, VersionKey};

/// The versions of one gateway object over a release; absent where the object does not exist.
pub(super) struct GatewayStates {
    role: Role,
    object: ObjectKey,
    accepted: Option<(String, String)>,
    baseline: Option<VersionKey>,
    target: Option<VersionKey>,
    steps: Vec<Option<VersionKey>>,
}

/// A point of a release.
#[derive(Clone, Copy)]
pub(super) enum At {
    /// Before it.
    Baseline,
    /// In the step of this index.
    Step(usize),
    /// After it.
    Target,
}

/// The gateway objects with their scripts; findings for those without.
pub(super) fn routed<'a>(inputs: &Inputs<'a>, findings: &mut Vec<Finding>) -> Vec<Routed<'a>> {
    let mut routed: Vec<Routed<'a>> = Vec::new();
    for (reference, source) in &inputs.head.gateways {
        let Some(source) = source.as_deref() else { continue };
        let refuse = |code, message: String, help: &str| {
            Finding::error(code, message).at(&reference.place.path, reference.place.position).about(&source.object).help(help)
        };
        if routed.iter().any(|known| known.source.object == source.object) {
            findings.push(refuse("gateway-named-twice", format!("{} is named twice", source.object), "take one of the references out"));
            continue;
        }
        match inputs.catalog.gateway(reference) {
            Some(gateway) => routed.push(Routed { reference, source, gateway }),
            None => findings.push(refuse(
                "gateway-without-script",
                format!("no script serves `{}`", reference.script_name()),
                &format!("write `lua_configuration/{}/trafficRouting.lua`, or see `rollout gateways`", reference.script_name()),
            )),
        }
    }
    routed
}

/// What to say where nothing that the Rollout names routes requests.
pub(super) fn routeless(rollout: &Rollout, routed: &[Routed<'_>]) -> Option<Finding> {
    nothing_named(rollout).or_else(|| only_definitions(rollout, routed))
}

/// An empty list of gateway objects. A step with traffic would pin the Service, and no request would reach the new version.
fn nothing_named(rollout: &Rollout) -> Option<Finding> {
    let routing = rollout.routing.as_ref().filter(|routing| routing.gateways.is_empty())?;
    let finding = match rollout.steps.iter().position(|step| step.traffic.is_split()) {
        Some(index) => Finding::error(
            "routing-empty",
            format!("step {} has traffic, and nothing sends requests to the new version: `customNetworkRefs` is empty", index + 1),
        ),
        None => Finding::warning("routing-empty", "no traffic is routed: `customNetworkRefs` is empty"),
    };
    let help = "name the objects that route to the Service in `customNetworkRefs`, or leave `trafficRoutings` and the traffic out";
    Some(finding.at(&routing.place.path, routing.place.position).help(help))
}

/// Definitions say which pods a version has, and send no request there.
fn only_definitions(rollout: &Rollout, routed: &[Routed<'_>]) -> Option<Finding> {
    let first = routed.first().filter(|_| routed.iter().all(|routed| routed.gateway.role == Role::Definition))?;
    let number = 1 + rollout.steps.iter().position(|step| step.traffic.is_split())?;
    let object = &first.source.object;
    let message = format!("step {number} has traffic, and {object} sends no request anywhere: it only says which pods a version has");
    let place = &first.reference.place;
    let finding = Finding::error("traffic-without-routing", message).at(&place.path, place.position).about(object);
    Some(finding.help("name the object that routes to the Service as well, such as a VirtualService, or leave the traffic out"))
}

/// The states of all gateway objects, in the order of the references.
pub(super) fn states(
    draft: &mut Draft<'_>,
    routed: &[Routed<'_>],
    routing: Option<&Routing>,
    scripts: &Scripts,
    findings: &mut Vec<Finding>,
) -> Vec<GatewayStates> {
    let Some(routing) = routing else { return Vec::new() };
    routed.iter().map(|routed| state(draft, routed, routing, scripts, findings)).collect()
}

/// What stands in the slots of a role at a point of the release.
pub(super) fn slots(states: &[GatewayStates], role: Role, at: At) -> Vec<Slot> {
    let of_role = states.iter().filter(|states| states.role == role);
    of_role
        .map(|states| {
            let version = match at {
                At::Baseline => states.baseline.clone(),
                At::Step(index) => states.steps.get(index).cloned().flatten(),
                At::Target => states.target.clone(),
            };
            Slot { object: states.object.clone(), version, accepted: states.accepted.clone() }
        })
        .collect()
}

/// Which script serves an object.
pub(super) fn script_use(draft: &Draft<'_>, routed: &Routed<'_>) -> ScriptUse {
    let (manifest, script) = (&routed.source.manifest, &routed.gateway.script);
    ScriptUse {
        object: draft.key(manifest, manifest.name()),
        script: script.name.clone(),
        sha256: digest::of_bytes(script.text.as_bytes()).trim_start_matches("sha256:").to_owned(),
    }
}

fn state(draft: &mut Draft<'_>, routed: &Routed<'_>, routing: &Routing, scripts: &Scripts, findings: &mut Vec<Finding>) -> GatewayStates {
    let rollout = draft.rollout;
    let canary_service = if routing.is_subset_mode { routing.service.clone() } else { service::canary_name(&routing.service) };
    let names = Names {
        plan: &rollout.reference.name,
        namespace: &rollout.namespace,
        stable: &routing.service,
        canary: &canary_service,
        pod_metadata: &rollout.pod_metadata,
    };
    let head = draft.head(routed.source);
    let rewritten = traffic::states(routed, &head, &names, &rollout.steps, scripts, findings);
    let accepted = routed.gateway.accepted.as_ref().map(|accepted| (accepted.kind.clone(), accepted.status.clone()));
    let role = routed.gateway.role;
    if let Some(clone) = &routed.gateway.clone {
        let manifest = &routed.source.manifest;
        draft.note(&head);
        let object = draft.key(manifest, &clone::name(clone, manifest.name()));
        if rewritten.iter().any(Option::is_some) {
            draft.paths.add(&object, "");
        }
        let steps = rewritten.into_iter().map(|value| Some(draft.versions.add(&object, value?, Vec::new()))).collect();
        return GatewayStates { role, object, accepted, baseline: None, target: None, steps };
    }
    let paths = paths(draft, routed, &head, &rewritten);
    let (object, before, head) = draft.values_before(routed.source, head, &paths);
    for path in &paths {
        draft.paths.add(&object, path);
    }
    let baseline = draft.versions.add(&object, before, Vec::new());
    // A step without traffic shows the user's own routes, as they are to be.
    let steps = rewritten.into_iter().map(|value| value.unwrap_or_else(|| head.clone()));
    let steps = steps.map(|value| Some(draft.versions.add(&object, value, Vec::new()))).collect();
    let target = draft.versions.add(&object, head, Vec::new());
    GatewayStates { role, object, accepted, baseline: Some(baseline), target: Some(target), steps }
}

/// What the release changes of an object: what its gateway declares, else what its script was seen to change.
fn paths(draft: &Draft<'_>, routed: &Routed<'_>, head: &serde_json::Value, rewritten: &[Option<serde_json::Value>]) -> Vec<String> {
    let rewritten = rewritten.iter().flatten();
    if routed.gateway.paths.is_empty() {
        let mut paths: Vec<String> = rewritten.flat_map(|value| result::changed(head, value)).collect();
        paths.sort_unstable();
        paths.dedup();
        return paths;
    }
    // A declared path that no version has says nothing, and would be one more setting for the engine.
    let versions: Vec<_> = rewritten.chain([head]).chain(draft.before(routed.source)).collect();
    let has = |path: &&String| versions.iter().any(|value| value.pointer(path).is_some());
    routed.gateway.paths.iter().filter(has).cloned().collect()
}
