//! What tables say of the new version's share.

use crate::bases::{INGRESS, ROUTING, SERVICE, deployment, rollout, route};
use crate::ground::Ground;

/// What the table of a release of `shop` says of the traffic of each step.
fn said(steps: &str, routing: &str) -> Vec<String> {
    let ground = Ground::new();
    for (folder, version) in [("before", 1), ("after", 2)] {
        let rollout = rollout("shop", steps) + routing;
        for (name, text) in
            [("d", deployment("shop", version)), ("r", rollout), ("s", SERVICE.into()), ("v", route("")), ("i", INGRESS.into())]
        {
            ground.write(&format!("{folder}/{name}.yaml"), &text);
        }
    }
    let report = ground.rollout("after", "render --base-dir ../before --format json").exits(0).stdout;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let rows = report["plans"][0]["rows"].as_array().unwrap();
    rows.iter()
        .filter(|row| row["name"].as_str().unwrap().starts_with("step"))
        .map(|row| row["traffic"]["said"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_step_that_leaves_routing_alone_says_what_its_pods_get_behind_every_gateway() {
    let ingress = ROUTING.replace("gateway: {httpRouteName: shop}", "ingress: {classType: nginx, name: shop}");
    for routing in [ROUTING, &ingress] {
        assert_eq!(said("[{replicas: 2}, {replicas: 2, traffic: 20%}]", routing), ["unchanged, 28.6% by pods", "20%"]);
    }
}

#[test]
fn a_match_that_asks_nothing_of_a_request_takes_every_one() {
    assert_eq!(said("[{replicas: 1, matches: [{}]}]", ROUTING), ["every request"]);
}
