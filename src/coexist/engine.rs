//! The objects of a repository that tell an engine what to sync: Flux Kustomizations, Argo CD Applications and their sets.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::provenance::Provenance;
use super::settings::Setting;
use super::{argocd, flux};
use crate::model::{Finding, Source};

/// Which engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum EngineKind {
    /// A Kustomization of Flux.
    #[serde(rename = "flux")]
    Flux,
    /// An Application of Argo CD, or a set of them.
    #[serde(rename = "argocd")]
    ArgoCd,
}

/// One object that syncs a part of the repository.
#[derive(Debug, Clone)]
pub struct Engine {
    /// Which engine reads it.
    pub kind: EngineKind,
    pub(super) source: Arc<Source>,
    /// Where the Application itself begins: within the template of a set.
    pub(super) root: &'static str,
    /// Folders from the root of the repository, perhaps with `*` or `{{…}}` in them.
    folders: Vec<String>,
}

/// What an engine's object says about one path of one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cover {
    /// It leaves it alone.
    Whole,
    /// Only as long as the agent owns it.
    ByManager,
    /// It says nothing.
    None,
}

/// An entry of an engine's list of what to ignore.
pub(super) struct Entry<'a> {
    /// Where it stands in the object.
    pub(super) pointer: String,
    pub(super) value: &'a Value,
}

/// The engines among objects, in the order given, as far as they sync this repository, whose URLs are `remotes`.
pub fn engines(sources: &[Arc<Source>], remotes: &[String]) -> Vec<Engine> {
    let provenance = Provenance::new(sources, remotes);
    let engine = |source: &Arc<Source>| {
        let (kind, root) = match (source.object.group.as_str(), source.object.kind.as_str()) {
            ("kustomize.toolkit.fluxcd.io", "Kustomization") => (EngineKind::Flux, ""),
            ("argoproj.io", "Application") => (EngineKind::ArgoCd, ""),
            ("argoproj.io", "ApplicationSet") => (EngineKind::ArgoCd, "/spec/template"),
            _ => return None,
        };
        let folders = match kind {
            EngineKind::Flux => provenance.of_kustomization(source),
            EngineKind::ArgoCd => of_application(source, root, &provenance),
        };
        (!folders.is_empty()).then(|| Engine { kind, source: Arc::clone(source), root, folders })
    };
    sources.iter().filter_map(engine).collect()
}

/// The folders of this repository that an Application syncs.
fn of_application(source: &Source, root: &str, provenance: &Provenance<'_>) -> Vec<String> {
    let is_ours = |one: &&Value| one.get("repoURL").and_then(Value::as_str).is_none_or(|url| provenance.is_ours(url));
    let several = source.manifest.at(&format!("{root}/spec/sources")).and_then(Value::as_array).into_iter().flatten();
    let all = source.manifest.at(&format!("{root}/spec/source")).into_iter().chain(several).filter(is_ours);
    let mut folders: Vec<String> = all.filter_map(|one| one.get("path")?.as_str().map(str::to_owned)).collect();
    // `{{path}}` stands for the folders of a generator.
    if folders.iter().any(|folder| folder.starts_with("{{")) {
        let generators = source.manifest.at("/spec/generators").and_then(Value::as_array);
        let ours = generators.into_iter().flatten().filter_map(|generator| generator.get("git")).filter(is_ours);
        let directories = ours.filter_map(|generator| generator.get("directories")?.as_array());
        let included = directories.flatten().filter(|directory| directory.get("exclude").and_then(Value::as_bool) != Some(true));
        let generated: Vec<String> = included.filter_map(|directory| directory.get("path")?.as_str().map(str::to_owned)).collect();
        folders.retain(|folder| !folder.starts_with("{{"));
        folders.extend(generated);
    }
    folders
}

impl Engine {
    /// How people call it.
    pub fn label(&self) -> String {
        let engine = match self.kind {
            EngineKind::Flux => "Flux",
            EngineKind::ArgoCd => "Argo CD",
        };
        format!("{engine} {}", self.source.object)
    }

    /// How closely it syncs a file, by the depth of the folder; none when it does not.
    pub(super) fn syncs(&self, path: &str) -> Option<usize> {
        self.folders.iter().filter_map(|folder| depth(folder, path)).max()
    }

    /// What it says, where it syncs a file.
    pub fn says_of(&self, path: &str) -> Option<&Value> {
        self.syncs(path).map(|_| self.source.manifest.value())
    }

    /// Whether it deletes what leaves its folder.
    pub(super) fn prunes(&self) -> bool {
        let pointer = match self.kind {
            EngineKind::Flux => "/spec/prune".to_owned(),
            EngineKind::ArgoCd => format!("{}/spec/syncPolicy/automated/prune", self.root),
        };
        self.at(&pointer).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(super) fn at(&self, pointer: &str) -> Option<&Value> {
        self.source.manifest.at(pointer)
    }

    /// A finding at a value of the engine's object.
    pub(super) fn place(&self, finding: Finding, pointer: &str) -> Finding {
        finding.at(&self.source.path, self.source.places.at(pointer)).about(&self.source.object)
    }

    /// The list of what to ignore, as a pointer.
    pub(super) fn list(&self) -> String {
        match self.kind {
            EngineKind::Flux => "/spec/ignore".to_owned(),
            EngineKind::ArgoCd => format!("{}/spec/ignoreDifferences", self.root),
        }
    }

    /// The entries that speak of an object.
    pub(super) fn entries(&self, setting: &Setting) -> Vec<Entry<'_>> {
        let list = self.list();
        let all = self.at(&list).and_then(Value::as_array).map_or(&[][..], Vec::as_slice).iter().enumerate();
        let fields = [("group", &setting.group), ("kind", &setting.kind), ("name", &setting.name), ("namespace", &setting.namespace)];
        let is_meant = |entry: &Value| match self.kind {
            EngineKind::Flux => {
                let target = entry.get("target").unwrap_or(&Value::Null);
                fields.iter().all(|(field, text)| flux::speaks_of(target, field, text))
                    && flux::speaks_of(target, "version", &setting.version)
            }
            EngineKind::ArgoCd => fields.iter().all(|(field, text)| argocd::speaks_of(entry, field, text)),
        };
        all.filter(|(_, entry)| is_meant(entry)).map(|(index, value)| Entry { pointer: format!("{list}/{index}"), value }).collect()
    }

    /// What it says about a path of an object.
    pub(super) fn cover(&self, setting: &Setting, path: &str) -> Cover {
        let entries = self.entries(setting);
        if entries.iter().flat_map(|entry| self.pointers(entry)).any(|(_, ignored)| super::covers(&ignored, path)) {
            Cover::Whole
        } else if entries.iter().any(|entry| entry.value.get("managedFieldsManagers").is_some()) {
            Cover::ByManager
        } else {
            Cover::None
        }
    }

    /// The paths that an entry ignores, each with where it stands.
    pub(super) fn pointers(&self, entry: &Entry<'_>) -> Vec<(String, String)> {
        let list = |field: &str| entry.value.get(field).and_then(Value::as_array).map_or(&[][..], Vec::as_slice).iter().enumerate();
        let texts = |field: &'static str| {
            list(field).filter_map(move |(index, text)| Some((format!("{}/{field}/{index}", entry.pointer), text.as_str()?.to_owned())))
        };
        match self.kind {
            EngineKind::Flux => texts("paths").collect(),
            EngineKind::ArgoCd => {
                let expressions = texts("jqPathExpressions").filter_map(|(place, text)| Some((place, argocd::pointer_of(&text)?)));
                texts("jsonPointers").chain(expressions).collect()
            }
        }
    }
}

/// How deep a folder lies, when the file is inside of it.
fn depth(folder: &str, path: &str) -> Option<usize> {
    let mut parts = path.split('/');
    let mut depth = 0;
    for part in folder.split('/').filter(|part| !part.is_empty() && *part != ".") {
        let other = parts.next()?;
        if !(part == other || part == "*" || part.contains("{{")) {
            return None;
        }
        depth += 1;
    }
    // The file itself is not a folder.
    parts.next().map(|_| depth)
}

#[cfg(test)]
mod tests {
    use super::depth;

    #[test]
    fn a_folder_holds_the_files_below_it() {
        assert_eq!(depth("./deploy/prod/", "deploy/prod/a/b.yaml"), Some(2));
        assert_eq!(depth("deploy/prod", "deploy/production/b.yaml"), None);
        assert_eq!(depth("", "a.yaml"), Some(0));
        assert_eq!(depth("a.yaml", "a.yaml"), None);
        assert_eq!(depth("apps/*/prod", "apps/shop/prod/a.yaml"), Some(3));
        assert_eq!(depth("apps/{{.name}}", "apps/shop/a.yaml"), Some(2));
    }
}
