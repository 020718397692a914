//! Whether a change concerns a Rollout: a function of all that its plan and the findings about it are made from.

use std::sync::Arc;

use serde_json::Value;

use crate::model::{Catalog, Code, Finding, Neighbors, ObjectRef, Originals, Rollout, Source, Stored};
use crate::render;

use super::engines::Engines;
use super::repository::Surroundings;

/// One state of what a Rollout names.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) originals: &'a Originals,
}

/// A Rollout, what it names now, and what it named before the change.
pub(super) struct Comparison<'a> {
    pub(super) rollout: &'a Rollout,
    pub(super) now: View<'a>,
    pub(super) before: View<'a>,
}

impl Comparison<'_> {
    /// Whether nothing has changed that the plan or a finding depends on.
    pub(super) fn is_same(&self, surroundings: &Surroundings, engines: &Engines<'_>) -> bool {
        !surroundings.is_described_otherwise
            && self.is_same_rollout()
            && self.is_same_originals()
            && self.is_served_alike()
            && self.is_free_alike()
            && !self.is_beside(surroundings)
            && engines.say_the_same(self.rollout, self.now, self.before)
    }

    fn is_same_rollout(&self) -> bool {
        let reference = &self.rollout.reference;
        let object = ObjectRef::new(&reference.api_version, &reference.kind, &self.rollout.namespace, &reference.name);
        let all = |catalog: &'_ Catalog| -> Vec<Arc<Stored>> {
            let start = catalog.sources.partition_point(|source| source.object < object);
            catalog.sources[start..].iter().take_while(|source| source.object == object).cloned().collect()
        };
        let (now, before) = (all(self.now.catalog), all(self.before.catalog));
        let is_same = |now: &Stored, before: &Stored| now.is_same_manifest(before) && remarks(&now.remarks) == remarks(&before.remarks);
        now.len() == before.len() && now.iter().zip(&before).all(|(now, before)| is_same(now, before))
    }

    fn is_same_originals(&self) -> bool {
        said(self.now.originals) == said(self.before.originals)
    }

    /// Whether no other object stands where the release makes one than before.
    fn is_free_alike(&self) -> bool {
        let taken = |view: View<'_>| -> Vec<ObjectRef> {
            render::taken(self.rollout, self.now.originals, view.catalog).into_iter().map(|stored| stored.object.clone()).collect()
        };
        taken(self.now) == taken(self.before)
    }

    fn is_served_alike(&self) -> bool {
        let gateways = &self.now.originals.gateways;
        gateways.iter().all(|(reference, _)| self.now.catalog.gateway(reference) == self.before.catalog.gateway(reference))
    }

    /// Whether a workload or a Service of other labels may share its pods.
    fn is_beside(&self, surroundings: &Surroundings) -> bool {
        let (originals, environment) = (self.now.originals, &self.now.catalog.environment);
        let labels = [(&originals.workload, "/spec/template/metadata/labels"), (&originals.service, "/spec/selector")];
        let mut labels = labels.into_iter().filter_map(|(source, pointer)| source.as_ref()?.manifest.at(pointer)?.as_object());
        labels.any(|labels| surroundings.relabelled.iter().any(|other| other.may_concern(environment, &self.rollout.namespace, labels)))
    }
}

/// All that one object says: its content, and what a reader of its text should know.
type Said<'a> = (&'a Value, Vec<(Code, &'a str)>);

fn said(originals: &Originals) -> Vec<Option<Said<'_>>> {
    sources(originals).map(|source| source.map(|source| (source.manifest.value(), remarks(&source.remarks)))).collect()
}

/// Every object, and where one is missing none.
pub(super) fn sources(originals: &Originals) -> impl Iterator<Item = Option<&Arc<Source>>> {
    // All fields by name: the compiler asks for one that is added.
    let Originals { workload, service, gateways, autoscaler, definitions, neighbors } = originals;
    let Neighbors { workloads, services, routes, claims } = neighbors;
    let named = [workload, service, autoscaler].into_iter().chain(gateways.iter().map(|(_, source)| source));
    let others = [definitions, workloads, services, routes, claims].into_iter().flatten();
    named.map(Option::as_ref).chain(others.map(Some))
}

fn remarks(findings: &[Finding]) -> Vec<(Code, &str)> {
    findings.iter().map(|finding| (finding.code, finding.message.as_str())).collect()
}
