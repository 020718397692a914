//! The rows of a release: what each step says, in values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::diff::Change;
use crate::exposure::{Entry, Exposure};
use crate::model::{ObjectKey, Plan, PlanStep, Style, VersionKey};

use super::{Changed, Effective, ImageChange, Part, Pods, Row, Share};

/// A row for each step, then the end and the way back.
pub(super) fn rows(plan: &Plan, exposure: &Exposure) -> Vec<Row> {
    let (spec, total) = (&plan.spec, plan.spec.replicas_in_git());
    let mut before = &spec.baseline;
    let mut rows = Vec::new();
    for (index, ((step, entries), by_pods)) in spec.steps.iter().zip(&exposure.steps).zip(&exposure.by_pods).enumerate() {
        let share = Share::of(step.traffic.as_ref(), &spec.scripts);
        rows.push(Row {
            name: step.name.clone(),
            part: Part::Step(index + 1),
            effective: Effective::of(entries, by_pods, step.traffic.as_ref()),
            overall: Effective::of_all_requests(entries),
            not_proved: entries.iter().find_map(Entry::not_proved).filter(|_| share != Share::Unchanged),
            share,
            pods: pods(step, spec.style, total),
            gate: Some(step.gate.clone()),
            changes: changes(before, &step.state),
        });
        before = &step.state;
    }
    let end = |name: &str, part, share, new, old, state| Row {
        name: name.to_owned(),
        part,
        share,
        effective: None,
        overall: None,
        not_proved: None,
        pods: Pods { written: None, new, old, total },
        gate: None,
        changes: changes(before, state),
    };
    rows.push(end("finish", Part::Finish, Share::All, total, Some(0), &spec.target));
    rows.push(end("abort", Part::Abort, Share::None, Some(0), total, &spec.baseline));
    rows
}

fn pods(step: &PlanStep, style: Style, total: Option<u32>) -> Pods {
    let new = total.map(|total| step.replicas.of(total));
    let old = match style {
        // The old pods stay as they are until the end.
        Style::Canary | Style::BlueGreen => total,
        Style::Partition => total.zip(new).map(|(total, new)| total.saturating_sub(new)),
    };
    Pods { written: Some(step.replicas), new, old, total }
}

/// The workload in a state, as the plan holds it.
fn workload<'a>(plan: &'a Plan, state: &[VersionKey]) -> Option<&'a Value> {
    let wanted = &plan.spec.workload;
    let objects = state.iter().filter(|version| version.object().name() == wanted.name);
    objects
        .filter_map(|version| plan.spec.objects.get(version))
        .find(|object| object["kind"] == wanted.kind && object["apiVersion"] == wanted.api_version)
}

/// The images that the release changes.
pub(super) fn images(plan: &Plan) -> Vec<ImageChange> {
    let of = |state: &[VersionKey]| workload(plan, state).map(images_of).unwrap_or_default();
    let (before, after) = (of(&plan.spec.baseline), of(&plan.spec.target));
    let containers: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    containers
        .into_iter()
        .map(|name| ImageChange { container: name.clone(), from: before.get(name).cloned(), to: after.get(name).cloned() })
        .filter(|change| change.from != change.to)
        .collect()
}

fn images_of(workload: &Value) -> BTreeMap<String, String> {
    let lists = ["/spec/template/spec/initContainers", "/spec/template/spec/containers"];
    let containers = lists.iter().filter_map(|list| workload.pointer(list)?.as_array()).flatten();
    containers.filter_map(|container| Some((container["name"].as_str()?.to_owned(), container["image"].as_str()?.to_owned()))).collect()
}

/// What two states tell apart.
pub(super) fn changes(before: &[VersionKey], after: &[VersionKey]) -> Vec<Changed> {
    let (before, after) = (versions_of(before), versions_of(after));
    let objects: BTreeSet<&ObjectKey> = before.keys().chain(after.keys()).copied().collect();
    let mut changes = Vec::new();
    for object in objects {
        let change = match (before.get(object), after.get(object)) {
            (None, Some(_)) => Change::Added,
            (Some(_), None) => Change::Removed,
            (old, new) if old != new => Change::Changed,
            (_, _) => continue,
        };
        changes.push(Changed { change, object: object.clone() });
    }
    changes.sort();
    changes
}

fn versions_of(state: &[VersionKey]) -> BTreeMap<&ObjectKey, u32> {
    state.iter().map(|key| (key.object(), key.version())).collect()
}
