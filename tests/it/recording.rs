//! The recorder of the end-to-end suite: what it must find, and what it must not.

use serde_json::{Value, json};

use crate::recorder::request::Request;
use crate::recorder::{Event, Phase, Question, Release, judge, shown, timeline};

/// A namespace whose changes are counted.
#[derive(Default)]
struct Story {
    events: Vec<Event>,
}

impl Story {
    fn write(&mut self, kind: &str, name: &str, object: Value) -> &mut Self {
        self.push(kind, name, Some(object))
    }

    fn push(&mut self, kind: &str, name: &str, object: Option<Value>) -> &mut Self {
        let revision = self.events.len() as u64 + 1;
        self.events.push(Event { revision, millis: revision * 10, kind: kind.to_owned(), name: name.to_owned(), object });
        self
    }

    fn phase(&mut self, phase: Phase) -> &mut Self {
        self.write("ConfigMap", "recorder-mark", json!({"data": {"phase": phase.to_string()}}))
    }

    /// Pods of an image, named `<image>-0` and so on, with a label `version`.
    fn pods(&mut self, image: &str, count: usize) -> &mut Self {
        for index in 0..count {
            let pod = json!({"metadata": {"labels": {"version": image}}, "spec": {"containers": [{"image": image}]}});
            self.write("Pod", &format!("{image}-{index}"), pod);
        }
        self
    }

    /// A Service's ready endpoints: so many of each image.
    fn endpoints(&mut self, service: &str, images: &[(&str, usize)]) -> &mut Self {
        let pods = images.iter().flat_map(|(image, count)| (0..*count).map(move |index| format!("{image}-{index}")));
        let endpoints: Vec<Value> =
            pods.map(|pod| json!({"conditions": {"ready": true}, "targetRef": {"kind": "Pod", "name": pod}})).collect();
        self.write(
            "EndpointSlice",
            service,
            json!({"metadata": {"labels": {"kubernetes.io/service-name": service}}, "endpoints": endpoints}),
        )
    }

    /// A VirtualService that splits between `shop` and `shop-canary`.
    fn split(&mut self, stable: u32, canary: u32) -> &mut Self {
        let route = if canary == 0 && stable == 100 {
            json!([{"destination": {"host": "shop"}}])
        } else {
            json!([{"destination": {"host": "shop"}, "weight": stable}, {"destination": {"host": "shop-canary"}, "weight": canary}])
        };
        self.write("VirtualService", "shop", json!({"spec": {"http": [{"route": route}]}}))
    }

    #[track_caller]
    fn faults(&self, steps: &Value, expected: &[&str]) {
        self.faults_with_lag(0, steps, expected);
    }

    /// The faults that a gateway shows, too, that follows so many milliseconds late; one event takes ten.
    #[track_caller]
    fn faults_with_lag(&self, lag: u64, steps: &Value, expected: &[&str]) {
        let steps = steps.as_array().expect("a list").clone();
        let release = Release { id: None, image: "v2".to_owned(), steps, lag, has_neighbours: false };
        let special = release.requests().expect("a request for each match");
        let moments = timeline(&self.events, &Question { special, lag, ..Question::default() });
        let faults = judge(&release, &moments);
        let is_as_expected = faults.len() == expected.len() && faults.iter().zip(expected).all(|(fault, part)| fault.contains(part));
        assert!(is_as_expected, "found {faults:#?}\nwanted {expected:#?}\nin\n{}", shown(&moments));
    }
}

/// Five old pods behind `shop`, and a route to them alone.
fn started() -> Story {
    let mut story = Story::default();
    story.pods("v1", 5).pods("v2", 5).endpoints("shop", &[("v1", 5)]).split(100, 0).phase(Phase::Rest);
    story
}

fn one_step(weight: u32) -> Value {
    json!([{ "weight": weight }])
}

#[test]
fn a_release_in_the_right_order_has_no_fault() {
    let mut story = started();
    story.phase(Phase::Step(1)).endpoints("shop-canary", &[("v2", 1)]).split(80, 20);
    story.phase(Phase::Finishing).endpoints("shop", &[("v1", 5), ("v2", 1)]).endpoints("shop", &[("v2", 5)]).split(100, 0);
    story.push("EndpointSlice", "shop-canary", None).phase(Phase::Succeeded);
    story.faults(&one_step(20), &[]);
}

#[test]
fn a_weight_before_the_pods_is_found() {
    let mut story = started();
    story.phase(Phase::Step(1)).split(80, 20).endpoints("shop-canary", &[("v2", 1)]);
    story.phase(Phase::Aborting).split(100, 0).phase(Phase::Aborted);
    story.faults(&one_step(20), &["step 1, VirtualService/shop GET /: v1 80.0 %, nobody behind shop-canary 20.0 %"]);
}

#[test]
fn more_than_the_step_declares_is_found() {
    let mut story = started();
    story.phase(Phase::Step(1)).endpoints("shop-canary", &[("v2", 1)]).split(50, 50);
    story.phase(Phase::Aborting).split(100, 0).phase(Phase::Aborted);
    story.faults(&one_step(20), &["the new version gets 50.0 %, which is more than 20.0 %"]);
}

#[test]
fn new_pods_behind_the_stable_service_are_found() {
    let mut story = started();
    story.phase(Phase::Step(1)).endpoints("shop", &[("v1", 5), ("v2", 1)]);
    story.endpoints("shop", &[("v1", 5)]).endpoints("shop-canary", &[("v2", 1)]).split(80, 20);
    story.phase(Phase::Aborting).split(100, 0).phase(Phase::Aborted);
    let mut open = started();
    open.phase(Phase::Step(1)).endpoints("shop-canary", &[("v2", 1)]).split(90, 10).endpoints("shop", &[("v1", 4), ("v2", 2)]);
    open.phase(Phase::Aborting).endpoints("shop", &[("v1", 5)]).split(100, 0).phase(Phase::Aborted);
    story.faults(&one_step(20), &[]);
    open.faults(&one_step(20), &["the new version gets 40.0 %, which is more than 20.0 %"]);
}

#[test]
fn traffic_that_falls_back_after_success_is_found() {
    let mut story = started();
    story.phase(Phase::Step(1)).endpoints("shop-canary", &[("v2", 5)]).split(0, 100);
    // The order of OpenKruise: unpin, restore the route, and only then the workload.
    story.phase(Phase::Finishing).endpoints("shop", &[("v1", 5), ("v2", 5)]).split(100, 0).endpoints("shop", &[("v2", 5)]);
    story.phase(Phase::Succeeded);
    story.faults(&one_step(100), &["finishing, VirtualService/shop GET /: the new version falls to 50.0 %, below 100.0 %"]);
}

#[test]
fn a_step_that_ends_with_less_than_it_declares_is_found() {
    let mut story = started();
    story.phase(Phase::Step(1)).endpoints("shop-canary", &[("v2", 1)]).split(90, 10);
    story.phase(Phase::Finishing).endpoints("shop", &[("v2", 5)]).split(100, 0).phase(Phase::Succeeded);
    story.faults(&one_step(20), &["the step ends with 10.0 % for the new version, not 20.0 %"]);
}

#[test]
fn a_rest_of_the_new_version_after_an_abort_is_found() {
    let mut story = started();
    story
        .phase(Phase::Step(1))
        .endpoints("shop-canary", &[("v2", 1)])
        .split(80, 20)
        .phase(Phase::Aborting)
        .split(90, 10)
        .phase(Phase::Aborted);
    story.faults(&one_step(20), &["aborted, VirtualService/shop GET /: the new version gets 10.0 %, which is more than 0.0 %"]);
}

#[test]
fn a_way_back_that_first_gives_more_is_found() {
    let mut story = started();
    story.phase(Phase::Step(1)).endpoints("shop-canary", &[("v2", 1)]).split(80, 20);
    story
        .phase(Phase::Aborting)
        .endpoints("shop", &[("v1", 5), ("v2", 1)])
        .split(100, 0)
        .endpoints("shop", &[("v1", 5)])
        .phase(Phase::Aborted);
    story.faults(&one_step(20), &["aborting, VirtualService/shop GET /: the new version gets 33.3 %, which is more than 20.0 %"]);
}

#[test]
fn a_smaller_step_may_keep_the_former_share_until_its_route_is_written() {
    let steps = json!([{"weight": 50}, {"matches": [{"headers": [{"name": "X-Beta", "value": "1"}]}]}]);
    let by_header = json!({"spec": {"http": [
        {"match": [{"headers": {"x-beta": {"exact": "1"}}}], "route": [{"destination": {"host": "shop-canary"}}]},
        {"route": [{"destination": {"host": "shop"}}]},
    ]}});
    let mut story = started();
    story.phase(Phase::Step(1)).endpoints("shop-canary", &[("v2", 1)]).split(50, 50);
    story.phase(Phase::Step(2)).endpoints("shop-canary", &[("v2", 2)]).write("VirtualService", "shop", by_header);
    story.phase(Phase::Finishing).endpoints("shop", &[("v2", 5)]).split(100, 0).phase(Phase::Succeeded);
    story.faults(&steps, &[]);

    let mut without = started();
    without.phase(Phase::Step(1)).endpoints("shop-canary", &[("v2", 1)]).split(50, 50).phase(Phase::Step(2));
    without.phase(Phase::Finishing).endpoints("shop", &[("v2", 5)]).split(100, 0).phase(Phase::Succeeded);
    without.faults(
        &steps,
        &[
            "GET /: the step ends with 50.0 % for the new version, not 0.0 %",
            "GET / x-beta:1: the step ends with 50.0 % for the new version, not 100.0 %",
        ],
    );
}

#[test]
fn a_subset_that_selects_no_ready_pod_is_found() {
    let route = |canary: &str| json!({"spec": {"http": [{"route": [{"destination": {"host": "shop", "subset": canary}}]}]}});
    let subsets = json!({"spec": {"host": "shop.prod.svc.cluster.local", "subsets": [{"name": "old", "labels": {"version": "v1"}}, {"name": "none", "labels": {"version": "v9"}}]}});
    let mut story = started();
    story.write("DestinationRule", "shop", subsets).write("VirtualService", "shop", route("old"));
    story.faults(&one_step(20), &[]);
    story.write("VirtualService", "shop", route("none"));
    story.faults(&one_step(20), &["nobody behind shop subset none 100.0 %"]);
    story.write("VirtualService", "shop", route("old")).push("DestinationRule", "shop", None);
    story.faults(&one_step(20), &["nobody behind shop subset none 100.0 %", "nobody behind shop subset old 100.0 %"]);
}

#[test]
fn a_route_that_loses_a_request_is_found() {
    let mut story = started();
    story.write("VirtualService", "shop", json!({"spec": {"http": []}}));
    story.faults(&one_step(20), &["the entry does not take the request any more"]);
}

#[test]
fn a_rule_and_a_route_that_are_lost_are_found() {
    let both = json!({"spec": {"http": [
        {"match": [{"uri": {"prefix": "/cart"}}], "route": [{"destination": {"host": "shop"}}]},
        {"match": [{"uri": {"exact": "/"}}], "route": [{"destination": {"host": "shop"}}]},
    ]}});
    let one = json!({"spec": {"http": [{"match": [{"uri": {"exact": "/"}}], "route": [{"destination": {"host": "shop"}}]}]}});
    let mut story = Story::default();
    story.pods("v1", 5).endpoints("shop", &[("v1", 5)]).write("VirtualService", "shop", both).phase(Phase::Rest);
    story.write("VirtualService", "shop", one);
    story.faults(&one_step(20), &["GET /cart: the entry does not take the request any more"]);
    story.push("VirtualService", "shop", None);
    story.faults(
        &one_step(20),
        &["GET /: the entry does not take the request any more", "GET /cart: the entry does not take the request any more"],
    );
}

#[test]
fn weights_of_nothing_and_no_backends_are_found() {
    let mut story = started();
    story.phase(Phase::Step(1)).endpoints("shop-canary", &[("v2", 1)]).split(0, 0);
    story.faults(&one_step(20), &["step 1, VirtualService/shop GET /: nobody behind no backend 100.0 %"]);
    let mut empty = started();
    empty.write("VirtualService", "shop", json!({"spec": {"http": [{"route": []}]}}));
    empty.faults(&one_step(20), &["nobody behind no backend 100.0 %"]);
}

#[test]
fn a_share_that_is_lost_while_a_step_holds_is_found() {
    let mut story = started();
    story.phase(Phase::Step(1)).endpoints("shop-canary", &[("v2", 1)]).split(80, 20).split(100, 0).split(80, 20);
    story.phase(Phase::Aborting).split(100, 0).phase(Phase::Aborted);
    story.faults(&one_step(20), &["step 1, VirtualService/shop GET /: the new version falls to 0.0 %, below 20.0 %"]);
}

#[test]
fn pods_that_go_before_a_late_gateway_knows_are_found() {
    let mut story = started();
    story.phase(Phase::Step(1)).endpoints("shop-canary", &[("v2", 1)]).split(80, 20);
    for _ in 0..10 {
        story.phase(Phase::Step(1));
    }
    story.phase(Phase::Aborting).split(100, 0).endpoints("shop-canary", &[]).phase(Phase::Aborted);
    story.faults(&one_step(20), &[]);
    story.faults_with_lag(50, &one_step(20), &["nobody behind shop-canary 20.0 %, by a gateway that follows 50 ms late"]);
}

#[test]
#[should_panic(expected = "the recorder knows no request for")]
fn a_match_that_no_request_is_known_for_is_no_silence() {
    let steps = json!([{"matches": [{"headers": [{"name": "X-Beta", "type": "RegularExpression", "value": "(a|b)+"}]}]}]);
    started().faults(&steps, &[]);
}

#[test]
fn events_of_several_kinds_are_put_into_the_order_of_the_store() {
    let mut story = started();
    story
        .phase(Phase::Step(1))
        .endpoints("shop-canary", &[("v2", 1)])
        .split(80, 20)
        .phase(Phase::Aborting)
        .split(100, 0)
        .phase(Phase::Aborted);
    story.events.sort_by_key(|event| event.kind.clone());
    story.faults(&one_step(20), &[]);
}

#[track_caller]
fn share_of(objects: &[(&str, &str, Value)], request: &Request, expected: f64) {
    let mut story = Story::default();
    story.pods("v1", 2).pods("v2", 2).endpoints("shop", &[("v1", 2)]).endpoints("shop-canary", &[("v2", 2)]);
    for (kind, name, object) in objects {
        story.write(kind, name, object.clone());
    }
    let moments = timeline(&story.events, &Question { special: vec![request.clone()], ..Question::default() });
    let traffic = &moments.last().expect("at least one moment").traffic;
    let key = traffic.keys().find(|key| key.1 == *request).expect("the request was asked");
    let share = traffic[key].as_ref().expect("the request is taken").of("v2");
    assert!((share - expected).abs() < 1e-9, "{share} instead of {expected}");
}

fn with(name: &str, value: &str) -> Request {
    let mut request = Request::plain("/");
    request.headers.insert(name.to_owned(), value.to_owned());
    request
}

#[test]
fn an_http_route_is_read_by_the_most_specific_rule() {
    let route = json!({"spec": {"rules": [
        {"matches": [{"path": {"type": "PathPrefix", "value": "/"}}], "backendRefs": [{"name": "shop", "weight": 90}, {"name": "shop-canary", "weight": 10}]},
        {"matches": [{"path": {"type": "PathPrefix", "value": "/"}, "headers": [{"name": "X-Beta", "value": "1"}]}], "backendRefs": [{"name": "shop-canary"}]},
        {"matches": [{"path": {"type": "PathPrefix", "value": "/api"}}], "backendRefs": [{"name": "shop"}]},
    ]}});
    let objects = [("HTTPRoute", "shop", route)];
    share_of(&objects, &Request::plain("/"), 0.1);
    share_of(&objects, &with("x-beta", "1"), 1.0);
    share_of(&objects, &with("x-beta", "2"), 0.1);
    share_of(&objects, &Request::plain("/api/x"), 0.0);
    share_of(&objects, &Request::plain("/apix"), 0.1);
}

#[test]
fn ingresses_are_read_as_ingress_nginx_reads_them() {
    let ingress = |service: &str, annotations: Value| json!({"metadata": {"annotations": annotations}, "spec": {"rules": [{"host": "h", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": service}}}]}}]}});
    let canary = |annotations: Value| {
        [("Ingress", "shop", ingress("shop", json!({}))), ("Ingress", "shop-canary", ingress("shop-canary", annotations))]
    };
    let key = |name: &str| format!("nginx.ingress.kubernetes.io/{name}");
    let weight = canary(json!({key("canary"): "true", key("canary-weight"): "30"}));
    share_of(&weight, &Request::plain("/"), 0.3);
    let header = canary(
        json!({key("canary"): "true", key("canary-weight"): "0", key("canary-by-header"): "X-Beta", key("canary-by-header-value"): "1"}),
    );
    share_of(&header, &Request::plain("/"), 0.0);
    share_of(&header, &with("x-beta", "1"), 1.0);
    share_of(&header, &with("x-beta", "always"), 0.0);
    let cookie = canary(json!({key("canary"): "true", key("canary-by-cookie"): "beta"}));
    share_of(&cookie, &with("cookie", "a=b; beta=always"), 1.0);
    share_of(&cookie, &Request::plain("/"), 0.0);
}
