//! A client of the API server for tests: plain requests, plain JSON, no cache, blocking.

use std::path::Path;
use std::time::{Duration, Instant};

use hyper::http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// Where each kind is served, and whether it has namespaces.
const KINDS: &[(&str, &str, &str, bool)] = &[
    ("ClusterRole", "rbac.authorization.k8s.io/v1", "clusterroles", false),
    ("ClusterRoleBinding", "rbac.authorization.k8s.io/v1", "clusterrolebindings", false),
    ("ConfigMap", "v1", "configmaps", true),
    ("ControllerRevision", "apps/v1", "controllerrevisions", true),
    ("CustomResourceDefinition", "apiextensions.k8s.io/v1", "customresourcedefinitions", false),
    ("Deployment", "apps/v1", "deployments", true),
    ("DestinationRule", "networking.istio.io/v1beta1", "destinationrules", true),
    ("EndpointSlice", "discovery.k8s.io/v1", "endpointslices", true),
    ("Event", "v1", "events", true),
    ("HTTPRoute", "gateway.networking.k8s.io/v1", "httproutes", true),
    ("HorizontalPodAutoscaler", "autoscaling/v2", "horizontalpodautoscalers", true),
    ("Ingress", "networking.k8s.io/v1", "ingresses", true),
    ("Lease", "coordination.k8s.io/v1", "leases", true),
    ("MutatingWebhookConfiguration", "admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", false),
    ("Namespace", "v1", "namespaces", false),
    ("Node", "v1", "nodes", false),
    ("Pod", "v1", "pods", true),
    ("PodDisruptionBudget", "policy/v1", "poddisruptionbudgets", true),
    ("ReplicaSet", "apps/v1", "replicasets", true),
    ("ResourceQuota", "v1", "resourcequotas", true),
    ("Role", "rbac.authorization.k8s.io/v1", "roles", true),
    ("RoleBinding", "rbac.authorization.k8s.io/v1", "rolebindings", true),
    ("Rollout", "rollouts.kruise.io/v1beta1", "rollouts", true),
    ("RolloutPlan", "rollout.dev/v1alpha1", "rolloutplans", true),
    ("Service", "v1", "services", true),
    ("ServiceAccount", "v1", "serviceaccounts", true),
    ("TrafficSplit", "edge.example.com/v1", "trafficsplits", true),
    ("VirtualService", "networking.istio.io/v1beta1", "virtualservices", true),
];

/// An identity's access to the API server.
pub(crate) struct Cluster {
    runtime: Runtime,
    client: Client,
    manager: String,
}

/// An object's name within the API.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At<'a> {
    /// The kind, one of the table.
    pub(crate) kind: &'a str,
    /// The namespace; not read for kinds without.
    pub(crate) namespace: &'a str,
    /// The name.
    pub(crate) name: &'a str,
}

/// What a patch is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Patch {
    /// RFC 7396.
    Merge,
    /// RFC 6902.
    Json,
    /// Server-side apply; conflicts are taken.
    Apply,
}

impl Cluster {
    /// Returns a client; nothing is sent yet.
    pub(crate) fn connect(kubeconfig: &Path, manager: &str) -> Result<Self, String> {
        let runtime = runtime()?;
        let client = runtime.block_on(client(kubeconfig))?;
        Ok(Self { runtime, client, manager: manager.to_owned() })
    }

    /// Returns what the path answers.
    pub(crate) fn text(&self, path: &str) -> Result<String, String> {
        self.send("GET", path, "", Vec::new())
    }

    /// Returns an object, or none when there is none.
    pub(crate) fn get(&self, at: At<'_>) -> Result<Option<Value>, String> {
        match self.text(&path_of(at)) {
            Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| error.to_string()),
            Err(error) if error.starts_with("404") => Ok(None),
            Err(error) => Err(format!("{} {}: {error}", at.kind, at.name)),
        }
    }

    /// Returns all objects of a kind in a namespace; a kind that is not served has none.
    pub(crate) fn list(&self, kind: &str, namespace: &str) -> Result<Vec<Value>, String> {
        let text = match self.text(&folder_of(kind, namespace)) {
            Err(error) if error.starts_with("404") => return Ok(Vec::new()),
            text => text.map_err(|error| format!("{kind}: {error}"))?,
        };
        let mut list: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        Ok(list["items"].as_array_mut().map(std::mem::take).unwrap_or_default())
    }

    /// Makes an object.
    pub(crate) fn create(&self, object: &Value) -> Result<Value, String> {
        let (kind, namespace) = (object["kind"].as_str().unwrap_or_default(), object["metadata"]["namespace"].as_str().unwrap_or_default());
        let path = format!("{}?fieldManager={}", folder_of_version(object["apiVersion"].as_str(), kind, namespace), self.manager);
        let text = self.send("POST", &path, "application/json", object.to_string().into_bytes());
        let text = text.map_err(|error| format!("{kind} {}: {error}", object["metadata"]["name"]))?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    }

    /// Server-side applies an object, whole.
    pub(crate) fn apply(&self, object: &Value) -> Result<Value, String> {
        let (kind, name) = (object["kind"].as_str().unwrap_or_default(), object["metadata"]["name"].as_str().unwrap_or_default());
        let folder = folder_of_version(object["apiVersion"].as_str(), kind, object["metadata"]["namespace"].as_str().unwrap_or_default());
        self.patch_path(&format!("{folder}/{name}"), Patch::Apply, object, false).map_err(|error| format!("{kind} {name}: {error}"))
    }

    /// Changes an object.
    pub(crate) fn patch(&self, at: At<'_>, patch: Patch, body: &Value) -> Result<Value, String> {
        self.patch_path(&path_of(at), patch, body, false).map_err(|error| format!("{} {}: {error}", at.kind, at.name))
    }

    /// Says what a change would give.
    pub(crate) fn try_patch(&self, at: At<'_>, patch: Patch, body: &Value) -> Result<Value, String> {
        self.patch_path(&path_of(at), patch, body, true).map_err(|error| format!("{} {}: {error}", at.kind, at.name))
    }

    /// Changes a subresource of an object: `status`, `scale`.
    pub(crate) fn patch_sub(&self, at: At<'_>, subresource: &str, patch: Patch, body: &Value) -> Result<Value, String> {
        self.patch_path(&format!("{}/{subresource}", path_of(at)), patch, body, false)
            .map_err(|error| format!("{} {}: {error}", at.kind, at.name))
    }

    /// Deletes an object with `Background`, `Foreground` or `Orphan`; one that is gone is fine.
    pub(crate) fn delete(&self, at: At<'_>, propagation: &str) -> Result<(), String> {
        let body = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation});
        match self.send("DELETE", &path_of(at), "application/json", body.to_string().into_bytes()) {
            Ok(_) => Ok(()),
            Err(error) if error.starts_with("404") => Ok(()),
            Err(error) => Err(format!("{} {}: {error}", at.kind, at.name)),
        }
    }

    /// Makes a token for a service account.
    pub(crate) fn token_for(&self, namespace: &str, account: &str) -> Result<String, String> {
        let path = format!("{}/token", path_of(At { kind: "ServiceAccount", namespace, name: account }));
        let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 7200}});
        let text = self.send("POST", &path, "application/json", body.to_string().into_bytes())?;
        let answer: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        answer["status"]["token"].as_str().map(str::to_owned).ok_or_else(|| format!("no token for {account}"))
    }

    /// Waits until every CRD is served.
    pub(crate) fn wait_for_crds(&self) -> Result<(), String> {
        let end = Instant::now() + Duration::from_mins(1);
        loop {
            let waiting: Vec<String> = self
                .list("CustomResourceDefinition", "")?
                .iter()
                .filter(|crd| {
                    let conditions = crd["status"]["conditions"].as_array().cloned().unwrap_or_default();
                    !conditions.iter().any(|condition| condition["type"] == "Established" && condition["status"] == "True")
                })
                .map(|crd| crd["metadata"]["name"].to_string())
                .collect();
            if waiting.is_empty() {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(format!("not served after a minute: {}", waiting.join(", ")));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn patch_path(&self, path: &str, sort: Patch, body: &Value, dry: bool) -> Result<Value, String> {
        let (content, extra) = match sort {
            Patch::Merge => ("application/merge-patch+json", ""),
            Patch::Json => ("application/json-patch+json", ""),
            Patch::Apply => ("application/apply-patch+yaml", "&force=true"),
        };
        let dry = if dry { "&dryRun=All" } else { "" };
        let path = format!("{path}?fieldManager={}{extra}{dry}", self.manager);
        let text = self.send("PATCH", &path, content, body.to_string().into_bytes())?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    }

    /// Sends a request; a refusal is `CODE reason: message`.
    fn send(&self, method: &str, path: &str, content: &str, body: Vec<u8>) -> Result<String, String> {
        let mut request = Request::builder().method(method).uri(path);
        if !content.is_empty() {
            request = request.header("content-type", content);
        }
        let request = request.body(body).map_err(|error| error.to_string())?;
        let time = Duration::from_secs(30);
        let answer = self.runtime.block_on(async { tokio::time::timeout(time, self.client.request_text(request)).await });
        match answer {
            Err(_) => Err(format!("{method} {path}: no answer within 30 s")),
            Ok(Ok(text)) => Ok(text),
            Ok(Err(kube::Error::Api(status))) => Err(format!("{} {}: {}", status.code, status.reason, status.message)),
            Ok(Err(error)) => Err(format!("{method} {path}: {error:?}")),
        }
    }
}

/// Returns a client of the runtime that calls this.
pub(crate) async fn client(kubeconfig: &Path) -> Result<Client, String> {
    let shown = |error: &dyn std::fmt::Display| format!("{}: {error}", kubeconfig.display());
    let file = Kubeconfig::read_from(kubeconfig).map_err(|error| shown(&error))?;
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.map_err(|error| shown(&error))?;
    Client::try_from(config).map_err(|error| shown(&error))
}

/// Returns a runtime for one thread.
pub(crate) fn runtime() -> Result<Runtime, String> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())
}

/// The path of all objects of a kind.
pub(crate) fn folder_of(kind: &str, namespace: &str) -> String {
    folder_of_version(None, kind, namespace)
}

fn folder_of_version(version: Option<&str>, kind: &str, namespace: &str) -> String {
    let (_, usual, plural, is_namespaced) =
        KINDS.iter().copied().find(|(known, ..)| *known == kind).unwrap_or_else(|| panic!("where is {kind} served?"));
    let version = version.unwrap_or(usual);
    let root = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
    if is_namespaced { format!("{root}/namespaces/{namespace}/{plural}") } else { format!("{root}/{plural}") }
}

fn path_of(at: At<'_>) -> String {
    format!("{}/{}", folder_of(at.kind, at.namespace), at.name)
}
