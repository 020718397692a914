//! Releases whose plan is gone: somebody took the finalizer off. What was kept is enough to restore.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _, future};
use kube::core::ObjectMeta;
use tokio::sync::Semaphore;

use super::agreed::Agreed;
use super::attend::plans;
use super::capture::{self, Captured};
use super::claims::PlanKey;
use super::hand_back;
use super::objects::{Objects, PLAN_LABEL, Unresolved};
use super::observe::Sight;
use super::shared::Shared;
use super::supervise::rollouts;
use super::trouble::Trouble;
use super::write::{Missing, Obstacle, Writes, Wrote};
use crate::model::{Await, Bindings, Stage};

/// How often what a stage waits for is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How long a stage is waited for at most: the way back goes on then.
const PATIENCE: u32 = 600;

/// How many namespaces are asked at the same time.
const AT_ONCE: usize = 4;

/// A release without a plan: the label of what was kept of it, and the names, the newest first.
type Orphan = (String, Vec<String>);

/// Restores what releases without a plan have left, in each namespace by itself: at start in all, later where a plan has gone in
/// mid-release. What fails is tried again, and keeps no other waiting.
pub(super) async fn sweep(shared: Arc<Shared>, namespaces: Vec<String>) {
    let turns = Semaphore::new(AT_ONCE);
    tokio::join!(all(&shared, &namespaces, &turns), vanished(&shared, &turns));
}

/// Looks at namespaces in which a plan has gone, for as long as this agent leads.
async fn vanished(shared: &Shared, turns: &Semaphore) {
    let mut swept = FuturesUnordered::new();
    loop {
        tokio::select! {
            namespace = shared.vanished.next() => swept.push(async move { in_namespace(shared, &namespace, turns).await }.boxed()),
            Some(()) = swept.next(), if !swept.is_empty() => {}
        }
    }
}

async fn all(shared: &Shared, namespaces: &[String], turns: &Semaphore) {
    let mut failed = 0;
    let places = loop {
        match places(shared, namespaces).await {
            Ok(places) => break places,
            Err(trouble) => again("the namespaces", &trouble, &mut failed).await,
        }
    };
    let mut swept = Vec::new();
    for place in &places {
        swept.push(in_namespace(shared, place, turns).boxed());
    }
    future::join_all(swept).await;
}

/// The namespaces that may hold anything of ours.
async fn places(shared: &Shared, namespaces: &[String]) -> Result<BTreeSet<String>, Trouble> {
    if !namespaces.is_empty() {
        return Ok(namespaces.iter().cloned().collect());
    }
    match shared.api.glimpses("/apis/apps/v1/controllerrevisions", &selector(), namespace_of).await {
        // Only single namespaces grant it. One whose last plan went in mid-release has its Rollout still.
        Err(Trouble::Forbidden(_)) => {}
        found => return Ok(found?.into_iter().collect()),
    }
    let mut places: BTreeSet<String> = shared.api.glimpses(&plans().everywhere(), "", namespace_of).await?.into_iter().collect();
    match shared.api.glimpses(&rollouts().everywhere(), "", namespace_of).await {
        Err(Trouble::Forbidden(problem)) => tracing::warn!(problem, "releases whose plan is gone are looked for beside other plans only"),
        found => places.extend(found?),
    }
    Ok(places)
}

async fn in_namespace(shared: &Shared, namespace: &str, turns: &Semaphore) {
    let mut failed = 0;
    let mut left = loop {
        let turn = turns.acquire().await;
        let found = orphans(shared, namespace).await;
        drop(turn);
        match found {
            Ok(orphans) => break orphans,
            Err(trouble) => again(namespace, &trouble, &mut failed).await,
        }
    };
    while let Some(orphan) = left.pop_front() {
        if let Err(trouble) = restore_newest(shared, namespace, &orphan).await {
            left.push_back(orphan);
            again(namespace, &trouble, &mut failed).await;
        }
    }
}

/// What was kept in the namespace for plans that do not exist.
async fn orphans(shared: &Shared, namespace: &str) -> Result<VecDeque<Orphan>, Trouble> {
    let kept = match shared.api.glimpses(&capture::collection(namespace), &selector(), label_and_name).await {
        // Nothing was granted here, so that nothing was released.
        Err(Trouble::Forbidden(_)) => return Ok(VecDeque::new()),
        found => found?,
    };
    if kept.is_empty() {
        return Ok(VecDeque::new());
    }
    let known = shared.api.glimpses(&plans().all_in(namespace), "", |metadata| metadata.name).await?;
    let known: BTreeSet<String> = known.iter().map(|name| capture::label(name)).collect();
    let mut orphans: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (label, name) in kept.into_iter().filter(|(label, _)| !known.contains(label)) {
        orphans.entry(label).or_default().push(name);
    }
    for names in orphans.values_mut() {
        names.sort_by_key(|name| Reverse(name.rsplit('-').next().and_then(|turn| turn.parse::<u64>().ok())));
    }
    Ok(orphans.into_iter().collect())
}

/// Restores from the newest of what was kept that can be used. All of it has the same values from before the release.
async fn restore_newest(shared: &Shared, namespace: &str, (label, names): &Orphan) -> Result<(), Trouble> {
    for name in names {
        let address = format!("{}/{}", capture::collection(namespace), super::api::segment(name));
        let Some(object) = shared.api.get(&address).await?.filter(|object| object.pointer("/data/plan").is_some()) else { continue };
        let captured = match capture::read(&object) {
            Ok(captured) if capture::label(&captured.plan.name) == *label => captured,
            Ok(_) => {
                tracing::warn!(namespace, name, "what was kept of a release carries the label of another plan");
                continue;
            }
            Err(problem) => {
                tracing::warn!(namespace, name, problem, "what was kept of a release cannot be read");
                continue;
            }
        };
        let key = PlanKey { namespace: namespace.to_owned(), name: captured.plan.name.clone() };
        // Two at the same time would each take what the other has written for what was there.
        if shared.api.get(&plans().one(&key.namespace, &key.name)).await?.is_none()
            && let Some(_restoring) = shared.vanished.begin(&key)
        {
            tracing::warn!(plan = %key, "the plan is gone in mid-release: what ran before is restored");
            restore(shared, &key, &captured).await?;
        }
        return Ok(());
    }
    Ok(())
}

/// Says what failed, and waits a moment that grows up to a minute.
async fn again(place: &str, trouble: &Trouble, failed: &mut u32) {
    *failed += 1;
    tracing::warn!(place, %trouble, "a release without a plan could not be looked for or restored; tried again");
    tokio::time::sleep(Duration::from_millis(250) * 2_u32.pow((*failed).min(8))).await;
}

fn selector() -> String {
    format!("&labelSelector={}", super::api::segment(PLAN_LABEL))
}

fn label_and_name(metadata: ObjectMeta) -> Option<(String, String)> {
    Some((metadata.labels?.remove(PLAN_LABEL)?, metadata.name?))
}

fn namespace_of(metadata: ObjectMeta) -> Option<String> {
    metadata.namespace
}

/// Goes both ways back, from within `finish` and from the steps: where the release stood is not known any more, and what
/// is so already costs nothing.
async fn restore(shared: &Shared, key: &PlanKey, captured: &Captured) -> Result<(), Trouble> {
    let plan = &*captured.plan;
    let objects = match Objects::that_are_served(plan, &shared.api, &shared.served).await {
        Ok(objects) => objects,
        Err(Unresolved::Trouble(trouble)) => return Err(trouble),
        Err(problem) => {
            tracing::error!(plan = %key, %problem, "the release cannot be restored");
            return Ok(());
        }
    };
    shared.claims.claim(key, &objects).map_err(Trouble::Conflict)?;
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
    let mut refused = None;
    let was_finishing = match workload {
        Some(version) => !matches!(written(writes.write(version).await, &mut refused)?, Some(Wrote::Same | Wrote::Gone)),
        None => false,
    };
    let ways = if was_finishing { [&plan.spec.abort_finish[..], &plan.spec.abort] } else { [&[][..], &plan.spec.abort] };
    let sight = Sight { api: &shared.api, plan, objects: &objects, bindings: &bindings, restores: true };
    for stage in ways.into_iter().flatten() {
        play(&writes, &sight, stage, &mut refused).await?;
    }
    if let Some(trouble) = refused {
        // What was kept stays until all is restored.
        return Err(trouble);
    }
    hand_back::managed_fields(&shared.api, &objects).await?;
    hand_back::captures(&shared.api, key).await?;
    shared.claims.release(key);
    tracing::info!(plan = %key, "what ran before is restored");
    Ok(())
}

async fn play(writes: &Writes<'_>, sight: &Sight<'_>, stage: &Stage, refused: &mut Option<Trouble>) -> Result<(), Trouble> {
    for version in &stage.write {
        written(writes.write(version).await, refused)?;
    }
    for object in &stage.remove {
        written(writes.remove(object).await, refused)?;
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

/// What passes is tried again; what is refused is told, and the rest is restored first.
fn written<T>(result: Result<T, Obstacle>, refused: &mut Option<Trouble>) -> Result<Option<T>, Trouble> {
    match result {
        Ok(wrote) => Ok(Some(wrote)),
        Err(Obstacle::Trouble { trouble, .. }) if trouble.is_passing() || trouble == Trouble::NotLeader => Err(trouble),
        Err(obstacle) => {
            tracing::error!(%obstacle, "not restored");
            if let Obstacle::Trouble { trouble, .. } = obstacle {
                refused.get_or_insert(trouble);
            }
            Ok(None)
        }
    }
}
