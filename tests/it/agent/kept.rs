//! What is kept of a release: nobody's word about other namespaces, and enough to restore when the plan is gone.

use std::io::Write as _;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use k8s_openapi::ByteString;
use rollout::model::Plan;
use rollout::plan::document;
use serde_json::{Value, json};

use super::store::{Fault, Store};
use super::world::{World, renamed, scenario, shop};

/// A ControllerRevision as the agent makes it.
fn revision(name: &str, plan: &Plan) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision",
        "metadata": {"name": name, "labels": {"rollout.dev/plan": plan.name}},
        "revision": 1, "data": {"plan": packed(&document(plan)), "originals": packed(&json!({}))},
    })
}

/// What the agent keeps, as it keeps it.
pub(super) fn packed(value: &Value) -> Value {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(value.to_string().as_bytes()).unwrap();
    json!(ByteString(encoder.finish().unwrap()))
}

/// What the agent has kept.
pub(super) fn unpacked(packed: &Value) -> Value {
    let ByteString(bytes) = serde_json::from_value(packed.clone()).unwrap();
    serde_json::from_reader(GzDecoder::new(bytes.as_slice())).unwrap()
}

/// The same plan for another namespace.
fn elsewhere(plan: &Plan) -> Plan {
    renamed(plan, &[("\"prod\"", "\"other\"")])
}

/// The agent is killed at the first gate, and the plan goes without a word.
async fn orphan(world: &mut World, plan: &Plan) {
    world.apply(plan);
    world.agent();
    world.until_gate(1).await;
    let others = |world: &World| world.find("RolloutPlan", "cart").is_none() || world.status_of("cart")["phase"] == "Gated";
    world.until("all are gated", others).await;
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
fn a_plan_that_loses_its_finalizer_while_the_agent_runs_is_restored_at_once() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        world.edit("RolloutPlan", "shop", "somebody", |plan| plan["metadata"]["finalizers"] = json!([]));
        world.delete("RolloutPlan", "shop");
        world.until("nothing is left", |world| world.faults(&plan, &plan.spec.baseline).is_empty()).await;
    });
}

#[test]
fn a_plan_that_goes_while_a_stage_is_played_is_not_played_on() {
    scenario(async |world| {
        let plan = shop();
        world.server.with(|store| store.unready.insert("shop-canary"));
        world.apply(&plan);
        world.agent();
        let waits = |world: &World| world.status()["cursor"]["written"] == true && world.status()["cursor"]["stage"] == 1;
        world.until("the canary's pods are waited for", waits).await;
        world.edit("RolloutPlan", "shop", "somebody", |plan| plan["metadata"]["finalizers"] = json!([]));
        world.delete("RolloutPlan", "shop");
        world.server.with(|store| {
            store.unready.clear();
            super::controllers::follow(store);
        });
        world.until("nothing is left", |world| world.faults(&plan, &plan.spec.baseline).is_empty()).await;
        assert_eq!(world.writes("/virtualservices"), 0, "the route was never to move");
    });
}

#[test]
fn a_kind_that_is_not_served_any_more_keeps_nothing_else_from_being_restored() {
    for is_deleted in [false, true] {
        scenario(async |world| {
            let plan = shop();
            world.apply(&plan);
            world.agent();
            world.until_gate(1).await;
            world.kill().await;
            world.server.with(|store| store.unserved.insert("VirtualService"));
            if is_deleted {
                world.edit("RolloutPlan", "shop", "somebody", |plan| plan["metadata"]["finalizers"] = json!([]));
                world.delete("RolloutPlan", "shop");
                world.agent();
            } else {
                world.agent();
                world.request("abort", 0, "give-up");
                world.until_phase("Aborted").await;
            }
            let left = |world: &World| {
                let faults = world.faults(&plan, &plan.spec.baseline);
                faults.into_iter().filter(|fault| !fault.starts_with("VirtualService/")).collect::<Vec<_>>()
            };
            world.until("all that is served is restored", |world| left(world).is_empty()).await;
        });
    }
}

#[test]
fn the_only_plan_of_a_namespace_is_swept_where_nothing_may_be_listed_everywhere() {
    scenario(async |world| {
        let plan = shop();
        // As the agent is installed.
        let everywhere = Fault { method: "GET", path: "/apis/apps/v1/controllerrevisions", status: 403, times: usize::MAX };
        world.server.with(|store| store.faults.push(everywhere));
        orphan(world, &plan).await;
        world.agent();
        world.until("nothing is left", |world| world.faults(&plan, &plan.spec.baseline).is_empty()).await;
    });
}

#[test]
fn where_nothing_is_kept_nobody_looks_twice() {
    scenario(async |world| {
        let everywhere = Fault { method: "GET", path: "/apis/apps/v1/controllerrevisions", status: 403, times: usize::MAX };
        world.server.with(|store| store.faults.push(everywhere));
        world.apply(&shop());
        world.agent();
        world.until_gate(1).await;
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        let looked = world.server.with(|store| {
            let is_look = |path: &str| path.starts_with("/apis/apps/v1/namespaces/") && path.ends_with("/controllerrevisions");
            store.requests.iter().filter(|request| request.method == "GET" && is_look(&request.path)).count()
        });
        assert_eq!(looked, 1);
    });
}

#[test]
fn what_cannot_be_restored_is_tried_again_and_keeps_nothing_else_waiting() {
    scenario(async |world| {
        let (plan, cart) = (shop(), renamed(&shop(), &[("shop", "cart")]));
        world.install(&cart);
        world.apply(&cart);
        orphan(world, &plan).await;
        world.edit("RolloutPlan", "cart", "somebody", |plan| plan["metadata"]["finalizers"] = json!([]));
        world.delete("RolloutPlan", "cart");
        // In whichever order they are restored.
        for path in ["/virtualservices/cart", "/virtualservices/shop"] {
            world.server.with(|store| store.faults.push(Fault { method: "PATCH", path, status: 403, times: 3 }));
        }
        world.agent();
        world
            .until("the one", |world| world.find("Service", "shop-canary").is_none() && world.find("Service", "cart-canary").is_none())
            .await;
        for plan in [&plan, &cart] {
            world.until("nothing is left", |world| world.faults(plan, &plan.spec.baseline).is_empty()).await;
        }
    });
}

#[test]
fn what_is_kept_in_one_namespace_says_nothing_about_another() {
    scenario(async |world| {
        let plan = shop();
        orphan(world, &plan).await;
        world.create(&revision("a-forged-one", &elsewhere(&plan)), "tenant");
        world.agent();
        let is_restored = |world: &World| {
            world.find("ControllerRevision", "a-forged-one").is_none()
                || world.faults(&plan, &plan.spec.baseline) == ["a ControllerRevision is left"]
        };
        world.until("the release in its own namespace", is_restored).await;
        let foreign = |store: &mut Store| store.requests.iter().any(|it| it.path.contains("/namespaces/other/"));
        assert!(!world.server.with(foreign));
    });
}

#[test]
fn what_is_kept_in_one_namespace_is_not_carried_out_in_another() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        world.kill().await;
        world.create(&revision("forged", &elsewhere(&plan)), "tenant");
        world.edit_status("RolloutPlan", "shop", |status| status["captured"] = json!("forged"));
        world.agent();
        let says = "it holds a plan of the namespace `other`";
        world.until(says, |world| world.status()["waitingFor"].as_str().is_some_and(|words| words.contains(says))).await;
        assert_eq!(world.status()["phase"], "Stalled");
        world.until("an event", |world| world.events("RolloutPlan").contains(&"Stalled".to_owned())).await;
        let foreign = |store: &mut Store| store.requests.iter().any(|it| it.path.contains("/namespaces/other/"));
        assert!(!world.server.with(foreign));
        // Others go on meanwhile.
        let cart = renamed(&plan, &[("shop", "cart")]);
        world.install(&cart);
        world.apply(&cart);
        world.until("the other plan goes on", |world| world.status_of("cart")["phase"] == "Gated").await;
    });
}

#[test]
fn a_status_that_cannot_be_read_is_not_written_over() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        world.kill().await;
        let recorded = world.status();
        world.edit_status("RolloutPlan", "shop", |status| status["cursor"]["part"] = json!("bake"));
        world.agent();
        let says = "a status that can be read: `status` cannot be read: unknown variant `bake`";
        world.until(says, |world| world.status()["waitingFor"].as_str().is_some_and(|words| words.contains(says))).await;
        world.until("an event", |world| world.events("RolloutPlan").contains(&"StatusUnreadable".to_owned())).await;
        let status = world.status();
        assert_eq!(status["phase"], "Stalled");
        for field in ["captured", "claims", "turn", "digest", "bindings", "release"] {
            assert_eq!(status[field], recorded[field], "{field}");
        }
        assert_eq!(status["cursor"]["part"], "bake");
        assert_eq!(world.live("RolloutPlan", "shop")["metadata"]["finalizers"], json!(["rollout.dev/restore"]));
        // Somebody else's release of the same objects waits for it.
        let mut other = plan.clone();
        other.name = "shop-again".into();
        other.spec.rollout.name = "shop-again".into();
        let rollout =
            json!({"apiVersion": "rollouts.kruise.io/v1beta1", "kind": "Rollout", "metadata": {"name": "shop-again"}, "spec": {}});
        world.create(&rollout, "engine");
        world.apply(&other);
        let expected = "belongs to the release of the plan `shop` until that is over";
        let waits = |world: &World| world.status_of("shop-again")["waitingFor"].as_str().is_some_and(|waiting| waiting.contains(expected));
        world.until(expected, waits).await;
        world.kill().await;
        world.delete("RolloutPlan", "shop-again");

        world.edit_status("RolloutPlan", "shop", |status| status["cursor"]["part"] = json!("gate"));
        world.agent();
        world.until_gate(1).await;
        world.request("abort", 0, "a");
        world.until_phase("Aborted").await;
        assert_eq!(world.faults(&plan, &plan.spec.baseline), Vec::<String>::new());
    });
}

#[test]
fn a_plan_that_cannot_be_read_and_has_nothing_kept_can_be_deleted() {
    scenario(async |world| {
        world.server.with(|store| store.faults.push(Fault { method: "POST", path: "/controllerrevisions", status: 403, times: 1 }));
        world.apply(&shop());
        world.agent();
        world.until_phase("Stalled").await;
        assert_eq!(world.live("RolloutPlan", "shop")["metadata"]["finalizers"], json!(["rollout.dev/restore"]));
        world.edit("RolloutPlan", "shop", "somebody", |plan| plan["spec"]["steps"][0]["newer"] = json!(true));
        world.until("refused", |world| world.events("RolloutPlan").contains(&"PlanRefused".to_owned())).await;
        world.delete("RolloutPlan", "shop");
        world.until("the plan is gone", |world| world.find("RolloutPlan", "shop").is_none()).await;
    });
}

#[test]
fn what_is_changed_between_the_checks_and_the_first_write_is_not_written_over() {
    scenario(async |world| {
        let plan = shop();
        world.server.with(|store| store.faults.push(Fault { method: "POST", path: "/controllerrevisions", status: 403, times: 1 }));
        world.apply(&plan);
        world.agent();
        world.until_phase("Stalled").await;
        assert_eq!(world.status()["cursor"]["part"], "capture");
        world.edit("Deployment", "shop", "kubectl-set", |live| {
            live["spec"]["template"]["spec"]["containers"][0]["image"] = json!("registry.example.com/shop:hotfix");
        });
        // Whatever happens to the plan is a reason to look again.
        world.edit("RolloutPlan", "shop", "somebody", |plan| plan["metadata"]["annotations"]["rollout.dev/look"] = json!("again"));
        let says = "what runs is not what the plan begins with";
        world.until(says, |world| world.status()["waitingFor"].as_str().is_some_and(|words| words.contains(says))).await;
        assert_eq!(world.status()["cursor"]["part"], "check");
        assert_eq!(world.writes("/deployments") + world.writes("/services") + world.writes("/virtualservices"), 0);
    });
}
