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

/// KEDA's autoscaler of the shop.
const SCALED: &str = "apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: shop, namespace: prod}
spec:
  scaleTargetRef: {name: shop}
  maxReplicaCount: 20
  triggers: []
";

#[test]
fn a_scaled_object_owns_the_replicas_and_takes_no_pods_away_in_a_release() {
    let said = render(&ground(ROUTING, &route(""), &[("x", SCALED.to_owned())])).exits(0);
    assert!(said.stdout.contains("ScaledObject/shop"), "{}", said.stdout);
    let plan = ground(ROUTING, &route(""), &[("x", SCALED.to_owned())])
        .rollout("after", "render --base-dir ../before --format yaml")
        .exits(0)
        .stdout;
    assert!(plan.contains("selectPolicy: Disabled") && plan.contains("horizontalPodAutoscalerConfig:"), "{plan}");
    assert!(plan.contains("/spec/advanced/horizontalPodAutoscalerConfig/behavior"), "{plan}");
    assert!(!said.stdout.contains(" of 5"), "the number of git is not that of the cluster: {}", said.stdout);
}

#[test]
fn a_scaled_object_and_an_autoscaler_are_several() {
    let hpa = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: shop, namespace: prod}\nspec:\n  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}\n";
    let said = render(&ground(ROUTING, &route(""), &[("x", SCALED.to_owned()), ("y", hpa.to_owned())])).exits(1);
    said.tells("error[autoscaler-several]").tells("HorizontalPodAutoscaler `shop` in y.yaml:1, ScaledObject `shop` in x.yaml:1");
}

#[test]
fn a_step_with_traffic_and_no_routes_is_refused() {
    let routing = "      trafficRoutings: [{service: shop, customNetworkRefs: []}]\n";
    let said = render(&ground(routing, "", &[])).exits(1);
    said.tells("r.yaml:10:25: error[routing-empty]: step 1 has traffic, and nothing sends requests to the new version: `customNetworkRefs` is empty");
    let quiet = ground(routing, "", &[]);
    for folder in ["before", "after"] {
        quiet.write(&format!("{folder}/r.yaml"), &(rollout("shop", "[{replicas: 1}]") + routing));
    }
    render(&quiet).exits(0).tells("warning[routing-empty]: no traffic is routed");
}

#[test]
fn the_second_service_has_no_name_that_only_one_can_have() {
    let annotated = SERVICE.replace(
        "  namespace: prod\n",
        "  namespace: prod\n  annotations: {external-dns.alpha.kubernetes.io/hostname: shop.example.com, prometheus.io/scrape: \"true\"}\n",
    );
    let ground = ground(ROUTING, &route(""), &[]);
    for folder in ["before", "after"] {
        ground.write(&format!("{folder}/s.yaml"), &annotated);
    }
    let plan = ground.rollout("after", "render --base-dir ../before --format yaml").exits(0).stdout;
    let second = plan.split("Service/shop-canary@1:").nth(1).expect("the Service");
    let second = second.split("spec:").next().expect("its metadata");
    assert!(second.contains("prometheus.io/scrape") && !second.contains("external-dns"), "{second}");
}

#[test]
fn without_routing_the_table_says_what_the_pods_behind_a_service_give() {
    let said = render(&ground("", "", &[])).exits(0);
    assert!(said.stdout.contains("unchanged, 16.7% by pods"), "{}", said.stdout);
    let other = ground("", "", &[]);
    for folder in ["before", "after"] {
        other.write(&format!("{folder}/s.yaml"), &SERVICE.replace("{app: shop}", "{app: other}"));
    }
    let said = render(&other).exits(0);
    assert!(said.stdout.contains("unchanged  ") && !said.stdout.contains("by pods"), "{}", said.stdout);
}

/// A VirtualService with these rules.
fn virtual_service(rules: &str) -> String {
    format!(
        "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {{name: shop, namespace: prod}}\nspec:\n  hosts: [shop]\n  http:\n{rules}"
    )
}

const TO_SHOP: &str = "  - route: [{destination: {host: shop}}]\n";

#[test]
fn a_rule_that_already_leads_to_the_canary_service_is_found() {
    let own = "  - match: [{headers: {env: {exact: canary}}}]\n    route: [{destination: {host: shop-canary}}]\n";
    let said = render(&ground(ISTIO, &virtual_service(&(own.to_owned() + TO_SHOP)), &[])).exits(0);
    said.tells(
        "warning[route-to-canary]: `/ with env: canary` is sent to Service `shop-canary` to 100% by a rule of your own: it gets the new version \
         in every step with traffic, whatever the step declares, and reaches no pod before and after the release",
    );
    let said = render(&ground(ISTIO, &virtual_service(TO_SHOP), &[])).exits(0);
    assert!(!said.stderr.contains("route-to-canary"), "{}", said.stderr);
}

#[test]
fn a_policy_of_the_stable_host_is_missing_for_the_canary_host() {
    let policy = |host: &str| {
        format!(
            "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {{name: {host}, namespace: prod}}\nspec:\n  host: {host}\n  trafficPolicy: {{tls: {{mode: SIMPLE}}}}\n"
        )
    };
    let others = |hosts: &[&str]| -> Vec<(&str, String)> { ["x", "y"].into_iter().zip(hosts.iter().map(|host| policy(host))).collect() };
    let said = render(&ground(ISTIO, &virtual_service(TO_SHOP), &others(&["shop"]))).exits(0);
    said.tells(
        "x.yaml:6:18: warning[destination-policy-missing]: DestinationRule prod/shop sets `tls` for the host `shop`, and nothing sets it for \
         `shop-canary`, which the new version's requests go to",
    );
    for hosts in [&["shop", "shop-canary"][..], &["cart"]] {
        let said = render(&ground(ISTIO, &virtual_service(TO_SHOP), &others(hosts))).exits(0);
        assert!(!said.stderr.contains("destination-policy-missing"), "{}", said.stderr);
    }
}

#[test]
fn what_cannot_be_proved_is_marked() {
    let regex = "  - match: [{uri: {regex: \"/v[0-9]+/.*\"}}]\n    route: [{destination: {host: shop}}]\n";
    let delegate = "  - delegate: {name: other}\n";
    for (rules, reason) in
        [(regex, "whether `/spec/http/0` takes / is for Istio to say"), (delegate, "`/spec/http/0` delegates to another VirtualService")]
    {
        let ground = ground(ISTIO, &virtual_service(&(rules.to_owned() + TO_SHOP)), &[]);
        let said = render(&ground).exits(0);
        assert!(said.stdout.contains("20%, not proved"), "{}", said.stdout);
        said.tells(&format!(
            "note[traffic-not-proved]: step 1: it is not proved that `VirtualService/shop` does what the step declares: {reason}"
        ));
        let json = ground.rollout("after", "render --base-dir ../before --format json").exits(0).stdout;
        assert!(json.contains(&format!("\"notProved\": \"{reason}\"")), "{json}");
        let markdown = ground.rollout("after", "render --base-dir ../before --format markdown").exits(0).stdout;
        assert!(markdown.contains("20%, not proved |"), "{markdown}");
        ground.rollout("after", "render --base-dir ../before --out").exits(0);
        let page = std::fs::read_to_string(ground.path("after/rollouts/prod/shop/README.md")).unwrap();
        assert!(page.contains("20%, not proved |"), "{page}");
    }
}

#[test]
fn requests_that_the_proxy_aborts_get_no_version() {
    let fault = "  - match: [{headers: {user: {exact: tester}}}]\n    fault: {abort: {httpStatus: 500, percentage: {value: 100}}}\n    route: [{destination: {host: shop}}]\n";
    let said = render(&ground(ISTIO, &virtual_service(fault), &[])).exits(0);
    said.tells("note[traffic-not-proved]: step 1: it is not proved that `VirtualService/shop` does what the step declares: none of its requests reaches the workload");
    let said = render(&ground(ISTIO, &virtual_service(&(fault.to_owned() + TO_SHOP)), &[])).exits(0);
    assert!(!said.stderr.contains("traffic-not-proved"), "{}", said.stderr);
}

#[test]
fn a_share_of_a_part_of_the_requests_is_said_of_all() {
    let rules = "  - route:\n    - {destination: {host: shop}, weight: 90}\n    - {destination: {host: cart}, weight: 10}\n";
    let said = render(&ground(ISTIO, &virtual_service(rules), &[])).exits(0);
    assert!(said.stdout.contains("20%, 18% of all requests"), "{}", said.stdout);
}

#[test]
fn an_ingress_that_is_itself_a_canary_is_refused() {
    let routing = ROUTING.replace("gateway: {httpRouteName: shop}", "ingress: {classType: nginx, name: shop}");
    let canary =
        INGRESS.replace("  namespace: prod\n", "  namespace: prod\n  annotations: {nginx.ingress.kubernetes.io/canary: \"true\"}\n");
    render(&ground(&routing, &canary, &[])).exits(1).tells("error[ingress-is-canary]: Ingress prod/shop is itself a canary");
    let said = render(&ground(&routing, INGRESS, &[])).exits(0);
    assert!(!said.stderr.contains("ingress-is-canary"), "{}", said.stderr);
}

#[test]
fn a_cookie_of_an_ingress_is_called_one() {
    let routing = ROUTING.replace("gateway: {httpRouteName: shop}", "ingress: {classType: nginx, name: shop}");
    let steps = "[{replicas: 1, matches: [{headers: [{name: canary-by-cookie, value: demo}]}]}]";
    let ground = ground(&routing, INGRESS, &[]);
    for folder in ["before", "after"] {
        ground.write(&format!("{folder}/r.yaml"), &(rollout("shop", steps) + &routing));
    }
    let said = render(&ground).exits(0);
    assert!(said.stdout.contains("step-1  cookie demo "), "{}", said.stdout);
}

#[test]
fn a_volume_of_one_node_is_a_warning() {
    let mounted = |version| {
        let volumes = "    spec:\n      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]\n";
        deployment("shop", version).replace("    spec:\n", volumes)
    };
    for (modes, is_found) in [("[ReadWriteOnce]", true), ("[ReadWriteMany]", false)] {
        let claim = format!(
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: data, namespace: prod}}\nspec: {{accessModes: {modes}}}\n"
        );
        let ground = ground(ROUTING, &route(""), &[("x", claim)]);
        for (folder, version) in [("before", 1), ("after", 2)] {
            ground.write(&format!("{folder}/d.yaml"), &mounted(version));
        }
        let said = render(&ground).exits(0);
        assert_eq!(
            said.stderr
                .contains("warning[claim-shared]: the second Deployment of the release mounts PersistentVolumeClaim prod/data (x.yaml:1)"),
            is_found,
            "{}",
            said.stderr
        );
    }
}
