//! One agent at a time: a Lease that is taken, renewed and given back, and the fence that follows it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::api::Api;
use super::fence::Fence;
use super::served::Resource;
use super::trouble::Trouble;

/// How often others look at it.
const LOOK: Duration = Duration::from_secs(2);

/// A Lease, and who competes for it.
pub(super) struct Election {
    api: Api,
    fence: Arc<Fence>,
    resource: Resource,
    namespace: String,
    name: String,
    identity: String,
    /// How long the lease lasts without renewal.
    duration: Duration,
    /// What another's lease said when it was last seen to change, and when that was by our own clock. The holder's clock is
    /// not believed.
    seen: Option<(Value, Instant)>,
}

impl Election {
    /// A competitor for a Lease; the fence opens while it is held.
    pub(super) fn new(api: Api, fence: Arc<Fence>, namespace: String, name: String, identity: String, duration: Duration) -> Self {
        let resource = Resource::known("coordination.k8s.io/v1", "Lease", "leases");
        Self { api, fence, resource, namespace, name, identity, duration, seen: None }
    }

    /// Returns when the lease is held.
    pub(super) async fn won(&mut self) {
        loop {
            match self.attempt().await {
                Ok(true) => return,
                Ok(false) => {}
                Err(trouble) => tracing::warn!(%trouble, "the lease could not be taken"),
            }
            tokio::time::sleep(LOOK.min(self.duration / 4)).await;
        }
    }

    /// Renews the lease, and returns when it is lost.
    pub(super) async fn lost(&mut self) {
        loop {
            // Three times before the fence closes.
            tokio::time::sleep(self.duration / 4).await;
            // One that gets no answer must not keep the next from being tried in time.
            let attempt = tokio::time::timeout(self.duration / 4, self.attempt()).await;
            match attempt.unwrap_or_else(|_| Err(Trouble::Unreachable("the API server gave no answer in time".to_owned()))) {
                Ok(true) => {}
                Ok(false) => {
                    self.fence.close();
                    return;
                }
                Err(trouble) => {
                    tracing::warn!(%trouble, "the lease could not be renewed");
                    if !self.fence.is_open() {
                        return;
                    }
                }
            }
        }
    }

    /// Gives the lease back, so that another need not wait for its end. Nothing may be on its way any more.
    pub(super) async fn resign(&mut self) {
        let address = self.resource.one(&self.namespace, &self.name);
        if let Ok(Some(mut lease)) = self.api.get(&address).await
            && holder(&lease) == self.identity
        {
            lease["spec"]["holderIdentity"] = json!("");
            lease["spec"]["leaseDurationSeconds"] = json!(1);
            if let Err(trouble) = self.api.replace_unfenced(&address, &lease).await {
                tracing::warn!(%trouble, "the lease could not be given back");
            }
        }
    }

    /// Takes or renews the lease if that is possible. The fence's deadline counts from before the request.
    async fn attempt(&mut self) -> Result<bool, Trouble> {
        let began = Instant::now();
        let address = self.resource.one(&self.namespace, &self.name);
        let held = match self.api.get(&address).await? {
            None => self.create().await,
            Some(lease) if self.is_free(&lease) => self.replace(&address, lease).await,
            Some(_) => return Ok(false),
        };
        match held {
            Ok(()) => {
                // What is on its way a fifth before another may take it gets that long to arrive, and is given up then.
                self.fence.open_until(began + self.duration * 4 / 5, began + self.duration);
                Ok(true)
            }
            // Another one was faster.
            Err(Trouble::Conflict(_) | Trouble::Exists(_)) => Ok(false),
            Err(trouble) => Err(trouble),
        }
    }

    async fn create(&self) -> Result<(), Trouble> {
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": self.spec(0, &Value::Null),
        });
        self.api.ask(&format!("{}?fieldManager={}", self.resource.all_in(&self.namespace), super::api::MANAGER), &lease).await?;
        Ok(())
    }

    async fn replace(&self, address: &str, mut lease: Value) -> Result<(), Trouble> {
        let number = |field: &str| lease.pointer(&format!("/spec/{field}")).and_then(Value::as_i64).unwrap_or_default();
        let is_ours = holder(&lease) == self.identity;
        let transitions = number("leaseTransitions") + i64::from(!is_ours);
        let acquired = if is_ours { lease.pointer("/spec/acquireTime").cloned().unwrap_or_default() } else { Value::Null };
        lease["spec"] = self.spec(transitions, &acquired);
        // The resource version that was read goes along: of two who see a free lease one wins.
        self.api.replace_unfenced(address, &lease).await?;
        Ok(())
    }

    fn spec(&self, transitions: i64, acquired: &Value) -> Value {
        let now = json!(format!("{:.6}", Timestamp::now()));
        json!({
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self.duration.as_secs().max(1),
            "acquireTime": if acquired.is_null() { &now } else { acquired },
            "renewTime": &now,
            "leaseTransitions": transitions,
        })
    }

    /// Whether nobody else holds the lease: a lease that does not change for as long as it lasts is held by nobody.
    fn is_free(&mut self, lease: &Value) -> bool {
        let holder = holder(lease);
        if holder.is_empty() || holder == self.identity {
            return true;
        }
        let now = Instant::now();
        let spec = lease.get("spec").cloned().unwrap_or_default();
        let seconds = spec.get("leaseDurationSeconds").and_then(Value::as_u64).unwrap_or(self.duration.as_secs());
        match &self.seen {
            Some((before, since)) if *before == spec => now.duration_since(*since) >= Duration::from_secs(seconds),
            Some(_) | None => {
                self.seen = Some((spec, now));
                false
            }
        }
    }
}

fn holder(lease: &Value) -> &str {
    lease.pointer("/spec/holderIdentity").and_then(Value::as_str).unwrap_or_default()
}
