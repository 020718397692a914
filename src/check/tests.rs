//! Rules on the plan of the fixture: 20% by weight, then a header.

use std::sync::Arc;

use serde_json::{Value, json};

use super::check;
use crate::model::{Finding, GatewayRef, Manifest, ObjectKey, Originals, Place, Plan, Position, Severity, Source, VersionKey};
use crate::plan::fixture;
use crate::yaml;

const ROUTE: &str = "apiVersion: networking.istio.io/v1
kind: VirtualService
metadata:
  name: shop
spec:
  hosts: [shop.example.com]
  http:
  - route:
    - destination:
        host: shop
";

fn source(text: &str) -> Arc<Source> {
    let raw = yaml::split(text).unwrap().remove(0);
    let document = yaml::read(&raw).unwrap().unwrap();
    let manifest = Manifest::try_from(document.value).unwrap();
    let object = manifest.object_ref("prod");
    Arc::new(Source { manifest, object, path: "route.yaml".into(), places: document.places, remarks: Vec::new() })
}

fn originals() -> Originals {
    let reference = GatewayRef {
        api_version: "networking.istio.io/v1".into(),
        kind: "VirtualService".into(),
        name: "shop".into(),
        ingress_class: None,
        place: Place { path: "rollout.yaml".into(), position: Position { line: 1, column: 1 } },
    };
    Originals { gateways: vec![(reference, Some(source(ROUTE)))], ..Originals::default() }
}

fn rules(plan: &mut Plan, version: u32) -> &mut Value {
    let key = ObjectKey::new("VirtualService", "shop").version(version);
    &mut plan.spec.objects.get_mut(&key).unwrap()["spec"]["http"]
}

fn told(plan: &Plan) -> Vec<(Severity, String)> {
    check(plan, &originals()).into_iter().map(|Finding { severity, code, message, .. }| (severity, format!("{code}: {message}"))).collect()
}

#[test]
fn a_plan_that_does_what_it_declares_is_not_talked_about() {
    assert_eq!(told(&fixture()), []);
}

#[test]
fn another_share_than_declared_is_an_error_at_the_user_s_own_destination() {
    let mut plan = fixture();
    rules(&mut plan, 2)[0]["route"][0]["weight"] = 70.into();
    rules(&mut plan, 2)[0]["route"][1]["weight"] = 30.into();
    let findings = check(&plan, &originals());
    assert_eq!(
        told(&plan),
        [(Severity::Error, "traffic-differs: step 1: `VirtualService/shop` does not do what the step declares: `/` gets the new version to 30%, not to 20%".to_owned())]
    );
    let place = findings[0].place.as_ref().unwrap();
    assert_eq!((place.path.as_str(), place.position.line), ("route.yaml", 10));
    assert!(findings[0].help.is_some());
}

#[test]
fn a_match_that_reaches_the_old_version_is_an_error_too() {
    let mut plan = fixture();
    rules(&mut plan, 3).as_array_mut().unwrap().reverse();
    assert_eq!(
        told(&plan),
        [(Severity::Error, "traffic-differs: step 2: `VirtualService/shop` does not do what the step declares: `/ with version: canary` gets the new version to 0%, not to 100%".to_owned())]
    );
}

#[test]
fn requests_that_are_no_longer_answered_are_an_error() {
    let mut plan = fixture();
    plan.spec.steps[0].state.retain(|version| *version != VersionKey::try_from("Service/shop-canary@1".to_owned()).unwrap());
    assert_eq!(told(&plan).len(), 1);
    assert!(told(&plan)[0].1.ends_with("`/` reaches no pod to 20%"), "{:?}", told(&plan));
    let mut plan = fixture();
    *rules(&mut plan, 2) = json!([]);
    assert!(told(&plan)[0].1.ends_with("`/` does not reach the workload any more"), "{:?}", told(&plan));
}

#[test]
fn a_match_that_takes_requests_of_others_is_a_warning() {
    let mut plan = fixture();
    let cart = json!({"match": [{"uri": {"prefix": "/cart"}}], "route": [{"destination": {"host": "cart"}}]});
    for version in 1..=2 {
        rules(&mut plan, version).as_array_mut().unwrap().insert(0, cart.clone());
    }
    rules(&mut plan, 3).as_array_mut().unwrap().insert(1, cart);
    assert_eq!(
        told(&plan),
        [(Severity::Warning, "traffic-differs: step 2: `VirtualService/shop` does not do what the step declares: `/cart with version: canary` gets the new version to 100%, and is not for the workload".to_owned())]
    );
}

#[test]
fn whole_weights_that_come_as_near_as_they_can_are_right() {
    let mut plan = fixture();
    // A fifth of 33 is no whole number.
    *rules(&mut plan, 2) = json!([{"route": [
        {"destination": {"host": "shop"}, "weight": 26}, {"destination": {"host": "shop-canary"}, "weight": 7}, {"destination": {"host": "other"}, "weight": 67},
    ]}]);
    assert_eq!(told(&plan), []);
    rules(&mut plan, 2)[0]["route"][1]["weight"] = 9.into();
    rules(&mut plan, 2)[0]["route"][0]["weight"] = 24.into();
    assert_eq!(told(&plan).len(), 1);
}

#[test]
fn a_service_that_nobody_pins_leaks_and_is_told_once() {
    let mut plan = fixture();
    for step in &mut plan.spec.steps {
        for version in &mut step.state {
            if version.object().name() == "shop" && version.object().kind() == "Service" {
                *version = version.object().version(1);
            }
        }
    }
    assert_eq!(
        told(&plan),
        [(
            Severity::Error,
            "traffic-leaks: step 1: pods of both versions stand behind `shop`: `/` gets the new version to 36%, not to 20%".to_owned()
        )]
    );
}

fn object<'a>(plan: &'a mut Plan, version: &str) -> &'a mut Value {
    plan.spec.objects.get_mut(&VersionKey::try_from(version.to_owned()).unwrap()).unwrap()
}

#[test]
fn requests_that_no_pod_gets_after_the_release_are_an_error() {
    let mut plan = fixture();
    object(&mut plan, "Deployment/shop@2")["spec"]["template"]["metadata"]["labels"] = json!({"app": "other"});
    assert_eq!(told(&plan), [(Severity::Error, "traffic-lost: after the release `/` reaches no pod to 100%".to_owned())]);
    object(&mut plan, "Deployment/shop@1")["spec"]["template"]["metadata"]["labels"] = json!({"app": "other"});
    plan.spec.steps.clear();
    assert_eq!(told(&plan), [], "they reach none today");
}

#[test]
fn requests_that_no_pod_gets_in_a_step_without_traffic_are_an_error() {
    let mut plan = fixture();
    plan.spec.steps.truncate(1);
    plan.spec.steps[0].traffic = None;
    for version in &mut plan.spec.steps[0].state {
        if version.object().kind() == "VirtualService" {
            *version = version.object().version(1);
        }
    }
    assert_eq!(told(&plan), []);
    object(&mut plan, "Service/shop@2")["spec"]["selector"] = json!({"app": "other"});
    assert_eq!(told(&plan), [(Severity::Error, "traffic-lost: in step 1 `/` reaches no pod to 100%".to_owned())]);
}
