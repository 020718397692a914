//! Objects that a Rollout does not name, and that share pods or Services with the release: who would lose requests by it, and who
//! would get the new version although no step declares it.

use crate::bases::{INGRESS, ROUTING, SERVICE, deployment, rollout, route};
use crate::ground::{Ground, Said};

/// Other objects, in both folders: file name and text.
type Others<'a> = &'a [(&'a str, String)];

const ISTIO: &str = "      trafficRoutings:
      - service: shop
        customNetworkRefs: [{apiVersion: networking.istio.io/v1, kind: VirtualService, name: shop}]
";

/// The folders `before` and `after` with a release of `shop`, whose routes are `gateway`.
fn ground(routing: &str, gateway: &str, others: Others<'_>) -> Ground {
    let ground = Ground::new();
    for (folder, version) in [("before", 1), ("after", 2)] {
        let rollout = rollout("shop", "[{replicas: 1, traffic: 20%}]") + routing;
        let files = [("d", deployment("shop", version)), ("r", rollout), ("s", SERVICE.into()), ("v", gateway.into())];
        for (name, text) in files.iter().chain(others) {
            ground.write(&format!("{folder}/{name}.yaml"), text);
        }
    }
    ground
}

fn render(ground: &Ground) -> Said {
    ground.rollout("after", "render --base-dir ../before")
}

fn beside(others: Others<'_>) -> Said {
    render(&ground(ROUTING, &route(""), others))
}

/// Another Deployment whose pods have the label of the shop's.
fn second() -> String {
    deployment("shop-v2", 1).replace("app: shop-v2", "app: shop")
}

/// The same as another kind.
fn of_kind(api_version: &str, kind: &str) -> String {
    second().replace("apps/v1", api_version).replace("kind: Deployment", &format!("kind: {kind}"))
}

#[test]
fn a_service_that_pods_of_another_workload_stand_behind_is_not_pinned_to_one() {
    let said = beside(&[("x", second())]).exits(1);
    said.tells(
        "s.yaml:7:13: error[service-shared]: Service `shop` selects the pods of Deployment prod/shop-v2 (x.yaml:1) as well: \
         while traffic is split it selects those of Deployment prod/shop alone, and the others get no requests through it",
    );
}

#[test]
fn every_kind_of_workload_counts() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: shop-v2\n  namespace: prod\n  labels: {app: shop}\nspec: {containers: []}\n";
    let listed = format!("apiVersion: v1\nkind: List\nitems:\n- {}\n", second().trim_end().replace('\n', "\n  "));
    let kinds = [
        of_kind("apps/v1", "StatefulSet"),
        of_kind("apps/v1", "DaemonSet"),
        of_kind("apps/v1", "ReplicaSet"),
        of_kind("apps.kruise.io/v1alpha1", "CloneSet"),
        pod.to_owned(),
        listed,
        // Text in which a word cannot be seen.
        second().replace("app: shop", "app: \"\\x73hop\""),
    ];
    for text in kinds {
        beside(&[("x", text)]).exits(1).tells("error[service-shared]");
    }
    let rollout = rollout("shop-v2", "[{replicas: 1}]");
    beside(&[("x", second()), ("y", rollout)]).exits(1).tells("error[service-shared]");
}

#[test]
fn pods_of_jobs_answer_no_requests() {
    beside(&[("x", of_kind("batch/v1", "Job"))]).exits(0).tells("warning[service-shared]");
}

#[test]
fn a_workload_is_no_neighbor_without_the_labels_the_namespace_or_pods() {
    for text in [
        deployment("shop-v2", 1),
        second().replace("namespace: prod", "namespace: test"),
        second().replace("replicas: 5", "replicas: 0"),
        "kind: DaemonSet\na: [".to_owned(),
    ] {
        let said = beside(&[("x", text)]).exits(0);
        assert!(!said.stderr.contains("service-shared"), "{}", said.stderr);
    }
}

#[test]
fn a_release_without_traffic_leaves_a_shared_service_alone() {
    let said = render(&ground("", "", &[("x", second())])).exits(0);
    assert!(!said.stderr.contains("service-shared"), "{}", said.stderr);
}

/// Istio's own layout: one Service, subsets by the label `version`, a Deployment for each.
const SUBSETS: &str = "apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: shop, namespace: prod}
spec:
  host: shop
  subsets:
  - {name: v1, labels: {version: v1}}
  - {name: v2, labels: {version: v2}}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: shop, namespace: prod}
spec:
  hosts: [shop]
  http:
  - route:
    - {destination: {host: shop, subset: v1}, weight: 80}
    - {destination: {host: shop, subset: v2}, weight: 20}
";

fn versioned(text: &str, version: &str) -> String {
    let labelled = text.replace("{labels: {app: shop}}", &format!("{{labels: {{app: shop, version: {version}}}}}"));
    assert_ne!(labelled, text);
    labelled
}

/// The release of a Deployment beside a second one, each with a label `version` of its own.
fn versions(routing: &str, gateway: &str, others: Others<'_>) -> Ground {
    let ground = ground(routing, gateway, &[others, &[("d2", versioned(&second(), "v2"))]].concat());
    for (folder, version) in [("before", 1), ("after", 2)] {
        ground.write(&format!("{folder}/d.yaml"), &versioned(&deployment("shop", version), "v1"));
    }
    ground
}

#[test]
fn pods_of_several_versions_behind_one_service_of_istio_are_not_lost() {
    let said = render(&versions(ISTIO, SUBSETS, &[])).exits(1);
    let said = said.tells("error[service-shared]: Service `shop` selects the pods of Deployment prod/shop-v2 (d2.yaml:1) as well");
    assert!(!said.stderr.contains("traffic-differs"), "{}", said.stderr);
}

#[test]
fn a_service_of_its_own_is_the_way_out() {
    let own = SERVICE.replace("name: shop\n", "name: shop-v1\n").replace("{app: shop}", "{app: shop, version: v1}");
    let routing = ISTIO.replace("service: shop", "service: shop-v1");
    let subsets = SUBSETS.replace("{host: shop, subset: v1}", "{host: shop-v1}");
    let said = render(&versions(&routing, &subsets, &[("s1", own)])).exits(0);
    // The Service of all versions gets the new one's pods as well.
    assert_eq!(said.stderr.matches("warning[").count(), 1, "{}", said.stderr);
    said.tells("warning[service-not-split]: Service `shop`");
}

#[test]
fn another_service_of_the_same_pods_is_found_with_its_share() {
    let internal = SERVICE.replace("name: shop\n", "name: shop-internal\n");
    let said = beside(&[("x", internal.clone())]).exits(0);
    said.tells(
        "x.yaml:7:13: warning[service-not-split]: Service `shop-internal` selects the pods of both versions, and nothing splits its requests: \
         from step 1 on the new version gets a part of them by the number of pods: 16.7% (Service prod/shop-internal)",
    );
    for other in [internal.replace("namespace: prod", "namespace: test"), internal.replace("{app: shop}", "{app: other}")] {
        let said = beside(&[("x", other)]).exits(0);
        assert!(!said.stderr.contains("service-not-split"), "{}", said.stderr);
    }
}

#[test]
fn another_route_to_the_pinned_service_is_found() {
    let other = route("").replace("name: shop\n", "name: other\n");
    for (text, what) in [(other, "HTTPRoute prod/other"), (INGRESS.to_owned(), "Ingress prod/shop")] {
        let said = beside(&[("x", text)]).exits(0);
        said.tells(&format!(
            "warning[route-not-split]: {what} leads to Service `shop`, and the Rollout does not name it: its requests stay with the old version \
             while traffic is split, from step 1 on, and get the new one at the end"
        ));
    }
    let elsewhere = route("").replace("name: shop\n", "name: other\n").replace("[{name: shop,", "[{name: cart,");
    let said = beside(&[("x", elsewhere)]).exits(0);
    assert!(!said.stderr.contains("route-not-split"), "{}", said.stderr);
}
