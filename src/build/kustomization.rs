//! One kustomization file: what it names, and where.

use serde_json::Value;

use crate::model::{Position, pointer};
use crate::yaml;

/// The names of a kustomization file, the first one wins.
pub(super) const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// A kustomization, as far as it matters which files it is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kustomization {
    /// Whether others include it and it is never built alone.
    pub(super) is_component: bool,
    /// Whether it has generators, transformers or validators.
    pub(super) has_plugins: bool,
    pub(super) entries: Vec<Entry>,
}

/// A path that a kustomization names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// As written.
    pub(super) path: String,
    pub(super) position: Position,
    /// Whether kustomize looks for a repository on the network when nothing stands there.
    pub(super) is_resource: bool,
}

impl Entry {
    /// Whether it can only be had from the network.
    pub(super) fn is_remote(&self) -> bool {
        let hosts = ["github.com", "gitlab.com", "bitbucket.org", "dev.azure.com", "ssh."];
        let is_host = |host: &&str| self.path.strip_prefix(*host).is_some_and(|rest| rest.starts_with(['/', ':']));
        let has_scheme = |scheme: &str| self.path.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
        self.path.contains("://")
            // `http:/host/x` too: kustomize parses a URL.
            || ["http:", "https:"].into_iter().any(has_scheme)
            || self.path.starts_with("git@")
            || self.path.starts_with("git::")
            || self.path.contains("?ref=")
            || self.path.contains("?version=")
            // `example.com/org/repo.git//path`, but not `.git/config`.
            || self.path.split('/').any(|part| part.strip_suffix(".git").is_some_and(|name| !name.is_empty()))
            || hosts.iter().any(is_host)
    }
}

/// Lists of paths to resources, folders or files.
const RESOURCES: [&str; 7] = ["resources", "bases", "components", "transformers", "generators", "validators", "configurations"];

/// What a kustomization file says; none when it is the file of another tool; an error with its place when it is no YAML.
pub(super) fn read(bytes: &[u8]) -> Result<Option<Kustomization>, yaml::ReadError> {
    let start = Position { line: 1, column: 1 };
    let text = std::str::from_utf8(bytes).map_err(|_| yaml::ReadError { position: start, message: "it is not UTF-8".into() })?;
    let mut documents = Vec::new();
    for raw in yaml::split(text)? {
        documents.extend(yaml::read(&raw)?);
    }
    let Some(document) = documents.first() else { return Ok(None) };
    let value = &document.value;
    let version = value.get("apiVersion").and_then(Value::as_str).unwrap_or("kustomize.config.k8s.io/v1beta1");
    if !value.is_object() || !version.starts_with("kustomize.config.k8s.io/") {
        return Ok(None);
    }
    let mut entries = Vec::new();
    let mut add = |pointer: String, path: Option<&Value>, is_resource: bool| {
        // What has several lines is the thing itself, not the path to it.
        if let Some(path) = path.and_then(Value::as_str).filter(|path| !path.contains('\n') && !path.is_empty()) {
            entries.push(Entry { path: path.to_owned(), position: document.places.at(&pointer), is_resource });
        }
    };
    let items = |field: &str| value.get(field).and_then(Value::as_array).map_or(&[][..], Vec::as_slice).iter().enumerate();
    for field in RESOURCES {
        items(field).for_each(|(index, item)| add(format!("/{field}/{index}"), Some(item), true));
    }
    for field in ["crds", "patchesStrategicMerge"] {
        items(field).for_each(|(index, item)| add(format!("/{field}/{index}"), Some(item), false));
    }
    for field in ["patches", "patchesJson6902", "replacements"] {
        items(field).for_each(|(index, item)| add(format!("/{field}/{index}/path"), item.get("path"), false));
    }
    add("/openapi/path".into(), value.pointer("/openapi/path"), false);
    for field in ["configMapGenerator", "secretGenerator"] {
        for (index, generator) in items(field) {
            add(format!("/{field}/{index}/env"), generator.get("env"), false);
            for list in ["files", "envs"] {
                for (inner, item) in generator.get(list).and_then(Value::as_array).into_iter().flatten().enumerate() {
                    let written = item.as_str().map(|item| Value::from(item.split_once('=').map_or(item, |(_, path)| path)));
                    add(format!("/{field}/{index}/{list}/{inner}"), written.as_ref(), false);
                }
            }
        }
    }
    for field in ["generators", "transformers", "validators"] {
        let inline = items(field).filter_map(|(index, item)| Some((index, item.as_str().filter(|item| item.contains('\n'))?)));
        for (index, text) in inline {
            let position = document.places.at(&format!("/{field}/{index}"));
            entries.extend(fetched(text).into_iter().map(|entry| Entry { position, ..entry }));
        }
    }
    let is_component = value.get("kind").and_then(Value::as_str) == Some("Component");
    let has_plugins = ["generators", "transformers", "validators"].iter().any(|field| value.get(field).is_some());
    Ok(Some(Kustomization { is_component, has_plugins, entries }))
}

/// The fields by which a plugin of kustomize loads files.
const LOADED: [&str; 5] = ["env", "envs", "files", "path", "paths"];

/// What the plugins that a text configures would fetch: those of kustomize load files as a kustomization does.
pub(super) fn fetched(text: &str) -> Vec<Entry> {
    let documents = yaml::split(text).unwrap_or_default();
    let documents = documents.iter().filter_map(|raw| yaml::read(raw).ok()?);
    let mut fetched = Vec::new();
    for document in documents.filter(|document| document.value.get("apiVersion").and_then(Value::as_str) == Some("builtin")) {
        for (pointer, path) in loaded("", &document.value) {
            let path = path.split_once('=').map_or(path.as_str(), |(_, path)| path);
            fetched.push(Entry { path: path.to_owned(), position: document.places.at(&pointer), is_resource: false });
        }
    }
    fetched.retain(Entry::is_remote);
    fetched
}

/// The texts in fields that load files, with the pointers to them.
fn loaded(pointer: &str, value: &Value) -> Vec<(String, String)> {
    let inside = |key: &str, value: &Value| -> Vec<(String, String)> {
        let at = pointer::child(pointer, key);
        match value {
            Value::String(text) if LOADED.contains(&key) => vec![(at, text.clone())],
            Value::Array(items) if LOADED.contains(&key) => {
                items.iter().enumerate().filter_map(|(index, item)| Some((format!("{at}/{index}"), item.as_str()?.to_owned()))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => loaded(&at, value),
        }
    };
    match value {
        Value::Object(fields) => fields.iter().flat_map(|(key, value)| inside(key, value)).collect(),
        Value::Array(items) => items.iter().enumerate().flat_map(|(index, item)| inside(&index.to_string(), item)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, fetched, read};
    use crate::model::Position;

    fn paths(text: &str) -> Vec<String> {
        read(text.as_bytes()).expect("YAML").expect("a kustomization").entries.into_iter().map(|entry| entry.path).collect()
    }

    #[test]
    fn every_path_is_found_with_its_place() {
        let text = "resources: [../base, a.yaml]\npatches:\n- path: p.yaml\n- patch: |\n    a: 1\npatchesStrategicMerge:\n- s.yaml\n- |\n  kind: X\nconfigMapGenerator:\n- files: [nginx.conf, key=f/x]\n  envs: [a.env]\n";
        assert_eq!(paths(text), ["../base", "a.yaml", "s.yaml", "p.yaml", "nginx.conf", "f/x", "a.env"]);
        let kustomization = read(text.as_bytes()).expect("YAML").expect("a kustomization");
        assert_eq!(kustomization.entries[1].position, Position { line: 1, column: 22 });
    }

    #[test]
    fn a_file_of_another_tool_is_no_kustomization() {
        assert_eq!(read(b"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"), Ok(None));
        assert_eq!(read(b"# nothing\n"), Ok(None));
        assert!(read(b"a: [").is_err());
        assert!(
            read(b"kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\n")
                .is_ok_and(|found| found.is_some_and(|found| found.is_component))
        );
    }

    #[test]
    fn what_a_plugin_would_fetch_is_found() {
        let text = "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\nfiles: [a.txt, 'b=http://127.0.0.1/b']\n---\napiVersion: builtin\nkind: PatchTransformer\nnested: [{path: HTTPS:/x}]\n---\napiVersion: v1\nfiles: [http://x]\n";
        let of = |text: &str| fetched(text).into_iter().map(|entry| (entry.path, entry.position.line)).collect::<Vec<_>>();
        assert_eq!(of(text), [("http://127.0.0.1/b".to_owned(), 4), ("HTTPS:/x".to_owned(), 8)]);
        let inline = "generators:\n- |\n  apiVersion: builtin\n  kind: SecretGenerator\n  envs: ['http://127.0.0.1/b']\n";
        assert_eq!(paths(inline), ["http://127.0.0.1/b"]);
    }

    #[test]
    fn what_needs_the_network_is_told_from_paths() {
        let is_remote = |path: &str| Entry { path: path.into(), position: Position { line: 1, column: 1 }, is_resource: true }.is_remote();
        for remote in [
            "https://example.com/a.yaml",
            "github.com/org/repo//path",
            "git@github.com:org/repo",
            "ssh://git@example.com/a.git",
            "example.com/org/repo.git",
            "example.com/org/repo?ref=v1",
            "HTTP:/127.0.0.1/a.yaml",
        ] {
            assert!(is_remote(remote), "{remote}");
        }
        for local in ["../base", "a.yaml", "github.computers/x", ".github/a.yaml", "v1.gitops/a.yaml"] {
            assert!(!is_remote(local), "{local}");
        }
    }
}
