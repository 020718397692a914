//! The ConfigMap of users' scripts where no environment has it: it is one object of a cluster, and serves all of them.

use std::sync::Arc;

use super::skip::LARGEST;
use super::{lists, wanted};
use crate::config::Config;
use crate::files::Files;
use crate::model::{Finding, ObjectRef, Position, Source};
use crate::yaml;

/// Whether an object is the ConfigMap that holds users' scripts.
pub(super) fn is_scripts(object: &ObjectRef) -> bool {
    object.kind == "ConfigMap" && object.name == wanted::SCRIPTS
}

/// Those in files of no environment, in the order of paths. A file that seems to hold one and cannot be read is a finding.
pub(super) fn outside(files: &Files, config: &Config, findings: &mut Vec<Finding>) -> Vec<Arc<Source>> {
    let is_yaml = |path: &str| [".yaml", ".yml", ".json"].iter().any(|ending| path.ends_with(ending));
    let is_outside = |path: &str| config.environment_of(path).is_none() && !config.is_output(path);
    let mut found = Vec::new();
    for (path, bytes) in files.iter().filter(|(path, bytes)| bytes.len() <= LARGEST && is_yaml(path) && is_outside(path)) {
        let Some(text) = std::str::from_utf8(bytes).ok().filter(|text| text.contains(wanted::SCRIPTS)) else { continue };
        let Ok(documents) = yaml::split(text) else { continue };
        for raw in documents.iter().filter(|raw| raw.text.contains(wanted::SCRIPTS) && raw.text.contains("ConfigMap")) {
            match yaml::read(raw) {
                Ok(document) => {
                    let sources = document.into_iter().flat_map(|document| lists::sources(document, path, super::DEFAULT_NAMESPACE));
                    found.extend(sources.filter(|source| is_scripts(&source.object)).map(Arc::new));
                }
                // A template is rendered by somebody else, elsewhere.
                Err(_) if raw.text.contains("{{") => {}
                Err(error) => findings.push(unreadable(path, &error.message, error.position)),
            }
        }
    }
    found
}

fn unreadable(path: &str, message: &str, position: Position) -> Finding {
    let message = format!("the scripts of `{}` cannot be read: {message}", wanted::SCRIPTS);
    Finding::warning("script-unreadable", message).at(path, position)
}
