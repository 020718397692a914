//! Plans made at random, all of them sound.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use crate::model::{
    Await, Binding, Deadline, DeadlineAction, Gate, LateValue, ObjectKey, ObjectPaths, Plan, PlanSpec, PlanStep, Reference, Replicas,
    Revision, Stage, Style, VersionKey,
};
use crate::plan::states::{State, check_ways, versions_of};

/// What a plan can be about. The first three always exist, the others only during a release.
const OBJECTS: [(&str, &str); 5] =
    [("Deployment", "app"), ("Service", "app"), ("Route", "app"), ("Deployment", "app-canary"), ("Service", "app-canary")];
const LASTING: usize = 3;
const VERSIONS: u32 = 4;

pub(super) fn key(index: usize) -> ObjectKey {
    ObjectKey::new(OBJECTS[index].0, OBJECTS[index].1)
}

#[derive(Debug, Clone)]
struct Shape {
    /// For each object which version, 0 for none where that is possible; never the workload's.
    versions: [u32; 5],
    /// In how many stages it is written.
    stages: usize,
    awaits: Vec<u8>,
    gate: u8,
    deadline: u8,
}

fn shape() -> impl Strategy<Value = Shape> {
    let versions = prop::array::uniform5(0..VERSIONS);
    (versions, 1..4_usize, prop::collection::vec(0..5_u8, 1..4), 0..6_u8, 0..4_u8).prop_map(
        |(mut versions, stages, awaits, gate, deadline)| {
            versions[0] = 1;
            for lasting in versions.iter_mut().take(LASTING).skip(1) {
                *lasting = (*lasting).max(1);
            }
            Shape { versions, stages, awaits, gate, deadline }
        },
    )
}

/// A plan of a release.
pub(super) fn plan(release: &'static str) -> impl Strategy<Value = Plan> {
    prop::collection::vec(shape(), 1..5).prop_map(move |shapes| {
        let plan = Plan { name: "app".to_owned(), namespace: "prod".to_owned(), spec: spec(release, &shapes) };
        assert_eq!(check_ways(&plan), Vec::<String>::new(), "a generated plan is sound");
        plan
    })
}

fn spec(release: &str, shapes: &[Shape]) -> PlanSpec {
    let baseline: State = (0..LASTING).map(|index| (key(index), 1)).collect();
    let mut target = baseline.clone();
    target.insert(key(0), 2);
    let mut before = baseline.clone();
    let mut steps = Vec::new();
    for (index, shape) in shapes.iter().enumerate() {
        let state: State = shape.versions.iter().enumerate().filter(|(_, it)| **it > 0).map(|(index, it)| (key(index), *it)).collect();
        steps.push(PlanStep {
            name: format!("step-{}", index + 1),
            traffic: None,
            replicas: Replicas::Count(1),
            state: versions_of(&state),
            stages: way(Some(&before), &state, shape),
            enter_from_above: way(None, &state, shape),
            gate: match shape.gate {
                0..=2 => Gate::Approval {},
                3 => Gate::None {},
                seconds => Gate::Seconds(u32::from(seconds)),
            },
            deadline: match shape.deadline {
                0 | 1 => None,
                2 => Some(Deadline { seconds: 30, then: DeadlineAction::Hold }),
                _ => Some(Deadline { seconds: 30, then: DeadlineAction::Abort }),
            },
        });
        before = state;
    }
    let shape = &shapes[0];
    PlanSpec {
        rollout: reference("Rollout"),
        workload: reference("Deployment"),
        style: Style::Canary,
        release: Some(release.to_owned()),
        inputs: String::new(),
        scripts: Vec::new(),
        paths: (0..OBJECTS.len()).map(|index| ObjectPaths { object: key(index), paths: vec![String::new()] }).collect(),
        finish: way(None, &target, shape),
        abort: way(None, &baseline, shape),
        abort_finish: way(None, &baseline, shape),
        baseline: versions_of(&baseline),
        target: versions_of(&target),
        steps,
        bindings: bindings(true),
        objects: objects(release, ""),
    }
}

/// What only the cluster knows: in the canary Service always, in versions of the stable one that pin it where it is pinned.
pub(super) fn bindings(pins: bool) -> Vec<Binding> {
    let binding = |object, value| Binding { object, pointer: "/spec".to_owned(), value };
    let canary = (1..VERSIONS).map(|version| binding(key(4).version(version), LateValue::CanaryRevision));
    let stable = (2..VERSIONS).filter(|_| pins).map(|version| binding(key(1).version(version), LateValue::StableRevision));
    canary.chain(stable).collect()
}

/// Every version of every object, told apart by the release and by which rendering of it.
pub(super) fn objects(release: &str, rendering: &str) -> BTreeMap<VersionKey, serde_json::Value> {
    let versions = (0..OBJECTS.len()).flat_map(|index| (1..VERSIONS).map(move |version| key(index).version(version)));
    versions.map(|version| (version.clone(), json!(format!("{version} {release} {rendering}")))).collect()
}

fn reference(kind: &str) -> Reference {
    Reference { api_version: "v1".to_owned(), kind: kind.to_owned(), name: "app".to_owned() }
}

/// The stages to a state: only what differs where the start is known, otherwise everything.
fn way(from: Option<&State>, to: &State, shape: &Shape) -> Vec<Stage> {
    let mut stages: Vec<Stage> = vec![Stage::default(); shape.stages];
    for index in 0..OBJECTS.len() {
        let object = key(index);
        let stage = &mut stages[index % shape.stages];
        match (from.map(|from| from.get(&object)), to.get(&object)) {
            (Some(before), after) if before == after => {}
            (_, Some(version)) => stage.write.push(object.version(*version)),
            (_, None) => stage.remove.push(object),
        }
    }
    for (stage, wait) in stages.iter_mut().zip(shape.awaits.iter().cycle()) {
        stage.awaits = match wait {
            0 => Vec::new(),
            1 => vec![Await::Grace(3)],
            2 => vec![Await::PodsReady { workload: key(0), revision: Revision::Canary, count: None }],
            _ => vec![Await::Available { workload: key(0) }, Await::Grace(2), Await::Grace(u32::from(*wait))],
        };
    }
    stages
}
