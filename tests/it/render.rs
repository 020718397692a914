//! What holds for every plan, whatever the Rollout: each way ends in the state it names, and nothing is left over.

use std::sync::Arc;

use proptest::prelude::*;
use rollout::model::{
    Await, Binding, Catalog, Gateway, GatewayClone, GatewayRef, HeaderModifierSupport, LateValue, Manifest, Match, MatchKind, MatchSupport,
    NamedMatch, ObjectKey, Originals, Pause, Place, Places, Plan, PodMetadata, Position, Reference, Replicas, Role, Rollout, Routing,
    ScriptKey, ScriptOrigin, ScriptSource, Source, Step, Strategy, Traffic, Weight, WeightSupport,
};
use rollout::plan;
use rollout::render::{self, Inputs, Scripts};
use serde_json::{Value, json};

/// Sends a share, or what matches, to the canary Service.
const ROUTE: &str = "
local spec = obj.data.spec
if obj.matches then
  table.insert(spec.rules, { to = obj.canaryService, matches = obj.matches })
else
  table.insert(spec.rules, { to = obj.canaryService, weight = obj.canaryWeight })
end
return { spec = spec, labels = obj.data.labels, annotations = obj.data.annotations }";

const DEFINITION: &str = "
local spec = obj.data.spec
spec.subsets = { { name = 'canary' } }
return { spec = spec, labels = obj.data.labels, annotations = obj.data.annotations }";

const INGRESS: &str = "
local annotations = obj.annotations or {}
annotations.weight = obj.weight
return annotations";

pub(crate) fn place() -> Place {
    Place { path: "app.yaml".into(), position: Position { line: 1, column: 1 } }
}

pub(crate) fn source(value: Value) -> Arc<Source> {
    let manifest = Manifest::try_from(value).expect("a manifest");
    let object = manifest.object_ref("prod");
    Arc::new(Source { manifest, object, path: "app.yaml".into(), places: Places::default(), remarks: Vec::new() })
}

fn workload(image: &str) -> Arc<Source> {
    source(json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"},
        "spec": {
            "replicas": 10,
            "selector": {"matchLabels": {"app": "shop"}},
            "template": {"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": [{"name": "shop", "image": image}]}},
        },
    }))
}

pub(crate) fn originals(image: &str, gateways: &[GatewayRef], is_autoscaled: bool) -> Originals {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop"}, "spec": {"selector": {"app": "shop"}, "ports": [{"port": 80}]}});
    let autoscaler = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "shop"}, "spec": {"maxReplicas": 20}});
    let object = |reference: &GatewayRef| {
        source(json!({
            "apiVersion": reference.api_version, "kind": reference.kind, "metadata": {"name": reference.name},
            "spec": {"rules": [{"to": "shop"}, {"to": "other"}]},
        }))
    };
    Originals {
        workload: Some(workload(image)),
        service: Some(source(service)),
        gateways: gateways.iter().map(|reference| (reference.clone(), Some(object(reference)))).collect(),
        autoscaler: is_autoscaled.then(|| source(autoscaler)),
        definitions: Vec::new(),
        ..Originals::default()
    }
}

fn reference(kind: &str, api_version: &str, ingress_class: Option<&str>) -> GatewayRef {
    GatewayRef {
        api_version: api_version.into(),
        kind: kind.into(),
        name: "shop".into(),
        ingress_class: ingress_class.map(str::to_owned),
        place: place(),
    }
}

fn gateway(name: &str, text: &str, role: Role, clone: Option<GatewayClone>) -> (String, Gateway) {
    let both = vec![MatchKind::Exact, MatchKind::RegularExpression];
    let gateway = Gateway {
        script: ScriptSource { name: name.into(), text: text.into(), origin: ScriptOrigin::Shipped },
        role,
        paths: Vec::new(),
        weights: Some(WeightSupport { lists: Vec::new(), sum: None }),
        matches: MatchSupport { headers: both, with_weight: true, ..MatchSupport::default() },
        header_modifier: HeaderModifierSupport::Always,
        accepted: None,
        clone,
        limits: Vec::new(),
    };
    (name.to_owned(), gateway)
}

pub(crate) fn catalog() -> Catalog {
    let clone = GatewayClone {
        suffix: "-canary".into(),
        fields: vec!["rules".into()],
        service_names: vec!["/spec/rules/*/to".into()],
        dropped_annotations: Vec::new(),
    };
    let mut gateways = vec![
        gateway("example.io/Route", ROUTE, Role::Route, None),
        gateway("example.io/Subsets", DEFINITION, Role::Definition, None),
        gateway("trafficrouting_ingress/plain", INGRESS, Role::Route, Some(clone)),
    ];
    gateways.sort_by(|one, other| one.0.cmp(&other.0));
    Catalog { gateways, ..Catalog::default() }
}

pub(crate) fn references() -> Vec<GatewayRef> {
    vec![
        reference("Route", "example.io/v1", None),
        reference("Subsets", "example.io/v1", None),
        reference("Ingress", "networking.k8s.io/v1", Some("plain")),
    ]
}

pub(crate) fn rollout(steps: Vec<Step>, gateways: Vec<GatewayRef>, grace_seconds: u32, is_subset_mode: bool) -> Rollout {
    let named = |api_version: &str, kind: &str| Reference { api_version: api_version.into(), kind: kind.into(), name: "shop".into() };
    Rollout {
        reference: named("rollouts.kruise.io/v1beta1", "Rollout"),
        namespace: "prod".into(),
        place: place(),
        workload: named("apps/v1", "Deployment"),
        strategy: Strategy::Canary,
        steps,
        routing: Some(Routing { service: "shop".into(), grace_seconds, gateways, is_subset_mode, place: place() }),
        pod_metadata: PodMetadata::default(),
        is_disabled: false,
        deadline: None,
    }
}

/// Of the references those that go together: an Ingress needs the second Service, and a definition something that routes.
pub(crate) fn routing(mut chosen: Vec<GatewayRef>, is_subset_mode: bool) -> Vec<GatewayRef> {
    chosen.retain(|reference| !is_subset_mode || reference.kind != "Ingress");
    if chosen.iter().all(|reference| reference.kind == "Subsets") {
        chosen.extend(references().into_iter().take(1));
    }
    chosen
}

pub(crate) fn step(replicas: Replicas, weight: Option<u8>, is_matching: bool, pause: Pause) -> Step {
    let header = NamedMatch { kind: MatchKind::Exact, name: "version".into(), value: "canary".into() };
    let matches = if is_matching { vec![Match { headers: vec![header], ..Match::default() }] } else { Vec::new() };
    let weight = weight.and_then(|weight| Weight::try_from(i64::from(weight)).ok());
    Step { replicas, traffic: Traffic { weight, matches }, header_modifier: None, pause, place: place() }
}

fn any_step() -> impl Strategy_<Value = Step> {
    let replicas = prop_oneof![(1..=20_u32).prop_map(Replicas::Count), (1..=100_u8).prop_map(Replicas::Percent)];
    let pause = prop_oneof![Just(Pause::Approval), (0..600_u32).prop_map(Pause::Seconds)];
    (replicas, prop::option::of(0..=100_u8), any::<bool>(), pause)
        .prop_map(|(replicas, weight, is_matching, pause)| step(replicas, weight, is_matching, pause))
}

use proptest::strategy::Strategy as Strategy_;

#[track_caller]
fn rendered(rollout: &Rollout, is_autoscaled: bool) -> Plan {
    let gateways = &rollout.routing.as_ref().expect("routing").gateways;
    let (base, head) = (originals("shop:1", gateways, is_autoscaled), originals("shop:2", gateways, is_autoscaled));
    let (catalog, scripts) = (catalog(), Scripts::default());
    let inputs = Inputs { rollout, catalog: &catalog, head: &head, base: Some(&base), previous: None, scripts: &scripts };
    render::plan(&inputs).expect("a plan").plan
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_way_of_every_plan_ends_in_the_state_it_names(
        steps in prop::collection::vec(any_step(), 1..6),
        chosen in prop::sample::subsequence(references(), 1..=3),
        grace in 0..5_u32,
        is_subset_mode in any::<bool>(),
        is_autoscaled in any::<bool>(),
    ) {
        let plan = rendered(&rollout(steps, routing(chosen, is_subset_mode), grace, is_subset_mode), is_autoscaled);
        prop_assert_eq!(plan::validate(&plan), Vec::<String>::new());
        prop_assert_eq!(plan::states::check_ways(&plan), Vec::<String>::new());
        let text = plan::to_text(&plan);
        prop_assert_eq!(plan::from_text(text.as_bytes()).expect("what was written is read"), plan);
    }
}

/// Each write of a route that sends traffic to pods which the Service before them may not know yet, on the way up from each state.
fn too_early(plan: &Plan) -> Vec<String> {
    let steps = &plan.spec.steps;
    let mut wrong = Vec::new();
    for from in 0..steps.len() {
        // In a step that was entered from above the pods of the step above were known.
        let mut is_reached = from > 0 && steps[from - 1].traffic.is_some();
        for step in &steps[from..] {
            for stage in &step.stages {
                let writes = |is_kind: fn(&str) -> bool| stage.write.iter().any(|version| is_kind(version.object().plain_kind()));
                if writes(|kind| kind == "Deployment") {
                    is_reached = false;
                }
                if step.traffic.is_some() && writes(|kind| matches!(kind, "Route" | "Ingress")) && !is_reached {
                    wrong.push(format!("{} from {from}: {stage:?}", step.name));
                }
                let is_wait = |wait: &Await| matches!(wait, Await::Endpoints { at_least, .. } if *at_least == step.replicas);
                is_reached |= stage.awaits.iter().any(is_wait);
            }
            is_reached &= step.traffic.is_some();
        }
    }
    wrong
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn traffic_waits_until_the_service_knows_as_many_pods_as_the_step_has(
        steps in prop::collection::vec(any_step(), 1..6),
        chosen in prop::sample::subsequence(references(), 1..=3),
        is_subset_mode in any::<bool>(),
        is_autoscaled in any::<bool>(),
    ) {
        let plan = rendered(&rollout(steps, routing(chosen, is_subset_mode), 0, is_subset_mode), is_autoscaled);
        prop_assert_eq!(too_early(&plan), Vec::<String>::new());
    }
}

/// The waits for endpoints of a step, with the kinds that are written before each.
fn endpoints(plan: &Plan, step: usize) -> Vec<(Vec<&str>, String)> {
    let mut found = Vec::new();
    let mut written = Vec::new();
    for stage in &plan.spec.steps[step].stages {
        written.extend(stage.write.iter().map(|version| version.object().plain_kind()));
        for wait in &stage.awaits {
            if let Await::Endpoints { service, at_least, of } = wait {
                let whose = if of.is_some() { " of the canary" } else { "" };
                found.push((written.clone(), format!("{at_least} behind {service}{whose}")));
            }
        }
    }
    found
}

#[test]
fn each_step_waits_for_its_own_share_of_endpoints() {
    let steps = |first: Option<u8>| {
        vec![step(Replicas::Percent(10), first, false, Pause::Approval), step(Replicas::Percent(100), Some(100), false, Pause::Approval)]
    };
    let routes = vec![reference("Route", "example.io/v1", None)];
    let plan = rendered(&rollout(steps(Some(10)), routes.clone(), 0, false), false);
    assert_eq!(endpoints(&plan, 0), [(vec!["Service", "Deployment", "Service"], "10% behind shop-canary".to_owned())]);
    assert_eq!(endpoints(&plan, 1), [(vec!["Deployment"], "100% behind shop-canary".to_owned())]);
    let subsets = rendered(&rollout(steps(Some(10)), routes.clone(), 0, true), false);
    assert_eq!(endpoints(&subsets, 1), [(vec!["Deployment"], "100% behind shop of the canary".to_owned())]);
    let same = vec![step(Replicas::Count(2), None, false, Pause::Approval), step(Replicas::Count(2), Some(20), false, Pause::Approval)];
    let later = rendered(&rollout(same, routes, 0, true), false);
    assert_eq!(endpoints(&later, 1), [(vec![], "2 behind shop of the canary".to_owned())], "the pods are there, and no traffic was yet");
}

#[test]
fn a_canary_is_a_share_of_the_replicas_in_the_cluster_whatever_git_says() {
    let steps =
        vec![step(Replicas::Count(1), Some(5), false, Pause::Approval), step(Replicas::Percent(50), Some(50), false, Pause::Approval)];
    let plan = rendered(&rollout(steps, references(), 0, false), false);
    for (version, share) in [(1, Replicas::Count(1)), (2, Replicas::Percent(50))] {
        let object = ObjectKey::new("Deployment", "shop-canary").version(version);
        assert_eq!(plan.spec.objects[&object].pointer("/spec/replicas"), None);
        let binding = Binding { object, pointer: "/spec/replicas".into(), value: LateValue::Replicas(share) };
        assert!(plan.spec.bindings.contains(&binding), "{:?}", plan.spec.bindings);
    }
}

#[test]
fn pods_come_before_routes_and_the_pin_before_pods() {
    let steps = vec![step(Replicas::Percent(20), Some(20), false, Pause::Approval)];
    let plan = rendered(&rollout(steps, references(), 3, false), false);
    let order: Vec<String> = plan.spec.steps[0].stages.iter().flat_map(|stage| &stage.write).map(ToString::to_string).collect();
    assert_eq!(
        order,
        ["Service/shop@2", "Deployment/shop-canary@1", "Service/shop-canary@1", "Subsets/shop@2", "Route/shop@2", "Ingress/shop-canary@1"]
    );
}

/// Whether the canary's pods are written before the route on the way from the first step to the second, where an autoscaler
/// owns the number of pods.
fn is_pods_first(from: (Replicas, Option<u8>), to: (Replicas, Option<u8>)) -> bool {
    let steps = [from, to].map(|(replicas, weight)| step(replicas, weight, false, Pause::Approval));
    let plan = rendered(&rollout(steps.into(), vec![reference("Route", "example.io/v1", None)], 3, false), true);
    let written: Vec<&str> = plan.spec.steps[1].stages.iter().flat_map(|stage| &stage.write).map(|key| key.object().kind()).collect();
    let at = |kind: &str| written.iter().position(|written| *written == kind).expect("a write");
    at("Deployment") < at("Route")
}

#[test]
fn traffic_leaves_before_pods_that_may_become_fewer() {
    let (count, percent) = (Replicas::Count, Replicas::Percent);
    assert!(!is_pods_first((percent(50), Some(50)), (count(1), Some(5))));
    assert!(!is_pods_first((count(3), Some(50)), (percent(10), Some(5))));
    assert!(!is_pods_first((percent(50), Some(50)), (percent(20), Some(20))));
    assert!(!is_pods_first((count(5), Some(50)), (count(2), Some(20))));
}

#[test]
fn pods_come_before_traffic_that_grows_whatever_their_number() {
    let (count, percent) = (Replicas::Count, Replicas::Percent);
    assert!(is_pods_first((count(3), Some(5)), (percent(50), Some(50))));
    assert!(is_pods_first((count(3), None), (percent(50), Some(50))), "the pin comes first: there is no traffic to leave");
    for (from, to) in [(count(1), percent(1)), (count(9), percent(100)), (percent(20), percent(50)), (count(2), count(5))] {
        assert!(is_pods_first((from, Some(50)), (to, Some(5))), "{from} to {to} never are fewer pods");
    }
}

#[test]
fn on_success_the_stable_workload_takes_over_before_routes_are_restored() {
    let steps = vec![step(Replicas::Percent(100), Some(100), false, Pause::Seconds(0))];
    let plan = rendered(&rollout(steps, references(), 3, false), true);
    let order: Vec<String> = plan
        .spec
        .finish
        .iter()
        .flat_map(|stage| stage.write.iter().map(ToString::to_string).chain(stage.remove.iter().map(|object| format!("-{object}"))))
        .collect();
    assert_eq!(
        order,
        [
            "Service/shop@1",
            "Deployment/shop@2",
            "Route/shop@1",
            "-Ingress/shop-canary",
            "Subsets/shop@1",
            "-Service/shop-canary",
            "-Deployment/shop-canary",
            "HorizontalPodAutoscaler/shop@1"
        ]
    );
}

#[test]
fn an_equal_template_is_a_preview() {
    let rollout = rollout(vec![step(Replicas::Count(1), None, false, Pause::Approval)], references(), 0, false);
    let head = originals("shop:1", &references(), false);
    let (catalog, scripts) = (catalog(), Scripts::default());
    let inputs = Inputs { rollout: &rollout, catalog: &catalog, head: &head, base: Some(&head), previous: None, scripts: &scripts };
    assert_eq!(render::plan(&inputs).expect("a plan").plan.spec.release, None);
}

/// The codes that the Rollout's steps with traffic give, from `base` to `head`.
fn codes(base: &Originals, head: &Originals) -> (bool, Vec<&'static str>) {
    let rollout = rollout(vec![step(Replicas::Count(1), Some(10), false, Pause::Approval)], references(), 0, false);
    let (catalog, scripts) = (catalog(), Scripts::default());
    let inputs = Inputs { rollout: &rollout, catalog: &catalog, head, base: Some(base), previous: None, scripts: &scripts };
    let (is_plan, findings) = match render::plan(&inputs) {
        Ok(rendered) => (true, rendered.findings),
        Err(findings) => (false, findings),
    };
    (is_plan, findings.iter().map(|finding| finding.code).collect())
}

#[test]
fn without_its_service_or_a_gateway_object_there_is_no_plan() {
    let base = originals("shop:1", &references(), false);
    let head = originals("shop:2", &references(), false);
    assert_eq!(codes(&base, &head), (true, vec![]));
    assert_eq!(codes(&base, &Originals { service: None, ..head.clone() }), (false, vec![]));
    let mut lost = head;
    lost.gateways[1].1 = None;
    assert_eq!(codes(&base, &lost), (false, vec![]));
}

#[test]
fn another_selector_is_an_error_before_a_cluster_refuses_it() {
    let base = originals("shop:1", &references(), false);
    let mut changed = workload("shop:2").manifest.value().clone();
    changed["spec"]["selector"] = json!({"matchLabels": {"app": "shop", "tier": "web"}});
    changed["spec"]["template"]["metadata"]["labels"]["tier"] = "web".into();
    let head = Originals { workload: Some(source(changed)), ..originals("shop:2", &references(), false) };
    assert_eq!(codes(&base, &head), (false, vec!["workload-selector-changes"]));
}

#[test]
fn a_workload_that_the_base_does_not_have_is_told() {
    let head = originals("shop:2", &references(), false);
    let base = Originals { workload: None, ..originals("shop:1", &references(), false) };
    assert_eq!(codes(&base, &head), (true, vec!["workload-new"]));
}

/// The release's objects with another value in one of them.
fn with(image: &str, object: &str, pointer: &str, value: Value) -> Originals {
    let mut originals = originals(image, &references(), false);
    let place = if object == "Service" { &mut originals.service } else { &mut originals.workload };
    let mut changed = place.as_ref().expect("an object").manifest.value().clone();
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    changed.pointer_mut(parent).expect("a parent")[key] = value;
    *place = Some(source(changed));
    originals
}

#[test]
fn a_port_that_moves_away_from_the_old_pods_is_told_of() {
    let port = |image: &str, target: Value| with(image, "Service", "/spec/ports", json!([{"port": 80, "targetPort": target}]));
    let case = |from: Value, to: Value| codes(&port("shop:1", from), &port("shop:2", to)).1;
    assert_eq!(case(json!(8080), json!(9090)), ["service-port-moves"]);
    assert_eq!(case(json!(8080), json!("http")), ["service-port-moves"]);
    assert_eq!(case(json!(null), json!(80)), Vec::<&str>::new());
    assert_eq!(case(json!("http"), json!("http")), Vec::<&str>::new());
    let listening = |mut objects: Originals| {
        let mut workload = objects.workload.expect("a workload").manifest.value().clone();
        workload["spec"]["template"]["spec"]["containers"][0]["ports"] = json!([{"name": "http", "containerPort": 9090}]);
        objects.workload = Some(source(workload));
        objects
    };
    for target in [json!(9090), json!("http")] {
        let (old, new) = (listening(port("shop:1", json!(8080))), port("shop:2", target));
        assert_eq!(codes(&old, &listening(new.clone())).1, Vec::<&str>::new(), "the old pods listen there");
        assert_eq!(codes(&old, &new).1, ["service-port-lost"], "only the old pods do");
    }
    let preview = codes(&port("shop:1", json!(8080)), &port("shop:1", json!(9090)));
    assert_eq!(preview.1, Vec::<&str>::new(), "no release");
}

#[test]
fn a_service_that_gets_its_selector_with_the_release_is_refused() {
    for before in [json!(null), json!({})] {
        let base = with("shop:1", "Service", "/spec/selector", before);
        assert_eq!(codes(&base, &originals("shop:2", &references(), false)), (false, vec!["service-without-selector"]));
    }
}

/// The last version of an object in the plan from version 1 of these objects to version 2.
fn last_version(base: &Originals, head: &Originals, pods: PodMetadata, object: &str) -> Value {
    let mut rollout = rollout(vec![step(Replicas::Count(1), Some(10), false, Pause::Approval)], references(), 0, false);
    rollout.pod_metadata = pods;
    let (catalog, scripts) = (catalog(), Scripts::default());
    let inputs = Inputs { rollout: &rollout, catalog: &catalog, head, base: Some(base), previous: None, scripts: &scripts };
    let objects = render::plan(&inputs).expect("a plan").plan.spec.objects;
    let last = objects.into_iter().rfind(|(key, _)| key.object().to_string() == object);
    last.expect("the object").1
}

#[test]
fn a_map_that_is_written_empty_is_one_to_write_into() {
    for behavior in [json!(null), json!({"scaleUp": {"policies": []}, "scaleDown": null})] {
        let at = |image: &str| {
            let mut originals = originals(image, &references(), true);
            let mut autoscaler = originals.autoscaler.expect("one").manifest.value().clone();
            autoscaler["spec"]["behavior"] = behavior.clone();
            originals.autoscaler = Some(source(autoscaler));
            originals
        };
        let held = last_version(&at("shop:1"), &at("shop:2"), PodMetadata::default(), "HorizontalPodAutoscaler/shop");
        assert_eq!(held.pointer("/spec/behavior/scaleDown/selectPolicy"), Some(&json!("Disabled")), "{behavior}");
    }
    let at = |image: &str| with(image, "Deployment", "/spec/template/metadata/annotations", json!(null));
    let annotations = [("example.com/color".to_owned(), "blue".to_owned())].into();
    let pods = PodMetadata { annotations, ..PodMetadata::default() };
    let canary = last_version(&at("shop:1"), &at("shop:2"), pods, "Deployment/shop-canary");
    assert_eq!(canary.pointer("/spec/template/metadata/annotations"), Some(&json!({"example.com/color": "blue"})));
}

#[test]
fn what_is_no_map_and_has_to_be_written_into_is_an_error() {
    let at = |image: &str| {
        let mut originals = originals(image, &references(), true);
        let mut autoscaler = originals.autoscaler.expect("one").manifest.value().clone();
        autoscaler["spec"]["behavior"] = json!(["none"]);
        originals.autoscaler = Some(source(autoscaler));
        originals
    };
    assert_eq!(codes(&at("shop:1"), &at("shop:2")), (false, vec!["autoscaler-unreadable"]));
}

#[test]
fn a_deployment_that_does_not_take_over_as_expected_is_told_of() {
    let base = originals("shop:1", &references(), false);
    let case = |pointer: &str, value: Value| codes(&base, &with("shop:2", "Deployment", pointer, value)).1;
    assert_eq!(case("/spec/paused", json!(true)), ["workload-paused"]);
    assert_eq!(case("/spec/strategy", json!({"type": "Recreate"})), ["workload-recreates"]);
    assert_eq!(case("/spec/strategy", json!({"type": "RollingUpdate"})), Vec::<&str>::new());
    let whole = rollout(vec![step(Replicas::Percent(100), Some(100), false, Pause::Approval)], references(), 0, false);
    let head = with("shop:2", "Deployment", "/spec/strategy", json!({"type": "Recreate"}));
    let (catalog, scripts) = (catalog(), Scripts::default());
    let inputs = Inputs { rollout: &whole, catalog: &catalog, head: &head, base: Some(&base), previous: None, scripts: &scripts };
    assert_eq!(render::plan(&inputs).expect("a plan").findings, []);
}

#[test]
fn a_script_of_the_user_that_does_not_see_the_weight_is_told_of() {
    let case = |weights: [u8; 2], text: &str| {
        let mut catalog = catalog();
        let mut own = gateway("example.io/Route", text, Role::Route, None);
        own.1.script.origin =
            ScriptOrigin::ConfigMap(ScriptKey { path: "config.yaml".into(), position: Position { line: 7, column: 5 }, is_block: true });
        catalog.gateways = vec![own];
        let steps = weights.map(|weight| step(Replicas::Count(1), Some(weight), false, Pause::Approval));
        let rollout = rollout(steps.to_vec(), references()[..1].to_vec(), 0, false);
        let head = originals("shop:2", &references()[..1], false);
        let scripts = Scripts::default();
        let inputs = Inputs { rollout: &rollout, catalog: &catalog, head: &head, base: None, previous: None, scripts: &scripts };
        let findings = render::plan(&inputs).expect("a plan").findings;
        findings.into_iter().map(|finding| finding.message).collect::<Vec<_>>()
    };
    let slip = "table.insert(obj.data.spec.rules, { to = obj.canaryService, weight = obj.canaryWieght }) return obj.data";
    assert_eq!(case([10, 50], slip), ["steps 1 and 2: the script gives the same for 10% and 50% (script `example.io/Route`)"]);
    assert_eq!(case([10, 10], slip), Vec::<String>::new());
    assert_eq!(case([10, 50], ROUTE), Vec::<String>::new());
}

#[test]
fn a_plan_rendered_again_keeps_its_baseline_and_its_bytes() {
    let rollout = rollout(vec![step(Replicas::Count(1), Some(10), false, Pause::Approval)], references(), 0, false);
    let first = rendered(&rollout, false);
    let head = originals("shop:2", &references(), false);
    let (catalog, scripts) = (catalog(), Scripts::default());
    let inputs = Inputs { rollout: &rollout, catalog: &catalog, head: &head, base: Some(&head), previous: Some(&first), scripts: &scripts };
    let again = render::plan(&inputs).expect("a plan").plan;
    assert_eq!(plan::to_text(&again), plan::to_text(&first));
    let next = originals("shop:3", &references(), false);
    let inputs = Inputs { head: &next, ..inputs };
    let next = render::plan(&inputs).expect("a plan").plan;
    let image = |plan: &Plan, key: &rollout::model::VersionKey| {
        plan.spec.objects[key]["spec"]["template"]["spec"]["containers"][0]["image"].clone()
    };
    let before = next.spec.baseline.iter().find(|key| key.object().kind() == "Deployment").expect("the workload");
    assert_eq!(image(&next, before), "shop:2");
}

#[test]
fn a_script_that_changes_nothing_is_an_error_with_the_place_of_the_reference() {
    let mut catalog = catalog();
    catalog.gateways = vec![gateway("example.io/Route", "return obj.data", Role::Route, None)];
    let steps = [10, 20, 50].map(|weight| step(Replicas::Count(1), Some(weight), false, Pause::Approval));
    let rollout = rollout(steps.to_vec(), references()[..1].to_vec(), 0, false);
    let head = originals("shop:2", &references()[..1], false);
    let scripts = Scripts::default();
    let inputs = Inputs { rollout: &rollout, catalog: &catalog, head: &head, base: None, previous: None, scripts: &scripts };
    let findings = render::plan(&inputs).expect_err("no plan");
    let said: Vec<_> = findings.iter().map(|finding| (finding.code, finding.message.as_str(), finding.help.as_deref())).collect();
    let message = "steps 1, 2 and 3: the script changes nothing: no rule leads to Service `shop` (script `example.io/Route`)";
    let help = "name the Service that Route prod/shop leads to in `trafficRoutings[].service`; a rule with weight 0 leads nowhere";
    assert_eq!(said, [("script-result", message, Some(help))]);
    assert_eq!(findings[0].place, Some(place()));
}

#[test]
fn a_script_that_fails_is_an_error_at_its_line() {
    let case = |origin: ScriptOrigin| {
        let mut catalog = catalog();
        let mut own = gateway("example.io/Route", "local spec = obj.data.spec\nlocal name = spec.nothing.name", Role::Route, None);
        own.1.script.origin = origin;
        catalog.gateways = vec![own];
        let rollout = rollout(vec![step(Replicas::Count(1), Some(10), false, Pause::Approval)], references()[..1].to_vec(), 0, false);
        let head = originals("shop:2", &references()[..1], false);
        let scripts = Scripts::default();
        let inputs = Inputs { rollout: &rollout, catalog: &catalog, head: &head, base: None, previous: None, scripts: &scripts };
        let findings = render::plan(&inputs).expect_err("no plan");
        assert_eq!(findings[0].code, "script-fails", "{findings:?}");
        assert!(findings[0].message.starts_with("step 1: script `example.io/Route`, line 2: attempt to index"), "{findings:?}");
        let place = findings[0].place.clone().expect("a place");
        format!("{}:{}", place.path, place.position.line)
    };
    let key = |is_block: bool| {
        ScriptOrigin::ConfigMap(ScriptKey { path: "cm.yaml".into(), position: Position { line: 11, column: 5 }, is_block })
    };
    assert_eq!(case(ScriptOrigin::File("lua_configuration/a.lua".into())), "lua_configuration/a.lua:2");
    assert_eq!(case(key(true)), "cm.yaml:13");
    assert_eq!(case(key(false)), "cm.yaml:11");
    assert_eq!(case(ScriptOrigin::Shipped), "app.yaml:1");
}

#[test]
fn a_script_that_only_this_machine_runs_is_a_warning_at_its_line() {
    let mut catalog = catalog();
    let text = format!("local count = 0\ncount += 1\n{ROUTE}");
    let mut own = gateway("example.io/Route", &text, Role::Route, None);
    own.1.script.origin = ScriptOrigin::File("lua_configuration/example.io/Route/trafficRouting.lua".into());
    catalog.gateways = vec![own];
    let rollout = rollout(vec![step(Replicas::Count(1), Some(10), false, Pause::Approval)], references()[..1].to_vec(), 0, false);
    let head = originals("shop:2", &references()[..1], false);
    let scripts = Scripts::default();
    let inputs = Inputs { rollout: &rollout, catalog: &catalog, head: &head, base: None, previous: None, scripts: &scripts };
    let findings = render::plan(&inputs).expect("a plan").findings;
    let lines: Vec<u32> = findings.iter().filter_map(|finding| Some(finding.place.as_ref()?.position.line)).collect();
    assert_eq!((lines, findings[0].code), (vec![2], "script-beyond-lua51"), "{findings:?}");
}
