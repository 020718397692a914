//! Agents of several versions that carry the same release out, one after the other.

use rollout::model::Await;
use rollout::plan::digest_of;
use serde_json::{Value, json};

use super::kept::{packed, unpacked};
use super::world::{World, scenario, shop};

/// What a newer agent would have written: fields that this version does not know, in the status and in what is kept.
fn as_newer(world: &World) {
    world.edit_status("RolloutPlan", "shop", |status| {
        status["forecast"] = json!({"rain": true});
        if status["cursor"].is_object() {
            status["cursor"]["mood"] = json!("good");
        }
        status["agent"] = json!({"version": "9.9.9", "identity": "newer"});
    });
    let Some(name) = world.status()["captured"].as_str().map(str::to_owned) else { return };
    world.edit("ControllerRevision", &name, "newer", |revision| {
        let mut plan = unpacked(&revision["data"]["plan"]);
        plan["spec"]["newer"] = json!({"rule": [1, 2]});
        plan["spec"]["steps"][0]["newer"] = json!(true);
        plan["metadata"]["annotations"]["rollout.dev/digest"] = json!(digest_of(&plan["spec"]));
        revision["data"]["plan"] = packed(&plan);
    });
}

/// What of a newer agent is in the status of the plan.
fn of_newer(world: &World) -> [Value; 2] {
    let status = world.status();
    [status["forecast"]["rain"].clone(), status["cursor"]["mood"].clone()]
}

#[test]
fn an_older_agent_carries_on_and_keeps_what_a_newer_one_has_written() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        world.kill().await;
        as_newer(world);

        world.agent();
        world.approve("shop");
        world.until_gate(2).await;
        assert_eq!(of_newer(world), [json!(true), json!("good")]);
        assert_eq!(world.status()["agent"], json!({"version": env!("CARGO_PKG_VERSION"), "identity": "the agent"}));
        world.kill().await;
        as_newer(world);

        world.agent();
        world.approve("shop");
        world.until_phase("Succeeded").await;
        assert_eq!(world.faults(&plan, &plan.spec.target), Vec::<String>::new());
        assert_eq!(of_newer(world), [json!(true), json!(null)]);
    });
}

#[test]
fn an_older_agent_takes_back_what_a_newer_one_has_begun() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        world.kill().await;
        as_newer(world);
        // A phase and a cause that this version has no word for.
        world.edit_status("RolloutPlan", "shop", |status| {
            status["phase"] = json!("Baking");
            status["cursor"]["hold"] = json!({"cause": "Moonlight", "message": "full"});
        });
        world.agent();
        world.request("abort", 0, "a");
        world.until_phase("Aborted").await;
        assert_eq!(world.faults(&plan, &plan.spec.baseline), Vec::<String>::new());
        assert_eq!(of_newer(world), [json!(true), json!(null)]);
    });
}

#[test]
fn a_grace_is_counted_anew_by_the_clock_of_the_agent_that_takes_over() {
    scenario(async |world| {
        let mut plan = shop();
        plan.spec.steps[0].stages[0].awaits.push(Await::Grace(3600));
        world.apply(&plan);
        world.agent();
        world.until("the grace", |world| world.status()["cursor"]["holding"].is_string()).await;
        world.kill().await;
        let stage = world.status()["cursor"]["stage"].clone();
        world.edit_status("RolloutPlan", "shop", |status| {
            status["agent"]["identity"] = json!("another");
            status["cursor"]["holding"] = json!("2020-01-01T00:00:00Z");
        });
        world.agent();
        world.until("it is ours", |world| world.status()["agent"]["identity"] == "the agent").await;
        assert_eq!((&world.status()["cursor"]["stage"], &world.status()["cursor"]["step"]), (&stage, &json!(1)));
        assert!(world.status()["cursor"]["holding"].as_str().unwrap() > "2026", "{}", world.status());
    });
}

#[test]
fn another_agent_that_works_at_the_same_time_is_told_of() {
    scenario(async |world| {
        world.apply(&shop());
        world.agent();
        world.until_gate(1).await;
        world.edit_status("RolloutPlan", "shop", |status| status["agent"]["identity"] = json!("of another installation"));
        // So that the plan is looked at.
        world.request("pause", 0, "a");
        world.until("told", |world| world.events("RolloutPlan").contains(&"AnotherAgent".to_owned())).await;
    });
}
