//! The objects of engines that sync the repository, and of what they get files from, wherever they lie: no environment has to hold them.

use std::sync::Arc;

use rayon::prelude::*;

use super::lists;
use super::skip::LARGEST;
use crate::config::Config;
use crate::files::Files;
use crate::model::Source;
use crate::yaml;

/// The groups of what engines read, and the kinds in them.
const GROUPS: [&str; 4] = ["kustomize.toolkit.fluxcd.io/", "argoproj.io/", "source.toolkit.fluxcd.io/", "source.extensions.fluxcd.io/"];
const KINDS: [&str; 5] = ["Kustomization", "Application", "ApplicationSet", "GitRepository", "ArtifactGenerator"];

/// Every object that may tell an engine what to sync, in the order of paths. What cannot be read is told elsewhere or is none.
pub fn engines(files: &Files, config: &Config) -> Vec<Arc<Source>> {
    let entries: Vec<(&str, &Arc<[u8]>)> = files.iter().filter(|(path, _)| is_yaml(path) && !config.is_output(path)).collect();
    let found: Vec<Vec<Arc<Source>>> = entries.par_iter().with_min_len(64).map(|(path, bytes)| of_file(path, bytes)).collect();
    found.into_iter().flatten().collect()
}

fn is_yaml(path: &str) -> bool {
    [".yaml", ".yml", ".json"].iter().any(|ending| path.ends_with(ending))
}

/// Whether a text may hold such an object.
pub(super) fn may_hold(text: &str) -> bool {
    GROUPS.iter().any(|group| text.contains(group)) && KINDS.iter().any(|kind| text.contains(kind))
}

fn of_file(path: &str, bytes: &[u8]) -> Vec<Arc<Source>> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= LARGEST && may_hold(text));
    let documents = text.and_then(|text| yaml::split(text).ok()).unwrap_or_default();
    let read = documents.iter().filter(|raw| may_hold(raw.text)).filter_map(|raw| yaml::read(raw).ok().flatten());
    let sources = read.flat_map(|document| lists::sources(document, path, super::DEFAULT_NAMESPACE));
    sources.filter(|source| KINDS.contains(&source.object.kind.as_str())).map(Arc::new).collect()
}
