//! What is kept of a release: nobody's word about other namespaces, and enough to restore when the plan is gone.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use k8s_openapi::ByteString;
use rollout::model::Plan;
use rollout::plan::document;
use serde_json::{Value, json};

use super::world::{World, scenario, shop};

/// A ControllerRevision as the agent makes it.
fn revision(name: &str, plan: &Plan) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision",
        "metadata": {"name": name, "labels": {"rollout.dev/plan": plan.name}},
        "revision": 1, "data": {"plan": packed(&document(plan)), "originals": packed(&json!({}))},
    })
}

fn packed(value: &Value) -> Value {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(value.to_string().as_bytes()).unwrap();
    json!(ByteString(encoder.finish().unwrap()))
}

/// The agent is killed at the first gate, and the plan goes without a word.
async fn orphan(world: &mut World, plan: &Plan) {
    world.apply(plan);
    world.agent();
    world.until_gate(1).await;
    world.kill().await;
    world.edit("RolloutPlan", "shop", "somebody", |plan| plan["metadata"]["finalizers"] = json!([]));
    world.delete("RolloutPlan", "shop");
}

#[test]
fn a_plan_that_lost_its_finalizer_is_swept_at_start() {
    scenario(async |world| {
        let plan = shop();
        orphan(world, &plan).await;
        world.agent();
        world.until("nothing is left", |world| world.faults(&plan, &plan.spec.baseline).is_empty()).await;
    });
}

#[test]
fn what_is_kept_in_one_namespace_says_nothing_about_another() {
    scenario(async |world| {
        let plan = shop();
        orphan(world, &plan).await;
        let mut foreign = plan.clone();
        foreign.namespace = "other".into();
        world.create(&revision("a-forged-one", &foreign), "tenant");
        world.agent();
        let is_restored = |world: &World| {
            world.find("ControllerRevision", "a-forged-one").is_none()
                || world.faults(&plan, &plan.spec.baseline) == ["a ControllerRevision is left"]
        };
        world.until("the release in its own namespace", is_restored).await;
        let foreign = |store: &mut super::store::Store| store.requests.iter().any(|it| it.path.contains("/namespaces/other/"));
        assert!(!world.server.with(foreign));
    });
}
