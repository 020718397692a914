//! How much the agent asks of an API server, and what many plans at once do to each other.

use std::collections::BTreeMap;

use super::store::Request;
use super::world::{World, renamed, scenario, shop};

/// How often each verb was used on each resource, watches and discovery aside.
fn counted(world: &World) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for request in world.server.with(|store| store.requests.clone()).iter().filter(|request| is_counted(request)) {
        let dry = if request.is_dry_run { " (dry run)" } else { "" };
        *counts.entry(format!("{} {}{dry}", request.method, request.path)).or_default() += 1;
    }
    counts
}

/// Watches and discovery are not of one release.
fn is_counted(request: &Request) -> bool {
    let is_discovery = request.path.split('/').count() <= 4;
    let watched = ["/services", "/deployments", "/virtualservices", "/rollouts", "/rolloutplans"];
    let begins_a_watch = request.method == "GET" && watched.iter().any(|resource| request.path.ends_with(resource));
    request.method != "WATCH" && !is_discovery && !begins_a_watch
}

#[test]
fn a_release_of_two_steps_and_fifteen_stages_takes_at_most_a_hundred_requests() {
    scenario(async |world| {
        world.apply(&shop());
        world.agent();
        world.until_gate(1).await;
        world.approve("shop");
        world.until_gate(2).await;
        world.approve("shop");
        world.until("the Rollout says so", |world| world.live("Rollout", "shop")["status"]["phase"] == "Healthy").await;
        let counts = counted(world);
        let all: usize = counts.values().sum();
        assert!(all <= 100, "{all} requests: {counts:#?}");
        let status = counts["PATCH /apis/rollout.dev/v1alpha1/namespaces/prod/rolloutplans/shop/status"];
        assert!(status <= 12, "{status} times the whole plan was written for its status");
        let of_one = |path: &str| {
            counts.iter().filter(|(what, _)| what.starts_with("GET") && what.ends_with(path)).map(|(_, count)| count).sum::<usize>()
        };
        assert!(of_one("/rolloutplans/shop") <= 2 && of_one("/deployments/shop") <= 8, "read again and again: {counts:#?}");
    });
}

#[test]
fn plans_whose_writes_get_no_answer_delay_no_abort_of_another() {
    scenario(async |world| {
        world.apply(&shop());
        world.agent();
        world.until_gate(1).await;
        world.server.with(|store| store.hanging.insert("/services/slow-"));
        for number in 0..40 {
            let slow = renamed(&shop(), &[("shop", &format!("slow-{number:02}"))]);
            world.install(&slow);
            world.apply(&slow);
        }
        world.until("as many wait as are worked on at once", |world| world.writes("/services/slow-") >= 16).await;
        world.request("abort", 0, "a");
        world.until_phase("Aborted").await;
        assert!(world.find("Deployment", "shop-canary").is_none());
    });
}
