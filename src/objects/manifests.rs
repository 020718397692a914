//! The installation: the agent, twice, with a Lease between its copies, and a Role in each namespace that has a plan.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::roles::rules;
use crate::model::Plan;
use crate::plan::rights::{Right, rights};

/// The name of the agent and of everything that belongs to it.
const NAME: &str = "rollout-agent";
/// The port of metrics, health and readiness.
const PORT: u16 = 8080;

/// What varies between installations.
#[derive(Debug, Clone, Copy)]
pub struct Installation<'a> {
    /// The namespace of the agent.
    pub namespace: &'a str,
    /// The agent's image.
    pub image: &'a str,
}

/// Returns the objects of the installation, in the order in which they have to be applied.
pub fn manifests(installation: &Installation<'_>, plans: &[Plan]) -> Vec<Value> {
    let namespace = installation.namespace;
    let mut objects = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": namespace,
            "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
        }}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(namespace)}),
    ];
    objects.extend(cluster_role(namespace));
    objects.extend(role(namespace, namespace, &lease_rights()));
    for (plans_namespace, rights) in by_namespace(plans) {
        objects.extend(role(&plans_namespace, namespace, &rights));
    }
    objects.push(deployment(installation));
    objects.push(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata(namespace), "spec": {
        "minAvailable": 1,
        "selector": {"matchLabels": labels()},
    }}));
    objects.push(json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata(namespace), "spec": {
        "selector": labels(),
        "ports": [{"name": "metrics", "port": PORT, "targetPort": "metrics"}],
    }}));
    objects
}

/// Plans are read, and answered in their status and by events, wherever they are; a plan in a namespace without a Role is
/// told so there.
fn everywhere() -> BTreeSet<Right> {
    let right = |group: &str, resource: &str, name: Option<&str>, verb: &'static str| Right {
        group: group.to_owned(),
        resource: resource.to_owned(),
        name: name.map(str::to_owned),
        verb,
    };
    let mut rights: BTreeSet<Right> = ["get", "list", "patch", "watch"].map(|verb| right("rollout.dev", "rolloutplans", None, verb)).into();
    rights.insert(right("rollout.dev", "rolloutplans/status", None, "patch"));
    rights.extend(["get", "list", "watch"].map(|verb| right("rollouts.kruise.io", "rollouts", None, verb)));
    rights.insert(right("events.k8s.io", "events", None, "create"));
    // Whether OpenKruise's own controller runs here.
    for kind in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
        let name = format!("kruise-rollout-{}-webhook-configuration", kind.trim_end_matches("webhookconfigurations"));
        rights.insert(right("admissionregistration.k8s.io", kind, Some(&name), "get"));
    }
    rights.insert(right("coordination.k8s.io", "leases", Some("71ddec2c.kruise.io"), "get"));
    rights
}

fn lease_rights() -> BTreeSet<Right> {
    let right = |name: Option<&str>, verb| Right {
        group: "coordination.k8s.io".into(),
        resource: "leases".into(),
        name: name.map(str::to_owned),
        verb,
    };
    let mut rights: BTreeSet<Right> = ["get", "update"].map(|verb| right(Some(NAME), verb)).into();
    rights.insert(right(None, "create"));
    rights
}

/// What the plans of each namespace need beyond what is granted everywhere.
fn by_namespace(plans: &[Plan]) -> BTreeMap<String, BTreeSet<Right>> {
    let everywhere = everywhere();
    let mut namespaces: BTreeMap<String, BTreeSet<Right>> = BTreeMap::new();
    for plan in plans {
        let needed = rights(plan).into_iter().filter(|right| !everywhere.contains(&Right { name: None, ..right.clone() }));
        namespaces.entry(plan.namespace.clone()).or_default().extend(needed);
    }
    namespaces
}

fn cluster_role(namespace: &str) -> [Value; 2] {
    let named = json!({"name": NAME, "labels": labels()});
    [
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": named, "rules": rules(&everywhere())}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": named,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME},
            "subjects": [subject(namespace)]}),
    ]
}

fn role(namespace: &str, agent: &str, rights: &BTreeSet<Right>) -> [Value; 2] {
    // The agent's own namespace may hold plans as well as the Lease.
    let name = if rights.iter().any(|right| right.resource == "leases") { format!("{NAME}-lease") } else { NAME.to_owned() };
    let named = json!({"name": name, "namespace": namespace, "labels": labels()});
    [
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": named, "rules": rules(rights)}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": named,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [subject(agent)]}),
    ]
}

fn subject(namespace: &str) -> Value {
    json!({"kind": "ServiceAccount", "name": NAME, "namespace": namespace})
}

fn deployment(installation: &Installation<'_>) -> Value {
    let probe = |path: &str| json!({"httpGet": {"path": path, "port": "metrics"}});
    let container = json!({
        "name": "agent",
        "image": installation.image,
        "args": ["agent", format!("--listen=0.0.0.0:{PORT}"), format!("--lease-namespace={}", installation.namespace), format!("--lease-name={NAME}")],
        "ports": [{"name": "metrics", "containerPort": PORT}],
        "livenessProbe": probe("/healthz"),
        "readinessProbe": probe("/readyz"),
        // The allocator takes memory in huge pages where the node has them, of which most would stay empty, and keeps what is
        // free for a while, which at rest is for ever.
        "env": [{"name": "MIMALLOC_ALLOW_THP", "value": "0"}, {"name": "MIMALLOC_PURGE_DELAY", "value": "0"}],
        // Measured: docs/agent.md.
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
        },
    });
    let spread = json!({
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels()},
    });
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(installation.namespace), "spec": {
        "replicas": 2,
        "selector": {"matchLabels": labels()},
        "template": {
            "metadata": {"labels": labels()},
            "spec": {
                "serviceAccountName": NAME,
                "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
                "terminationGracePeriodSeconds": 10,
                "topologySpreadConstraints": [spread],
                "containers": [container],
            },
        },
    }})
}

fn metadata(namespace: &str) -> Value {
    json!({"name": NAME, "namespace": namespace, "labels": labels()})
}

fn labels() -> Value {
    json!({"app.kubernetes.io/name": NAME})
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{Installation, manifests};
    use crate::plan::fixture;

    const HERE: Installation<'static> = Installation { namespace: "rollout-system", image: "rollout:1" };

    fn rules(objects: &[Value]) -> impl Iterator<Item = &Value> {
        objects.iter().filter_map(|object| object["rules"].as_array()).flatten()
    }

    #[test]
    fn each_namespace_with_a_plan_has_one_role_and_one_binding_to_the_agent() {
        let mut other = fixture();
        other.namespace = "other".into();
        let objects = manifests(&HERE, &[fixture(), other.clone(), other]);
        let places = |kind: &str| -> Vec<&str> {
            objects.iter().filter(|object| object["kind"] == kind).filter_map(|object| object["metadata"]["namespace"].as_str()).collect()
        };
        assert_eq!(places("Role"), ["rollout-system", "other", "prod"]);
        assert_eq!(places("RoleBinding"), places("Role"));
    }

    #[test]
    fn no_rule_has_a_wildcard_and_none_reads_secrets() {
        let objects = manifests(&HERE, &[fixture()]);
        for rule in rules(&objects) {
            let text = rule.to_string();
            assert!(!text.contains('*') && !text.contains("secrets"), "{text}");
        }
    }

    #[test]
    fn what_a_plan_writes_is_granted_by_name() {
        let objects = manifests(&HERE, &[fixture()]);
        for rule in rules(&objects).filter(|rule| rule["apiGroups"][0] == "networking.istio.io") {
            let writes = rule["verbs"].as_array().is_some_and(|verbs| verbs.iter().any(|verb| verb == "patch"));
            assert_eq!(writes, rule["resourceNames"].is_array(), "{rule}");
        }
    }
}
