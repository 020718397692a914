//! The independent proof: what shipped scripts write gives the new version what the steps declare, whatever the weights.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rollout::check;
use rollout::config::{Build, Config, Environment};
use rollout::discover;
use rollout::exposure::{self, Routes, Share};
use rollout::files::Files;
use rollout::model::{Finding, Manifest, Originals, Plan};
use rollout::render::{self, Inputs, Rendered, Scripts};
use rollout::yaml;
use serde_json::{Value, json};

/// The examples whose gateways are read.
const EXAMPLES: [&str; 4] = ["httproute-five-steps", "istio-subset", "nginx-ab", "two-gateways"];

/// The cases of the shipped scripts that give no plan, with the codes that say why.
const SKIPPED: [&str; 13] = [
    "gateway.networking.k8s.io/HTTPRoute/a-replaced-prefix-is-not-narrowed.yaml: script-fails",
    "gateway.networking.k8s.io/HTTPRoute/a-step-without-traffic-changes-nothing.yaml: step-traffic-invalid",
    "gateway.networking.k8s.io/HTTPRoute/one-service-for-both-versions.yaml: no Rollout",
    "networking.istio.io/VirtualService/a-canary-that-is-there-already-is-used.yaml: step-traffic-invalid",
    "networking.istio.io/VirtualService/a-rewritten-path-is-not-narrowed.yaml: script-fails",
    "networking.istio.io/VirtualService/a-step-without-traffic-changes-nothing.yaml: step-traffic-invalid",
    "networking.istio.io/VirtualService/expressions-are-not-joined.yaml: script-fails",
    "networking.istio.io/VirtualService/subsets-tell-the-versions-apart.yaml: no Rollout",
    "trafficrouting_ingress/nginx/a-cookie-has-no-expression.yaml: script-fails, step-beyond-gateway",
    "trafficrouting_ingress/nginx/a-share-of-nothing.yaml: step-traffic-invalid",
    "trafficrouting_ingress/nginx/paths-cannot-be-matched.yaml: script-fails, step-beyond-gateway",
    "trafficrouting_ingress/nginx/the-first-header-counts.yaml: step-beyond-gateway",
    "trafficrouting_ingress/nginx/two-headers-cannot-stand-together.yaml: script-fails",
];

/// What is found in the others: rules of the cases' own that lead to the second Service, or of which the manifests do not show what
/// they take.
const FOUND: [&str; 5] = [
    "gateway.networking.k8s.io/HTTPRoute/a-canary-that-is-there-already-is-used.yaml: route-to-canary",
    "gateway.networking.k8s.io/HTTPRoute/only-services-are-the-service.yaml: traffic-not-proved",
    "gateway.networking.k8s.io/HTTPRoute/paths-are-narrowed-never-widened.yaml: traffic-not-proved",
    "networking.istio.io/VirtualService/rules-without-destinations-stay.yaml: traffic-not-proved",
    "trafficrouting_ingress/nginx/other-annotations-stay.yaml: traffic-not-proved",
];

fn below(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)
}

/// The plan of the only Rollout, and what it was rendered from; findings of errors where there is none.
fn rendered(objects: &[Value]) -> Result<(Plan, Originals), Vec<Finding>> {
    let mut files = Files::default();
    for (index, object) in objects.iter().enumerate() {
        files.insert(format!("{index}.yaml"), object.to_string().into_bytes());
    }
    let environment =
        Environment { name: String::new(), path: String::new(), output: "rollouts".into(), namespace: None, build: Build::Nothing };
    let config = Config { environments: vec![environment] };
    let discovery = discover::discover(&discover::read(&files, &config), &config);
    let catalog = &discovery.catalogs[0];
    let Some(rollout) = catalog.rollouts.first() else { return Err(discovery.findings) };
    let (head, _) = discover::originals(catalog, rollout);
    let inputs = Inputs { rollout, catalog, head: &head, base: None, previous: None, scripts: &Scripts::default() };
    let Rendered { plan, .. } = render::plan(&inputs)?;
    Ok((plan, head))
}

/// The share of the new version for every request of a step that reaches the workload.
fn shares(plan: &Plan, originals: &Originals, step: usize) -> Vec<f64> {
    let gateways = originals.gateways.iter().filter_map(|(_, source)| source.as_deref());
    let beside: Vec<&Manifest> = originals.service.as_deref().into_iter().chain(gateways).map(|source| &source.manifest).collect();
    let exposure = exposure::of(plan, &beside);
    let mut shares = Vec::new();
    for entry in &exposure.steps[step] {
        let Routes::Known(routes) = &entry.routes else { panic!("{entry:?}") };
        for route in routes {
            match &route.share {
                Share::Known(split) => shares.push(split.new_version().expect("git knows the replicas")),
                Share::Elsewhere => {}
                Share::NotKnown(reason) => panic!("{}: {reason}", route.request),
            }
        }
    }
    shares
}

/// The objects of an example, with these steps.
fn example(name: &str, steps: &Value) -> Vec<Value> {
    let mut objects = Vec::new();
    let mut paths: Vec<_> = fs::read_dir(below("examples").join(name).join("after")).unwrap().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let text = fs::read_to_string(path).unwrap();
        for raw in yaml::split(&text).unwrap() {
            let mut object = yaml::read(&raw).unwrap().unwrap().value;
            if object["kind"] == "Rollout" {
                object["spec"]["strategy"]["canary"]["steps"] = steps.clone();
            }
            objects.push(object);
        }
    }
    objects
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop", "namespace": "prod"},
        "spec": {
            "replicas": 10,
            "selector": {"matchLabels": {"app": "shop"}},
            "template": {"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": [{"name": "shop", "image": "shop:1"}]}},
        },
    })
}

fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop", "namespace": "prod"},
        "spec": {"selector": {"app": "shop"}, "ports": [{"port": 80}, {"port": 443}, {"port": 8080}, {"port": 9000}]},
    })
}

fn rollout(gateway: &Value, weight: u8) -> Value {
    json!({
        "apiVersion": "rollouts.kruise.io/v1beta1", "kind": "Rollout", "metadata": {"name": "shop", "namespace": "prod"},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"},
            "strategy": {"canary": {
                "enableExtraWorkloadForCanary": true,
                "steps": [{"replicas": 1, "traffic": format!("{weight}%")}],
                "trafficRoutings": [{"service": "shop", "customNetworkRefs": [
                    {"apiVersion": gateway["apiVersion"], "kind": gateway["kind"], "name": "shop"},
                ]}],
            }},
        },
    })
}

/// A rule's destinations: whether each is the workload's, and its weight.
fn destinations() -> impl Strategy<Value = Vec<(bool, u64)>> {
    proptest::collection::vec((any::<bool>(), 1..=60_u64), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_example_gives_the_new_version_the_declared_weight(index in 0..EXAMPLES.len(), weight in 1..=100_u8) {
        let objects = example(EXAMPLES[index], &json!([{"replicas": 1, "traffic": format!("{weight}%")}]));
        let (plan, originals) = rendered(&objects).unwrap();
        let shares = shares(&plan, &originals, 0);
        prop_assert!(!shares.is_empty());
        for share in shares {
            prop_assert!((share - f64::from(weight) / 100.0).abs() < 1e-9, "{share} instead of {weight}%");
        }
        prop_assert_eq!(check::check(&plan, &originals), vec![]);
    }

    #[test]
    fn routes_of_any_weights_give_the_new_version_the_declared_weight(rules in proptest::collection::vec(destinations(), 1..4), weight in 1..=100_u8) {
        let backend = |(is_ours, weight): &(bool, u64)| json!({"name": if *is_ours { "shop" } else { "cart" }, "port": 80, "weight": weight});
        let path = |index: usize| json!([{"path": {"type": "PathPrefix", "value": format!("/{index}")}}]);
        let written = rules.iter().enumerate().map(|(index, rule)| json!({"matches": path(index), "backendRefs": rule.iter().map(backend).collect::<Vec<_>>()}));
        let route = json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "shop", "namespace": "prod"},
            "spec": {"rules": written.collect::<Vec<_>>()},
        });
        prop_assume!(rules.iter().flatten().any(|(is_ours, _)| *is_ours));
        let (plan, originals) = rendered(&[deployment(), service(), rollout(&route, weight), route]).unwrap();
        for share in shares(&plan, &originals, 0) {
            prop_assert!((share - f64::from(weight) / 100.0).abs() < 1e-9, "{share} instead of {weight}%");
        }
        prop_assert_eq!(check::check(&plan, &originals), vec![]);
    }

    #[test]
    fn virtual_services_of_any_weights_come_as_near_as_whole_weights_can(rules in proptest::collection::vec(destinations(), 1..4), weight in 1..=100_u8) {
        let destination = |(is_ours, weight): &(bool, u64)| json!({"destination": {"host": if *is_ours { "shop" } else { "cart" }}, "weight": weight});
        let written = rules.iter().enumerate().map(|(index, rule)| {
            json!({"match": [{"uri": {"prefix": format!("/{index}")}}], "route": rule.iter().map(destination).collect::<Vec<_>>()})
        });
        let route = json!({
            "apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "metadata": {"name": "shop", "namespace": "prod"},
            "spec": {"hosts": ["shop"], "http": written.collect::<Vec<_>>()},
        });
        prop_assume!(rules.iter().flatten().any(|(is_ours, _)| *is_ours));
        let (plan, originals) = rendered(&[deployment(), service(), rollout(&route, weight), route]).unwrap();
        prop_assert_eq!(check::check(&plan, &originals), vec![]);
    }
}

#[test]
fn every_case_of_the_shipped_scripts_does_what_its_steps_declare() {
    let (mut seen, mut told, mut skipped) = (0, Vec::new(), Vec::new());
    for kind in ["gateway.networking.k8s.io/HTTPRoute", "networking.istio.io/VirtualService", "trafficrouting_ingress/nginx"] {
        let folder = below("lua_configuration").join(kind).join("testdata");
        let mut paths: Vec<_> = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let name = format!("{kind}/{}", path.file_name().unwrap().to_string_lossy());
            let case = yaml::read_value(&fs::read_to_string(&path).unwrap()).unwrap();
            let (mut rollout, mut original) = (case["rollout"].clone(), case["original"].clone());
            if rollout.is_null() {
                skipped.push(format!("{name}: no Rollout"));
                continue;
            }
            for object in [&mut rollout, &mut original] {
                object["metadata"]["namespace"] = "prod".into();
            }
            let canary = &mut rollout["spec"]["strategy"]["canary"];
            canary["enableExtraWorkloadForCanary"] = true.into();
            for step in canary["steps"].as_array_mut().into_iter().flatten() {
                step["replicas"] = 1.into();
            }
            rollout["spec"]["workloadRef"] = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"});
            match rendered(&[deployment(), service(), rollout, original]) {
                Ok((plan, originals)) => {
                    seen += 1;
                    let found = check::check(&plan, &originals);
                    told.extend(found.iter().map(|finding| format!("{name}: {}", finding.code)));
                }
                Err(findings) => {
                    let codes: BTreeSet<_> = findings.iter().map(|finding| finding.code).collect();
                    skipped.push(format!("{name}: {}", codes.into_iter().collect::<Vec<_>>().join(", ")));
                }
            }
        }
    }
    assert_eq!(skipped, SKIPPED, "cases that give no plan, and why");
    assert!(seen >= 25, "{seen}");
    assert_eq!(told, FOUND);
}
