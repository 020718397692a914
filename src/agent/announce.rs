//! Events about a plan and its Rollout: the work does not wait for them.

use super::api::Api;
use super::attend::Attendance;
use super::claims::PlanKey;
use super::events::{self, Kind};
use super::tidings::Tiding;

impl Attendance {
    /// Tells events while the work goes on, in their order.
    pub(super) async fn announce(&mut self, tidings: Vec<Tiding>) {
        if tidings.is_empty() {
            return;
        }
        self.told().await;
        let (api, plan) = (self.shared.api.clone(), self.key.clone());
        let about = [Some(self.object.clone()), self.rollout.clone()];
        self.telling = Some(tokio::spawn(async move {
            for tiding in tidings {
                log(&api, &plan, &tiding.reason, &tiding.message);
                for object in about.iter().flatten() {
                    events::tell(&api, object, tiding.kind, &tiding.reason, &tiding.message).await;
                }
            }
        }));
    }

    /// Waits until all events are told.
    pub(super) async fn told(&mut self) {
        if let Some(telling) = self.telling.take() {
            // One that could not be told was logged.
            let _ = telling.await;
        }
    }

    /// Tells one event, at once.
    pub(super) async fn tell(&self, kind: Kind, reason: &str, message: &str) {
        log(&self.shared.api, &self.key, reason, message);
        events::tell(&self.shared.api, &self.object, kind, reason, message).await;
        if let Some(rollout) = &self.rollout {
            events::tell(&self.shared.api, rollout, kind, reason, message).await;
        }
    }
}

/// One line for the events about a plan and its Rollout, which say the same.
fn log(api: &Api, plan: &PlanKey, reason: &str, message: &str) {
    if api.may_write() {
        tracing::info!(%plan, reason, message, "event");
    }
}
