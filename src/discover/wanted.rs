//! Which objects the Rollouts of a repository need: all others are never parsed.

use std::collections::BTreeSet;

use serde_json::Value;

use super::sniff::{Sniffed, kinds, names, sniff};
use super::{definitions, gateways, neighbors};
use crate::model::{Source, autoscalers, is_autoscaler, linked_kinds};

/// The ConfigMap that holds users' scripts.
pub(super) const SCRIPTS: &str = "kruise-rollout-configuration";

/// What a document is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// A Rollout may name what it holds.
    Now,
    /// It may hold a neighbor of a release, which no Rollout names. Read only if it is connected to one that is named.
    Deferred,
    /// Nobody needs it.
    Nothing,
}

/// Kinds and names that Rollouts mention.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    objects: BTreeSet<(String, String)>,
    kinds: BTreeSet<String>,
    workloads: BTreeSet<String>,
    /// The Services that a definition which no Rollout names may be for.
    hosts: BTreeSet<String>,
    /// What is appended to names by those who make objects beside those that Rollouts mention.
    suffixes: BTreeSet<String>,
}

impl Wanted {
    /// Adds what a Rollout names, valid or not.
    pub(super) fn add(&mut self, rollout: &Source) {
        let text = |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let value = rollout.manifest.value();
        for pointer in ["/spec/workloadRef", "/spec/objectRef/workloadRef"] {
            if let Some(reference) = value.pointer(pointer)
                && let (Some(kind), Some(name)) = (text(reference, "/kind"), text(reference, "/name"))
            {
                self.workloads.insert(name.clone());
                self.kinds.extend(autoscalers().map(|(_, kind)| kind.to_owned()));
                self.object(&kind, name);
            }
        }
        let strategies = ["/spec/strategy/canary/trafficRoutings/0", "/spec/strategy/blueGreen/trafficRoutings/0"];
        for routing in strategies.iter().filter_map(|pointer| value.pointer(pointer)) {
            for (pointer, kind) in [("/service", "Service"), ("/ingress/name", "Ingress"), ("/gateway/httpRouteName", "HTTPRoute")] {
                if let Some(name) = text(routing, pointer) {
                    self.object(kind, name);
                }
            }
            if let Some(service) = text(routing, "/service") {
                self.hosts.insert(service);
                self.kinds.insert(definitions::KIND.into());
            }
            for custom in routing.get("customNetworkRefs").and_then(Value::as_array).into_iter().flatten() {
                if let (Some(kind), Some(name)) = (text(custom, "/kind"), text(custom, "/name")) {
                    self.object(&kind, name);
                }
            }
        }
    }

    /// Wants the objects that stand where a release makes one: of a wanted name with one of these behind it.
    pub(super) fn with_companions(mut self, suffixes: BTreeSet<String>) -> Self {
        self.suffixes.extend(suffixes);
        self
    }

    /// Adds what others want.
    pub(super) fn extend(&mut self, other: &Self) {
        self.objects.extend(other.objects.iter().cloned());
        self.kinds.extend(other.kinds.iter().cloned());
        self.workloads.extend(other.workloads.iter().cloned());
        self.hosts.extend(other.hosts.iter().cloned());
    }

    /// The names of all that is wanted.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.objects.iter().map(|(_, name)| name).chain(&self.workloads).map(String::as_str)
    }

    /// What a document is for.
    pub(super) fn need(&self, text: &str) -> Need {
        if self.kinds.is_empty() {
            return Need::Nothing;
        }
        let deferred = |is_linked: bool| if is_linked { Need::Deferred } else { Need::Nothing };
        match sniff(text, |kind| self.kinds.contains(kind) || kind.ends_with("List")) {
            Sniffed::Nothing => Need::Nothing,
            Sniffed::Object { kind, name: Some(name) } if !kind.ends_with("List") => {
                if self.has(kind, name, text) {
                    Need::Now
                } else {
                    deferred(neighbors::is_linked(kind))
                }
            }
            Sniffed::Object { kind, name: None } if !kind.ends_with("List") => {
                if self.kinds.contains(kind) {
                    Need::Now
                } else {
                    deferred(neighbors::is_linked(kind))
                }
            }
            Sniffed::Object { .. } | Sniffed::Unclear => {
                let has = |kind: &str| text.contains(kind);
                if self.kinds.iter().any(|kind| has(kind)) { Need::Now } else { deferred(linked_kinds().any(has)) }
            }
        }
    }

    /// Whether something of the kind is wanted.
    pub(super) fn has_kind(&self, kind: &str) -> bool {
        self.kinds.contains(kind)
    }

    /// Whether nothing is wanted.
    pub(super) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Whether a document seems to hold something that a Rollout names.
    pub(super) fn is_named(&self, text: &str) -> bool {
        match sniff(text, |_| true) {
            Sniffed::Object { kind, name: Some(name) } => self.has(kind, name, text),
            Sniffed::Object { name: None, .. } => self.is_among(text),
            Sniffed::Unclear | Sniffed::Nothing => false,
        }
    }

    /// Whether one of the objects that a document seems to hold is among them.
    pub(super) fn is_among(&self, text: &str) -> bool {
        kinds(text).any(|kind| self.objects.iter().any(|(wanted, name)| wanted == kind && text.contains(name.as_str())))
    }

    fn has(&self, kind: &str, name: &str, text: &str) -> bool {
        if is_autoscaler(kind) {
            return self.kinds.contains(kind)
                && (names(text).any(|name| self.workloads.contains(name)) || text.contains("scaleTargetRef: {"));
        }
        let is_host =
            |host: &str| self.hosts.contains(host) || host.strip_suffix(gateways::SUFFIX).is_some_and(|host| self.hosts.contains(host));
        if kind == definitions::KIND && hosts(text).any(is_host) {
            return true;
        }
        let is_object = |name: &str| self.objects.contains(&(kind.to_owned(), name.to_owned()));
        let mut stems = self.suffixes.iter().filter_map(|suffix| name.strip_suffix(suffix.as_str()));
        self.kinds.contains(kind) && (is_object(name) || stems.any(is_object))
    }

    fn object(&mut self, kind: &str, name: String) {
        self.kinds.insert(kind.to_owned());
        self.objects.insert((kind.to_owned(), name));
    }
}

/// The names before the first dot of all that seem to be hosts.
fn hosts(text: &str) -> impl Iterator<Item = &str> {
    let is_quote = |sign: char| sign == '"' || sign == '\'';
    text.split("host").skip(1).filter_map(move |rest| {
        let rest = rest.trim_start_matches(is_quote).trim_start().strip_prefix(':')?.trim_start().trim_start_matches(is_quote);
        let end = rest.find(|sign: char| !sign.is_ascii_alphanumeric() && sign != '-').unwrap_or(rest.len());
        Some(&rest[..end])
    })
}

/// Whether a document may hold a Rollout or users' scripts.
pub(super) fn may_hold_rollouts(text: &str) -> bool {
    if !text.contains(super::rollout::GROUP) && !text.contains(SCRIPTS) {
        return false;
    }
    match sniff(text, |_| false) {
        Sniffed::Object { kind, name: _ } => is_rollout_or_scripts(kind) || kind.ends_with("List") || seems_to_hold_rollouts(text),
        Sniffed::Unclear => true,
        // Broken enough to have lost its kind: a parser says what is wrong with it.
        Sniffed::Nothing => text.contains("kind"),
    }
}

/// Whether one of the objects that a document seems to hold is a Rollout or the like.
pub(super) fn seems_to_hold_rollouts(text: &str) -> bool {
    kinds(text).any(is_rollout_or_scripts)
}

fn is_rollout_or_scripts(kind: &str) -> bool {
    matches!(kind, "Rollout" | "TrafficRouting" | "ConfigMap")
}
