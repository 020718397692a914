//! What has to be true of the workload before the first write: its baseline is rolled out, and every pod of it is available.

use serde_json::json;

use super::controllers::hash;
use super::store::Fault;
use super::world::{World, renamed, scenario, shop};

fn says(world: &World, words: &str) -> bool {
    world.status()["waitingFor"].as_str().is_some_and(|waiting| waiting.contains(words))
}

/// What `kubectl rollout restart` does.
fn restart(world: &World) {
    world.edit("Deployment", "shop", "kubectl-rollout", |live| {
        live["spec"]["template"]["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"});
    });
}

#[test]
fn a_release_begins_only_when_every_pod_of_the_baseline_is_available() {
    scenario(async |world| {
        world.server.with(|store| store.unready.insert("shop"));
        world.edit("Deployment", "shop", "kubectl", |live| live["metadata"]["annotations"]["look"] = json!("again"));
        let revision = hash(&world.live("Deployment", "shop")["spec"]["template"]);
        world.apply(&shop());
        world.agent();
        let words = format!("Deployment/shop: 0 of 4 pods of revision `{revision}` are available");
        world.until(&words, |world| says(world, &words)).await;
        assert_eq!(world.status()["phase"], "Holding");
        world.until("an event", |world| world.events("RolloutPlan").contains(&"NotRolledOut".to_owned())).await;
        assert_eq!(world.writes("/deployments") + world.writes("/services") + world.writes("/controllerrevisions"), 0);
        // The pods get ready: the Deployment's status says so, and nothing else tells the agent.
        world.server.with(|store| store.unready.clear());
        world.edit("Deployment", "shop", "kubectl", |live| live["metadata"]["annotations"]["look"] = json!("once more"));
        world.until_gate(1).await;
    });
}

#[test]
fn a_rollout_that_is_in_progress_is_waited_for_and_says_how_many_old_pods_are_left() {
    scenario(async |world| {
        world.server.with(|store| store.surging.insert("shop"));
        restart(world);
        world.apply(&shop());
        world.agent();
        world.until("old pods", |world| says(world, "3 of 4 pods of revision") && says(world, "1 of other revisions is left")).await;
        assert_eq!(world.writes("/services") + world.writes("/controllerrevisions"), 0);
        world.server.with(|store| store.surging.clear());
        world.edit("Deployment", "shop", "kubectl", |live| live["metadata"]["annotations"]["look"] = json!("again"));
        world.until_gate(1).await;
        let restarted = hash(&world.live("Deployment", "shop")["spec"]["template"]);
        assert_eq!(world.live("Service", "shop")["spec"]["selector"]["pod-template-hash"], restarted.as_str());
    });
}

#[test]
fn a_revision_that_is_replaced_between_the_checks_and_the_first_write_is_not_pinned() {
    scenario(async |world| {
        world.server.with(|store| store.faults.push(Fault { method: "POST", path: "/controllerrevisions", status: 403, times: 1 }));
        world.apply(&shop());
        world.agent();
        world.until_phase("Stalled").await;
        assert_eq!(world.status()["cursor"]["part"], "capture");
        restart(world);
        // Whatever happens to the plan is a reason to look again.
        world.edit("RolloutPlan", "shop", "somebody", |plan| plan["metadata"]["annotations"]["rollout.dev/look"] = json!("again"));
        world.until_gate(1).await;
        let restarted = hash(&world.live("Deployment", "shop")["spec"]["template"]);
        assert_eq!(world.live("Service", "shop")["spec"]["selector"]["pod-template-hash"], restarted.as_str());
    });
}

#[test]
fn a_release_of_a_deployment_with_a_long_name_ends() {
    for length in [57, 58, 63] {
        scenario(async |world| {
            let long = "a".repeat(length);
            let plan = renamed(
                &shop(),
                &[
                    ("Deployment/shop", &format!("Deployment/{long}")),
                    (
                        "\"kind\":\"Deployment\",\"metadata\":{\"labels\":{\"app\":\"shop\"},\"name\":\"shop",
                        &format!("\"kind\":\"Deployment\",\"metadata\":{{\"labels\":{{\"app\":\"shop\"}},\"name\":\"{long}"),
                    ),
                    (
                        "\"workload\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"shop\"",
                        &format!("\"workload\":{{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"{long}\""),
                    ),
                ],
            );
            world.delete("Deployment", "shop");
            world.create(&plan.spec.objects[&plan.spec.baseline[0]], "engine");
            world.apply(&plan);
            world.agent();
            for step in [1, 2] {
                world.until_gate(step).await;
                world.approve("shop");
            }
            world.until_phase("Succeeded").await;
            assert_eq!(world.faults(&plan, &plan.spec.target), Vec::<String>::new());
        });
    }
}

#[test]
fn a_plan_rendered_again_at_rest_does_not_roll_back_what_somebody_has_put_in_its_place() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        for step in [1, 2] {
            world.until_gate(step).await;
            world.approve("shop");
        }
        world.until_phase("Succeeded").await;
        let image = "registry.example.com/shop:hotfix";
        world.edit("Deployment", "shop", "kubectl-edit", |live| {
            live["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
        });
        world.apply(&renamed(&plan, &[("shop.example.com", "shop.example.org")]));
        let words = format!("/spec/template/spec/containers/0/image is \"{image}\"");
        world.until(&words, |world| says(world, &words)).await;
        assert_eq!(world.status()["phase"], "Holding");
        assert_eq!(world.live("Deployment", "shop")["spec"]["template"]["spec"]["containers"][0]["image"], image);
        // A restart is no other version.
        world.edit("Deployment", "shop", "kubectl-rollout", |live| {
            live["spec"]["template"] = plan.spec.objects[&plan.spec.target[0]]["spec"]["template"].clone();
            live["spec"]["template"]["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"});
        });
        world.until_phase("Succeeded").await;
    });
}
