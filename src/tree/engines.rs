//! The settings by which Flux and Argo CD leave a plan alone, as files to merge. Not objects, and not named like ones: no engine
//! must take them for what it syncs.

use serde_json::Value;

use crate::coexist;
use crate::model::Plan;
use crate::yaml;

/// The files' names and texts.
pub(super) fn files(plan: &Plan) -> [(&'static str, String); 2] {
    let settings = coexist::settings(plan);
    let text = |comment: &str, block: &Value| format!("{comment}{}", yaml::write(block));
    [
        (
            "argocd.txt",
            text(
                "# Merge this into the Application that syncs these objects, or into the template of its ApplicationSet.\n# All five settings are needed: docs/gitops.md tells why.\n",
                &coexist::argocd_block(&settings),
            ),
        ),
        (
            "flux.txt",
            text(
                "# Merge this into the Kustomization that syncs these objects. Needs kustomize-controller 1.9.0 or newer.\n",
                &coexist::flux_block(&settings),
            ),
        ),
    ]
}
