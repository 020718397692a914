//! From the files of a repository to its Rollouts and all that they name.
//!
//! What users write is checked here, once, with all faults found at the same time; past this door everything is valid.
//!
//! - `documents`: the objects in files, in two passes · `understood`: what is known of a Rollout then · `sniff`, `wanted`, `skip`: what is never parsed · `text`, `lists`
//! - `rollout`: one Rollout · `v1beta1`, `v1alpha1`, `steps`, `matches`, `routing`, `deadline`, `reference` · `node`, `fields`
//! - `asked`, `relabelled`: which Rollouts it is about · `conflicts`, `workloads`: Rollouts beside each other, and the kinds they can release ·
//!   `removed`, `unread`: those that a change takes away, or that nothing reads any more
//! - `originals`: what references lead to · `others`: what they may have meant · `neighbors`: what a release meets beside that · `placeholders`: what is filled in later · `typed`: values that no API server takes · `ingress`: what a dialect leaves undone · `gateways`, `cluster_scripts`: scripts · `engines`: what syncs the repository

mod asked;
mod cluster_scripts;
mod conflicts;
mod deadline;
mod definitions;
mod documents;
mod engines;
mod fields;
mod gateways;
mod ingress;
mod lists;
mod matches;
mod neighbors;
mod node;
mod originals;
mod others;
mod placeholders;
mod reference;
mod relabelled;
mod removed;
mod rollout;
mod routing;
mod skip;
mod sniff;
mod steps;
mod text;
mod typed;
mod understood;
mod unread;
mod v1alpha1;
mod v1beta1;
mod wanted;
mod workloads;

use std::collections::BTreeSet;
use std::sync::Arc;

use rayon::prelude::*;

pub use asked::Asked;
pub use documents::{Documents, read, read_asked};
pub use engines::engines;
pub use gateways::{script_at, shipped_gateways};
pub use originals::originals;
pub use relabelled::{ChangedFile, Relabelled, relabelled};
pub use removed::removed;
pub use skip::charts_with_rollouts;
pub use unread::{Head, Rules, unread};

use crate::config::{Config, Environment};
use crate::files::Files;
use crate::model::{Catalog, Finding, NeighborIndex, Others, Severity, Source, Stored};
use understood::Understood;

/// The namespace of objects for which nobody says one.
const DEFAULT_NAMESPACE: &str = "default";

/// What a repository holds.
#[derive(Debug, Clone, Default)]
pub struct Discovery {
    /// One for each environment, in the configuration's order.
    pub catalogs: Vec<Catalog>,
    /// What users should know or change, sorted.
    pub findings: Vec<Finding>,
    /// What was read and what was not.
    pub counts: Counts,
}

/// What was read and what was not, in files where nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// All that were given.
    pub files: usize,
    /// Looked through for manifests.
    pub read: usize,
    /// Objects that a release may need.
    pub objects: usize,
    /// Rollouts that can be rendered.
    pub rollouts: usize,
    /// Neither YAML nor JSON, or scripts.
    pub unrelated: usize,
    /// In a folder that plans are written to.
    pub output: usize,
    /// In no environment's folder.
    pub outside: usize,
    /// Charts and their templates.
    pub helm: usize,
    /// Values for templates.
    pub values: usize,
    /// Kustomizations.
    pub kustomizations: usize,
    /// Patches that kustomizations name.
    pub patches: usize,
    /// Larger than 4 MiB.
    pub large: usize,
    /// Not UTF-8 text.
    pub binary: usize,
    /// Documents that a parser refused.
    pub unparsable: usize,
}

/// Reads the Rollouts of every environment.
pub fn discover(documents: &Documents, config: &Config) -> Discovery {
    let mut findings: Vec<Finding> = documents.findings().cloned().collect();
    let mut objects: Vec<Objects> = config.environments.iter().map(|_| Objects::default()).collect();
    for source in documents.sources() {
        if let Some(inside) = config.environment_of(&source.path).and_then(|index| objects.get_mut(index)) {
            inside.sources.push(Arc::clone(source));
        }
    }
    for rollout in documents.rollouts() {
        if let Some(inside) = config.environment_of(&rollout.path).and_then(|index| objects.get_mut(index)) {
            inside.rollouts.push(rollout);
        }
    }
    let shared = cluster_scripts::outside(&documents.files, config, &mut findings);
    let (mut catalogs, mut rollouts) = (Vec::with_capacity(objects.len()), 0);
    for (index, (environment, objects)) in config.environments.iter().zip(objects).enumerate() {
        let (catalog, found) = catalog(environment, objects, (&documents.files, &shared), &mut findings);
        let neighbors = documents.neighbors(config, index, &catalog.namespace, &catalog.sources);
        let others = others::of(documents, config, index, &catalog.namespace);
        catalogs.push(Catalog { neighbors, others, ..catalog });
        rollouts += found;
    }
    findings.sort();
    findings.dedup();
    Discovery { catalogs, findings, counts: Counts { rollouts, ..documents.counts } }
}

/// What lies in the folder of one environment.
#[derive(Default)]
struct Objects<'a> {
    sources: Vec<Arc<Stored>>,
    /// Those of them that are Rollouts.
    rollouts: Vec<&'a Arc<Understood>>,
}

/// The catalog with the Rollouts that are asked for, and how many there are with the others. `shared` are the scripts of the
/// cluster that no environment has.
fn catalog(
    environment: &Environment,
    Objects { mut sources, rollouts: mut understood }: Objects<'_>,
    (files, shared): (&Files, &[Arc<Source>]),
    findings: &mut Vec<Finding>,
) -> (Catalog, usize) {
    // Stable: two objects of one name in one file stay in the file's order.
    sources.par_sort_by(|left, right| (&left.object, &left.path).cmp(&(&right.object, &right.path)));
    understood.sort_by(|left, right| (&left.object, &left.path).cmp(&(&right.object, &right.path)));
    if environment.namespace.is_none() {
        findings.extend(namespace_note(environment, &understood));
    }
    let is_scripts = |source: &&Arc<Stored>| cluster_scripts::is_scripts(&source.object);
    let own = sources.iter().filter(is_scripts).map(|source| source.source());
    let scripts: Vec<Arc<Source>> = own.chain(shared.iter().cloned()).collect();
    let gateways = gateways::of_environment(files, &environment.path, &scripts, findings);
    let mut catalog = Catalog {
        environment: environment.name.clone(),
        namespace: environment.namespace.clone().unwrap_or_else(|| DEFAULT_NAMESPACE.into()),
        output: environment.output.clone(),
        rollouts: Vec::new(),
        sources,
        neighbors: NeighborIndex::default(),
        others: Others::default(),
        gateways,
    };
    let (mut rollouts, mut others) = (Vec::new(), BTreeSet::new());
    for understood in understood {
        let mut found = understood.findings.clone();
        if let Some(rollout) = &understood.rollout {
            // What the others name was not read, which says nothing about them.
            found.extend(workloads::unsupported(rollout, &catalog).filter(|_| understood.is_asked));
            if !understood.is_asked {
                others.insert((rollout.namespace.clone(), rollout.reference.name.clone()));
            }
        }
        let is_sound = found.iter().all(|finding| finding.severity != Severity::Error);
        rollouts.extend(understood.rollout.clone().filter(|_| is_sound));
        findings.append(&mut found);
    }
    catalog.rollouts = conflicts::without(rollouts, findings);
    let found = catalog.rollouts.len();
    catalog.rollouts.retain(|rollout| !others.contains(&(rollout.namespace.clone(), rollout.reference.name.clone())));
    catalog.rollouts.sort_by(|left, right| (&left.namespace, &left.reference.name).cmp(&(&right.namespace, &right.reference.name)));
    (catalog, found)
}

/// One note for an environment, at the first Rollout without a namespace.
fn namespace_note(environment: &Environment, rollouts: &[&Arc<Understood>]) -> Option<Finding> {
    let bare = rollouts.iter().filter_map(|rollout| Some((rollout, rollout.bare?)));
    let (first, position) = bare.min_by(|(left, _), (right, _)| left.path.cmp(&right.path))?;
    let message = format!("objects without a namespace are taken to be in `{DEFAULT_NAMESPACE}`");
    let help = if environment.name.is_empty() {
        "write `metadata.namespace`, or an environment's `namespace` in `.rollout.yaml`".to_owned()
    } else {
        format!("write the namespace of the environment `{}` in `.rollout.yaml`", environment.name)
    };
    Some(Finding::note("namespace-default", message).at(&first.path, position).about(&first.object).help(help))
}

#[cfg(test)]
mod tests;
