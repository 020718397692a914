//! Objects that exist only during a release: the canary workload, the canary Service, clones of gateway objects.

use serde_json::{Map, Value, json};

use crate::digest;
use crate::model::{Catalog, Finding, Manifest, ObjectRef, Originals, Resolution, Rollout, Stored};

/// Appended to the name of the object that a companion stands beside.
pub(super) const SUFFIX: &str = "-canary";

/// The label that names the plan an object was made for.
const PLAN_LABEL: &str = "rollout.dev/plan";

/// Keys by which deployment tools recognise their own objects. A companion that carried them would be pruned.
const OWNERSHIP: [&str; 9] = [
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "argocd.argoproj.io/",
    "config.kubernetes.io/",
    "helm.sh/",
    "helm.toolkit.fluxcd.io/",
    "kubectl.kubernetes.io/",
    "kustomize.toolkit.fluxcd.io/",
    "meta.helm.sh/",
];

/// Annotations by which a controller acts on an object under a name that only one object can have. A companion that carried them
/// would get requests that no step sends there, or take the name from the original.
const UNIQUE: [&str; 9] = [
    // The network endpoint group of the load balancer is named there.
    "cloud.google.com/neg",
    "cloud.google.com/neg-status",
    // The catalog would list both under one service name.
    "consul.hashicorp.com/",
    // The DNS name would resolve to both.
    "dns.alpha.kubernetes.io/",
    "external-dns.alpha.kubernetes.io/",
    // Holds routes, which would be there twice.
    "getambassador.io/config",
    // The certificate of one would replace that of the other.
    "service.alpha.openshift.io/serving-cert-secret-name",
    "service.beta.openshift.io/serving-cert-secret-name",
    // The name in the tailnet would lead to both.
    "tailscale.com/",
];

/// The objects of the user's own that stand where a release makes one of this name.
pub fn taken<'a>(rollout: &Rollout, originals: &Originals, catalog: &'a Catalog) -> Vec<&'a Stored> {
    let found = |object: ObjectRef| match catalog.resolve(&object, &rollout.place.path) {
        Resolution::Missing => None,
        Resolution::Found(source) => Some(source.as_ref()),
        Resolution::Ambiguous(sources) => sources.into_iter().next().map(AsRef::as_ref),
    };
    names(rollout, originals, catalog).into_iter().filter_map(found).collect()
}

/// That the name of a companion is taken.
pub(super) fn name_taken(taken: &Stored) -> Finding {
    let object = &taken.object;
    Finding::error("name-taken", format!("{object} stands in the repository, and the release makes an object of this name"))
        .at(&taken.path, taken.places.at("/metadata/name"))
        .about(object)
        .help(format!("rename it, or take it out of the repository: the release makes and removes {} by itself", object.name))
}

/// What a release makes, by name.
fn names(rollout: &Rollout, originals: &Originals, catalog: &Catalog) -> Vec<ObjectRef> {
    let with = |beside: &ObjectRef, suffix: &str| ObjectRef { name: format!("{}{suffix}", beside.name), ..beside.clone() };
    let mut names: Vec<ObjectRef> = originals.workload.iter().map(|workload| with(&workload.object, SUFFIX)).collect();
    let Some(routing) = rollout.routing.as_ref().filter(|_| rollout.steps.iter().any(|step| step.traffic.is_split())) else { return names };
    names.extend(originals.service.iter().filter(|_| !routing.is_subset_mode).map(|service| with(&service.object, SUFFIX)));
    for (reference, source) in &originals.gateways {
        let clone = catalog.gateway(reference).and_then(|gateway| gateway.clone.as_ref());
        names.extend(source.iter().zip(clone).map(|(source, clone)| with(&source.object, &clone.suffix)));
    }
    names
}

/// Metadata of a companion named `name`: the labels and annotations of `original` without those of deployment tools, and without
/// those that only one object can have.
pub(super) fn metadata(plan: &str, namespace: &str, name: &str, original: Option<&Manifest>) -> Value {
    let kept = |field: &str| -> Map<String, Value> {
        let all = original.and_then(|original| original.at(&format!("/metadata/{field}"))).and_then(Value::as_object);
        all.into_iter().flatten().filter(|(key, _)| !is_left_out(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let (mut labels, annotations) = (kept("labels"), kept("annotations"));
    labels.insert(PLAN_LABEL.into(), label_value(plan).into());
    let mut metadata = json!({"name": name, "namespace": namespace, "labels": labels});
    if !annotations.is_empty() {
        metadata["annotations"] = annotations.into();
    }
    metadata
}

fn is_left_out(key: &str) -> bool {
    OWNERSHIP.iter().chain(&UNIQUE).any(|known| if known.ends_with('/') { key.starts_with(known) } else { key == *known })
}

/// A name as a label's value, which may not be longer than 63 characters; a longer one is told apart by its digest.
fn label_value(name: &str) -> String {
    if name.len() <= 63 {
        return name.to_owned();
    }
    digest::of_bytes(name.as_bytes()).trim_start_matches("sha256:").chars().take(63).collect()
}
