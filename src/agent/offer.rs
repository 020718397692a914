//! How a plan's object relates to the cluster and to the release that runs.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::api::Api;
use super::capture::Captured;
use super::check::{compare, workload};
use super::objects::{Objects, Target};
use super::settled;
use super::trouble::Trouble;
use crate::machine::{Offer, Workload};
use crate::model::{Bypass, Last, ObjectKey, Outcome, Plan, PlanStatus};
use crate::patch::{values_at, writer};

/// A plan's object, with what is known of the plan.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offered<'a> {
    /// The object's own plan.
    pub(super) plan: &'a Plan,
    /// Its digest, as it is stored.
    pub(super) digest: &'a str,
    /// The object's generation.
    pub(super) generation: i64,
    /// Where the plan's objects are. `None`: they have no addresses.
    pub(super) objects: Option<&'a Objects>,
    /// What is kept of the release that runs.
    pub(super) running: Option<&'a Captured>,
    /// What is recorded.
    pub(super) status: &'a PlanStatus,
}

/// The offer of a plan while another one of the same name may run.
pub(super) async fn offer(api: &Api, offered: Offered<'_>) -> Result<Offer, Trouble> {
    let Offered { plan, digest, generation, objects, running, status } = offered;
    let workload = match (running, objects) {
        (None, Some(objects)) if plan.spec.release.is_some() => of_workload(api, plan, objects, status).await?,
        _ => Workload::Elsewhere,
    };
    Ok(Offer {
        generation,
        digest: digest.to_owned(),
        release: plan.spec.release.clone(),
        workload,
        returns: running.is_some_and(|running| returns(plan, running)),
        drops: running.is_some_and(|running| drops(plan, &running.plan)),
    })
}

async fn of_workload(api: &Api, plan: &Plan, objects: &Objects, status: &PlanStatus) -> Result<Workload, Trouble> {
    let Some(version) = workload(plan) else { return Ok(Workload::Elsewhere) };
    let (Some(target), Some(wanted)) = (objects.get(version.object()), plan.spec.objects.get(version)) else {
        return Ok(Workload::Elsewhere);
    };
    let live = match target.live(api).await {
        Ok(Some(live)) => live,
        Ok(None) => return Ok(Workload::Missing),
        // The checks say which rights are missing.
        Err(Trouble::Forbidden(_)) => return Ok(Workload::Elsewhere),
        Err(trouble) => return Err(trouble),
    };
    if plan.spec.baseline.contains(version) || !compare(api, target, &live, wanted).await?.is_empty() {
        return Ok(Workload::Elsewhere);
    }
    let wrote = target.paths.iter().filter_map(|path| writer(&live, path)).max_by(|one, other| one.time.cmp(&other.time));
    let at = wrote.as_ref().and_then(|wrote| wrote.time.as_ref()).and_then(|time| time.parse::<Timestamp>().ok());
    Ok(Workload::AtTarget(Bypass {
        manager: wrote.map_or_else(|| "somebody".to_owned(), |wrote| wrote.manager),
        at: at.filter(|_| !was_left(status, target, &live)),
    }))
}

/// Whether the workload stands as an abort has left it: nobody wrote it since. Times do not tell, they are by two clocks.
fn was_left(status: &PlanStatus, target: &Target, live: &Value) -> bool {
    let is_back = |last: &Last| matches!(last.outcome, Outcome::Aborted | Outcome::Superseded);
    status.last.as_ref().is_some_and(is_back) && settled::is_so(status, target, live)
}

/// Whether the offered target is what ran before the running release.
fn returns(plan: &Plan, running: &Captured) -> bool {
    let Some(target) = workload(plan) else { return false };
    let key = target.object();
    let paths = running.plan.spec.paths.iter().find(|entry| entry.object == *key).map_or(&[][..], |entry| &entry.paths);
    let Some(offered) = plan.spec.objects.get(target) else { return false };
    let offered = values_at(offered, paths);
    let before = running.plan.spec.baseline.iter().find(|version| version.object() == key);
    let before = before.and_then(|version| running.plan.spec.objects.get(version)).map(|object| values_at(object, paths));
    !paths.is_empty() && (before.as_ref() == Some(&offered) || running.originals.get(key) == Some(&offered))
}

/// Whether the offered plan leaves out what the running one changes.
fn drops(plan: &Plan, running: &Plan) -> bool {
    let covered = |plan: &Plan| -> BTreeSet<(ObjectKey, String)> {
        let pairs = plan.spec.paths.iter().flat_map(|entry| entry.paths.iter().map(|path| (entry.object.clone(), path.clone())));
        pairs.collect()
    };
    !covered(running).is_subset(&covered(plan))
}

/// The generation of an object.
pub(super) fn generation(object: &Value) -> i64 {
    object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default()
}
