//! The autoscaler during a release: it may add pods, but takes none away.
//!
//! Of a HorizontalPodAutoscaler that stands in its `behavior`; of KEDA's ScaledObject in the behavior of the one that KEDA makes.

use serde_json::Value;

use super::draft::{Draft, Original};
use super::pointers::put;
use crate::model::{Finding, Source, VersionKey};

/// The path that a release changes of a HorizontalPodAutoscaler.
const PATH: &str = "/spec/behavior";

/// The same of a ScaledObject.
const KEDA_PATH: &str = "/spec/advanced/horizontalPodAutoscalerConfig/behavior";

/// The versions of the autoscaler over a release.
pub(super) struct States {
    /// As it stands in git.
    pub(super) original: Original,
    /// With scaling down switched off.
    pub(super) held: VersionKey,
}

/// The autoscaler's states; none where nothing has to be held.
pub(super) fn states(draft: &mut Draft<'_>, source: Option<&Source>, findings: &mut Vec<Finding>) -> Option<States> {
    let source = source?;
    if draft.rollout.routing.is_none() || !draft.rollout.steps.iter().any(|step| step.traffic.is_split()) {
        return None;
    }
    let held = held(source, draft.head(source), findings)?;
    let original = draft.original(source, path(source));
    let held = draft.versions.add(&original.object, held, Vec::new());
    Some(States { original, held })
}

fn path(source: &Source) -> &'static str {
    if source.manifest.kind() == "ScaledObject" { KEDA_PATH } else { PATH }
}

/// The autoscaler with scaling down switched off; none, with a finding, where its API version cannot say so.
fn held(source: &Source, mut object: Value, findings: &mut Vec<Finding>) -> Option<Value> {
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
    let path = path(source);
    if !put(&mut object, &format!("{path}/scaleDown/selectPolicy"), Some("Disabled".into())) {
        let written = path.trim_start_matches('/').replace('/', ".");
        let message = format!("`{written}` and `scaleDown` in it are maps: scaling down cannot be switched off in what stands there");
        let finding = Finding::error("autoscaler-unreadable", message).at(&source.path, source.places.at(&format!("{path}/scaleDown")));
        findings.push(finding.about(&source.object).help("write them as maps, or leave them out"));
        return None;
    }
    Some(object)
}
