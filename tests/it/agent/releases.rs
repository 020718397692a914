//! Releases from their first write to their last.

use rollout::model::{Binding, LateValue, ObjectKey, Replicas};
use serde_json::json;

use super::controllers::hash;
use super::world::{World, renamed, scenario, shop};

#[test]
fn a_release_goes_step_by_step_to_the_target_and_leaves_no_trace() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        let template =
            |version: u32| &plan.spec.objects[&rollout::model::ObjectKey::new("Deployment", "shop").version(version)]["spec"]["template"];
        assert_eq!(world.live("Service", "shop")["spec"]["selector"]["pod-template-hash"], hash(template(1)));
        assert_eq!(world.live("Service", "shop-canary")["spec"]["selector"]["pod-template-hash"], hash(template(2)));
        assert_eq!(world.live("Deployment", "shop")["spec"]["template"], *template(1));
        assert_eq!(world.live("Deployment", "shop-canary")["metadata"]["labels"]["rollout.dev/plan"], "shop");
        assert_eq!(world.live("RolloutPlan", "shop")["metadata"]["finalizers"], json!(["rollout.dev/restore"]));
        assert!(world.status()["waitingFor"].as_str().unwrap().contains("kubectl-kruise rollout approve rollout/shop -n prod"));

        world.approve("shop");
        world.until_gate(2).await;
        assert_eq!(world.live("Deployment", "shop-canary")["spec"]["replicas"], 2);
        world.approve("shop");
        world.until_phase("Succeeded").await;
        assert_eq!(world.faults(&plan, &plan.spec.target), Vec::<String>::new());
        world.until("told", |world| world.events("RolloutPlan").contains(&"Succeeded".to_owned())).await;
        let events = world.events("RolloutPlan");
        assert_eq!(events, ["StepBegins", "StepReached", "StepBegins", "StepReached", "Finishing", "Succeeded"]);
        world.until("the Rollout says so", |world| world.live("Rollout", "shop")["status"]["phase"] == "Healthy").await;
    });
}

#[test]
fn an_abort_brings_back_what_ran_before_from_every_step() {
    for step in 1..=2 {
        scenario(async |world| {
            let plan = shop();
            world.apply(&plan);
            world.agent();
            for passed in 1..step {
                world.until_gate(passed).await;
                world.approve("shop");
            }
            world.until_gate(step).await;
            world.request("abort", 0, "a");
            world.until_phase("Aborted").await;
            assert_eq!(world.faults(&plan, &plan.spec.baseline), Vec::<String>::new());
            assert_eq!(world.status()["handledRequest"], "a");
        });
    }
}

#[test]
fn an_abort_within_finish_brings_back_what_ran_before() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        world.approve("shop");
        world.until_gate(2).await;
        world.server.with(|store| store.unready.insert("shop"));
        world.approve("shop");
        world
            .until("the head manifest", |world| {
                world.status()["cursor"]["part"] == "finish"
                    && world.status()["cursor"]["written"] == true
                    && world.status()["cursor"]["stage"] == 1
            })
            .await;
        world.request("abort", 0, "a");
        world.until_phase("Aborting").await;
        world.server.with(|store| {
            store.unready.clear();
            super::controllers::follow(store);
        });
        world.until_phase("Aborted").await;
        assert_eq!(world.faults(&plan, &plan.spec.baseline), Vec::<String>::new());
    });
}

#[test]
fn routes_do_not_go_back_to_a_service_that_still_knows_old_pods() {
    scenario(async |world| {
        world.apply(&shop());
        world.agent();
        world.until_gate(1).await;
        world.approve("shop");
        world.until_gate(2).await;
        world.server.with(|store| store.lagging.insert("shop"));
        world.approve("shop");
        let old = |world: &World| world.status()["waitingFor"].as_str().is_some_and(|text| text.contains("old pods of Deployment/shop"));
        world.until("the wait for the Service", old).await;
        world.server.with(|store| {
            store.lagging.clear();
            super::controllers::follow(store);
        });
        world.until_phase("Succeeded").await;
    });
}

#[test]
fn a_deleted_plan_restores_first_and_so_does_a_deleted_rollout() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        world.delete("RolloutPlan", "shop");
        world.until("the plan is gone", |world| world.find("RolloutPlan", "shop").is_none()).await;
        assert_eq!(world.faults(&plan, &plan.spec.baseline), Vec::<String>::new());
    });
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        world.delete("Rollout", "shop");
        world.until_phase("Aborted").await;
        assert_eq!(world.faults(&plan, &plan.spec.baseline), Vec::<String>::new());
    });
}

#[test]
fn an_agent_that_is_killed_at_every_recorded_state_ends_where_it_would_have_ended() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        let (mut places, mut last) = (0, json!(null));
        let mut changes = world.server.changes();
        while world.status()["phase"] != "Succeeded" {
            changes.borrow_and_update();
            let status = world.status();
            let now = json!([status["turn"], status["cursor"]["written"], status["captured"], world.writes("/virtualservices")]);
            if now != last {
                last = now;
                places += 1;
                world.kill().await;
                world.agent();
            }
            let published = world.live("Rollout", "shop")["status"]["canaryStatus"].clone();
            let is_published = published["currentStepState"] == "StepPaused" && published["currentStepIndex"] == status["cursor"]["step"];
            if status["phase"] == "Gated" && is_published {
                world.approve("shop");
            }
            let waited = tokio::time::timeout(std::time::Duration::from_secs(90), changes.changed()).await;
            assert!(waited.is_ok(), "stuck after {places} deaths: {:#}", world.status());
        }
        assert!(places > 7, "only {places} places to die in");
        assert_eq!(world.faults(&plan, &plan.spec.target), Vec::<String>::new());
    });
}

#[test]
fn what_somebody_changes_in_mid_step_is_put_right_and_a_fight_is_told() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        let wanted = world.live("VirtualService", "shop")["spec"]["http"].clone();
        world.edit("VirtualService", "shop", "kubectl-edit", |route| route["spec"]["http"] = json!([]));
        world.until("put right", |world| world.live("VirtualService", "shop")["spec"]["http"] == wanted).await;
        world.until("told", |world| world.events("RolloutPlan").contains(&"Repaired".to_owned())).await;
        world.delete("Service", "shop-canary");
        world.until("made again", |world| world.find("Service", "shop-canary").is_some()).await;

        for _ in 0..3 {
            world.until("put right", |world| world.live("VirtualService", "shop")["spec"]["http"] == wanted).await;
            world.edit("VirtualService", "shop", "argocd-controller", |route| route["spec"]["http"] = json!([]));
        }
        world.until_phase("Stalled").await;
        assert!(world.status()["waitingFor"].as_str().unwrap().contains("RespectIgnoreDifferences"));
    });
}

#[test]
fn pods_that_follow_the_autoscaler_are_no_repair() {
    scenario(async |world| {
        let mut plan = shop();
        let object = ObjectKey::new("Deployment", "shop-canary").version(2);
        plan.spec.objects.get_mut(&object).unwrap()["spec"].as_object_mut().unwrap().remove("replicas");
        let value = LateValue::Replicas(Replicas::Percent(50));
        plan.spec.bindings.push(Binding { object, pointer: "/spec/replicas".into(), value });
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        world.approve("shop");
        world.until_gate(2).await;
        assert_eq!(world.live("Deployment", "shop-canary")["spec"]["replicas"], 2);
        world.edit("Deployment", "shop", "kube-controller-manager", |live| live["spec"]["replicas"] = json!(8));
        world.until("as many again", |world| world.live("Deployment", "shop-canary")["spec"]["replicas"] == 4).await;
        world.approve("shop");
        world.until_phase("Succeeded").await;
        assert!(!world.events("RolloutPlan").contains(&"Repaired".to_owned()), "{:?}", world.events("RolloutPlan"));
    });
}

#[test]
fn a_canary_workload_that_was_deleted_is_made_again_and_found_under_its_new_revision() {
    scenario(async |world| {
        world.apply(&shop());
        world.agent();
        world.until_gate(1).await;
        world.server.with(|store| store.collided.insert("shop-canary"));
        world.delete("Deployment", "shop-canary");
        let selects = |world: &super::world::World| world.live("Service", "shop-canary")["spec"]["selector"]["pod-template-hash"].clone();
        world.until("the new revision", |world| selects(world).as_str().is_some_and(|hash| hash.ends_with('x'))).await;
        assert_eq!(world.status()["bindings"]["canaryRevision"], selects(world));
    });
}

#[test]
fn a_namespace_that_is_deleted_is_not_held_back() {
    scenario(async |world| {
        world.apply(&shop());
        world.agent();
        world.until_gate(1).await;
        world.server.with(|store| store.is_terminating = true);
        world.delete("RolloutPlan", "shop");
        for (kind, name) in [("Deployment", "shop"), ("Service", "shop-canary"), ("Rollout", "shop")] {
            if world.find(kind, name).is_some() {
                world.delete(kind, name);
            }
        }
        world.until("the plan is gone", |world| world.find("RolloutPlan", "shop").is_none()).await;
    });
}

#[test]
fn jumps_go_both_ways() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        world.request("jump", 2, "up");
        world.until_gate(2).await;
        assert_eq!(world.live("Deployment", "shop-canary")["spec"]["replicas"], 2);
        // As a client of OpenKruise asks for it.
        let key = world.key("Rollout", "shop");
        let asked = world.server.with(|store| {
            store.update(&key, Some("status"), "client", false, |rollout| {
                rollout["status"]["canaryStatus"]["nextStepIndex"] = json!(1);
                Ok(())
            })
        });
        asked.unwrap();
        world.until_gate(1).await;
        assert_eq!(world.live("Deployment", "shop-canary")["spec"]["replicas"], 1);
    });
}

#[test]
fn a_paused_rollout_stays_where_it_is() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        world.edit("Rollout", "shop", "kubectl-kruise", |rollout| rollout["spec"]["strategy"]["paused"] = json!(true));
        world.until_phase("Paused").await;
        world.request("approve", 1, "a");
        world.until("handled", |world| world.status()["handledRequest"] == "a").await;
        assert_eq!(world.status()["cursor"]["step"], 1);
        world.edit("Rollout", "shop", "kubectl-kruise", |rollout| rollout["spec"]["strategy"]["paused"] = json!(null));
        world.until_gate(2).await;
    });
}

#[test]
fn a_pause_on_the_way_into_a_step_writes_nothing_of_the_stage_that_comes_next() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        let split = world.live("VirtualService", "shop")["spec"].clone();
        world.server.with(|store| store.forbidden.insert("patch virtualservices"));
        world.approve("shop");
        world.until_phase("Stalled").await;
        world.server.with(|store| store.forbidden.clear());
        world.edit("Rollout", "shop", "kubectl-kruise", |rollout| rollout["spec"]["strategy"]["paused"] = json!(true));
        world.until_phase("Paused").await;
        for id in ["a", "b"] {
            world.request("approve", 2, id);
            world.until("looked at again", |world| world.status()["handledRequest"] == id).await;
        }
        assert_eq!(world.live("VirtualService", "shop")["spec"], split);
        assert!(world.status()["cursor"]["written"].is_null(), "{:#}", world.status());
        world.edit("Rollout", "shop", "kubectl-kruise", |rollout| rollout["spec"]["strategy"]["paused"] = json!(null));
        world.until_gate(2).await;
    });
}

#[test]
fn a_disabled_rollout_restores() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        world.edit("Rollout", "shop", "kubectl", |rollout| rollout["spec"]["disabled"] = json!(true));
        world.until_phase("Aborted").await;
        assert_eq!(world.faults(&plan, &plan.spec.baseline), Vec::<String>::new());
    });
}

#[test]
fn git_that_goes_back_in_mid_release_aborts_it() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        let back =
            renamed(&plan, &[("shop:1.0.0", "shop:X"), ("shop:1.1.0", "shop:1.0.0"), ("shop:X", "shop:1.1.0"), ("5d2ba7ca", "00000000")]);
        world.apply(&back);
        world.until("aborted", |world| world.status()["last"]["outcome"] == "Aborted" || world.status()["phase"] == "Succeeded").await;
        world.until("at rest", |world| world.status()["cursor"].is_null()).await;
        assert_eq!(world.faults(&plan, &plan.spec.baseline), Vec::<String>::new());
    });
}

#[test]
fn another_release_supersedes_the_one_that_runs_and_begins_where_that_began() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        let fix = renamed(&plan, &[("shop:1.1.0", "shop:1.2.0"), ("5d2ba7ca", "11111111")]);
        world.apply(&fix);
        let image = "/spec/template/spec/containers/0/image";
        world
            .until("the fix", |world| {
                world
                    .find("Deployment", "shop-canary")
                    .is_some_and(|canary| canary.pointer(image) == Some(&json!("registry.example.com/shop:1.2.0")))
            })
            .await;
        world.until_gate(1).await;
        world.until("an event", |world| world.events("RolloutPlan").contains(&"Superseded".to_owned())).await;
        assert_eq!(world.live("Deployment", "shop").pointer(image), Some(&json!("registry.example.com/shop:1.0.0")));
    });
}

#[test]
fn a_plan_rendered_again_is_taken_up_in_the_same_step() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        let mut refreshed = plan.clone();
        for (key, object) in &mut refreshed.spec.objects {
            if key.object().kind() == "VirtualService" && key.version() > 1 {
                object["spec"]["http"][0]["timeout"] = json!("5s");
            }
        }
        world.apply(&refreshed);
        world.until("written", |world| world.live("VirtualService", "shop")["spec"]["http"][0]["timeout"] == "5s").await;
        world.until_gate(1).await;
        world.request("abort", 0, "a");
        world.until_phase("Aborted").await;
        assert_eq!(world.faults(&plan, &plan.spec.baseline), Vec::<String>::new());
    });
}

#[test]
fn a_plan_rendered_again_may_be_the_first_that_pins_the_stable_service() {
    scenario(async |world| {
        let plan = shop();
        let mut plain = plan.clone();
        plain.spec.bindings.clear();
        for (key, object) in &mut plain.spec.objects {
            if key.object().kind() == "Service" {
                object["spec"]["selector"].as_object_mut().unwrap().remove("pod-template-hash");
            }
        }
        world.apply(&plain);
        world.agent();
        world.until_gate(1).await;
        assert!(world.status()["bindings"]["stableRevision"].is_null());
        world.apply(&plan);
        let pinned = |world: &World| world.live("Service", "shop")["spec"]["selector"]["pod-template-hash"].clone();
        world.until("pinned", |world| !pinned(world).is_null()).await;
        let old = rollout::model::ObjectKey::new("Deployment", "shop").version(1);
        assert_eq!(pinned(world), hash(&plan.spec.objects[&old]["spec"]["template"]));
        let digest = rollout::plan::digest(&plan.spec);
        world.until("the same gate", |world| world.status()["phase"] == "Gated" && world.status()["digest"] == digest.as_str()).await;
        world.request("abort", 0, "a");
        world.until_phase("Aborted").await;
        assert_eq!(world.faults(&plan, &plan.spec.baseline), Vec::<String>::new());
    });
}

#[test]
fn a_plan_rendered_again_with_fewer_pods_moves_traffic_before_it_takes_any_away() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        world.approve("shop");
        world.until_gate(2).await;
        // The second step becomes what the first one was.
        let mut less = plan.clone();
        less.spec.steps[1].replicas = less.spec.steps[0].replicas;
        for name in [("Deployment", "shop-canary", 2, 1), ("VirtualService", "shop", 3, 2)] {
            let key = rollout::model::ObjectKey::new(name.0, name.1);
            let object = less.spec.objects[&key.version(name.3)].clone();
            less.spec.objects.insert(key.version(name.2), object);
        }
        let step = &mut less.spec.steps[1];
        for wait in step.stages.iter_mut().chain(&mut step.enter_from_above).flat_map(|stage| &mut stage.awaits) {
            if let rollout::model::Await::PodsReady { count, .. } = wait {
                *count = Some(1);
            }
        }
        let before = world.server.with(|store| store.requests.len());
        world.apply(&less);
        world.until("one pod", |world| world.live("Deployment", "shop-canary")["spec"]["replicas"] == 1).await;
        let patches = world.server.with(|store| {
            let patches = store.requests[before..].iter().filter(|request| request.method == "PATCH" && !request.is_dry_run);
            patches.map(|request| request.path.clone()).collect::<Vec<_>>()
        });
        let place = |end: &str| patches.iter().position(|path| path.ends_with(end));
        let (route, pods) = (place("/virtualservices/shop"), place("/deployments/shop-canary"));
        assert!(route.is_some() && route < pods, "{patches:#?}");
    });
}

#[test]
fn a_plan_rendered_again_claims_what_it_adds() {
    scenario(async |world| {
        let plan = shop();
        let mut small = plan.clone();
        let route = rollout::model::ObjectKey::new("VirtualService", "shop");
        small.spec.paths.retain(|entry| entry.object != route);
        small.spec.objects.retain(|version, _| *version.object() != route);
        for versions in small.spec.steps.iter_mut().map(|step| &mut step.state).chain([&mut small.spec.baseline, &mut small.spec.target]) {
            versions.retain(|version| *version.object() != route);
        }
        let steps = small.spec.steps.iter_mut().flat_map(|step| step.stages.iter_mut().chain(&mut step.enter_from_above));
        for stage in steps.chain(&mut small.spec.finish).chain(&mut small.spec.abort).chain(&mut small.spec.abort_finish) {
            stage.write.retain(|version| *version.object() != route);
        }
        small.spec.scripts.clear();
        world.apply(&small);
        world.agent();
        world.until_gate(1).await;
        assert!(!world.status()["claims"].to_string().contains("VirtualService/shop"));
        world.apply(&plan);
        let is_captured =
            |world: &World| world.live("VirtualService", "shop")["spec"]["http"] != plan.spec.objects[&route.version(1)]["spec"]["http"];
        world.until("the route is written", is_captured).await;
        assert!(world.status()["claims"].to_string().contains("VirtualService/shop"), "{:#}", world.status());
    });
}

#[test]
fn a_fix_after_an_abort_begins_with_what_runs_though_git_says_otherwise() {
    scenario(async |world| {
        let plan = shop();
        world.apply(&plan);
        world.agent();
        world.until_gate(1).await;
        world.request("abort", 0, "a");
        world.until_phase("Aborted").await;
        // Git's baseline is the version that was given up.
        let fix = renamed(&plan, &[("shop:1.1.0", "shop:1.2.0"), ("shop:1.0.0", "shop:1.1.0"), ("5d2ba7ca", "11111111")]);
        world.apply(&fix);
        world.until_gate(1).await;
        world.request("abort", 0, "b");
        world.until("aborted again", |world| world.status()["handledRequest"] == "b" && world.status()["phase"] == "Aborted").await;
        assert_eq!(world.faults(&plan, &plan.spec.baseline), Vec::<String>::new());
    });
}

#[test]
fn a_workload_that_somebody_rolled_out_is_told_and_left_alone() {
    scenario(async |world| {
        let plan = shop();
        let target = &plan.spec.objects[&rollout::model::ObjectKey::new("Deployment", "shop").version(2)];
        world.edit("Deployment", "shop", "kubectl-set", |live| live["spec"]["template"] = target["spec"]["template"].clone());
        world.apply(&plan);
        world.agent();
        world.until_phase("Bypassed").await;
        let told = world.status()["conditions"].to_string();
        assert!(told.contains("`kubectl-set` wrote the target"), "{told}");
        assert_eq!(world.writes("/deployments") + world.writes("/services") + world.writes("/virtualservices"), 0);
    });
}

#[test]
fn a_workload_that_does_not_exist_is_made_at_once() {
    scenario(async |world| {
        let plan = shop();
        world.delete("Deployment", "shop");
        world.apply(&plan);
        world.agent();
        world.until_phase("Succeeded").await;
        assert_eq!(world.faults(&plan, &plan.spec.target), Vec::<String>::new());
    });
}

#[test]
fn a_gate_is_shown_in_the_rollout_before_the_plan_tells_of_it() {
    scenario(async |world| {
        world.apply(&shop());
        world.agent();
        world.until_gate(1).await;
        let first = |kind: &str, pointer: &str, value: &str| {
            let is_it = |change: &&super::store::Change| {
                change.key.0.ends_with(kind) && change.object.pointer(pointer).is_some_and(|found| found == value)
            };
            world.server.with(|store| store.changes.iter().find(is_it).map(|change| change.version)).unwrap()
        };
        let shown = first("/rollouts", "/status/canaryStatus/currentStepState", "StepPaused");
        let told = first("/rolloutplans", "/status/phase", "Gated");
        assert!(shown < told, "the Rollout at {shown}, the plan at {told}");
    });
}

#[test]
fn a_request_goes_off_the_plan_when_it_was_answered() {
    scenario(async |world| {
        world.apply(&shop());
        world.agent();
        world.until_gate(1).await;
        world.request("abort", 0, "a");
        world.until_phase("Aborted").await;
        world.until("it is gone", |world| world.annotation("rollout.dev/request").is_none()).await;
        assert!(world.annotation("rollout.dev/digest").is_some());
        assert_eq!(world.status()["handledRequest"], "a");
    });
}

#[test]
fn who_overwrites_again_and_again_is_told_once_and_an_approval_waits_for_the_end_of_it() {
    scenario(async |world| {
        world.apply(&shop());
        world.agent();
        world.until_gate(1).await;
        let wanted = world.live("VirtualService", "shop")["spec"]["http"].clone();
        for weight in 1..=3 {
            world.edit("VirtualService", "shop", "argocd-controller", |route| route["spec"]["http"] = json!([{"weight": weight}]));
            world.until("repaired", |world| world.live("VirtualService", "shop")["spec"]["http"] == wanted).await;
        }
        world.until_phase("Stalled").await;
        let says = "`argocd-controller` has overwritten VirtualService/shop 3 times within a minute";
        assert!(world.status()["waitingFor"].as_str().is_some_and(|words| words.starts_with(says)), "{}", world.status());
        world.request("approve", 1, "a");
        world.until("the end of the look", |world| world.annotation("rollout.dev/request").is_none()).await;
        let status = world.status();
        assert_eq!(
            (&status["phase"], &status["cursor"]["part"], &status["cursor"]["step"]),
            (&json!("Stalled"), &json!("gate"), &json!(1))
        );
        assert!(status["waitingFor"].as_str().is_some_and(|words| words.ends_with("; step 1 is approved, and is left then")), "{status}");
        assert_eq!(world.events("RolloutPlan").iter().filter(|reason| *reason == "Stalled").count(), 1);
    });
}
