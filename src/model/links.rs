//! How an object is connected to others by labels and names: its pods, its selector, the Services it routes to, its volumes.
//!
//! Read once when the object is stored, so that neighbors of a release are found without reading their content again.

use serde_json::{Map, Value};

use super::{LabelSet, Manifest, ObjectRef};

/// The kinds of Kubernetes and OpenKruise whose objects have pods.
const WORKLOADS: [&str; 11] = [
    "AdvancedCronJob",
    "BroadcastJob",
    "CloneSet",
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Job",
    "Pod",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
];

/// Workloads whose pods run to completion: they answer no requests.
const JOBS: [&str; 4] = ["AdvancedCronJob", "BroadcastJob", "CronJob", "Job"];

/// Routes, by API group and kind.
const ROUTES: [(&str, &str, Dialect); 7] = [
    ("extensions", "Ingress", Dialect::Ingress),
    ("gateway.networking.k8s.io", "GRPCRoute", Dialect::GatewayApi),
    ("gateway.networking.k8s.io", "HTTPRoute", Dialect::GatewayApi),
    ("gateway.networking.k8s.io", "TCPRoute", Dialect::GatewayApi),
    ("gateway.networking.k8s.io", "TLSRoute", Dialect::GatewayApi),
    ("networking.istio.io", "VirtualService", Dialect::Istio),
    ("networking.k8s.io", "Ingress", Dialect::Ingress),
];

/// Other kinds that are connected to a release: what selects pods, and what their volumes are made from.
const OTHERS: [&str; 2] = ["PersistentVolumeClaim", "Service"];

/// Autoscalers, by API group and kind.
const AUTOSCALERS: [(&str, &str); 2] = [("autoscaling", "HorizontalPodAutoscaler"), ("keda.sh", "ScaledObject")];

/// Where workloads have their pod template.
const TEMPLATES: [&str; 3] = ["/spec/template", "/spec/jobTemplate/spec/template", "/spec/template/jobTemplate/spec/template"];

/// How a route names its Services.
#[derive(Clone, Copy)]
enum Dialect {
    GatewayApi,
    Ingress,
    Istio,
}

/// The connections of an object. Empty for kinds that have none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Links {
    /// The labels of the workload's pods.
    pub pods: Option<LabelSet>,
    /// The names of the PersistentVolumeClaims that the workload's pods use.
    pub claims: Vec<String>,
    /// What the Service selects its pods by.
    pub selector: Option<LabelSet>,
    /// The Services that the route leads to, as namespace and name, sorted.
    pub backends: Vec<(String, String)>,
}

impl Links {
    /// The connections of a manifest.
    pub fn of(object: &ObjectRef, manifest: &Manifest) -> Self {
        let pods = pod_labels(manifest).map(LabelSet::of);
        let claims = if pods.is_some() { claims(manifest) } else { Vec::new() };
        let is_service = object.group.is_empty() && object.kind == "Service";
        let selector = manifest.at("/spec/selector").filter(|_| is_service).and_then(Value::as_object).map(LabelSet::of);
        let route = ROUTES.iter().find(|(group, kind, _)| *group == object.group && *kind == object.kind);
        let mut backends = route.map(|(.., dialect)| dialect.backends(manifest, &object.namespace)).unwrap_or_default();
        backends.sort();
        backends.dedup();
        Self { pods, claims, selector, backends }
    }
}

/// The labels of the pods of a workload, or of a Pod; none for other kinds.
pub fn pod_labels(manifest: &Manifest) -> Option<&Map<String, Value>> {
    if !is_workload(manifest.kind()) {
        return None;
    }
    if manifest.kind() == "Pod" {
        return manifest.at("/metadata/labels")?.as_object();
    }
    TEMPLATES.iter().find_map(|template| manifest.at(template)?.pointer("/metadata/labels")?.as_object())
}

/// Whether objects of the kind have pods that run to completion.
pub fn is_job(kind: &str) -> bool {
    JOBS.contains(&kind)
}

/// The API groups and kinds of what owns the replicas of a workload.
pub fn autoscalers() -> impl Iterator<Item = (&'static str, &'static str)> {
    AUTOSCALERS.into_iter()
}

/// Whether objects of the kind own the replicas of a workload.
pub fn is_autoscaler(kind: &str) -> bool {
    AUTOSCALERS.iter().any(|(_, known)| *known == kind)
}

/// The kinds whose objects may be connected to a release without being named by a Rollout.
pub fn linked_kinds() -> impl Iterator<Item = &'static str> {
    WORKLOADS.into_iter().chain(OTHERS).chain(ROUTES.iter().map(|(_, kind, _)| *kind))
}

fn is_workload(kind: &str) -> bool {
    WORKLOADS.binary_search(&kind).is_ok()
}

fn claims(manifest: &Manifest) -> Vec<String> {
    let spec = TEMPLATES.iter().find_map(|template| manifest.at(template)?.get("spec")).or_else(|| manifest.at("/spec"));
    let volumes = spec.and_then(|spec| spec.get("volumes")).and_then(Value::as_array).into_iter().flatten();
    volumes.filter_map(|volume| volume.pointer("/persistentVolumeClaim/claimName")?.as_str().map(str::to_owned)).collect()
}

impl Dialect {
    fn backends(self, route: &Manifest, namespace: &str) -> Vec<(String, String)> {
        let spec = route.at("/spec").unwrap_or(&Value::Null);
        match self {
            Self::GatewayApi => {
                list(spec, "rules").flat_map(|rule| list(rule, "backendRefs")).filter_map(|it| referenced(it, namespace)).collect()
            }
            Self::Ingress => {
                let paths = list(spec, "rules").flat_map(|rule| list(&rule["http"], "paths")).map(|path| &path["backend"]);
                let backends = paths.chain([&spec["defaultBackend"], &spec["backend"]]);
                let name = |backend: &Value| backend["service"]["name"].as_str().or(backend["serviceName"].as_str()).map(str::to_owned);
                backends.filter_map(name).map(|name| (namespace.to_owned(), name)).collect()
            }
            Self::Istio => {
                let rules = ["http", "tls", "tcp"].into_iter().flat_map(|rules| list(spec, rules));
                let routes = rules.flat_map(|rule| list(rule, "route"));
                routes.filter_map(|route| service_of(route["destination"]["host"].as_str()?, namespace)).collect()
            }
        }
    }
}

fn list<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    value.get(field).and_then(Value::as_array).into_iter().flatten()
}

/// The Service of a `backendRef`; none where it is of another kind.
fn referenced(backend: &Value, namespace: &str) -> Option<(String, String)> {
    let is_service = backend["kind"].as_str().is_none_or(|kind| kind == "Service") && backend["group"].as_str().is_none_or(str::is_empty);
    let name = backend["name"].as_str().filter(|_| is_service)?;
    Some((backend["namespace"].as_str().unwrap_or(namespace).to_owned(), name.to_owned()))
}

/// The Service of a host: `shop`, `shop.prod`, `shop.prod.svc.cluster.local`.
fn service_of(host: &str, namespace: &str) -> Option<(String, String)> {
    let mut parts = host.split('.');
    let name = parts.next().filter(|name| !name.is_empty() && *name != "*")?;
    let namespace = parts.next().unwrap_or(namespace);
    parts.next().is_none_or(|part| part == "svc").then(|| (namespace.to_owned(), name.to_owned()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "tables of `json!` read better without `&`")]

    use serde_json::{Value, json};

    use super::{Links, WORKLOADS, is_workload, linked_kinds};
    use crate::model::Manifest;

    fn links(api_version: &str, kind: &str, mut value: Value) -> Links {
        value["apiVersion"] = api_version.into();
        value["kind"] = kind.into();
        value["metadata"]["name"] = "a".into();
        let manifest = Manifest::try_from(value).unwrap();
        Links::of(&manifest.object_ref("prod"), &manifest)
    }

    #[track_caller]
    fn pods(kind: &str, value: Value, expected: Option<&str>) {
        assert_eq!(links("v1", kind, value).pods.map(|labels| labels.to_string()).as_deref(), expected);
    }

    #[test]
    fn pods_have_the_labels_of_their_template() {
        let template = json!({"template": {"metadata": {"labels": {"app": "shop"}}}});
        pods("Deployment", json!({"spec": template}), Some("app: shop"));
        pods("CronJob", json!({"spec": {"jobTemplate": {"spec": template}}}), Some("app: shop"));
        pods("AdvancedCronJob", json!({"spec": {"template": {"jobTemplate": {"spec": template}}}}), Some("app: shop"));
        pods("Pod", json!({"metadata": {"labels": {"app": "shop"}}, "spec": {}}), Some("app: shop"));
        pods("Deployment", json!({"metadata": {"labels": {"app": "shop"}}, "spec": {}}), None);
        pods("ConfigMap", json!({"spec": template}), None);
    }

    #[test]
    fn a_workload_uses_the_claims_of_its_volumes() {
        let volumes = json!([{"name": "a", "emptyDir": {}}, {"name": "b", "persistentVolumeClaim": {"claimName": "data"}}]);
        let template = json!({"metadata": {"labels": {"app": "shop"}}, "spec": {"volumes": volumes}});
        assert_eq!(links("apps/v1", "Deployment", json!({"spec": {"template": template}})).claims, ["data"]);
    }

    #[test]
    fn only_a_service_of_the_core_group_selects_pods() {
        let spec = json!({"spec": {"selector": {"app": "shop"}}});
        assert!(links("v1", "Service", spec.clone()).selector.is_some());
        assert!(links("serving.knative.dev/v1", "Service", spec.clone()).selector.is_none());
        assert!(links("apps/v1", "Deployment", spec).selector.is_none());
    }

    #[track_caller]
    fn backends(api_version: &str, kind: &str, spec: Value, expected: &[(&str, &str)]) {
        let found = links(api_version, kind, json!({"spec": spec})).backends;
        let expected: Vec<_> = expected.iter().map(|(namespace, name)| ((*namespace).to_owned(), (*name).to_owned())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn routes_lead_to_services() {
        let refs = json!([{"name": "shop"}, {"name": "shop"}, {"name": "b", "namespace": "test"}, {"kind": "Bucket", "name": "c"}]);
        backends(
            "gateway.networking.k8s.io/v1",
            "HTTPRoute",
            json!({"rules": [{"backendRefs": refs}]}),
            &[("prod", "shop"), ("test", "b")],
        );
        let path =
            |backend: Value| json!({"rules": [{"http": {"paths": [{"backend": backend}]}}], "defaultBackend": {"service": {"name": "d"}}});
        backends("networking.k8s.io/v1", "Ingress", path(json!({"service": {"name": "shop"}})), &[("prod", "d"), ("prod", "shop")]);
        backends("extensions/v1beta1", "Ingress", path(json!({"serviceName": "shop"})), &[("prod", "d"), ("prod", "shop")]);
        let to = |host: &str| json!({"route": [{"destination": {"host": host}}]});
        let spec = json!({"http": [to("shop"), to("b.test.svc.cluster.local"), to("shop.example.com")], "tcp": [to("c.prod")]});
        backends("networking.istio.io/v1", "VirtualService", spec, &[("prod", "c"), ("prod", "shop"), ("test", "b")]);
        backends("example.com/v1", "HTTPRoute", json!({"rules": [{"backendRefs": [{"name": "shop"}]}]}), &[]);
    }

    #[test]
    fn kinds_are_found() {
        assert!(WORKLOADS.iter().all(|kind| is_workload(kind)) && !is_workload("Service"));
        assert!(linked_kinds().any(|kind| kind == "Ingress") && linked_kinds().any(|kind| kind == "Pod"));
    }
}
