//! Whether OpenKruise's own controller runs here: it would work on the same Rollouts.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::time::Instant;

use super::api::{Api, segment};
use super::trouble::Trouble;

/// The Lease by which the replicas of OpenKruise's manager agree on one, and its namespace.
const LEASE: &str = "71ddec2c.kruise.io";
const NAMESPACE: &str = "kruise-rollout";
/// How far the clocks of two machines may be apart, beyond the time that a lease lasts.
const SKEW: SignedDuration = SignedDuration::from_secs(30);
/// How long a lease lasts that does not say so itself.
const LASTS: i64 = 15;
/// The longest time that is believed. Whoever may write the Lease could hold every release for years otherwise.
const LASTS_AT_MOST: i64 = 60;

/// How long an answer holds: all plans share it.
const SHARED: Duration = Duration::from_secs(2);

/// What was found a moment ago.
#[derive(Debug, Default)]
pub(super) struct Signs(Mutex<Option<(Instant, Option<String>)>>);

impl Signs {
    /// Returns why the agent has to keep away, in words, asking at most once in a moment.
    pub(super) async fn sign(&self, api: &Api, now: Timestamp) -> Result<Option<String>, Trouble> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, found)) = known.filter(|(since, _)| since.elapsed() < SHARED) {
            return Ok(found);
        }
        let found = sign(api, now).await?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), found.clone()));
        Ok(found)
    }
}

/// Returns why the agent has to keep away, in words; `None`: no sign of another controller. What we may not read is no sign.
async fn sign(api: &Api, now: Timestamp) -> Result<Option<String>, Trouble> {
    for kind in ["mutating", "validating"] {
        let name = format!("kruise-rollout-{kind}-webhook-configuration");
        let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/{}", segment(&name));
        if read(api, &path).await?.is_some() {
            return Ok(Some(format!(
                "OpenKruise's own controller is installed (`{name}`) and would work on the same Rollout: uninstall kruise-rollout"
            )));
        }
    }
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{LEASE}");
    let lease = read(api, &path).await?;
    Ok(lease.as_ref().and_then(|lease| holder(lease, now)).map(|holder| {
        format!(
            "OpenKruise's own controller runs (`{holder}` holds the Lease `{LEASE}` in `{NAMESPACE}`) and works on the same \
             Rollout: uninstall kruise-rollout"
        )
    }))
}

async fn read(api: &Api, path: &str) -> Result<Option<Value>, Trouble> {
    match api.get(path).await {
        Err(Trouble::Forbidden(_)) => Ok(None),
        answer => answer,
    }
}

/// Who holds a lease that has not run out.
fn holder(lease: &Value, now: Timestamp) -> Option<&str> {
    let spec = lease.get("spec")?;
    let holder = spec.get("holderIdentity")?.as_str().filter(|holder| !holder.is_empty())?;
    let renewed: Timestamp = spec.get("renewTime")?.as_str()?.parse().ok()?;
    let lasts = spec.get("leaseDurationSeconds").and_then(Value::as_i64).unwrap_or(LASTS).min(LASTS_AT_MOST);
    let age = now.duration_since(renewed);
    (age >= -SKEW && age <= SignedDuration::from_secs(lasts).saturating_add(SKEW)).then_some(holder)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::holder;

    #[track_caller]
    fn case(spec: &Value, expected: Option<&str>) {
        let now = "2026-01-01T00:10:00Z".parse().unwrap();
        assert_eq!(holder(&json!({ "spec": spec }), now), expected);
    }

    #[test]
    fn a_lease_that_has_run_out_or_was_given_back_has_no_holder() {
        let spec = |holder: &str, renewed: &str| json!({"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed});
        case(&spec("manager-1", "2026-01-01T00:09:58.123456Z"), Some("manager-1"));
        case(&spec("manager-1", "2026-01-01T00:09:20.000000Z"), Some("manager-1"));
        case(&spec("manager-1", "2026-01-01T00:09:00.000000Z"), None);
        case(&spec("", "2026-01-01T00:09:58.123456Z"), None);
        case(&json!({"holderIdentity": "manager-1"}), None);
    }

    #[test]
    fn a_lease_of_years_or_of_the_future_is_not_believed() {
        let spec = |lasts: i64, renewed: &str| json!({"holderIdentity": "x", "leaseDurationSeconds": lasts, "renewTime": renewed});
        case(&spec(i64::MAX, "2026-01-01T00:09:58.000000Z"), Some("x"));
        case(&spec(i64::MAX, "2026-01-01T00:08:00.000000Z"), None);
        case(&spec(15, "2026-01-01T00:10:20.000000Z"), Some("x"));
        case(&spec(15, "2999-01-01T00:00:00.000000Z"), None);
    }

    #[test]
    fn a_lease_without_times_has_no_holder() {
        case(&json!({}), None);
    }
}
