//! Small plans, one gateway object each: four old pods, one new one, and the two Services.

#![expect(clippy::needless_pass_by_value, reason = "tables of `json!` read better without `&`")]

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Routes, Share, Verdict, of};
use crate::model::{Manifest, ObjectKey, Plan, ScriptUse, StepTraffic, Style, VersionKey};
use crate::plan::fixture;

/// The plan of one step: what the user wrote, and what it is in the step. A name of its own makes the step's object a second one.
fn plan(script: &str, original: &Value, in_step: &Value, traffic: &Value) -> Plan {
    let mut plan = fixture();
    let spec = &mut plan.spec;
    let key = |object: &Value| ObjectKey::new(object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap());
    let is_second = key(original) != key(in_step);
    let routed = |versions: &mut Vec<VersionKey>, version: Option<VersionKey>| {
        versions.retain(|version| version.object().kind() != "VirtualService");
        versions.extend(version);
    };
    spec.scripts = vec![ScriptUse { object: key(original), script: script.into(), sha256: String::new() }];
    spec.objects.retain(|version, _| version.object().kind() != "VirtualService");
    spec.steps.truncate(1);
    spec.steps[0].traffic = serde_json::from_value::<Option<StepTraffic>>(traffic.clone()).unwrap();
    let (before, during) = (key(original).version(1), key(in_step).version(2));
    if !is_second {
        spec.objects.insert(before.clone(), original.clone());
    }
    spec.objects.insert(during.clone(), in_step.clone());
    routed(&mut spec.baseline, (!is_second).then(|| before.clone()));
    routed(&mut spec.target, (!is_second).then(|| before.clone()));
    routed(&mut spec.steps[0].state, Some(during));
    plan
}

/// Each request of the step, and who answers it.
#[track_caller]
fn said(plan: &Plan, beside: &[&Manifest]) -> Vec<String> {
    let exposure = of(plan, beside);
    assert_eq!(exposure.steps[0].len(), 1);
    match &exposure.steps[0][0].routes {
        Routes::NotKnown(reason) => vec![reason.clone()],
        Routes::NotHeld => vec!["not held".to_owned()],
        Routes::Known(routes) => {
            let mark = |verdict| if verdict == Verdict::Yes { "*" } else { "" };
            routes.iter().map(|route| format!("{}{}: {}", mark(route.is_matched), route.request, share(&route.share))).collect()
        }
    }
}

fn share(share: &Share) -> String {
    match share {
        Share::Elsewhere => "elsewhere".into(),
        Share::NotKnown(reason) => reason.clone(),
        Share::Known(split) => {
            let mut said = split.new_version().map_or("some".to_owned(), |share| format!("{:.1}", share * 100.0));
            if split.nobody > 0.0 {
                write!(said, ", {:.1} lost", split.nobody * 100.0).unwrap();
            }
            said
        }
    }
}

fn virtual_service(http: Value) -> Value {
    json!({"apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "metadata": {"name": "shop"}, "spec": {"http": http}})
}

fn http_route(rules: Value) -> Value {
    json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "shop"}, "spec": {"rules": rules}})
}

fn ingress(name: &str, annotations: Value, service: &str) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": name, "annotations": annotations},
        "spec": {"rules": [{"host": "shop.example.com", "http": {"paths": [
            {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": service}}},
        ]}}]},
    })
}

#[track_caller]
fn istio(before: Value, during: Value, traffic: Value, expected: &[&str]) {
    let plan = plan("networking.istio.io/VirtualService", &virtual_service(before), &virtual_service(during), &traffic);
    assert_eq!(said(&plan, &[]), expected);
}

#[track_caller]
fn gateway_api(before: Value, during: Value, traffic: Value, expected: &[&str]) {
    let plan = plan("gateway.networking.k8s.io/HTTPRoute", &http_route(before), &http_route(during), &traffic);
    assert_eq!(said(&plan, &[]), expected);
}

#[track_caller]
fn nginx(annotations: Value, traffic: Value, expected: &[&str]) {
    let main = ingress("shop", json!({}), "shop");
    let prefixed = annotations.as_object().unwrap().iter();
    let mut prefixed: Value = prefixed
        .map(|(name, value)| (format!("nginx.ingress.kubernetes.io/{name}"), value.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    prefixed["nginx.ingress.kubernetes.io/canary"] = "true".into();
    let clone = ingress("shop-canary", prefixed, "shop-canary");
    let plan = plan("trafficrouting_ingress/nginx", &main, &clone, &traffic);
    assert_eq!(said(&plan, &[&Manifest::try_from(main).unwrap()]), expected);
}

fn to(host: &str, weight: u64) -> Value {
    json!({"destination": {"host": host}, "weight": weight})
}

fn version(value: &str) -> Value {
    json!({"matches": [{"headers": [{"type": "Exact", "name": "version", "value": value}]}]})
}

#[test]
fn the_old_version_gets_everything_before_and_the_new_one_afterwards() {
    let exposure = of(&fixture(), &[]);
    let all = |entries: &[super::Entry]| match &entries[0].routes {
        Routes::Known(routes) => routes.iter().map(|route| share(&route.share)).collect(),
        Routes::NotKnown(reason) => vec![reason.clone()],
        Routes::NotHeld => vec!["not held".to_owned()],
    };
    assert_eq!(all(&exposure.baseline), ["0.0"]);
    assert_eq!(all(&exposure.target), ["100.0"]);
    assert_eq!(all(&exposure.steps[0]), ["20.0"]);
    assert_eq!(all(&exposure.steps[1]), ["0.0", "100.0"]);
}

#[test]
fn a_virtual_service_divides_by_weights_and_hosts_are_written_in_many_ways() {
    let before = json!([{"route": [to("shop", 100)]}]);
    let traffic = json!({"weight": 20});
    let weights = json!([{"route": [to("shop.prod", 75), to("shop-canary.prod.svc.cluster.local", 25)]}]);
    istio(before.clone(), weights, traffic.clone(), &["/: 25.0"]);
    istio(before.clone(), json!([{"route": [to("shop", 40), to("shop-canary", 10), to("cart", 50)]}]), traffic.clone(), &["/: 20.0"]);
    istio(before.clone(), json!([{"route": [to("shop.test", 100)]}]), traffic.clone(), &["/: elsewhere"]);
    istio(before.clone(), json!([{"redirect": {"uri": "/"}}]), traffic.clone(), &["/: elsewhere"]);
    istio(before.clone(), json!([{"route": [to("shop", 0), to("shop-canary", 0)]}]), traffic.clone(), &["/: elsewhere"]);
    istio(
        before.clone(),
        json!([{"route": [to("shop", 50), {"destination": {"host": "shop-canary"}, "weight": -5}]}]),
        traffic.clone(),
        &["`/spec/http/0/route/1` has a weight that is none"].map(|reason| Box::leak(format!("/: {reason}").into_boxed_str()) as &str),
    );
    istio(before, json!([{"delegate": {"name": "other"}}]), traffic, &["/: `/spec/http/0` delegates to another VirtualService"]);
}

#[test]
fn the_first_rule_of_a_virtual_service_wins_and_every_rule_is_followed() {
    let before = json!([{"match": [{"uri": {"prefix": "/cart"}}], "route": [to("cart", 100)]}, {"route": [to("shop", 100)]}]);
    let mut during = before.clone();
    let narrow = json!({"match": [{"headers": {"version": {"exact": "beta"}}}], "route": [to("shop-canary", 100)]});
    during.as_array_mut().unwrap().insert(1, narrow.clone());
    istio(
        before.clone(),
        during.clone(),
        version("beta"),
        &["/: 0.0", "*/ with version: beta: 100.0", "/cart: elsewhere", "*/cart with version: beta: elsewhere"],
    );
    // Before all others it takes what is not the workload's.
    during.as_array_mut().unwrap().swap(0, 1);
    istio(
        before.clone(),
        during,
        version("beta"),
        &["/: 0.0", "*/ with version: beta: 100.0", "/cart: elsewhere", "*/cart with version: beta: 100.0"],
    );
    // And behind all others nothing.
    let mut during = before.clone();
    during.as_array_mut().unwrap().push(narrow);
    istio(
        before,
        during,
        version("beta"),
        &["/: 0.0", "*/ with version: beta: 0.0", "/cart: elsewhere", "*/cart with version: beta: elsewhere"],
    );
}

#[test]
fn rules_for_a_port_or_a_caller_take_the_requests_that_say_so_alone() {
    let rule = |condition: Value, route: Value| json!({"match": [condition], "route": route});
    let before = json!([
        rule(json!({"port": 80}), json!([to("cart", 100)])),
        rule(json!({"sourceLabels": {"app": "web"}}), json!([to("shop", 100)]))
    ]);
    let mut during = before.clone();
    during[1]["route"] = json!([to("shop", 90), to("shop-canary", 10)]);
    istio(before, during, json!({"weight": 10}), &["/ with port: 80: elsewhere", "/ with sourceLabels: {\"app\":\"web\"}: 10.0"]);
}

#[test]
fn what_only_the_gateway_can_say_is_not_guessed() {
    let before = json!([{"match": [{"uri": {"regex": "/v[0-9]+/.*"}}], "route": [to("shop", 100)]}]);
    let during = json!([{"match": [{"uri": {"regex": "/v[0-9]+/.*"}}], "route": [to("shop", 80), to("shop-canary", 20)]}]);
    istio(before.clone(), during, json!({"weight": 20}), &["~/v[0-9]+/.*: 20.0"]);
    let during = json!([{"match": [{"uri": {"exact": "/v1/"}}], "route": [to("shop-canary", 20)]}, {"match": [{"uri": {"regex": "/v[0-9]+/.*"}}], "route": [to("shop", 80)]}]);
    istio(
        before,
        during,
        json!({"weight": 20}),
        &["/v1/: 100.0", "~/v[0-9]+/.*: whether `/spec/http/0` takes ~/v[0-9]+/.* is for Istio to say"],
    );
    let split = json!({"apiVersion": "edge.example.com/v1", "kind": "TrafficSplit", "metadata": {"name": "shop"}});
    let unknown = plan("edge.example.com/TrafficSplit", &split, &split, &json!({"weight": 20}));
    assert_eq!(said(&unknown, &[]), ["what `TrafficSplit/shop` does is for its controller to say"]);
}

#[test]
fn a_subset_means_pods_of_the_service_with_its_labels() {
    let to = |subset: Option<&str>, weight: u64| json!({"destination": {"host": "shop", "subset": subset}, "weight": weight});
    let in_subsets = |route: Value, during: Value| {
        let mut plan =
            plan("networking.istio.io/VirtualService", &virtual_service(route), &virtual_service(during), &json!({"weight": 20}));
        let spec = &mut plan.spec;
        // One Service for both versions, which the plan does not hold.
        spec.objects.retain(|version, _| version.object().kind() != "Service");
        spec.steps[0].state.retain(|version| version.object().kind() != "Service");
        spec.baseline.retain(|version| version.object().kind() != "Service");
        spec.target.retain(|version| version.object().kind() != "Service");
        for (version, object) in &mut spec.objects {
            if version.object().kind() == "Deployment" {
                let tag = if version.object().name() == "shop" { "stable" } else { "gray" };
                object["spec"]["template"]["metadata"]["labels"]["tag"] = tag.into();
            }
        }
        let rule = ObjectKey::new("DestinationRule", "shop").version(1);
        spec.objects.insert(rule.clone(), json!({
            "apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": {"name": "shop"},
            "spec": {"host": "shop.prod.svc.cluster.local", "subsets": [{"name": "v1", "labels": {"tag": "stable"}}, {"name": "canary", "labels": {"tag": "gray"}}]},
        }));
        for state in [&mut spec.baseline, &mut spec.target, &mut spec.steps[0].state] {
            state.push(rule.clone());
        }
        plan
    };
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop"}, "spec": {"selector": {"app": "shop"}}});
    let service = Manifest::try_from(service).unwrap();
    let route = |entries: Value| json!([{ "route": entries }]);
    let told = in_subsets(route(json!([to(Some("v1"), 100)])), route(json!([to(Some("v1"), 80), to(Some("canary"), 20)])));
    assert_eq!(said(&told, &[&service]), ["/: 20.0"]);
    assert_eq!(said(&told, &[]), ["/: elsewhere"], "nothing is known of the Service");
    let lost = in_subsets(route(json!([to(Some("v1"), 100)])), route(json!([to(Some("v1"), 80), to(Some("none"), 20)])));
    assert_eq!(said(&lost, &[&service]), ["/: 0.0, 20.0 lost"]);
    // One pod of five is new: a fifth of the rest comes on top.
    let mut leaking = in_subsets(route(json!([to(None, 100)])), route(json!([to(None, 80), to(Some("canary"), 20)])));
    assert_eq!(said(&leaking, &[&service]), ["/: 36.0"]);
    leaking.spec.objects.insert(ObjectKey::new("HorizontalPodAutoscaler", "shop").version(1), json!({"kind": "HorizontalPodAutoscaler"}));
    assert_eq!(said(&leaking, &[&service]), ["/: some"], "an autoscaler decides how many old pods there are");
}

#[test]
fn an_http_route_counts_a_missing_weight_as_one_and_takes_the_most_specific_match() {
    let before = json!([{"backendRefs": [{"name": "shop"}]}]);
    let traffic = json!({"weight": 50});
    let both = json!([{"backendRefs": [{"name": "shop"}, {"name": "shop-canary"}]}]);
    gateway_api(before.clone(), both, traffic.clone(), &["/: 50.0"]);
    let zeros = json!([{"backendRefs": [{"name": "shop", "weight": 0}, {"name": "shop-canary", "weight": 0}]}]);
    gateway_api(before.clone(), zeros, traffic.clone(), &["/: elsewhere"]);
    let foreign = json!([{"backendRefs": [{"name": "shop", "weight": 1}, {"name": "shop-canary", "namespace": "test", "weight": 9}]}]);
    gateway_api(before.clone(), foreign, traffic.clone(), &["/: 0.0"]);
    let bucket = json!([{"backendRefs": [{"name": "shop"}, {"name": "shop", "kind": "Bucket", "group": "example.com"}]}]);
    gateway_api(before.clone(), bucket, traffic, &["/: what is behind `Bucket/shop` is in no file"]);
    let matching = json!([
        {"matches": [{"path": {"type": "PathPrefix", "value": "/"}}], "backendRefs": [{"name": "shop"}]},
        {"matches": [{"path": {"type": "PathPrefix", "value": "/"}, "headers": [{"name": "Version", "value": "beta"}]}], "backendRefs": [{"name": "shop-canary"}]},
    ]);
    gateway_api(before.clone(), matching.clone(), version("beta"), &["/: 0.0", "*/ with version: beta: 100.0"]);
    // A longer path wins over any header.
    let mut longer = matching;
    longer[0]["matches"][0]["path"]["value"] = "/cart".into();
    gateway_api(
        before,
        longer,
        version("beta"),
        &["/: elsewhere", "*/ with version: beta: 100.0", "/cart: 0.0", "*/cart with version: beta: 0.0"],
    );
}

#[test]
fn an_alternative_ingress_takes_headers_then_cookies_then_its_weight() {
    nginx(json!({"canary-weight": "30"}), json!({"weight": 30}), &["shop.example.com/: 30.0"]);
    nginx(json!({"canary-weight": "30", "canary-weight-total": "200"}), json!({"weight": 30}), &["shop.example.com/: 15.0"]);
    nginx(json!({}), json!({"weight": 30}), &["shop.example.com/: 0.0"]);
    nginx(
        json!({"canary-weight": "many"}),
        json!({"weight": 30}),
        &["shop.example.com/: whether the canary Ingress takes shop.example.com/ is for nginx to say"],
    );
    let cookie = json!({"matches": [{"headers": [{"type": "Exact", "name": "canary-by-cookie", "value": "beta"}]}]});
    nginx(json!({"canary-by-cookie": "beta"}), cookie, &["shop.example.com/: 0.0", "*shop.example.com/ with cookie beta=always: 100.0"]);
    nginx(
        json!({"canary-by-header": "Version", "canary-by-header-value": "beta"}),
        version("beta"),
        &["shop.example.com/: 0.0", "*shop.example.com/ with version: beta: 100.0"],
    );
    // What nobody declared is found by what the object asks for.
    nginx(
        json!({"canary-by-header": "Version", "canary-weight": "10"}),
        json!({"weight": 10}),
        &["shop.example.com/: 10.0", "shop.example.com/ with version: always: 100.0"],
    );
}

#[test]
fn pods_of_one_workload_have_two_versions_while_it_is_rolled() {
    let before = json!([{"route": [to("shop", 100)]}]);
    let mut plan = plan("networking.istio.io/VirtualService", &virtual_service(before.clone()), &virtual_service(before), &json!(null));
    // No second workload, no pin.
    let state = &mut plan.spec.steps[0].state;
    *state = plan.spec.target.clone();
    plan.spec.style = Style::Partition;
    assert_eq!(said(&plan, &[]), ["/: 25.0"]);
    plan.spec.style = Style::BlueGreen;
    assert_eq!(said(&plan, &[]), ["/: 20.0"]);
}

#[test]
fn nothing_that_is_written_makes_it_panic() {
    for spec in [
        json!(null),
        json!([]),
        json!({"http": 1}),
        json!({"http": [1, {"match": {}}, {"match": [1], "route": [1, {}]}, {"route": [null]}]}),
    ] {
        let mut object = virtual_service(json!([]));
        object["spec"] = spec;
        of(&plan("networking.istio.io/VirtualService", &object, &object, &json!({"weight": 1})), &[]);
    }
    for spec in [
        json!(null),
        json!({"rules": {}}),
        json!({"rules": [1, {"matches": [1, {"headers": [1]}], "backendRefs": [1]}, {"backendRefs": [{"name": 1, "weight": "1"}]}]}),
    ] {
        let mut object = http_route(json!([]));
        object["spec"] = spec;
        of(&plan("gateway.networking.k8s.io/HTTPRoute", &object, &object, &json!({"weight": 1})), &[]);
    }
}

#[test]
fn nobody_answers_what_is_redirected() {
    let redirect = json!({
        "matches": [{"path": {"type": "Exact", "value": "/old"}}],
        "filters": [{"type": "RequestRedirect", "requestRedirect": {"statusCode": 301}}],
        "backendRefs": [{"name": "shop"}],
    });
    let before = json!([redirect, {"backendRefs": [{"name": "shop"}]}]);
    let during = json!([redirect, {"backendRefs": [{"name": "shop", "weight": 80}, {"name": "shop-canary", "weight": 20}]}]);
    gateway_api(before, during, json!({"weight": 20}), &["/: 20.0", "/old: elsewhere"]);
}
