//! Releases whose plan is gone: somebody took the finalizer off. What was kept is enough to restore.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::agreed::Agreed;
use super::attend::plans;
use super::capture::{self, Captured};
use super::claims::PlanKey;
use super::hand_back;
use super::objects::{Objects, PLAN_LABEL, Unresolved};
use super::observe::Sight;
use super::shared::Shared;
use super::trouble::Trouble;
use super::write::{Missing, Obstacle, Writes, Wrote};
use crate::model::{Await, Bindings, Stage};

/// How often what a stage waits for is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How long a stage is waited for at most: the way back goes on then.
const PATIENCE: u32 = 600;

/// Restores what releases without a plan have left, namespace by namespace.
pub(super) async fn sweep(shared: Arc<Shared>, namespaces: Vec<String>) {
    let mut failed = 0;
    loop {
        match everything(&shared, &namespaces).await {
            Ok(()) => return,
            Err(trouble) => {
                failed += 1;
                tracing::warn!(%trouble, "releases without a plan could not be looked for");
                if failed > 8 {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(250) * 2_u32.pow(failed)).await;
            }
        }
    }
}

async fn everything(shared: &Shared, namespaces: &[String]) -> Result<(), Trouble> {
    let selector = format!("&labelSelector={}", super::api::segment(PLAN_LABEL));
    let mut kept = Vec::new();
    let everywhere =
        if namespaces.is_empty() { shared.api.list("/apis/apps/v1/controllerrevisions", &selector).await } else { Ok(Vec::new()) };
    match everywhere {
        Ok(found) => kept.extend(found),
        // Only namespaces with plans grant it.
        Err(Trouble::Forbidden(_)) => {
            for place in shared.api.namespaces(&plans().everywhere()).await? {
                kept.extend(in_namespace(shared, &place, &selector).await?);
            }
        }
        Err(trouble) => return Err(trouble),
    }
    for place in namespaces {
        kept.extend(in_namespace(shared, place, &selector).await?);
    }
    for object in kept.iter().filter(|object| object.pointer("/data/plan").is_some()) {
        let Some(name) = text(object, "/metadata/name") else { continue };
        let captured = match capture::read(object) {
            Ok(captured) => captured,
            Err(problem) => {
                tracing::warn!(name, problem, "what was kept of a release cannot be read");
                continue;
            }
        };
        if text(object, "/metadata/labels/rollout.dev~1plan") != Some(&capture::label(&captured.plan.name)) {
            tracing::warn!(name, "what was kept of a release carries the label of another plan");
            continue;
        }
        let key = PlanKey { namespace: captured.plan.namespace.clone(), name: captured.plan.name.clone() };
        if shared.api.get(&plans().one(&key.namespace, &key.name)).await?.is_none() {
            tracing::warn!(plan = %key, "the plan is gone in mid-release: what ran before is restored");
            restore(shared, &key, &captured).await?;
        }
    }
    Ok(())
}

async fn in_namespace(shared: &Shared, namespace: &str, selector: &str) -> Result<Vec<Value>, Trouble> {
    match shared.api.list(&capture::collection(namespace), selector).await {
        Err(Trouble::Forbidden(_)) => Ok(Vec::new()),
        result => result,
    }
}

/// Goes both ways back, from within `finish` and from the steps: where the release stood is not known any more, and what
/// is so already costs nothing.
async fn restore(shared: &Shared, key: &PlanKey, captured: &Captured) -> Result<(), Trouble> {
    let plan = &*captured.plan;
    let objects = match Objects::of(plan, &shared.api, &shared.served).await {
        Ok(objects) => objects,
        Err(Unresolved::Trouble(trouble)) => return Err(trouble),
        Err(problem) => {
            tracing::error!(plan = %key, %problem, "the release cannot be restored");
            return Ok(());
        }
    };
    if shared.claims.claim(key, &objects).is_err() {
        tracing::error!(plan = %key, "another release holds the objects: nothing is restored");
        return Ok(());
    }
    let bindings = Bindings::default();
    let writes = Writes {
        api: &shared.api,
        metrics: &shared.metrics,
        plan,
        objects: &objects,
        bindings: &bindings,
        originals: Some(&captured.originals),
        missing: Missing::StaysAway,
        agreed: &Agreed::default(),
    };
    let workload =
        super::check::workload(plan).and_then(|target| plan.spec.baseline.iter().find(|version| version.object() == target.object()));
    let was_finishing = match workload {
        Some(version) => !matches!(written(writes.write(version).await)?, Some(Wrote::Same | Wrote::Gone)),
        None => false,
    };
    let ways = if was_finishing { [&plan.spec.abort_finish[..], &plan.spec.abort] } else { [&[][..], &plan.spec.abort] };
    let sight = Sight { api: &shared.api, plan, objects: &objects, bindings: &bindings, restores: true };
    for stage in ways.into_iter().flatten() {
        play(&writes, &sight, stage).await?;
    }
    hand_back::managed_fields(&shared.api, &objects).await?;
    hand_back::captures(&shared.api, key).await?;
    shared.claims.release(key);
    tracing::info!(plan = %key, "what ran before is restored");
    Ok(())
}

async fn play(writes: &Writes<'_>, sight: &Sight<'_>, stage: &Stage) -> Result<(), Trouble> {
    for version in &stage.write {
        written(writes.write(version).await)?;
    }
    for object in &stage.remove {
        written(writes.remove(object).await)?;
    }
    for _ in 0..PATIENCE {
        let unmet = sight.unmet(&stage.awaits).await?;
        if unmet.is_empty() {
            break;
        }
        tracing::info!(waiting = unmet.join(", "), "on the way back");
        tokio::time::sleep(LOOK).await;
    }
    for wait in &stage.awaits {
        if let Await::Grace(seconds) = wait {
            tokio::time::sleep(Duration::from_secs(u64::from(*seconds))).await;
        }
    }
    Ok(())
}

/// What passes is tried again; what does not is told, and the rest is restored.
fn written<T>(result: Result<T, Obstacle>) -> Result<Option<T>, Trouble> {
    match result {
        Ok(wrote) => Ok(Some(wrote)),
        Err(Obstacle::Trouble { trouble, .. }) if trouble.is_passing() || trouble == Trouble::NotLeader => Err(trouble),
        Err(obstacle) => {
            tracing::error!(%obstacle, "not restored");
            Ok(None)
        }
    }
}

fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer).and_then(Value::as_str)
}
