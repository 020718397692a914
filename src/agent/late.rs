//! Values that only the cluster knows, read again and again: the revision of the new pods, and how many pods there are.

use std::sync::Arc;

use serde_json::Value;

use super::attend::Attendance;
use super::objects::Objects;
use super::revisions;
use super::trouble::Trouble;
use super::write::is_terminating;
use crate::machine::Event;
use crate::model::{Await, Bindings, LateValue, ObjectKey, Plan, Revision, VersionKey};

impl Attendance {
    /// Finds the late values that the versions need.
    pub(super) async fn bind(&self, plan: &Plan, objects: &Objects, versions: &[VersionKey]) -> Result<Bound, Trouble> {
        let needs =
            plan.spec.bindings.iter().any(|binding| binding.value == LateValue::CanaryRevision && versions.contains(&binding.object));
        if !needs || self.status.bindings.canary_revision.is_some() {
            return Ok(Bound::Known);
        }
        let Some(workload) = new_pods(plan) else {
            return Ok(Bound::Unknown("no stage says which pods are the new ones".to_owned()));
        };
        let live = match objects.get(workload) {
            Some(target) => target.live(&self.shared.api).await?,
            None => None,
        };
        let found = match &live {
            Some(live) => revisions::current(&self.shared.api, &self.key.namespace, live).await?,
            None => None,
        };
        Ok(match found {
            Some(found) => Bound::News(Bindings { canary_revision: Some(found.hash), ..Bindings::default() }),
            None => Bound::Unknown(format!("{workload}: its controller has not said yet which revision its pods have")),
        })
    }

    /// Where pods are a share of all, tells how many that are now.
    pub(super) async fn replicas(&mut self, plan: &Arc<Plan>) -> Result<(), Trouble> {
        let is_bound = plan.spec.bindings.iter().any(|binding| matches!(binding.value, LateValue::Replicas(_)));
        if !is_bound || self.status.captured.is_none() {
            return Ok(());
        }
        let Ok(objects) = self.objects(plan).await else { return Ok(()) };
        let Some(target) = super::check::workload(plan).and_then(|version| objects.get(version.object())) else { return Ok(()) };
        let Some(live) = target.live(&self.shared.api).await? else { return Ok(()) };
        let replicas = live.pointer("/spec/replicas").and_then(Value::as_u64).and_then(|replicas| u32::try_from(replicas).ok());
        if replicas.is_some() && replicas != self.status.bindings.replicas {
            self.apply(&Event::Bound(Bindings { replicas, ..Bindings::default() }));
        }
        Ok(())
    }

    /// Reads the revision of the new pods again: a workload that was made anew may have another.
    pub(super) async fn revision(&mut self, plan: &Arc<Plan>) -> Result<(), Trouble> {
        let is_bound = plan.spec.bindings.iter().any(|binding| binding.value == LateValue::CanaryRevision);
        let Some(known) = self.status.bindings.canary_revision.clone().filter(|_| is_bound && self.status.captured.is_some()) else {
            return Ok(());
        };
        let Ok(objects) = self.objects(plan).await else { return Ok(()) };
        let Some(target) = new_pods(plan).and_then(|workload| objects.get(workload)) else { return Ok(()) };
        let Some(live) = target.live(&self.shared.api).await?.filter(|live| !is_terminating(live)) else { return Ok(()) };
        let found = revisions::current(&self.shared.api, &self.key.namespace, &live).await?;
        if let Some(found) = found.filter(|found| found.hash != known) {
            self.apply(&Event::Bound(Bindings { canary_revision: Some(found.hash), ..Bindings::default() }));
        }
        Ok(())
    }
}

/// Whether all late values are there.
pub(super) enum Bound {
    /// They are.
    Known,
    /// One was found, which has to be recorded first.
    News(Bindings),
    /// One is not, for this reason.
    Unknown(String),
}

/// The workload of the new pods.
fn new_pods(plan: &Plan) -> Option<&ObjectKey> {
    let awaits = plan.spec.steps.iter().flat_map(|step| &step.stages).flat_map(|stage| &stage.awaits);
    let mut awaits = awaits;
    awaits.find_map(|wait| if let Await::PodsReady { workload, revision: Revision::Canary, .. } = wait { Some(workload) } else { None })
}
