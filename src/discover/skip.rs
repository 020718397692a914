//! Which files of a repository hold no manifests, by their paths and neighbours.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::config::{Config, is_inside};
use crate::files::Files;
use crate::yaml;

/// Files larger than this are not manifests that people write.
pub(super) const LARGEST: usize = 4 * 1024 * 1024;

/// Why a file is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Skip {
    /// Neither YAML nor JSON, by its name.
    Unrelated,
    /// Plans are written there.
    Output,
    /// In no environment's folder.
    Outside,
    /// Part of a Helm chart.
    Helm,
    /// Values for templates.
    Values,
    /// A kustomization.
    Kustomization,
    /// A patch that a kustomization names.
    Patch,
    /// A script or its declaration.
    Script,
    /// Larger than a manifest can be.
    Large,
    /// Not UTF-8 text.
    Binary,
}

/// What the repository's layout tells about its files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    charts: BTreeSet<String>,
    patches: BTreeSet<String>,
}

/// Finds charts, and the patches that kustomizations name.
pub(super) fn layout(files: &Files) -> Layout {
    let mut layout = Layout::default();
    for (path, bytes) in files.iter() {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        match name {
            "Chart.yaml" | "Chart.yml" => {
                layout.charts.insert(folder.to_owned());
            }
            "kustomization.yaml" | "kustomization.yml" | "Kustomization" if bytes.len() <= LARGEST => {
                let Ok(text) = std::str::from_utf8(bytes) else { continue };
                if text.contains("patch")
                    && let Ok(value) = yaml::read_value(text)
                {
                    layout.patches.extend(patches(&value).filter_map(|patch| joined(folder, patch)));
                }
            }
            _ => {}
        }
    }
    layout
}

/// The folders of the charts whose templates seem to make a Rollout.
pub fn charts_with_rollouts(files: &Files) -> BTreeSet<String> {
    let charts = layout(files).charts;
    let makes_one = |chart: &&String| {
        let templates = if chart.is_empty() { "templates".to_owned() } else { format!("{chart}/templates") };
        files.iter().any(|(path, bytes)| is_inside(path, &templates) && mentions_rollouts(bytes))
    };
    charts.iter().filter(makes_one).cloned().collect()
}

fn patches(kustomization: &Value) -> impl Iterator<Item = &str> {
    let list = |key: &str| kustomization.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice).iter();
    let paths = list("patches").chain(list("patchesJson6902")).filter_map(|patch| patch.get("path")?.as_str());
    paths.chain(list("patchesStrategicMerge").filter_map(Value::as_str))
}

/// A path below `folder` as a path from the root; absent when it leaves the root.
fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            other => parts.push(other),
        }
    }
    Some(parts.join("/"))
}

impl Layout {
    /// Why the file is not read; absent when it may hold manifests.
    pub(super) fn skip(&self, path: &str, bytes: &[u8], config: &Config) -> Option<Skip> {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        let stem = [".yaml", ".yml", ".json"].iter().find_map(|ending| name.strip_suffix(ending));
        if config.is_output(path) {
            return Some(Skip::Output);
        }
        if config.environment_of(path).is_none() {
            return Some(Skip::Outside);
        }
        if name == "Kustomization" {
            return Some(Skip::Kustomization);
        }
        let Some(stem) = stem.or_else(|| (path == "-").then_some(path)) else { return Some(Skip::Unrelated) };
        if self.is_chart(path) {
            return Some(Skip::Helm);
        }
        match stem {
            "kustomization" => return Some(Skip::Kustomization),
            "Chart" => return Some(Skip::Helm),
            _ if stem.starts_with("helmfile") => return Some(Skip::Values),
            _ if (stem == "values" || stem.starts_with("values-") || stem.starts_with("values.")) && !mentions_rollouts(bytes) => {
                return Some(Skip::Values);
            }
            _ => {}
        }
        if name.starts_with(".rollout.") || path.split('/').any(|part| part == super::gateways::FOLDER) {
            return Some(Skip::Script);
        }
        if self.patches.contains(path) {
            return Some(Skip::Patch);
        }
        // What comes from a stream or a build is as large as it is; neither has a name that a folder's file can have.
        let is_stream = path == "stdin.yaml" || name.starts_with('.');
        (bytes.len() > LARGEST && !is_stream).then_some(Skip::Large)
    }

    fn is_chart(&self, path: &str) -> bool {
        let mut folder = path;
        while let Some((above, _)) = folder.rsplit_once('/') {
            if self.charts.contains(above) && is_of_chart(path, above) {
                return true;
            }
            folder = above;
        }
        self.charts.contains("") && is_of_chart(path, "")
    }
}

fn is_of_chart(path: &str, chart: &str) -> bool {
    let inner = if chart.is_empty() { path } else { path[chart.len()..].trim_start_matches('/') };
    is_inside(inner, "templates") || is_inside(inner, "charts") || inner.starts_with("values") || inner.starts_with("Chart.")
}

/// Whether a file names the API group of Rollouts.
pub(super) fn mentions_rollouts(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| text.contains(super::rollout::GROUP))
}

#[cfg(test)]
mod tests {
    use super::{Skip, layout};
    use crate::config::Config;
    use crate::files::Files;

    fn files(entries: &[(&str, &str)]) -> Files {
        entries.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().into())).collect()
    }

    #[test]
    fn charts_values_kustomizations_patches_and_output_are_skipped() {
        let files = files(&[
            ("app/Chart.yaml", "name: app"),
            ("app/templates/rollout.yaml", "kind: {{ .Values.kind }}"),
            ("app/values-prod.yaml", "a: 1"),
            ("app/crds/plain.yaml", "kind: X"),
            ("over/kustomization.yaml", "patches:\n- path: ../patches/a.yaml\npatchesStrategicMerge: [b.yaml]\n"),
            ("over/b.yaml", "kind: Rollout"),
            ("over/c.yaml", "kind: Rollout"),
            ("patches/a.yaml", "kind: Rollout"),
            ("rollouts/prod/shop/plan.yaml", "kind: RolloutPlan"),
            ("README.md", "kind: Rollout"),
            ("lua_configuration/example.com/Route/gateway.yaml", "role: route"),
            ("values.yaml", "a: 1"),
        ]);
        let layout = layout(&files);
        let config = Config::default();
        let skips: Vec<_> = files.iter().map(|(path, bytes)| (path, layout.skip(path, bytes, &config))).collect();
        assert_eq!(
            skips,
            [
                ("README.md", Some(Skip::Unrelated)),
                ("app/Chart.yaml", Some(Skip::Helm)),
                ("app/crds/plain.yaml", None),
                ("app/templates/rollout.yaml", Some(Skip::Helm)),
                ("app/values-prod.yaml", Some(Skip::Helm)),
                ("lua_configuration/example.com/Route/gateway.yaml", Some(Skip::Script)),
                ("over/b.yaml", Some(Skip::Patch)),
                ("over/c.yaml", None),
                ("over/kustomization.yaml", Some(Skip::Kustomization)),
                ("patches/a.yaml", Some(Skip::Patch)),
                ("rollouts/prod/shop/plan.yaml", Some(Skip::Output)),
                ("values.yaml", Some(Skip::Values)),
            ]
        );
    }
}
