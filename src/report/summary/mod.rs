//! What every report says about a release, as values: its steps, its objects, its diffs. The formats only set it.
//!
//! Words that all formats share are methods of the values, so that no two pages say the same in two ways. Nothing is escaped yet.

mod rows;
mod words;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::diff::Change;
use crate::exposure;
use crate::model::{Finding, Gate, ObjectKey, Replicas, ScriptUse, Severity, Style};

use super::PlanReport;
pub use super::effective::Effective;
use super::fold::{Way, ways};

use rows::{images, rows};
pub(super) use words::gate_said;

/// All that is told about one plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Release {
    /// The environment's name; empty for the unnamed one.
    pub environment: String,
    /// The Rollout's namespace.
    pub namespace: String,
    /// The Rollout's name.
    pub name: String,
    /// The plan's file, relative to the root.
    pub path: String,
    /// The digest of the plan's content.
    pub digest: String,
    /// How the new version comes in.
    pub style: Style,
    /// The workload: `Deployment/shop`.
    pub workload: String,
    /// Whether nothing is released: the pod template is that of the base, or the workload is new.
    pub is_preview: bool,
    /// The workload's replicas; none where the cluster decides.
    pub replicas: Option<u32>,
    /// Container images that differ between baseline and target.
    pub images: Vec<ImageChange>,
    /// A row a step, then `finish`, then `abort`.
    pub rows: Vec<Row>,
    /// The script that served each traffic object.
    pub scripts: Vec<ScriptUse>,
    /// What changes on each way: one for each row, in their order. Empty where nobody asked for diffs.
    pub ways: Vec<Way>,
    /// How the engines that sync the repository have to be set, as text; empty where none was found.
    pub engines: String,
}

/// One container whose image changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ImageChange {
    /// The container's name.
    pub container: String,
    /// The image before; none for a new container.
    pub from: Option<String>,
    /// The image afterwards; none for a container that goes.
    pub to: Option<String>,
}

/// One row of a release's table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// `step-1`, `finish`, `abort`.
    pub name: String,
    /// What the row stands for.
    pub part: Part,
    /// Who gets the new version, as declared.
    pub share: Share,
    /// Who gets it as the manifests say; none where that cannot be told from the plan, or is what is declared.
    pub effective: Option<Effective>,
    /// The share of all requests, where rules send a part of them to other Services than the workload's.
    pub overall: Option<Effective>,
    /// Why the manifests do not show that the step does what it declares; none where they do.
    pub not_proved: Option<String>,
    /// How many pods of which version.
    pub pods: Pods,
    /// What ends the step; none for `finish` and `abort`.
    pub gate: Option<Gate>,
    /// The objects that differ from the row before, of `abort` from the last step: new ones first, those that go last.
    pub changes: Vec<Changed>,
}

/// What a row stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The step of this number, counted from 1.
    Step(usize),
    /// The end, at the target.
    Finish,
    /// The way back, to the baseline.
    Abort,
}

/// Who gets the new version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Share {
    /// Routing stays as the user wrote it.
    Unchanged,
    /// A share of all requests in percent, and requests that match; one of both is there.
    Split {
        /// The share in percent.
        weight: Option<u8>,
        /// The conditions, each in words; any one suffices.
        matches: Vec<String>,
    },
    /// Everybody.
    All,
    /// Nobody.
    None,
}

/// How many pods run at a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pods {
    /// Those of the new version as the user wrote them; none for `finish` and `abort`.
    pub written: Option<Replicas>,
    /// Those of the new version, where git knows the workload's replicas.
    pub new: Option<u32>,
    /// Those of the old version, where git knows the workload's replicas.
    pub old: Option<u32>,
    /// The workload's replicas, where git knows them.
    pub total: Option<u32>,
}

/// One object that a row changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Changed {
    /// What happens to it.
    pub change: Change,
    /// The object.
    pub object: ObjectKey,
}

/// What a whole report is about, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Impact {
    /// Plans that release something.
    pub releases: usize,
    /// Plans that release nothing.
    pub previews: usize,
    /// Steps of the releases.
    pub steps: usize,
    /// Steps of the releases that wait for a person.
    pub approvals: usize,
    /// Objects that the releases change, each once.
    pub objects: usize,
    /// Findings that make the answer no.
    pub errors: usize,
    /// Findings about what may not be meant.
    pub warnings: usize,
    /// Findings worth knowing.
    pub notes: usize,
}

/// Returns what is told about a plan. The diffs of `report.transitions` are folded: what repeats is there once.
pub fn release(report: PlanReport<'_>) -> Release {
    let plan = report.plan;
    Release {
        environment: report.environment.to_owned(),
        namespace: plan.namespace.clone(),
        name: plan.name.clone(),
        path: report.path,
        digest: report.digest,
        style: plan.spec.style,
        workload: plan.spec.workload.to_string(),
        is_preview: plan.spec.release.is_none(),
        replicas: plan.spec.replicas_in_git(),
        images: images(plan),
        rows: match report.exposure {
            Some(exposure) => rows(plan, exposure),
            None => rows(plan, &exposure::of(plan, &[])),
        },
        scripts: plan.spec.scripts.clone(),
        ways: ways(&report.transitions),
        engines: String::new(),
    }
}

/// Returns the numbers of a report.
pub fn impact(releases: &[Release], findings: &[Finding]) -> Impact {
    let of = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let mut impact = Impact {
        errors: of(Severity::Error),
        warnings: of(Severity::Warning),
        notes: of(Severity::Note),
        previews: releases.iter().filter(|release| release.is_preview).count(),
        ..Impact::default()
    };
    let mut objects = BTreeSet::new();
    for release in releases.iter().filter(|release| !release.is_preview) {
        impact.releases += 1;
        let steps = release.rows.iter().filter(|row| matches!(row.part, Part::Step(_)));
        impact.steps += steps.clone().count();
        impact.approvals += steps.filter(|row| row.gate == Some(Gate::Approval {})).count();
        let changed = release.rows.iter().flat_map(|row| &row.changes);
        objects.extend(changed.map(|changed| (&release.environment, &release.namespace, &changed.object)));
    }
    impact.objects = objects.len();
    impact
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::rows::changes;
    use super::*;
    use crate::model::{Plan, VersionKey};
    use crate::plan::fixture;

    fn key(text: &str) -> VersionKey {
        VersionKey::try_from(text.to_owned()).expect("a key")
    }

    fn of(plan: &Plan) -> Release {
        release(PlanReport {
            environment: "",
            path: "rollouts/prod/shop/plan.yaml".into(),
            plan,
            digest: "sha256:0123456789abcdef".into(),
            text: String::new(),
            document: Value::Null,
            transitions: Vec::new(),
            exposure: None,
        })
    }

    #[test]
    fn changes_name_what_comes_what_changes_and_what_goes() {
        let before = [key("Service/shop@1"), key("VirtualService/shop@1"), key("Deployment/gone@1")];
        let after = [key("Service/shop@2"), key("VirtualService/shop@1"), key("Deployment/shop-canary@1")];
        let said = |before, after| changes(before, after).iter().map(Changed::said).collect::<Vec<_>>();
        assert_eq!(said(&before, &after), ["+Deployment/shop-canary", "Service/shop", "-Deployment/gone"]);
        assert_eq!(said(&after, &after), Vec::<String>::new());
    }

    #[test]
    fn a_release_has_a_row_a_step_then_the_end_and_the_way_back() {
        let release = of(&fixture());
        let said = |row: &Row| [row.name.clone(), row.share.said(), row.pods.said(), row.gate_said()].join(" | ");
        assert_eq!(
            release.rows.iter().map(said).collect::<Vec<_>>(),
            [
                "step-1 | 20% | 1 of 4 | approval",
                "step-2 | header version=canary | 2 of 4 (50%) | after 600 s",
                "finish | all | 4 of 4 | ",
                "abort | none | 0 of 4 | ",
            ]
        );
        assert_eq!(release.title(), "prod/shop");
        assert_eq!(release.what(), "Canary release of Deployment/shop in 2 steps");
    }

    #[test]
    fn what_the_manifests_give_is_said_beside_what_is_declared() {
        let said = |share, effective| Row { share, effective, ..of(&fixture()).rows.remove(0) }.traffic_said();
        let split = |matches: &[&str]| Share::Split { weight: Some(20), matches: matches.iter().map(ToString::to_string).collect() };
        let effective = Some(Effective { least: 167, most: 360 });
        assert_eq!(said(split(&[]), None), "20%");
        assert_eq!(said(split(&[]), effective), "20%, in effect 16.7% to 36%");
        assert_eq!(said(split(&["header a=b"]), effective), "20%, and header a=b, in effect 16.7% to 36% of all others");
        assert_eq!(said(Share::Unchanged, Some(Effective { least: 200, most: 200 })), "unchanged, 20% by pods");
    }

    #[test]
    fn old_pods_stay_in_a_canary_and_go_one_by_one_in_a_partition() {
        let mut plan = fixture();
        let old = |plan: &Plan| of(plan).rows.iter().map(|row| row.pods.old).collect::<Vec<_>>();
        assert_eq!(old(&plan), [Some(4), Some(4), Some(0), Some(4)]);
        plan.spec.style = Style::Partition;
        assert_eq!(old(&plan), [Some(3), Some(2), Some(0), Some(4)]);
    }

    #[test]
    fn without_replicas_in_git_pods_are_said_as_the_user_wrote_them() {
        let mut plan = fixture();
        for object in plan.spec.objects.values_mut() {
            object["spec"].as_object_mut().expect("a spec").remove("replicas");
        }
        let said: Vec<_> = of(&plan).rows.iter().map(|row| row.pods.said()).collect();
        assert_eq!(said, ["1", "50%", "all", "none"]);
    }

    #[test]
    fn the_impact_counts_releases_and_tells_previews_apart() {
        let mut plan = fixture();
        let release = of(&plan);
        plan.spec.release = None;
        let preview = of(&plan);
        let said = |releases: &[Release]| impact(releases, &[]).said();
        assert_eq!(said(&[]), "no rollout changes");
        assert_eq!(said(std::slice::from_ref(&preview)), "no release; 1 preview");
        assert_eq!(said(std::slice::from_ref(&release)), "1 release in 2 steps, 1 of them on approval, changes 5 objects");
        assert_eq!(said(&[release, preview]), "1 release in 2 steps, 1 of them on approval, changes 5 objects; 1 preview");
    }

    #[test]
    fn the_image_that_changes_is_named() {
        let image = |version: &str| Some(format!("registry.example.com/shop:{version}"));
        assert_eq!(of(&fixture()).images, [ImageChange { container: "shop".into(), from: image("1.0.0"), to: image("1.1.0") }]);
    }
}
