//! Which kinds of objects, and which fields of them, a plan may change.
//!
//! One list for everyone: whoever can write a plan must not be able to have anything else written by the agent, whatever
//! the agent's rights are, nor to have rights printed for it. The agent's own rights limit the names.

/// Kinds that grant, hold secrets or run programs, in whichever group.
const NEVER: [&str; 8] =
    ["ClusterRole", "ClusterRoleBinding", "ClusterSecret", "Role", "RoleBinding", "Secret", "SecurityContextConstraints", "ServiceAccount"];

/// Groups, with those below them, that hold rights, secrets, policies or other engines' instructions.
const NEVER_GROUPS: [&str; 13] = [
    "argoproj.io",
    "bitnami.com",
    "cert-manager.io",
    "crossplane.io",
    "external-secrets.io",
    "k8s.io",
    "kyverno.io",
    "openshift.io",
    "rollout.dev",
    "rollouts.kruise.io",
    "security.istio.io",
    "toolkit.fluxcd.io",
    "x-k8s.io",
];

/// Returns whether a plan may change objects of the kind: workloads, Services, autoscalers, and what routes traffic.
pub fn is_permitted(api_version: &str, kind: &str) -> bool {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    if !is_plain(group) || version.is_empty() || !is_plain(version) || !is_kind(kind) || NEVER.contains(&kind) {
        return false;
    }
    match group {
        "" => kind == "Service",
        "apps" => matches!(kind, "Deployment" | "StatefulSet" | "DaemonSet"),
        "apps.kruise.io" => matches!(kind, "CloneSet" | "StatefulSet" | "DaemonSet"),
        "autoscaling" => kind == "HorizontalPodAutoscaler",
        "gateway.networking.k8s.io" => kind.ends_with("Route"),
        "networking.k8s.io" => kind == "Ingress",
        "route.openshift.io" => kind == "Route",
        other => other.contains('.') && !NEVER_GROUPS.iter().any(|never| is_within(other, never)),
    }
}

/// Returns whether a path leads to what users write, and not to what names or holds the object.
pub fn is_content(path: &str) -> bool {
    let below = |parent: &str| path.strip_prefix(parent).is_some_and(|rest| rest.starts_with('/'));
    path.is_empty()
        || below("/metadata/labels")
        || below("/metadata/annotations")
        || !["/apiVersion", "/kind", "/metadata", "/status"].iter().any(|parent| path == *parent || below(parent))
}

/// Whether the group is the other one, or a part of it.
fn is_within(group: &str, other: &str) -> bool {
    group.strip_suffix(other).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Letters of which groups and versions are made. No wildcard and no further part of a path.
fn is_plain(text: &str) -> bool {
    text.chars().all(|character| character.is_ascii_lowercase() || character.is_ascii_digit() || matches!(character, '-' | '.'))
}

fn is_kind(text: &str) -> bool {
    text.starts_with(|character: char| character.is_ascii_uppercase()) && text.chars().all(|character| character.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::{is_content, is_permitted};

    #[test]
    fn only_what_a_release_moves_is_permitted() {
        for (api_version, kind) in [
            ("v1", "Service"),
            ("apps/v1", "Deployment"),
            ("autoscaling/v2", "HorizontalPodAutoscaler"),
            ("gateway.networking.k8s.io/v1", "HTTPRoute"),
            ("networking.istio.io/v1", "VirtualService"),
            ("networking.k8s.io/v1", "Ingress"),
            ("apps.kruise.io/v1alpha1", "CloneSet"),
            ("route.openshift.io/v1", "Route"),
            ("split.smi-spec.io/v1alpha4", "TrafficSplit"),
        ] {
            assert!(is_permitted(api_version, kind), "{kind} of {api_version}");
        }
        for (api_version, kind) in [
            ("v1", "Secret"),
            ("v1", "ServiceAccount"),
            ("rbac.authorization.k8s.io/v1", "Role"),
            ("authorization.openshift.io/v1", "RoleBinding"),
            ("apps/v1", "ControllerRevision"),
            ("batch/v1", "Job"),
            ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
            ("gateway.networking.k8s.io/v1", "Gateway"),
            ("cluster.x-k8s.io/v1beta1", "MachineDeployment"),
            ("argoproj.io/v1alpha1", "Application"),
            ("source.toolkit.fluxcd.io/v1", "GitRepository"),
            ("external-secrets.io/v1", "ExternalSecret"),
            ("security.istio.io/v1", "AuthorizationPolicy"),
            ("rollouts.kruise.io/v1beta1", "Rollout"),
            ("rollout.dev/v1alpha1", "RolloutPlan"),
            ("example.io/v1", "Secret"),
        ] {
            assert!(!is_permitted(api_version, kind), "{kind} of {api_version}");
        }
    }

    #[test]
    fn a_kind_or_group_is_a_name_and_no_wildcard_or_path() {
        for (api_version, kind) in [
            ("*/v1", "Route"),
            ("example.io/*", "Route"),
            ("example.io/v1/namespaces/kube-system", "Route"),
            ("example.io/../v1", "Route"),
            ("example.io/", "Route"),
            ("example.io/v1", "*"),
            ("example.io/v1", "Route/status"),
            ("example.io/v1", "route"),
            ("example.io/v1", ""),
        ] {
            assert!(!is_permitted(api_version, kind), "{kind} of {api_version}");
        }
    }

    #[test]
    fn what_names_or_holds_an_object_is_no_content() {
        for path in ["", "/spec/http", "/metadata/labels/a", "/metadata/annotations/b~1c", "/data", "/statusPage"] {
            assert!(is_content(path), "{path}");
        }
        for path in ["/metadata", "/metadata/finalizers", "/metadata/ownerReferences/0", "/metadata/labels", "/status/x", "/kind"] {
            assert!(!is_content(path), "{path}");
        }
    }
}
