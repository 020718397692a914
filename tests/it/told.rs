//! What is told before the merge of a change that would not do what it says.

use rollout::check;
use rollout::config::{Build, Config, Environment};
use rollout::discover;
use rollout::files::Files;
use rollout::model::Originals;
use rollout::render::{self, Inputs, Rendered, Scripts};
use serde_json::{Value, json};

const ISTIO: &str = "networking.istio.io/v1";

/// The repository before and after a change.
struct Change {
    before: Vec<Value>,
    after: Vec<Value>,
}

/// What is said of the change, errors first: code and message.
fn told(change: &Change) -> Vec<String> {
    let environment =
        Environment { name: String::new(), path: String::new(), output: "rollouts".into(), namespace: None, build: Build::Nothing };
    let config = Config { environments: vec![environment] };
    let discovered = |objects: &[Value]| {
        let mut files = Files::default();
        for (index, object) in objects.iter().enumerate() {
            files.insert(format!("{index}.yaml"), object.to_string().into_bytes());
        }
        discover::discover(&discover::read(&files, &config), &config)
    };
    let (before, after) = (discovered(&change.before), discovered(&change.after));
    let mut findings = after.findings;
    let catalog = &after.catalogs[0];
    if let Some(rollout) = catalog.rollouts.first() {
        let (base, _): (Originals, _) = discover::originals(&before.catalogs[0], &before.catalogs[0].rollouts[0]);
        let (head, said) = discover::originals(catalog, rollout);
        findings.extend(said);
        let inputs = Inputs { rollout, catalog, head: &head, base: Some(&base), previous: None, scripts: &Scripts::default() };
        match render::plan(&inputs) {
            Ok(Rendered { plan, findings: said }) => {
                findings.extend(said);
                findings.extend(check::check(&plan, &head));
            }
            Err(said) => findings.extend(said),
        }
    }
    findings.sort_by_key(|finding| finding.severity);
    findings.iter().map(|finding| format!("{}[{}]: {}", finding.severity, finding.code, finding.message)).collect()
}

#[track_caller]
fn case(change: &Change, expected: &[&str]) {
    assert_eq!(told(change), expected);
}

fn deployment(image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop", "namespace": "prod"},
        "spec": {
            "replicas": 5,
            "selector": {"matchLabels": {"app": "shop"}},
            "template": {
                "metadata": {"labels": {"app": "shop"}},
                "spec": {"containers": [{"name": "shop", "image": image, "ports": [{"name": "web", "containerPort": 80}]}]},
            },
        },
    })
}

fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop", "namespace": "prod"},
        "spec": {"selector": {"app": "shop"}, "ports": [{"name": "http", "port": 80}]},
    })
}

fn rollout(mut canary: Value, mut routing: Value, mut step: Value) -> Value {
    routing["service"] = "shop".into();
    step["replicas"] = 1.into();
    canary["enableExtraWorkloadForCanary"] = true.into();
    canary["trafficRoutings"] = Value::Array(vec![routing]);
    canary["steps"] = Value::Array(vec![step, json!({"replicas": "100%", "traffic": "100%"})]);
    let mut rollout = json!({
        "apiVersion": "rollouts.kruise.io/v1beta1", "kind": "Rollout", "metadata": {"name": "shop", "namespace": "prod"},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"},
            "strategy": {},
        },
    });
    rollout["spec"]["strategy"]["canary"] = canary;
    rollout
}

fn custom(kinds: &[&str]) -> Value {
    let references = kinds.iter().map(|kind| json!({"apiVersion": ISTIO, "kind": kind, "name": "shop"}));
    json!({"customNetworkRefs": references.collect::<Vec<_>>()})
}

fn object(api_version: &str, kind: &str, spec: Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "shop", "namespace": "prod"}});
    object["spec"] = spec;
    object
}

fn http_route(rules: Value) -> Value {
    let mut spec = json!({"parentRefs": [{"name": "edge"}]});
    spec["rules"] = rules;
    object("gateway.networking.k8s.io/v1", "HTTPRoute", spec)
}

fn virtual_service(http: Value) -> Value {
    let mut spec = json!({"hosts": ["shop"]});
    spec["http"] = http;
    object(ISTIO, "VirtualService", spec)
}

fn ingress(spec: Value) -> Value {
    object("networking.k8s.io/v1", "Ingress", spec)
}

/// A new image, routed by these objects in both trees.
fn new_image(rollout: Value, others: &[Value]) -> Change {
    let before = [vec![deployment("shop:1"), service(), rollout], others.to_vec()].concat();
    let mut after = before.clone();
    after[0] = deployment("shop:2");
    Change { before, after }
}

fn share() -> Value {
    json!({"traffic": "10%"})
}

fn by_route(step: Value, rules: Value) -> Change {
    new_image(rollout(json!({}), json!({"gateway": {"httpRouteName": "shop"}}), step), &[http_route(rules)])
}

fn by_virtual_service(step: Value, http: Value) -> Change {
    new_image(rollout(json!({}), custom(&["VirtualService"]), step), &[virtual_service(http)])
}

fn by_ingress(canary: Value, spec: Value) -> Change {
    new_image(rollout(canary, json!({"ingress": {"name": "shop", "classType": "nginx"}}), share()), &[ingress(spec)])
}

fn backend(service: &str) -> Value {
    json!({"ingressClassName": "nginx", "rules": [{"http": {"paths": [
        {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": service, "port": {"number": 80}}}},
    ]}}]})
}

#[test]
fn a_change_in_order_is_not_talked_about() {
    case(&by_route(share(), json!([{"backendRefs": [{"name": "shop", "port": 80}]}])), &[]);
    case(&by_virtual_service(share(), json!([{"route": [{"destination": {"host": "shop", "port": {"number": 80}}}]}])), &[]);
    case(&by_ingress(json!({}), backend("shop")), &[]);
}

#[test]
fn a_service_of_another_namespace_is_not_the_one_that_is_released() {
    let nothing = "error[script-result]: steps 1 and 2: the script changes nothing: no rule leads to Service `shop`";
    let of_route = format!("{nothing} (script `gateway.networking.k8s.io/HTTPRoute`)");
    case(&by_route(share(), json!([{"backendRefs": [{"name": "shop", "namespace": "payments", "port": 80}]}])), &[&of_route]);
    let of_virtual_service = format!("{nothing} (script `networking.istio.io/VirtualService`)");
    for host in ["shop.payments", "shop.payments.svc.cluster.local"] {
        case(&by_virtual_service(share(), json!([{"route": [{"destination": {"host": host}}]}])), &[&of_virtual_service]);
    }
}

#[test]
fn an_ingress_without_a_rule_for_the_service_has_no_second_one() {
    let expected = "error[script-result]: no rule of Ingress prod/shop leads to Service `shop`";
    case(&by_ingress(json!({}), backend("other")), &[expected]);
    let default = json!({"ingressClassName": "nginx", "defaultBackend": {"service": {"name": "shop", "port": {"number": 80}}}});
    assert_eq!(told(&by_ingress(json!({}), default))[0], expected);
}

#[test]
fn an_ingress_needs_the_second_service() {
    case(
        &by_ingress(json!({"disableGenerateCanaryService": true}), backend("shop")),
        &["error[step-beyond-gateway]: Ingress prod/shop tells the versions apart by Service, and the Rollout has no second one made"],
    );
}

#[test]
fn a_rollout_that_names_a_definition_alone_routes_nothing() {
    let definition = object(ISTIO, "DestinationRule", json!({"host": "shop", "subsets": [{"name": "base", "labels": {"app": "shop"}}]}));
    case(
        &new_image(rollout(json!({}), custom(&["DestinationRule"]), share()), &[definition]),
        &[
            "error[traffic-without-routing]: step 1 has traffic, and DestinationRule prod/shop sends no request anywhere: it only says which pods a version has",
        ],
    );
}

#[test]
fn labels_of_new_pods_stay_within_the_selector_of_the_workload() {
    let route = || http_route(json!([{"backendRefs": [{"name": "shop", "port": 80}]}]));
    let patched = |labels: Value| {
        let canary = json!({"patchPodTemplateMetadata": {"labels": labels}});
        new_image(rollout(canary, json!({"gateway": {"httpRouteName": "shop"}}), share()), &[route()])
    };
    case(&patched(json!({"track": "canary", "app": "shop"})), &[]);
    case(
        &patched(json!({"app": "gray"})),
        &[
            "error[workload-selects-no-pods]: `app: gray` takes the new pods out of the selector of Deployment prod/shop, which no cluster takes",
        ],
    );
}

#[test]
fn matches_that_no_rule_for_the_service_can_meet_are_told_as_such() {
    let web = || json!({"matches": [{"path": {"value": "/web"}}]});
    let message = "error[script-result]: step 1: the script changes nothing: no rule that leads to Service `shop` takes requests of the step's matches";
    case(
        &by_route(web(), json!([{"matches": [{"path": {"value": "/api"}}], "backendRefs": [{"name": "shop", "port": 80}]}])),
        &[&format!("{message} (script `gateway.networking.k8s.io/HTTPRoute`)")],
    );
    case(
        &by_virtual_service(web(), json!([{"match": [{"uri": {"prefix": "/api"}}], "route": [{"destination": {"host": "shop"}}]}])),
        &[&format!("{message} (script `networking.istio.io/VirtualService`)")],
    );
}

#[test]
fn a_script_of_the_user_that_does_nothing_is_not_said_to_have_no_rule() {
    let mut change = by_route(share(), json!([{"backendRefs": [{"name": "shop", "port": 80}]}]));
    change.after.push(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kruise-rollout-configuration", "namespace": "kruise-rollout"},
        "data": {"lua.traffic.routing.HTTPRoute.gateway.networking.k8s.io": "return obj.data"},
    }));
    let said = told(&change);
    assert!(
        said.iter().any(|said| said.starts_with("error[script-result]: steps 1 and 2: the script changes nothing (script ")),
        "{said:#?}"
    );
}

#[test]
fn a_port_that_new_pods_name_differently_is_told() {
    let to = |target: Value| {
        let mut change = by_route(share(), json!([{"backendRefs": [{"name": "shop", "port": 80}]}]));
        for objects in [&mut change.before, &mut change.after] {
            objects[1]["spec"]["ports"][0]["targetPort"] = target.clone();
        }
        change
    };
    let new_port = |change: &mut Change, port: Value| change.after[0]["spec"]["template"]["spec"]["containers"][0]["ports"] = json!([port]);
    let mut renamed = to(json!("web"));
    new_port(&mut renamed, json!({"name": "http", "containerPort": 80}));
    case(&renamed, &["error[service-port-lost]: Service `shop` leads port 80 to `web`, and the new pods do not name such a port any more"]);
    let mut moved = to(json!("web"));
    new_port(&mut moved, json!({"name": "web", "containerPort": 9090}));
    case(&moved, &[]);
    let mut moved = to(json!(80));
    new_port(&mut moved, json!({"name": "web", "containerPort": 9090}));
    case(&moved, &["warning[service-port-lost]: Service `shop` leads port 80 to 80, and the new pods do not name such a port any more"]);
    case(&to(json!("of-a-sidecar")), &[]);
}

/// A change of the Service's port, and of the route's.
fn new_port(service: u16, route: u16) -> Change {
    let mut change = by_route(share(), json!([{"backendRefs": [{"name": "shop", "port": 80}]}]));
    change.after[1]["spec"]["ports"][0] = json!({"name": "http", "port": service, "targetPort": 80});
    change.after[3]["spec"]["rules"][0]["backendRefs"][0]["port"] = route.into();
    change
}

#[test]
fn a_port_that_goes_with_the_merge_while_the_route_waits_is_told() {
    let said = |state| format!("error[service-port-missing]: {state} `/` is sent to port 80 of Service `shop`, and there is no such port");
    case(&new_port(80, 80), &[]);
    case(&new_port(8080, 8080), &[&said("as soon as the change is merged")]);
    case(&new_port(8080, 80), &[&said("after the release")]);
    let mut both = new_port(80, 8080);
    both.after[1]["spec"]["ports"] = json!([{"name": "http", "port": 80}, {"name": "next", "port": 8080, "targetPort": 80}]);
    case(&both, &[]);
    let mut headless = new_port(80, 80);
    headless.after[1]["spec"] = json!({"clusterIP": "None", "selector": {"app": "shop"}});
    case(&headless, &[]);
}

#[test]
fn ports_are_known_in_the_words_of_each_gateway() {
    let closed = |change: &Change| told(change).iter().filter(|said| said.contains("service-port-missing")).count();
    let of_istio =
        |port: u16| by_virtual_service(share(), json!([{"route": [{"destination": {"host": "shop", "port": {"number": port}}}]}]));
    assert_eq!([80, 8080].map(|port| closed(&of_istio(port))), [0, 1]);
    let of_nginx = |port: Value| {
        let mut spec = backend("shop");
        spec["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"] = port;
        by_ingress(json!({}), spec)
    };
    let ports = [json!({"number": 80}), json!({"name": "http"}), json!({"number": 8080}), json!({"name": "https"})];
    assert_eq!(ports.map(|port| closed(&of_nginx(port))), [0, 0, 1, 1]);
}

/// Versions told apart by subsets: what the Rollout names, and what is there.
fn by_subsets(kinds: &[&str], http: Value, others: &[Value]) -> Change {
    let canary = json!({
        "disableGenerateCanaryService": true,
        "patchPodTemplateMetadata": {"labels": {"istio.service.tag": "gray"}},
    });
    new_image(rollout(canary, custom(kinds), share()), &[vec![virtual_service(http)], others.to_vec()].concat())
}

fn definition(host: &str, subsets: Value) -> Value {
    let mut spec = json!({"host": host});
    spec["subsets"] = subsets;
    object(ISTIO, "DestinationRule", spec)
}

fn by(subset: &str) -> Value {
    json!([{"route": [{"destination": {"host": "shop", "subset": subset}}]}])
}

#[test]
fn a_subset_that_nothing_defines_is_told_whoever_defines_the_others() {
    let undefined = |severity| {
        format!(
            "{severity}[subset-undefined]: step 1: `VirtualService/shop` sends requests to the subset `canary` of `shop`, which no DestinationRule of the repository defines"
        )
    };
    let said = |change: &Change| -> Vec<String> { told(change).into_iter().filter(|said| !said.contains("[traffic-leaks]")).collect() };
    let plain = || json!([{"route": [{"destination": {"host": "shop"}}]}]);
    let base = || json!([{"name": "base", "labels": {"app": "shop"}}]);
    let canary = || json!([{"name": "canary", "labels": {"istio.service.tag": "gray"}}]);
    let only_route = ["VirtualService"];
    let both = ["VirtualService", "DestinationRule"];

    assert_eq!(said(&by_subsets(&only_route, plain(), &[])), [undefined("error")], "there is none");
    let unnamed = by_subsets(&only_route, plain(), &[definition("shop", base())]);
    assert_eq!(said(&unnamed), [undefined("error")], "the Rollout does not name it");
    let elsewhere = by_subsets(&only_route, plain(), &[definition("shop.payments.svc.cluster.local", canary())]);
    assert_eq!(said(&elsewhere), [undefined("error")], "it is for another host");
    let own = by_subsets(&only_route, plain(), &[definition("shop.prod.svc.cluster.local", canary())]);
    assert_eq!(said(&own), Vec::<String>::new(), "the user defines it");
    let named = by_subsets(&both, plain(), &[definition("shop", base())]);
    assert_eq!(said(&named), Vec::<String>::new(), "the release defines it");
    let of_another = by_subsets(&both, by("base"), &[definition("shop.other.svc.cluster.local", base())]);
    assert_eq!(said(&of_another), [undefined("error")], "the one that is named is for another host");
    assert_eq!(said(&by_subsets(&only_route, by("base"), &[])), [undefined("warning")], "all subsets are defined elsewhere");
}
