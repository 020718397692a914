//! An environment's `build`: what makes its manifests.

use serde_json::Value;

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
}

pub(super) const FIELDS: [&str; 4] = ["chart", "values", "release", "namespace"];
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
        match fields.get("values") {
            None | Some(Value::Null) => {}
            Some(Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    values.extend(self.file(&format!("{pointer}/values/{index}"), item));
                }
            }
            Some(other) => self.fault(
                &format!("{pointer}/values"),
                format!("`values` is a list of files, not {other}"),
                "`values: [values.yaml, values-prod.yaml]`",
            ),
        }
        let release = self.label(pointer, fields, "release");
        let namespace = self.label(pointer, fields, "namespace");
        Some(Chart { folder, values, release, namespace })
    }

    fn file(&mut self, pointer: &str, value: &Value) -> Option<String> {
        let below = value.as_str().and_then(super::below_the_root).filter(|path| !path.is_empty());
        if below.is_none() {
            self.fault(pointer, format!("a file of values is below the root, not {value}"), "write it relative to the root, without `..`");
        }
        below
    }
}
