//! The HorizontalPodAutoscaler during a release: it may add pods, but takes none away.

use serde_json::Value;

use super::pointers::put;
use crate::model::{Finding, Source};

/// The path that a release changes of an autoscaler.
pub(super) const PATH: &str = "/spec/behavior";

/// The autoscaler with scaling down switched off; none, with a finding, where its API version cannot say so.
pub(super) fn held(source: &Source, head: &Value, findings: &mut Vec<Finding>) -> Option<Value> {
    if source.manifest.api_version() == "autoscaling/v1" {
        findings.push(
            Finding::warning(
                "autoscaler-too-old",
                "`autoscaling/v1` cannot switch off scaling down: pods may be taken away while traffic is split",
            )
            .at(&source.path, source.places.at("/apiVersion"))
            .about(&source.object)
            .help("write it as `autoscaling/v2`"),
        );
        return None;
    }
    let mut object = head.clone();
    put(&mut object, "/spec/behavior/scaleDown/selectPolicy", Some("Disabled".into()));
    Some(object)
}
