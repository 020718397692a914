//! The Rollout's own status, kept up to date for OpenKruise's clients.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::api::Mode;
use super::attend::Attendance;
use super::trouble::Trouble;
use crate::kruise_status::{self, Seen};
use crate::model::Plan;

impl Attendance {
    /// Brings the Rollout's own status up to date. Returns false when a user has written it in between: what it says has to be
    /// heard first.
    pub(super) async fn publish(&mut self, plan: &Arc<Plan>) -> Result<bool, Trouble> {
        let Some(rollout) = self.rollout.clone() else { return Ok(true) };
        let (mut workload, mut canary) = (None, None);
        if let Ok(objects) = self.objects(plan).await {
            let stable = super::check::workload(plan).and_then(|version| objects.get(version.object()));
            if let Some(target) = stable {
                workload = visible(target.live(&self.shared.api).await)?;
                let is_second = |other: &&super::objects::Target| other.is_companion && other.resource == target.resource;
                if let Some(second) = objects.iter().find(is_second) {
                    canary = visible(second.live(&self.shared.api).await)?;
                }
            }
        }
        let seen = Seen { rollout: &rollout, workload: workload.as_ref(), canary: canary.as_ref() };
        let wanted = kruise_status::project(plan, &self.status, seen, Timestamp::now());
        let Some(operations) = kruise_status::patch(&rollout, &wanted) else { return Ok(true) };
        let version = rollout.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let kind = rollout.get("kind").and_then(Value::as_str).unwrap_or_default();
        let Some(resource) = self.shared.served.resource(&self.shared.api, version, kind).await? else { return Ok(true) };
        let address = format!("{}/status", resource.one(&self.key.namespace, &plan.spec.rollout.name));
        match self.shared.api.patch(&address, &operations, Mode::Real).await {
            Ok(written) => {
                if let Some(version) = written.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
                    self.shared.echoes.expect(&self.key, version);
                }
                self.rollout = Some(written);
                Ok(true)
            }
            Err(Trouble::Conflict(_)) => Ok(false),
            // The Rollout is going, or has no status of its own: nothing of the release depends on it.
            Err(Trouble::NotFound(_)) => Ok(true),
            // One of the tests has failed: somebody has written what we would write over.
            Err(Trouble::Refused(_)) if self.has_moved(plan, &rollout).await? => Ok(false),
            Err(Trouble::Forbidden(problem) | Trouble::Refused(problem)) => {
                tracing::warn!(plan = %self.key, problem, "the Rollout's status could not be written");
                Ok(true)
            }
            Err(trouble) => Err(trouble),
        }
    }

    async fn has_moved(&mut self, plan: &Plan, rollout: &Value) -> Result<bool, Trouble> {
        // Another one has written it, whatever was read before.
        self.shared.api.forget_all();
        let now = self.read_rollout(plan).await?.unwrap_or_default();
        Ok(now["status"] != rollout["status"] || now["metadata"]["uid"] != rollout["metadata"]["uid"])
    }

    /// The plan's Rollout, in the version that has a status like ours where it is served.
    pub(super) async fn read_rollout(&mut self, plan: &Plan) -> Result<Option<Value>, Trouble> {
        let reference = &plan.spec.rollout;
        let group = reference.api_version.split('/').next().unwrap_or_default();
        for version in [format!("{group}/v1beta1"), reference.api_version.clone()] {
            if let Some(resource) = self.shared.served.resource(&self.shared.api, &version, &reference.kind).await? {
                return self.shared.api.read(&resource.one(&self.key.namespace, &reference.name)).await;
            }
        }
        Ok(None)
    }
}

/// An object that we may not read is told of by the checks; here it is only not counted.
fn visible(live: Result<Option<Value>, Trouble>) -> Result<Option<Value>, Trouble> {
    match live {
        Err(Trouble::Forbidden(_)) => Ok(None),
        live => live,
    }
}
