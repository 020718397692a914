//! Rollouts that a change takes away while it changes what they would have released.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Discovery, Documents, discover, rollout};
use crate::config::Config;
use crate::digest;
use crate::files::Files;
use crate::model::{Catalog, Finding, ObjectRef, Resolution, Rollout, Stored};
use crate::yaml;

/// What the pods of a workload are made of.
const TEMPLATE: &str = "/spec/template";

/// A Rollout of the base that is gone.
struct Removed<'a> {
    catalog: &'a Catalog,
    rollout: &'a Rollout,
    source: &'a Arc<Stored>,
}

/// Returns a finding for each Rollout of the base that the head has no more, whose workload gets another pod template.
/// `documents` are those that the head was found in.
pub fn removed(head: &Discovery, base: &Discovery, documents: &Documents, config: &Config) -> Vec<Finding> {
    // One that may stand in a file that cannot be read is not gone.
    let is_gone = |removed: &Removed<'_>| !documents.is_hidden(&removed.rollout.reference.name);
    let removed: Vec<Removed<'_>> = base.catalogs.iter().flat_map(|catalog| of_catalog(catalog, head)).filter(is_gone).collect();
    if removed.is_empty() {
        return Vec::new();
    }
    // What only they named was not read: so they are put back to look.
    let mut files = Files::default();
    for removed in &removed {
        let folder = removed.source.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let separator = if folder.is_empty() { "" } else { "/" };
        let is_free = |path: &String| documents.files.get(path).is_none() && files.get(path).is_none();
        let numbers = 0..=documents.files.len() + files.len();
        let Some(path) = numbers.map(|number| format!("{folder}{separator}removed-{number}.yaml")).find(is_free) else { continue };
        let text = yaml::write(removed.source.source().manifest.value());
        files.insert(path, text.into_bytes());
    }
    let with = discover(&documents.overlaid(&files, &BTreeSet::new(), config), config);
    removed.iter().filter_map(|removed| removed.finding(&with)).collect()
}

fn of_catalog<'a>(before: &'a Catalog, head: &Discovery) -> Vec<Removed<'a>> {
    let Some(now) = head.catalogs.iter().find(|now| now.environment == before.environment) else { return Vec::new() };
    let is_here = |source: &Stored| now.sources.iter().any(|other| other.object == source.object);
    let has_another = |rollout: &Rollout| {
        let same = |other: &&Rollout| other.namespace == rollout.namespace && other.workload == rollout.workload;
        now.rollouts.iter().any(|other| same(&other))
    };
    let source_of = |rollout: &Rollout| {
        let at = |source: &&Arc<Stored>| {
            rollout::is_rollout(&source.object) && source.path == rollout.place.path && source.places.at("") == rollout.place.position
        };
        before.sources.iter().find(at)
    };
    let all = before.rollouts.iter().filter(|rollout| !rollout.is_disabled && !has_another(rollout));
    all.filter_map(|rollout| Some(Removed { catalog: before, rollout, source: source_of(rollout).filter(|source| !is_here(source))? }))
        .collect()
}

impl Removed<'_> {
    fn finding(&self, head: &Discovery) -> Option<Finding> {
        let now = head.catalogs.iter().find(|now| now.environment == self.catalog.environment)?;
        let workload = &self.rollout.workload;
        let object = ObjectRef::new(&workload.api_version, &workload.kind, &self.rollout.namespace, &workload.name);
        let near = &self.rollout.place.path;
        let (Resolution::Found(before), Resolution::Found(after)) = (self.catalog.resolve(&object, near), now.resolve(&object, near))
        else {
            return None;
        };
        let template = |source: &Stored| digest::canonical(&source.source().manifest.at(TEMPLATE));
        if template(before) == template(after) {
            return None;
        }
        let message = format!("{} is taken away, and {object} gets new pods: they are out at once, without steps", self.source.object);
        let finding = Finding::warning("rollout-removed", message).at(&after.path, after.places.at(TEMPLATE)).about(&after.object);
        Some(finding.help("keep the Rollout until this release is complete, and take it away in a change of its own"))
    }
}
