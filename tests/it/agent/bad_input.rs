//! What is wrong is said in the status and in an event; nothing is touched, and other plans go on.

use rollout::plan::{digest_of, document};
use serde_json::{Value, json};

use super::world::{World, renamed, scenario, shop};

/// Whatever is done to `shop`, it says `expected` and touches nothing, while `cart` goes its way.
#[track_caller]
fn case(arrange: impl FnOnce(&mut World), reason: &str, expected: &str) {
    scenario(async |world| {
        let cart = renamed(&shop(), &[("shop", "cart")]);
        world.install(&cart);
        let before: Vec<Value> =
            ["Deployment", "Service", "VirtualService"].iter().map(|kind| world.live(kind, "shop")["spec"].clone()).collect();
        arrange(world);
        let changed: Vec<Value> =
            ["Deployment", "Service", "VirtualService"].iter().map(|kind| world.live(kind, "shop")["spec"].clone()).collect();
        world.apply(&cart);
        world.agent();
        world.until(expected, |world| world.status()["waitingFor"].as_str().is_some_and(|waiting| waiting.contains(expected))).await;
        world.until("an event", |world| world.events("RolloutPlan").contains(&reason.to_owned())).await;
        world.until("the other plan goes on", |world| world.status_of("cart")["phase"] == "Gated").await;
        let after: Vec<Value> =
            ["Deployment", "Service", "VirtualService"].iter().map(|kind| world.live(kind, "shop")["spec"].clone()).collect();
        assert_eq!(changed, after);
        assert!(before.len() == after.len() && world.find("Deployment", "shop-canary").is_none());
        let conditions = world.status()["conditions"].clone();
        let stalled = conditions.as_array().unwrap().iter().find(|condition| condition["type"] == "Stalled").unwrap().clone();
        assert_eq!(stalled["status"], "True", "{stalled}");
    });
}

#[test]
fn a_plan_edited_by_hand() {
    let arrange = |world: &mut World| {
        let mut object = document(&shop());
        object["spec"]["objects"]["Deployment/shop@2"]["spec"]["template"]["spec"]["containers"][0]["image"] = json!("evil:1");
        world.create(&object, "somebody");
    };
    case(arrange, "PlanRefused", "the plan's content has the digest");
}

#[test]
fn a_plan_of_a_newer_version() {
    let arrange = |world: &mut World| {
        let mut object = document(&shop());
        object["spec"]["steps"][0]["newer"] = json!(true);
        world.create(&object, "engine");
    };
    case(arrange, "PlanRefused", "unknown field `newer`");
}

#[test]
fn labels_that_are_no_map() {
    let arrange = |world: &mut World| {
        let mut object = document(&shop());
        object["spec"]["objects"]["Service/shop-canary@1"]["metadata"]["labels"] = json!("x");
        object["metadata"]["annotations"]["rollout.dev/digest"] = json!(digest_of(&object["spec"]));
        world.create(&object, "engine");
    };
    case(arrange, "PlanRefused", "`spec.objects.Service/shop-canary@1`: `metadata.labels` is no map");
}

#[test]
fn a_name_that_somebody_else_has_taken_is_not_deleted() {
    let arrange = |world: &mut World| {
        for turn in 1..=4 {
            let name = format!("rollout-shop-{turn}");
            world.create(&json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": name}, "revision": 1}), "a");
        }
        world.apply(&shop());
    };
    case(arrange, "Stalled", "exists, and no release has made it");
}

#[test]
fn a_baseline_that_is_not_what_runs() {
    let arrange = |world: &mut World| {
        world.edit("Deployment", "shop", "kubectl-edit", |live| {
            live["spec"]["template"]["spec"]["containers"][0]["image"] = json!("registry.example.com/shop:0.9.0");
        });
        world.apply(&shop());
    };
    case(
        arrange,
        "Differs",
        "Deployment/shop: /spec/template/spec/containers/0/image is \"registry.example.com/shop:0.9.0\", not \"registry.example.com/shop:1.0.0\" (`kubectl-edit` wrote it",
    );
}

#[test]
fn an_extra_key_that_git_does_not_know() {
    let arrange = |world: &mut World| {
        world.edit("Service", "shop", "kubectl-edit", |live| live["spec"]["selector"]["extra"] = json!("key"));
        world.apply(&shop());
    };
    case(arrange, "Differs", "Service/shop: /spec/selector/extra is \"key\", and should not be there");
}

#[test]
fn an_object_that_does_not_exist() {
    let arrange = |world: &mut World| {
        world.delete("VirtualService", "shop");
        world.create(
            &json!({"apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "metadata": {"name": "shop"}, "spec": null}),
            "a",
        );
        world.apply(&renamed(
            &shop(),
            &[
                ("\"VirtualService/shop", "\"VirtualService/shap"),
                (
                    "\"kind\":\"VirtualService\",\"metadata\":{\"name\":\"shop\"",
                    "\"kind\":\"VirtualService\",\"metadata\":{\"name\":\"shap\"",
                ),
            ],
        ));
    };
    case(arrange, "Differs", "VirtualService/shap does not exist");
}

#[test]
fn an_object_of_the_users_own_where_the_release_would_make_one() {
    let arrange = |world: &mut World| {
        world.create(&json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop-canary"}, "spec": {}}), "somebody");
        world.apply(&shop());
    };
    case(arrange, "Differs", "Service/shop-canary exists");
}

#[test]
fn a_restart_by_kubectl_is_no_difference_and_is_kept() {
    scenario(async |world| {
        let plan = shop();
        world.edit("Deployment", "shop", "kubectl-rollout", |live| {
            live["spec"]["template"]["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"});
        });
        let restarted = world.live("Deployment", "shop")["spec"]["template"].clone();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        world.request("abort", 0, "a");
        world.until_phase("Aborted").await;
        assert_eq!(world.live("Deployment", "shop")["spec"]["template"], restarted);
    });
}

#[test]
fn a_namespace_without_rights_is_told_before_the_first_write() {
    scenario(async |world| {
        world.server.with(|store| store.forbidden.insert("delete services"));
        world.apply(&shop());
        world.agent();
        let expected = "the agent may not delete services `shop-canary` in `prod`: apply what `rollout manifests --plans DIR` prints";
        world.until(expected, |world| world.status()["waitingFor"].as_str().is_some_and(|waiting| waiting.contains(expected))).await;
        assert_eq!(world.writes("/services") + world.writes("/deployments") + world.writes("/controllerrevisions"), 0);
        world.until("an event", |world| world.events("RolloutPlan").contains(&"Forbidden".to_owned())).await;
    });
}

#[test]
fn a_namespace_in_which_nothing_may_be_read_is_told_and_begun_when_it_may() {
    scenario(async |world| {
        world.server.with(|store| store.forbidden.insert("get deployments"));
        world.apply(&shop());
        world.agent();
        let expected = "the agent may not get deployments.apps";
        world.until(expected, |world| world.status()["waitingFor"].as_str().is_some_and(|waiting| waiting.contains(expected))).await;
        world.until("an event", |world| world.events("RolloutPlan").contains(&"Forbidden".to_owned())).await;
        assert_eq!(world.writes("/services") + world.writes("/deployments") + world.writes("/controllerrevisions"), 0);
        world.server.with(|store| store.forbidden.clear());
        // Nothing tells the agent.
        world.until_gate(1).await;
    });
}

#[test]
fn what_may_not_be_read_in_mid_release_is_told() {
    scenario(async |world| {
        // A right to list is granted, so that the checks before the first write find nothing.
        world.server.with(|store| store.forbidden.insert("get endpointslices"));
        world.apply(&shop());
        world.agent();
        world.until_phase("Stalled").await;
        assert!(world.status()["waitingFor"].as_str().is_some_and(|waiting| waiting.contains("cannot GET")), "{:#}", world.status());
        assert_eq!(world.status()["cursor"]["part"], "stages");
    });
}

#[test]
fn a_kind_that_is_not_served_is_told_before_the_first_write() {
    scenario(async |world| {
        world.server.with(|store| store.unserved.insert("VirtualService"));
        world.apply(&shop());
        world.agent();
        let expected = "the cluster does not serve VirtualService of networking.istio.io/v1";
        world.until(expected, |world| world.status()["waitingFor"].as_str().is_some_and(|waiting| waiting.contains(expected))).await;
        assert_eq!(world.writes("/services") + world.writes("/deployments"), 0);
        world.until("an event", |world| world.events("RolloutPlan").contains(&"NotServed".to_owned())).await;
    });
}

#[test]
fn of_two_plans_for_one_workload_one_waits_for_the_other() {
    scenario(async |world| {
        let plan = shop();
        let mut other = plan.clone();
        other.name = "shop-again".into();
        other.spec.rollout.name = "shop-again".into();
        world.create(
            &json!({"apiVersion": "rollouts.kruise.io/v1beta1", "kind": "Rollout", "metadata": {"name": "shop-again"}, "spec": {}}),
            "engine",
        );
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        world.apply(&other);
        let expected = "belongs to the release of the plan `shop` until that is over";
        let waits = |world: &World| world.status_of("shop-again")["waitingFor"].as_str().is_some_and(|waiting| waiting.contains(expected));
        world.until(expected, waits).await;
        world.request("abort", 0, "a");
        world.until("the other begins", |world| world.status_of("shop-again")["phase"] == "Gated").await;
    });
}

#[test]
fn a_stale_request_is_refused_and_told() {
    scenario(async |world| {
        world.apply(&shop());
        world.agent();
        world.until_gate(1).await;
        world.request("approve", 2, "wrong-step");
        world.until("refused", |world| world.status()["refusedRequest"].is_string()).await;
        world.until("an event", |world| world.events("RolloutPlan").contains(&"RequestRefused".to_owned())).await;
        assert_eq!(world.status()["cursor"]["step"], 1);
        world.edit("RolloutPlan", "shop", "kubectl", |plan| {
            let request = json!({"verb": "approve", "digest": "sha256:another", "step": 1, "id": "wrong-plan"}).to_string();
            plan["metadata"]["annotations"]["rollout.dev/request"] = json!(request);
        });
        world.until("refused", |world| world.status()["handledRequest"] == "wrong-plan").await;
        assert_eq!(world.status()["phase"], "Gated");
    });
}
