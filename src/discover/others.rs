//! The objects that no Rollout names, by their names alone: what a reference that leads nowhere may have meant.

use super::documents::Documents;
use super::skip;
use super::sniff::{Sniffed, sniff};
use super::{fields, lists};
use crate::config::Config;
use crate::model::{Catalog, ObjectRef, Other, Others, Place};
use crate::yaml;

/// What makes objects that stand in no file.
const RELEASE: &str = "HelmRelease";

/// Those of an environment whose kinds Rollouts mention; objects without a namespace are in `namespace`.
pub(super) fn of(documents: &Documents, config: &Config, environment: usize, namespace: &str) -> Others {
    let (files, wanted, config, namespace) = (documents.files.clone(), documents.wanted.clone(), config.clone(), namespace.to_owned());
    Others::new(move || {
        let layout = skip::layout(&files);
        let is_meant = |kind: &str| kind == RELEASE || wanted.has_kind(kind);
        let mut others = Vec::new();
        for (path, bytes) in files.iter().filter(|(path, _)| config.environment_of(path) == Some(environment)) {
            let text = std::str::from_utf8(bytes).ok().filter(|_| layout.skip(path, bytes, &config).is_none());
            for raw in text.and_then(|text| yaml::split(text).ok()).unwrap_or_default() {
                let may_be = match sniff(raw.text, is_meant) {
                    Sniffed::Object { kind, .. } => is_meant(kind) || kind.ends_with("List"),
                    Sniffed::Unclear => true,
                    Sniffed::Nothing => false,
                };
                let read = may_be.then(|| yaml::read(&raw).ok().flatten()).flatten();
                let sources = read.into_iter().flat_map(|document| lists::sources(document, path, &namespace));
                others.extend(sources.filter(|source| is_meant(&source.object.kind)).map(|source| {
                    let position = source.places.at("");
                    Other { object: source.object, place: Place { path: source.path, position } }
                }));
            }
        }
        others.sort();
        others
    })
}

/// What to say of an object that is not there, from the names of those that are.
pub(super) fn help(catalog: &Catalog, object: &ObjectRef) -> Option<String> {
    let alike: Vec<&Other> = catalog.others.of_kind(&object.kind, &object.namespace).collect();
    let names: Vec<&str> = alike.iter().map(|other| other.object.name.as_str()).collect();
    if let Some(near) = fields::nearest(&object.name, &names) {
        let other = alike.iter().find(|other| other.object.name == near)?;
        return Some(format!("did you mean `{near}`, in {}?", shown(other)));
    }
    let is_renamed = |other: &&&Other| {
        let name = &other.object.name;
        let (before, after) = (name.strip_suffix(&object.name), name.strip_prefix(&object.name));
        before.is_some_and(|before| before.ends_with('-')) || after.is_some_and(|after| after.starts_with('-'))
    };
    if let Some(other) = alike.iter().find(is_renamed) {
        return Some(format!(
            "there is `{}` in {}: kustomize renames what a Rollout names only where `configurations` of the kustomization say so, by `nameReference` of {} at the field of the Rollout",
            other.object.name,
            shown(other),
            object.kind
        ));
    }
    let release = catalog.others.of_kind(RELEASE, &object.namespace).find(|other| other.object.name == object.name)?;
    Some(format!("the HelmRelease in {} may make it: a chart is read when it is built, `rollout render --helm CHART`", shown(release)))
}

fn shown(other: &Other) -> String {
    format!("{}:{}", other.place.path, other.place.position.line)
}
