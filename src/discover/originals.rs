//! What a Rollout's references lead to, and what to say when they lead nowhere.

use std::sync::Arc;

use super::{definitions, ingress, neighbors, others, placeholders, typed};
use crate::model::{
    Catalog, Finding, GatewayRef, ObjectRef, Originals, Place, Reference, Resolution, Rollout, Source, Stored, autoscalers,
};

/// The objects that a Rollout names, as far as they exist; every reference that leads nowhere is a finding.
pub fn originals(catalog: &Catalog, rollout: &Rollout) -> (Originals, Vec<Finding>) {
    let mut lookup = Lookup { catalog, rollout, findings: Vec::new() };
    let workload = &rollout.workload;
    let object = ObjectRef::new(&workload.api_version, &workload.kind, &rollout.namespace, &workload.name);
    let workload = lookup.find("workload-missing", &object, &|| workload_place(catalog, rollout));
    let service = rollout.routing.as_ref().and_then(|routing| {
        let object = ObjectRef::new("v1", "Service", &rollout.namespace, &routing.service);
        lookup.find("service-missing", &object, &|| routing.place.clone())
    });
    let references = rollout.routing.as_ref().map_or(&[][..], |routing| &routing.gateways);
    let gateways: Vec<_> = references.iter().map(|reference| (reference.clone(), lookup.gateway(reference))).collect();
    let autoscaler = lookup.autoscaler(&object);
    let definitions = definitions::of(catalog, rollout);
    let neighbors = neighbors::of(catalog, rollout, workload.as_deref(), service.as_deref(), &gateways);
    let originals = Originals { workload, service, gateways, autoscaler, definitions, neighbors };
    let mut findings = lookup.findings;
    for source in used(&originals) {
        findings.extend_from_slice(&source.remarks);
        findings.extend(placeholders::check(source));
        findings.extend(typed::check(source));
    }
    findings.sort();
    findings.dedup();
    (originals, findings)
}

fn used(originals: &Originals) -> impl Iterator<Item = &Arc<Source>> {
    let gateways = originals.gateways.iter().filter_map(|(_, source)| source.as_ref());
    originals.workload.iter().chain(&originals.service).chain(gateways).chain(&originals.autoscaler)
}

/// Where the Rollout names its workload.
pub(super) fn workload_place(catalog: &Catalog, rollout: &Rollout) -> Place {
    let reference = &rollout.reference;
    let object = ObjectRef::new(&reference.api_version, &reference.kind, &rollout.namespace, &reference.name);
    let start = catalog.sources.partition_point(|source| source.object < object);
    let mut named = catalog.sources[start..].iter().take_while(|source| source.object == object);
    let source = named.find(|source| source.path == rollout.place.path && source.places.at("") == rollout.place.position);
    let Some(source) = source else { return rollout.place.clone() };
    let is_there = |pointer: &&str| source.source().manifest.at(pointer).is_some();
    let pointer = ["/spec/workloadRef", "/spec/objectRef/workloadRef"].into_iter().find(is_there);
    Place { path: source.path.clone(), position: source.places.at(pointer.unwrap_or_default()) }
}

struct Lookup<'a> {
    catalog: &'a Catalog,
    rollout: &'a Rollout,
    findings: Vec<Finding>,
}

impl Lookup<'_> {
    fn gateway(&mut self, reference: &GatewayRef) -> Option<Arc<Source>> {
        let object = ObjectRef::new(&reference.api_version, &reference.kind, &self.rollout.namespace, &reference.name);
        let found = self.find("gateway-object-missing", &object, &|| reference.place.clone());
        if let Some(removed) = found.as_deref().and_then(ingress::removed) {
            self.findings.push(removed);
            return None;
        }
        if let Some(source) = &found {
            ingress::check(self.catalog, self.rollout, reference, source, &mut self.findings);
        }
        found
    }

    fn find(&mut self, code: &'static str, object: &ObjectRef, place: &dyn Fn() -> Place) -> Option<Arc<Source>> {
        match self.catalog.resolve(object, &self.rollout.place.path) {
            Resolution::Found(source) => return Some(source.source()),
            Resolution::Ambiguous(candidates) => {
                let place = place();
                let finding = self.ambiguous(object, &candidates).at(&place.path, place.position);
                self.findings.push(finding);
            }
            Resolution::Missing => {
                if let Some(removed) = self.of_removed_group(object) {
                    self.findings.push(removed);
                    return None;
                }
                let (message, place) = (format!("there is no {object}"), place());
                let finding = Finding::error(code, message).at(&place.path, place.position);
                let finding = finding.about(self.name());
                self.findings.push(finding.help(self.elsewhere(object)));
            }
        }
        None
    }

    fn name(&self) -> String {
        format!("Rollout {}/{}", self.rollout.namespace, self.rollout.reference.name)
    }

    fn ambiguous(&self, object: &ObjectRef, candidates: &[&Arc<Stored>]) -> Finding {
        let listed: Vec<_> = candidates.iter().map(|source| place_of(source)).collect();
        let finding = Finding::error("reference-ambiguous", format!("there are {} {object}: {}", candidates.len(), listed.join(", ")));
        finding.about(self.name()).help("keep the one that is meant in the Rollout's folder, or describe environments in `.rollout.yaml`")
    }

    /// The finding about an object that is there under an API group that no cluster has any more.
    fn of_removed_group(&self, object: &ObjectRef) -> Option<Finding> {
        let is_it = |other: &&Arc<Stored>| {
            let other = &other.object;
            (&other.kind, &other.name, &other.namespace) == (&object.kind, &object.name, &object.namespace)
        };
        self.catalog.sources.iter().filter(is_it).find_map(|other| ingress::removed(&other.source()))
    }

    /// Objects that may have been meant: of the same name in another namespace or API group.
    fn elsewhere(&self, object: &ObjectRef) -> String {
        let is_near = |source: &&Arc<Stored>| source.object.kind == object.kind && source.object.name == object.name;
        let near: Vec<_> = self.catalog.sources.iter().filter(is_near).take(5).collect();
        match near.as_slice() {
            [] => {
                let files = if self.catalog.environment.is_empty() { "the files read" } else { "the environment's files" };
                others::help(self.catalog, object)
                    .unwrap_or_else(|| format!("write the {} into {files}, or correct the name `{}`", object.kind, object.name))
            }
            near => {
                let listed: Vec<_> = near
                    .iter()
                    .map(|source| {
                        let group = if source.object.group == object.group {
                            String::new()
                        } else {
                            format!(" of `{}`", source.source().manifest.api_version())
                        };
                        format!("{}{group} in {}", source.object, place_of(source))
                    })
                    .collect();
                format!("there is {}", listed.join(", "))
            }
        }
    }

    /// The autoscaler whose target is the workload.
    fn autoscaler(&mut self, workload: &ObjectRef) -> Option<Arc<Source>> {
        let of_kind = |(group, kind)| {
            let start =
                self.catalog.sources.partition_point(|source| (source.object.group.as_str(), source.object.kind.as_str()) < (group, kind));
            self.catalog.sources[start..].iter().take_while(move |source| source.object.group == group && source.object.kind == kind)
        };
        let all: Vec<_> = autoscalers().flat_map(of_kind).filter(|source| targets(source, workload)).collect();
        let first = all.first()?;
        if all.iter().all(|source| source.object == first.object) {
            return match self.catalog.resolve(&first.object, &self.rollout.place.path) {
                Resolution::Found(source) => Some(source.source()),
                Resolution::Ambiguous(candidates) => {
                    let finding = self.ambiguous(&first.object, &candidates).at(&first.path, first.places.at(""));
                    self.findings.push(finding);
                    None
                }
                Resolution::Missing => None,
            };
        }
        let listed: Vec<_> =
            all.iter().map(|source| format!("{} `{}` in {}", source.object.kind, source.object.name, place_of(source))).collect();
        let message = format!("several autoscalers scale {workload}: {}", listed.join(", "));
        let finding = Finding::error("autoscaler-several", message).at(&first.path, first.places.at("/spec/scaleTargetRef"));
        self.findings.push(finding.about(self.name()).help("a workload has one autoscaler"));
        None
    }
}

fn targets(source: &Stored, workload: &ObjectRef) -> bool {
    let is_it = |target: &Reference| {
        let is_of_group =
            target.api_version.is_empty() || target.api_version.split_once('/').map_or("", |(group, _)| group) == workload.group;
        target.name == workload.name && target.kind == workload.kind && is_of_group
    };
    source.object.namespace == workload.namespace && source.scales.as_ref().is_some_and(is_it)
}

fn place_of(source: &Stored) -> String {
    format!("{}:{}", source.path, source.places.at("").line)
}
