//! A Service's selector that changes with the pods never sends more to the new version than the pods behind it stand for, and
//! never to nobody: on the way in, while the new version takes over, and on every way back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use rollout::discover;
use rollout::model::{Catalog, GatewayRef, NeighborIndex, Originals, Pause, Plan, Replicas, Rollout, Severity, Stored};
use rollout::plan;
use rollout::render::{self, Inputs, Scripts};
use rollout::simulate::{Row, Script, Simulation, Who, simulate};
use serde_json::{Map, Value, json};

use crate::render::{catalog, originals, place, references, rollout, source, step};

const PODS: u32 = 10;

/// Labels of pods or of a selector.
type Labels = BTreeMap<&'static str, &'static str>;

/// What changes: the labels of the pods before and after, the Service's selector before and after.
#[derive(Debug, Clone)]
struct Change {
    pods: [Labels; 2],
    selectors: [Labels; 2],
}

fn pods() -> impl Strategy<Value = Labels> {
    let value = || prop_oneof![Just(None), Just(Some("1")), Just(Some("2"))];
    (value(), value()).prop_map(|(tier, color)| {
        [("app", Some("shop")), ("tier", tier), ("color", color)].into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    })
}

/// Pods, and a selector that has them.
fn selected() -> impl Strategy<Value = (Labels, Labels)> {
    pods().prop_flat_map(|pods| {
        let keys: Vec<_> = pods.clone().into_iter().collect();
        let count = keys.len();
        (Just(pods), prop::sample::subsequence(keys, 1..=count).prop_map(|labels| labels.into_iter().collect()))
    })
}

fn change() -> impl Strategy<Value = Change> {
    (selected(), selected()).prop_map(|(one, other)| Change { pods: [one.0, other.0], selectors: [one.1, other.1] })
}

fn as_json(labels: &Labels) -> Value {
    labels.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value))).collect::<Map<_, _>>().into()
}

fn changed(mut objects: Originals, pods: &Labels, selector: &Labels) -> Originals {
    let with = |original: Option<std::sync::Arc<rollout::model::Source>>, pointer: &str, labels: &Labels| {
        let mut value = original.expect("an object").manifest.value().clone();
        *value.pointer_mut(pointer).expect("labels") = as_json(labels);
        Some(source(value))
    };
    objects.workload = with(objects.workload, "/spec/template/metadata/labels", pods);
    objects.service = with(objects.service, "/spec/selector", selector);
    objects
}

/// A gateway whose traffic is computed; for others the simulation could never be wrong.
fn known(kind: &str, api_version: &str) -> GatewayRef {
    GatewayRef { api_version: api_version.into(), kind: kind.into(), name: "shop".into(), ingress_class: None, place: place() }
}

fn virtual_service() -> GatewayRef {
    known("VirtualService", "networking.istio.io/v1")
}

fn destination_rule() -> GatewayRef {
    known("DestinationRule", "networking.istio.io/v1")
}

fn http_route() -> GatewayRef {
    known("HTTPRoute", "gateway.networking.k8s.io/v1")
}

/// The objects of a version, with gateway objects as users write them.
fn routed(image: &str, gateways: &[GatewayRef]) -> Originals {
    let mut objects = originals(image, gateways, false);
    for (reference, object) in &mut objects.gateways {
        let spec = match reference.kind.as_str() {
            "VirtualService" => json!({"hosts": ["shop"], "http": [{"route": [{"destination": {"host": "shop"}}]}]}),
            "DestinationRule" => json!({"host": "shop"}),
            _ => json!({"rules": [{"backendRefs": [{"name": "shop", "port": 80}]}]}),
        };
        *object = Some(source(json!({
            "apiVersion": reference.api_version, "kind": reference.kind, "metadata": {"name": reference.name}, "spec": spec,
        })));
    }
    objects
}

fn rendered(rollout: &Rollout, change: &Change) -> Plan {
    let gateways = &rollout.routing.as_ref().expect("routing").gateways;
    let base = changed(routed("shop:1", gateways), &change.pods[0], &change.selectors[0]);
    let head = changed(routed("shop:2", gateways), &change.pods[1], &change.selectors[1]);
    let catalog = Catalog { gateways: discover::shipped_gateways().to_vec(), ..Catalog::default() };
    let scripts = Scripts::default();
    let inputs = Inputs { rollout, catalog: &catalog, head: &head, base: Some(&base), previous: None, scripts: &scripts };
    let rendered = render::plan(&inputs).expect("a plan");
    assert!(rendered.findings.iter().all(|finding| finding.severity != Severity::Error), "{:?}", rendered.findings);
    rendered.plan
}

fn run(plan: &Plan, events: &str) -> Simulation {
    simulate(plan, &Script::from_text(&format!("approveAfter: 60\n{events}")).expect("events"), &BTreeMap::new())
}

/// The most that the new version gets while the old pods are there, in percent.
fn most(rollout: &Rollout) -> f64 {
    let weight = rollout.steps.iter().filter_map(|step| step.traffic.weight).map(|weight| f64::from(weight.percent())).fold(0.0, f64::max);
    let pods = rollout.steps.iter().map(|step| step.replicas.of(PODS)).max().map_or(0.0, f64::from);
    weight + (100.0 - weight) * pods / (f64::from(PODS) + pods)
}

/// The rows at which more than that, or nobody, answers.
fn jumps(simulation: &Simulation, most: f64) -> Vec<&Row> {
    // Pods of the stable workload come ready when the new version has taken over, and when the old one is back.
    let takes_over = |row: &Row| row.who == Who::Cluster && row.what.starts_with("Deployment/shop: ");
    let mut has_taken_over = false;
    let mut wrong = Vec::new();
    for row in &simulation.rows {
        has_taken_over ^= takes_over(row);
        let is_too_much = row.traffic.percent.is_some_and(|percent| f64::from(percent) > most + 1.0);
        if row.traffic.lost || (is_too_much && !has_taken_over) {
            wrong.push(row);
        }
    }
    wrong
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn requests_stay_with_the_pods_that_are_there(
        change in change(),
        steps in prop::collection::vec((1..=10_u32, prop::option::of(1..=40_u8)), 1..4),
        (is_subset_mode, gateways) in prop_oneof![
            Just((false, vec![virtual_service()])),
            Just((false, vec![http_route()])),
            Just((false, vec![virtual_service(), http_route()])),
            Just((true, vec![virtual_service(), destination_rule()])),
        ],
    ) {
        let steps = steps.into_iter().map(|(pods, weight)| step(Replicas::Count(pods), weight, false, Pause::Approval)).collect();
        let mut rollout = rollout(steps, gateways, 3, is_subset_mode);
        if is_subset_mode {
            rollout.pod_metadata.labels.insert("istio.service.tag".to_owned(), "gray".to_owned());
        }
        let plan = rendered(&rollout, &change);
        prop_assert_eq!(plan::validate(&plan), Vec::<String>::new());
        prop_assert_eq!(plan::states::check_ways(&plan), Vec::<String>::new());
        let quiet = run(&plan, "");
        // A plan without traffic has no route, from which it could be computed.
        let has_traffic = rollout.steps.iter().any(|step| step.traffic.weight.is_some());
        prop_assert!(!has_traffic || quiet.rows.iter().all(|row| row.traffic.not_known.is_none()), "{:#?}", quiet.rows);
        prop_assert!(jumps(&quiet, most(&rollout)).is_empty(), "{:#?}", jumps(&quiet, most(&rollout)));
        let moments: BTreeSet<i64> = quiet.rows.iter().flat_map(|row| [row.seconds, row.seconds + 1]).collect();
        for second in moments {
            let aborted = run(&plan, &format!("events: [{{after: {second}, do: abort}}]"));
            let wrong = jumps(&aborted, most(&rollout));
            prop_assert!(wrong.is_empty(), "aborted after {} s: {:#?}", second, wrong);
        }
    }
}

#[test]
fn a_step_without_traffic_between_two_that_have_some_loses_nothing() {
    let steps = [Some(1), None, Some(1)].map(|weight| step(Replicas::Count(1), weight, false, Pause::Approval));
    let rollout = rollout(steps.into(), vec![virtual_service()], 3, false);
    let labels = || [Labels::from([("app", "shop")]), Labels::from([("app", "shop")])];
    let simulation = run(&rendered(&rollout, &Change { pods: labels(), selectors: labels() }), "");
    assert!(simulation.rows.iter().all(|row| !row.traffic.lost), "{:#?}", simulation.rows);
    assert_eq!(simulation.rows[0].traffic.percent, Some(0));
}

/// Two pods with a fifth of the traffic are the last step, and the change gives a label to pods and Service.
fn labelled() -> (Rollout, Plan) {
    let pods = [Labels::from([("app", "shop")]), Labels::from([("app", "shop"), ("tier", "front")])];
    let rollout = rollout(vec![step(Replicas::Count(2), Some(20), false, Pause::Approval)], vec![virtual_service()], 3, false);
    let plan = rendered(&rollout, &Change { selectors: pods.clone(), pods });
    (rollout, plan)
}

#[test]
fn a_new_selector_is_written_when_the_new_version_is_there() {
    let (_, plan) = labelled();
    let written = |stages: &[rollout::model::Stage]| -> Vec<String> {
        stages.iter().flat_map(|stage| &stage.write).map(ToString::to_string).collect()
    };
    assert_eq!(written(&plan.spec.finish), ["Service/shop@1", "Deployment/shop@2", "Service/shop@2", "VirtualService/shop@1"]);
    assert_eq!(written(&plan.spec.abort_finish), ["Service/shop@1", "Deployment/shop@1", "VirtualService/shop@1"]);
    let selector = |version: &str| {
        plan.spec.objects.iter().find(|(key, _)| key.to_string() == version).map(|(_, object)| object["spec"]["selector"].clone())
    };
    assert_eq!(selector("Service/shop@1"), Some(json!({"app": "shop"})));
    assert_eq!(selector("Service/shop@2"), Some(json!({"app": "shop", "tier": "front"})));
}

#[test]
fn the_property_sees_a_selector_that_is_written_too_early() {
    let (rollout, mut plan) = labelled();
    let late = plan.spec.finish.remove(2);
    plan.spec.finish[0] = late;
    let simulation = run(&plan, "");
    assert!(!jumps(&simulation, most(&rollout)).is_empty(), "{:#?}", simulation.rows);
}

#[test]
fn a_selector_that_changes_is_part_of_the_release_where_subsets_tell_the_versions_apart() {
    let pods = [Labels::from([("app", "shop")]), Labels::from([("app", "shop"), ("tier", "front")])];
    let steps = vec![step(Replicas::Count(2), Some(20), false, Pause::Approval)];
    let rollout = rollout(steps, vec![virtual_service(), destination_rule()], 3, true);
    let plan = rendered(&rollout, &Change { selectors: pods.clone(), pods });
    assert!(plan.spec.paths.iter().any(|entry| entry.object.to_string() == "Service/shop"), "{:?}", plan.spec.paths);
    assert!(plan.spec.steps[0].state.iter().any(|version| version.to_string() == "Service/shop@1"), "{:?}", plan.spec.steps[0].state);
}

#[test]
fn a_selector_that_stands_in_no_file_is_told_of() {
    let colored = |color| Labels::from([("app", "shop"), ("color", color)]);
    let objects = |image, color| changed(originals(image, &references(), false), &colored(color), &colored(color));
    let rollout = rollout(vec![step(Replicas::Count(1), Some(10), false, Pause::Approval)], references(), 0, false);
    let (base, head, catalog, scripts) = (objects("shop:1", "blue"), objects("shop:2", "green"), catalog(), Scripts::default());
    let inputs = Inputs { rollout: &rollout, catalog: &catalog, head: &head, base: Some(&base), previous: None, scripts: &scripts };
    let findings = render::plan(&inputs).expect("a plan").findings;
    let said: Vec<_> = findings.iter().map(|finding| (finding.code, finding.message.as_str())).collect();
    assert_eq!(said, [("service-selector-between", "while the new version takes over, Service `shop` selects `app: shop`")]);
}

fn refusals(base: &Originals, head: &Originals, beside: Vec<Value>) -> Vec<String> {
    let rollout = rollout(vec![step(Replicas::Count(1), Some(10), false, Pause::Approval)], references(), 0, false);
    let mut catalog = catalog();
    let others: Vec<_> = beside.into_iter().map(|object| Arc::new(Stored::new(Arc::unwrap_or_clone(source(object))))).collect();
    catalog.neighbors = NeighborIndex::new(move || others);
    let inputs = Inputs { rollout: &rollout, catalog: &catalog, head, base: Some(base), previous: None, scripts: &Scripts::default() };
    render::plan(&inputs).err().unwrap_or_default().into_iter().map(|finding| format!("{}: {}", finding.code, finding.message)).collect()
}

#[test]
fn pods_of_others_are_no_bridge_from_one_selector_to_the_other() {
    let colored = |color| Labels::from([("app", "shop"), ("color", color)]);
    let objects = |image, color| changed(originals(image, &references(), false), &colored(color), &colored(color));
    let (base, head) = (objects("shop:1", "blue"), objects("shop:2", "green"));
    let beside = |labels: Value| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "worker"},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}},
        })
    };
    assert_eq!(refusals(&base, &head, vec![]), Vec::<String>::new());
    assert_eq!(refusals(&base, &head, vec![beside(json!({"app": "worker"}))]), Vec::<String>::new());
    assert_eq!(
        refusals(&base, &head, vec![beside(json!({"app": "shop", "color": "grey"}))]),
        [
            "service-selects-others: while the new version takes over, Service `shop` selects `app: shop`, and with it the pods of Deployment prod/worker"
        ]
    );
}

#[test]
fn a_label_that_pods_have_only_while_the_release_lasts_is_none_to_select_by() {
    let front = Labels::from([("app", "shop"), ("tier", "front")]);
    let plain = Labels::from([("app", "shop")]);
    let (base, head) = (originals("shop:1", &references(), false), changed(originals("shop:2", &references(), false), &plain, &front));
    let mut rollout = rollout(vec![step(Replicas::Count(1), Some(10), false, Pause::Approval)], references(), 0, false);
    rollout.pod_metadata.labels.insert("tier".to_owned(), "front".to_owned());
    let (catalog, scripts) = (catalog(), Scripts::default());
    let inputs = Inputs { rollout: &rollout, catalog: &catalog, head: &head, base: Some(&base), previous: None, scripts: &scripts };
    let findings = render::plan(&inputs).expect_err("no plan");
    let messages: Vec<_> = findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(messages, ["Service `shop` selects `tier: front`, which no pod has after the release"]);
}
