//! Where engines get files from: this repository, another one, or an artifact that Flux puts together out of folders.

use std::sync::Arc;

use serde_json::Value;

use crate::model::Source;

/// The objects that say where files come from, and what this repository is called.
pub(super) struct Provenance<'a> {
    sources: &'a [Arc<Source>],
    /// The URLs of this repository.
    remotes: &'a [String],
}

/// The start of a path in an artifact.
const ARTIFACT: &str = "@artifact/";

impl<'a> Provenance<'a> {
    pub(super) fn new(sources: &'a [Arc<Source>], remotes: &'a [String]) -> Self {
        Self { sources, remotes }
    }

    /// Whether a URL may lead to this repository: its last part is the same. A mirror and a fork have another host or owner.
    pub(super) fn is_ours(&self, url: &str) -> bool {
        let name = name_of(url);
        let is_open = name.is_empty() || url.contains("{{") || url.contains("${");
        is_open || self.remotes.is_empty() || self.remotes.iter().any(|remote| name_of(remote) == name)
    }

    /// The folders of this repository that a Kustomization of Flux syncs.
    pub(super) fn of_kustomization(&self, kustomization: &Source) -> Vec<String> {
        let text = |pointer: &str| kustomization.manifest.at(pointer).and_then(Value::as_str);
        // Without a path Flux syncs the root.
        let path = text("/spec/path").unwrap_or_default();
        let name = text("/spec/sourceRef/name").unwrap_or_default();
        let namespace = text("/spec/sourceRef/namespace").unwrap_or(&kustomization.object.namespace);
        match text("/spec/sourceRef/kind") {
            Some("ExternalArtifact") => self.of_artifact(name, namespace, path),
            Some("GitRepository") if !self.is_our_repository(name, namespace) => Vec::new(),
            Some(_) | None => vec![path.to_owned()],
        }
    }

    /// Whether a `GitRepository` leads to this repository; one that no file holds may do so.
    fn is_our_repository(&self, name: &str, namespace: &str) -> bool {
        let url = self.find("GitRepository", name, namespace).and_then(|source| source.manifest.at("/spec/url")?.as_str());
        url.is_none_or(|url| self.is_ours(url))
    }

    fn find(&self, kind: &str, name: &str, namespace: &str) -> Option<&Arc<Source>> {
        self.sources.iter().find(|source| {
            let object = &source.object;
            object.kind == kind && object.name == name && object.namespace == namespace
        })
    }

    /// The folders that are copied to a path of an artifact. None where no file says what is copied.
    fn of_artifact(&self, name: &str, namespace: &str, path: &str) -> Vec<String> {
        let list = |value: &'a Value, field: &str| value.get(field).and_then(Value::as_array).map_or(&[][..], Vec::as_slice).iter();
        let mut folders = Vec::new();
        for generator in self.sources.iter().filter(|source| source.object.kind == "ArtifactGenerator") {
            let Some(spec) = generator.manifest.at("/spec") else { continue };
            let namespace_of = |value: &'a Value| value.get("namespace").and_then(Value::as_str).unwrap_or(&generator.object.namespace);
            let is_ours = |alias: &str| {
                list(spec, "sources")
                    .filter(|source| source["alias"] == alias && source["kind"] == "GitRepository")
                    .any(|source| self.is_our_repository(source["name"].as_str().unwrap_or_default(), namespace_of(source)))
            };
            let artifacts = list(spec, "artifacts").filter(|artifact| artifact["name"] == name && namespace_of(artifact) == namespace);
            for copy in artifacts.flat_map(|artifact| list(artifact, "copy")) {
                let (Some(from), Some(to)) = (copy["from"].as_str(), copy["to"].as_str()) else { continue };
                let Some((alias, pattern)) = from.strip_prefix('@').and_then(|from| from.split_once('/')) else { continue };
                folders.extend(copied(pattern, to, path).filter(|_| is_ours(alias)));
            }
        }
        folders
    }
}

/// The folder whose files come to `path` of an artifact when `pattern` is copied `to` a place in it.
fn copied(pattern: &str, to: &str, path: &str) -> Option<String> {
    let parts =
        |path: &'_ str| -> Vec<String> { path.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect() };
    let mut from = parts(pattern);
    // What follows the first wildcard is copied with its path below it.
    from.truncate(from.iter().position(|part| part.contains('*')).unwrap_or(from.len()));
    let (to, path) = (parts(to.strip_prefix(ARTIFACT).unwrap_or_default()), parts(path));
    if let Some(rest) = path.strip_prefix(to.as_slice()) {
        from.extend_from_slice(rest);
        return Some(from.join("/"));
    }
    to.starts_with(&path).then(|| from.join("/"))
}

/// The last part of a URL, without `.git`, in small letters: `ssh://git@example.com:22/team/Shop.git` → `shop`.
fn name_of(url: &str) -> String {
    let url = url.trim().trim_end_matches('/');
    let last = url.rsplit(['/', ':']).next().unwrap_or_default();
    last.strip_suffix(".git").unwrap_or(last).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::{copied, name_of};

    #[test]
    fn a_repository_is_called_by_the_last_part_of_its_url() {
        for url in ["https://example.com/team/shop", "git@example.com:team/Shop.git", "ssh://git@example.com:22/shop.git/", "shop"] {
            assert_eq!(name_of(url), "shop", "{url}");
        }
    }

    #[test]
    fn a_path_of_an_artifact_leads_to_the_folder_that_is_copied_there() {
        let case =
            |pattern, to, path, expected: Option<&str>| assert_eq!(copied(pattern, to, path).as_deref(), expected, "{pattern} {to} {path}");
        case("apps/production/**", "@artifact/production/", "./production", Some("apps/production"));
        case("apps/production/**", "@artifact/production/", "production/eu", Some("apps/production/eu"));
        case("apps/production/**", "@artifact/production/", "./", Some("apps/production"));
        case("apps/base/**", "@artifact/base/", "./production", None);
        case("apps/**", "@artifact/", "", Some("apps"));
        case("apps/*/prod.yaml", "@artifact/", "", Some("apps"));
        case("apps", "@artifact", "", Some("apps"));
    }
}
