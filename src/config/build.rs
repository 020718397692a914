//! An environment's `build`: what makes its manifests.

use serde_json::{Map, Value};

use super::Reader;

/// What makes the manifests of an environment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Build {
    /// Kustomizations that name a Rollout are built, everything else is read as it stands.
    #[default]
    Detected,
    /// Files are read as they stand.
    Nothing,
    /// The kustomization in the environment's folder.
    Kustomize,
    /// A chart.
    Helm(Chart),
}

/// A Helm chart with the values of one environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chart {
    /// The chart's folder, relative to the root.
    pub folder: String,
    /// Files of values, relative to the root; a later one wins.
    pub values: Vec<String>,
    /// The release's name; absent: the name of the chart's folder.
    pub release: Option<String>,
    /// The release's namespace.
    pub namespace: Option<String>,
    /// The cluster that the chart is rendered for.
    pub capabilities: Capabilities,
}

/// What a chart is told about the cluster, as its `.Capabilities`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// The version of Kubernetes: `1.34`; absent: what helm takes for one.
    pub kube_version: Option<String>,
    /// API versions beside those that helm knows: `gateway.networking.k8s.io/v1`, `networking.istio.io/v1/VirtualService`.
    pub api_versions: Vec<String>,
}

pub(super) const FIELDS: [&str; 6] = ["chart", "values", "release", "namespace", "kubeVersion", "apiVersions"];
const HELP: &str = "`build: none`, `build: kustomize`, or `build: {helm: {chart: charts/shop, values: [values-prod.yaml]}}`";

impl Reader<'_> {
    /// What `build` says; detected when it says nothing or something without meaning.
    pub(super) fn build(&mut self, pointer: &str, value: Option<&Value>) -> Build {
        match value {
            None | Some(Value::Null) => Build::Detected,
            Some(Value::String(word)) if word == "none" => Build::Nothing,
            Some(Value::String(word)) if word == "kustomize" => Build::Kustomize,
            Some(Value::Object(fields)) => {
                let _ = self.map(pointer, &Value::Object(fields.clone()), &["helm"]);
                let chart = fields.get("helm").and_then(|helm| self.chart(&format!("{pointer}/helm"), helm));
                chart.map_or(Build::Detected, Build::Helm)
            }
            Some(other) => {
                self.fault(pointer, format!("`build` cannot be {other}"), HELP);
                Build::Detected
            }
        }
    }

    fn chart(&mut self, pointer: &str, value: &Value) -> Option<Chart> {
        let fields = self.map(pointer, value, &FIELDS)?;
        let Some(folder) = self.folder(pointer, fields, "chart") else {
            if !fields.contains_key("chart") {
                self.fault(pointer, "`helm` names no `chart`".into(), "`chart` is the chart's folder, relative to the root");
            }
            return None;
        };
        let mut values = Vec::new();
        for (pointer, item) in self.items(pointer, fields, "values", "`values: [values.yaml, values-prod.yaml]`") {
            values.extend(self.file(&pointer, item));
        }
        let release = self.label(pointer, fields, "release");
        let namespace = self.label(pointer, fields, "namespace");
        let capabilities = self.capabilities(pointer, fields);
        Some(Chart { folder, values, release, namespace, capabilities })
    }

    fn capabilities(&mut self, pointer: &str, fields: &Map<String, Value>) -> Capabilities {
        let kube_version = self.text(pointer, fields, "kubeVersion").filter(|version| !version.is_empty());
        if let Some(version) = kube_version.as_deref().filter(|version| !is_version(version)) {
            let message = format!("`kubeVersion` is a version of Kubernetes, not `{version}`");
            self.fault(&format!("{pointer}/kubeVersion"), message, "`kubeVersion: \"1.34\"`");
        }
        let mut api_versions = Vec::new();
        for (pointer, item) in self.items(pointer, fields, "apiVersions", "`apiVersions: [gateway.networking.k8s.io/v1]`") {
            match item.as_str().filter(|version| is_api_version(version)) {
                Some(version) => api_versions.push(version.to_owned()),
                None => self.fault(&pointer, format!("an API version is a text, not {item}"), "`gateway.networking.k8s.io/v1`"),
            }
        }
        Capabilities { kube_version, api_versions }
    }

    /// The elements of a list, with where they stand; none where there is no list.
    fn items<'v>(&mut self, pointer: &str, fields: &'v Map<String, Value>, field: &str, help: &str) -> Vec<(String, &'v Value)> {
        match fields.get(field) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => {
                items.iter().enumerate().map(|(index, item)| (format!("{pointer}/{field}/{index}"), item)).collect()
            }
            Some(other) => {
                self.fault(&format!("{pointer}/{field}"), format!("`{field}` is a list, not {other}"), help);
                Vec::new()
            }
        }
    }

    fn file(&mut self, pointer: &str, value: &Value) -> Option<String> {
        let below = value.as_str().and_then(super::below_the_root).filter(|path| !path.is_empty());
        if below.is_none() {
            self.fault(pointer, format!("a file of values is below the root, not {value}"), "write it relative to the root, without `..`");
        }
        below
    }
}

/// Whether a text is a version such as `1.34`, `v1.34.2` or `1.34.2-gke.100`. Helm takes none that begins with a dash for an option.
pub fn is_version(text: &str) -> bool {
    let digits = text.strip_prefix('v').unwrap_or(text);
    digits.starts_with(|sign: char| sign.is_ascii_digit())
        && digits.chars().all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '.' | '-' | '+'))
}

/// Whether a text is an API version, perhaps with a kind behind it. One with a comma would be two to helm.
pub fn is_api_version(text: &str) -> bool {
    text.starts_with(|sign: char| sign.is_ascii_alphanumeric())
        && text.chars().all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '.' | '-' | '/'))
}
