//! A small plan, and sources made from YAML-like values.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::model::{Manifest, ObjectKey, ObjectPaths, Places, Plan, PlanSpec, Reference, Source, Style};

/// A plan that changes a Deployment, a Service and a route, and makes a Deployment of its own.
pub(super) fn plan() -> Plan {
    let object = |api_version: &str, kind: &str, name: &str, path: &str| {
        let key = ObjectKey::new(kind, name);
        let value = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "prod"}});
        (ObjectPaths { object: key.clone(), paths: vec![path.to_owned()] }, (key.version(1), value))
    };
    let (paths, objects) = [
        object("apps/v1", "Deployment", "shop", "/spec/template"),
        object("apps/v1", "Deployment", "shop-canary", ""),
        object("gateway.networking.k8s.io/v1", "HTTPRoute", "shop", "/spec/rules"),
        object("v1", "Service", "shop", "/spec/selector"),
    ]
    .into_iter()
    .unzip();
    let reference = |api_version: &str, kind: &str| Reference { api_version: api_version.into(), kind: kind.into(), name: "shop".into() };
    let spec = PlanSpec {
        rollout: reference("rollouts.kruise.io/v1beta1", "Rollout"),
        workload: reference("apps/v1", "Deployment"),
        style: Style::Canary,
        release: None,
        inputs: String::new(),
        scripts: Vec::new(),
        paths,
        baseline: Vec::new(),
        target: Vec::new(),
        steps: Vec::new(),
        finish: Vec::new(),
        abort: Vec::new(),
        abort_finish: Vec::new(),
        bindings: Vec::new(),
        objects,
    };
    Plan { name: "shop".into(), namespace: "prod".into(), spec }
}

/// An object in a file.
pub(super) fn source(path: &str, value: Value) -> Arc<Source> {
    let manifest = Manifest::try_from(value).expect("a manifest");
    let object = manifest.object_ref("prod");
    Arc::new(Source { manifest, object, path: path.into(), places: Places::default(), remarks: Vec::new() })
}
