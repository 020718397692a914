//! An API server that refuses, forgets, and goes away; agents that compete and sleep.

use super::store::Fault;
use super::world::{scenario, shop};

#[test]
fn every_passing_failure_of_every_request_is_survived() {
    let faults = [
        ("GET", "/deployments/shop", 500),
        ("GET", "/rolloutplans/shop", 503),
        ("GET", "/replicasets", 429),
        ("GET", "/endpointslices", 410),
        ("PATCH", "/services/shop", 409),
        ("PATCH", "/services/shop", 429),
        ("PATCH", "/virtualservices/shop", 500),
        ("POST", "/deployments", 503),
        ("POST", "/controllerrevisions", 504),
        ("PATCH", "/rolloutplans/shop/status", 409),
        ("PATCH", "/rolloutplans/shop", 409),
        ("PATCH", "/rollouts/shop/status", 409),
        ("PATCH", "/rollouts/shop/status", 503),
        ("DELETE", "/deployments/shop-canary", 500),
        ("DELETE", "/services/shop-canary", 409),
        ("POST", "/events", 500),
        ("POST", "/selfsubjectrulesreviews", 503),
    ];
    scenario(async |world| {
        let plan = shop();
        let faults = faults.map(|(method, path, status)| Fault { method, path, status, times: 2 });
        world.server.with(|store| store.faults.extend(faults));
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        world.approve("shop");
        world.until_gate(2).await;
        world.approve("shop");
        world.until_phase("Succeeded").await;
        assert_eq!(world.faults(&plan, &plan.spec.target), Vec::<String>::new());
        let left = world.server.with(|store| store.faults.iter().filter(|fault| fault.times > 0).cloned().collect::<Vec<_>>());
        assert!(left.is_empty(), "never happened: {left:#?}");
    });
}

#[test]
fn what_the_api_server_refuses_for_good_is_told_and_tried_again_later() {
    scenario(async |world| {
        let plan = shop();
        world.server.with(|store| store.faults.push(Fault { method: "PATCH", path: "/virtualservices/shop", status: 422, times: 1 }));
        world.apply(&plan);
        world.agent();
        world.until_phase("Stalled").await;
        let waiting = world.status()["waitingFor"].clone();
        assert!(waiting.as_str().unwrap().contains("cannot write VirtualService/shop: a fault of the test"), "{waiting}");
        world.until("an event", |world| world.events("RolloutPlan").contains(&"Stalled".to_owned())).await;
        // Anything that happens to the object is a reason to look again.
        world.edit("VirtualService", "shop", "owner", |route| route["metadata"]["labels"] = serde_json::json!({"a": "b"}));
        world.until_gate(1).await;
    });
}

#[test]
fn a_failure_that_lasts_is_told_and_an_abort_is_heard_meanwhile() {
    scenario(async |world| {
        let plan = shop();
        let fault = Fault { method: "PATCH", path: "/virtualservices/shop", status: 500, times: 1_000_000 };
        world.server.with(|store| store.faults.push(fault));
        world.apply(&plan);
        world.agent();
        let says = "cannot write VirtualService/shop: a fault of the test (tried again by itself)";
        world.until(says, |world| world.status()["waitingFor"] == says).await;
        world.until("an event", |world| world.events("RolloutPlan").contains(&"Retrying".to_owned())).await;
        world.request("abort", 0, "a");
        world.until("heard", |world| world.status()["handledRequest"] == "a").await;
        world.server.with(|store| store.faults.clear());
        world.until_phase("Aborted").await;
        assert_eq!(world.faults(&plan, &plan.spec.baseline), Vec::<String>::new());
    });
}

#[test]
fn a_right_that_is_taken_in_mid_release_is_told_and_keeps_nobody_from_giving_up() {
    for right in ["get deployments", "get rollouts", "get replicasets"] {
        scenario(async |world| {
            let plan = shop();
            world.apply(&plan);
            world.agent();
            world.until_gate(1).await;
            world.server.with(|store| store.forbidden.insert(right));
            // Somebody touches both, so that the agent reads them again.
            for (kind, name) in [("Deployment", "shop-canary"), ("Rollout", "shop")] {
                world.edit(kind, name, "owner", |object| object["metadata"]["labels"]["a"] = serde_json::json!("b"));
            }
            world.until(right, |world| world.status()["waitingFor"].as_str().is_some_and(|words| words.starts_with("cannot "))).await;
            assert_eq!(world.status()["phase"], "Stalled");
            world.request("abort", 0, "a");
            world.until("heard", |world| world.status()["handledRequest"] == "a").await;
            world.server.with(|store| store.forbidden.clear());
            // Nothing tells the agent that it may again.
            world.edit("VirtualService", "shop", "owner", |route| route["metadata"]["labels"] = serde_json::json!({"a": "c"}));
            world.until_phase("Aborted").await;
            assert_eq!(world.faults(&plan, &plan.spec.baseline), Vec::<String>::new());
        });
    }
}

#[test]
fn one_of_two_agents_works_and_the_other_takes_over_at_once_when_it_stops() {
    scenario(async |world| {
        let plan = shop();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let first = world.competitor("first", async move {
            let _ = stopped.await;
        });
        world
            .until("the first leads", |world| {
                world.find("Lease", "rollout-agent").is_some_and(|lease| lease["spec"]["holderIdentity"] == "first")
            })
            .await;
        let second = world.competitor("second", std::future::pending());
        world.apply(&plan);
        world.until_gate(1).await;
        assert_eq!(world.live("Lease", "rollout-agent")["spec"]["holderIdentity"], "first");
        stop.send(()).unwrap();
        first.await.unwrap();
        assert_eq!(world.live("Lease", "rollout-agent")["spec"]["holderIdentity"], "");
        world.until("the second leads", |world| world.live("Lease", "rollout-agent")["spec"]["holderIdentity"] == "second").await;
        world.approve("shop");
        world.until_gate(2).await;
        second.abort();
    });
}

#[test]
fn a_policy_that_speaks_of_namespaces_keeps_nothing_from_being_restored() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        let words = "no events in namespaces that may be in the state of being terminated";
        world.server.with(|store| store.refused_events = Some(words));
        world.delete("RolloutPlan", "shop");
        world.until("the plan is gone", |world| world.find("RolloutPlan", "shop").is_none()).await;
        assert_eq!(world.faults(&plan, &plan.spec.baseline), Vec::<String>::new());
    });
}

#[test]
fn a_webhook_that_changes_what_is_written_is_not_written_against_without_end() {
    scenario(async |world| {
        world.server.with(|store| store.mutated = Some("/deployments/shop-canary"));
        world.apply(&shop());
        world.agent();
        world.until_gate(1).await;
        world.approve("shop");
        world.until_gate(2).await;
        for look in 0..5 {
            // So that it is looked at, to the end.
            let id = format!("look-{look}");
            world.request(if look % 2 == 0 { "pause" } else { "resume" }, 0, &id);
            world.until("looked at", |world| world.status()["handledRequest"] == id).await;
            world.until("the end of the look", |world| world.annotation("rollout.dev/request").is_none()).await;
        }
        let writes = world.server.with(|store| {
            let is_write = |request: &&super::store::Request| request.method == "PATCH" && !request.is_dry_run;
            store.requests.iter().filter(is_write).filter(|request| request.path.ends_with("/deployments/shop-canary")).count()
        });
        assert!(writes <= 3, "{writes} writes");
    });
}
