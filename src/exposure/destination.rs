//! From a Service, or a subset of it, to the pods behind it.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use super::PodShare;
use super::objects::Found;
use super::pods::{Pods, Version};
use super::view::{Lookup, View};

/// What tells the pods of a Service.
const SELECTOR: &str = "/spec/selector";

/// What is behind a destination.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reach {
    /// Pods of the old version.
    Old,
    /// Pods of the new version.
    New,
    /// Pods of both; the new version's part of them where the numbers are known.
    Both(Option<f64>),
    /// The release's own Service or subset, without a pod.
    Nobody,
    /// Something that is no part of the release.
    Elsewhere,
    /// It cannot be told, and why.
    NotKnown(String),
}

impl Reach {
    /// Why it cannot be told, if so.
    pub(super) fn not_known(&self) -> Option<&str> {
        match self {
            Self::NotKnown(reason) => Some(reason),
            Self::Old | Self::New | Self::Both(_) | Self::Nobody | Self::Elsewhere => None,
        }
    }
}

/// A Service of a state.
pub(super) struct Behind<'a> {
    /// What its selector finds.
    reach: Reach,
    /// What its clients may ask for.
    ports: &'a [Value],
}

/// A port of a Service, as a route names it.
#[derive(Clone, Copy)]
pub(super) enum Port<'a> {
    /// By its number.
    Number(u64),
    /// By its number, its name, or where it leads: ingress-nginx takes them all.
    Any(&'a Value),
}

/// What is behind each Service that a state finds.
pub(super) fn services<'a>(view: &View<'a>) -> BTreeMap<&'a str, Behind<'a>> {
    let mut services = BTreeMap::new();
    for named in view.all("", "Service") {
        if let Some(name) = named.name {
            services.entry(name).or_insert_with(|| Behind {
                reach: selected(view, named.found, &[Selector::of(view, named.found, SELECTOR)]),
                ports: named.found.value["spec"]["ports"].as_array().map(Vec::as_slice).unwrap_or_default(),
            });
        }
    }
    services
}

/// Whether pods of the release are behind some Service.
pub(super) fn is_served(view: &View<'_>) -> bool {
    view.services.values().any(|behind| matches!(behind.reach, Reach::Old | Reach::New | Reach::Both(_)))
}

/// The new version's part of the pods behind each Service of a state.
pub(super) fn by_pods(view: &View<'_>) -> BTreeMap<String, PodShare> {
    let share = |reach: &Reach| match reach {
        Reach::Old => PodShare::Known(0.0),
        Reach::New => PodShare::Known(1.0),
        Reach::Both(Some(share)) => PodShare::Known(*share),
        Reach::Both(None) => PodShare::NotKnown,
        Reach::Nobody | Reach::Elsewhere | Reach::NotKnown(_) => PodShare::Nothing,
    };
    view.services.iter().map(|(name, behind)| ((*name).to_owned(), share(&behind.reach))).collect()
}

/// What is behind a Service of the plan's namespace, and its port where it has no such.
pub(super) fn service(view: &View<'_>, name: &str, port: Option<Port<'_>>) -> (Reach, Option<String>) {
    through(view, name, port, whole(view, name))
}

fn whole(view: &View<'_>, name: &str) -> Reach {
    if let Some(behind) = view.services.get(name) {
        return behind.reach.clone();
    }
    match view.find("", "Service", name) {
        Lookup::Absent => Reach::Nobody,
        Lookup::Unheard | Lookup::Found(_) => Reach::Elsewhere,
    }
}

/// What is behind a port of a Service that pods of the release stand behind.
fn through(view: &View<'_>, name: &str, port: Option<Port<'_>>, reach: Reach) -> (Reach, Option<String>) {
    let is_ours = matches!(reach, Reach::Old | Reach::New | Reach::Both(_) | Reach::Nobody);
    // Without any port in its list it has one for each that a pod listens at.
    let ports = view.services.get(name).map(|behind| behind.ports).filter(|ports| is_ours && !ports.is_empty());
    match (ports, port) {
        (Some(ports), Some(port)) if !ports.iter().any(|known| port.is(known)) => {
            (Reach::Nobody, Some(format!("port {port} of Service `{name}`")))
        }
        (Some(_) | None, _) => (reach, None),
    }
}

impl Port<'_> {
    fn is(self, known: &Value) -> bool {
        match self {
            Self::Number(number) => known["port"] == number,
            Self::Any(written) => ["port", "name", "targetPort"].iter().any(|field| known.get(field) == Some(written)),
        }
    }
}

impl fmt::Display for Port<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Any(Value::String(name)) => write!(formatter, "`{name}`"),
            Self::Any(written) => write!(formatter, "{written}"),
        }
    }
}

/// What is behind a host of Istio: `shop`, `shop.prod`, `shop.prod.svc.cluster.local`; and its port where it has no such.
pub(super) fn host(view: &View<'_>, host: &str, subset: Option<&str>, port: Option<Port<'_>>) -> (Reach, Option<String>) {
    let Some(name) = service_of(host, &view.plan.namespace) else { return (Reach::Elsewhere, None) };
    let reach = subset.map_or_else(|| whole(view, name), |subset| part(view, host, name, subset));
    through(view, name, port, reach)
}

/// Whether no DestinationRule says what a subset is of a host that pods of the release stand behind; and whether there is one for
/// the host at all.
pub(super) fn undefined(view: &View<'_>, host: &str, subset: &str) -> Option<bool> {
    let name = service_of(host, &view.plan.namespace)?;
    view.services.get(name).filter(|behind| !matches!(behind.reach, Reach::Elsewhere | Reach::NotKnown(_)))?;
    let has = rules(view, name).any(|rule| position(rule, subset).is_some());
    (!has).then(|| rules(view, name).next().is_some())
}

/// Every `DestinationRule` of a Service.
fn rules<'a>(view: &View<'a>, name: &str) -> impl Iterator<Item = Found<'a>> {
    let rules = view.all("networking.istio.io", "DestinationRule").map(|rule| rule.found);
    rules.filter(move |rule| service_of(rule.value["spec"]["host"].as_str().unwrap_or_default(), &view.plan.namespace) == Some(name))
}

/// Where a DestinationRule says what a subset is.
fn position(rule: Found<'_>, subset: &str) -> Option<usize> {
    rule.value["spec"]["subsets"].as_array()?.iter().position(|known| known["name"] == subset)
}

/// What is behind a subset of a Service.
fn part(view: &View<'_>, host: &str, name: &str, subset: &str) -> Reach {
    let found = match view.find("", "Service", name) {
        Lookup::Found(found) => found,
        Lookup::Absent => return Reach::Nobody,
        Lookup::Unheard => return Reach::Elsewhere,
    };
    if rules(view, name).next().is_none() {
        // Whatever the subset is, it is a part of the Service.
        let whole = whole(view, name);
        if matches!(whole, Reach::Old | Reach::New | Reach::Nobody | Reach::Elsewhere) {
            return whole;
        }
        return Reach::NotKnown(format!("no DestinationRule of the release says what the subset `{subset}` of `{host}` is"));
    }
    match rules(view, name).find_map(|rule| Some((rule, position(rule, subset)?))) {
        Some((rule, index)) => {
            let labels = Selector::of(view, rule, &format!("/spec/subsets/{index}/labels"));
            selected(view, found, &[Selector::of(view, found, SELECTOR), labels])
        }
        None => Reach::Nobody,
    }
}

/// The Service of a host, when it is one of the namespace.
fn service_of<'a>(host: &'a str, namespace: &str) -> Option<&'a str> {
    let mut parts = host.split('.');
    let name = parts.next().filter(|name| !name.is_empty() && *name != "*")?;
    let is_near = parts.next().is_none_or(|part| part == namespace) && parts.next().is_none_or(|part| part == "svc");
    is_near.then_some(name)
}

/// What pods must have to be chosen.
struct Selector<'a> {
    labels: Option<&'a Map<String, Value>>,
    /// Late values, which stand for the labels of these versions.
    revisions: Vec<Version>,
}

impl<'a> Selector<'a> {
    /// The labels at a pointer of an object, late values among them.
    fn of(view: &View<'a>, found: Found<'a>, pointer: &str) -> Self {
        Self { labels: found.value.pointer(pointer).and_then(Value::as_object), revisions: view.revisions(found, pointer) }
    }

    fn is_empty(&self) -> bool {
        self.labels.is_none_or(Map::is_empty) && self.revisions.is_empty()
    }

    fn takes(&self, pods: &Pods<'_>) -> bool {
        self.has_labels_of(pods) && self.revisions.iter().all(|revision| *revision == pods.version)
    }

    fn has_labels_of(&self, pods: &Pods<'_>) -> bool {
        self.is_met_by(pods.labels)
    }

    fn is_met_by(&self, pods: Option<&Map<String, Value>>) -> bool {
        let mut wanted = self.labels.into_iter().flatten();
        wanted.all(|(key, value)| pods.and_then(|labels| labels.get(key)) == Some(value))
    }
}

/// The pods that all selectors take; the first is that of the Service.
fn selected<'a>(view: &View<'a>, service: Found<'a>, selectors: &[Selector<'a>]) -> Reach {
    if selectors.first().is_none_or(Selector::is_empty) {
        return Reach::NotKnown("a Service without a selector has endpoints that no file names".to_owned());
    }
    // No pod runs where zero are asked for.
    let is_behind = |pods: &&Pods<'_>| pods.count != Some(0) && selectors.iter().all(|selector| selector.takes(pods));
    let behind: Vec<_> = view.pods.iter().filter(is_behind).collect();
    let has = |version| behind.iter().any(|pods| pods.version == version);
    let count = |version| {
        let of_version = behind.iter().filter(|pods| pods.version == version);
        of_version.map(|pods| pods.count).sum::<Option<u32>>().map(f64::from)
    };
    // A Service from beside the plan whose selector no pod of the release has, whatever a subset adds.
    let is_foreign = || service.key.is_none() && !view.pods.iter().any(|pods| selectors[0].has_labels_of(pods));
    // Pods of other workloads answer, where no late value asks for a version.
    let is_answered = || {
        let is_met =
            |pods: &Map<String, Value>| selectors.iter().all(|selector| selector.revisions.is_empty() && selector.is_met_by(Some(pods)));
        view.objects.foreign_pods.iter().any(|pods| is_met(pods))
    };
    match (has(Version::Old), has(Version::New)) {
        (false, false) if is_foreign() || is_answered() => Reach::Elsewhere,
        (false, false) => Reach::Nobody,
        (true, false) => Reach::Old,
        (false, true) => Reach::New,
        (true, true) => Reach::Both(count(Version::Old).zip(count(Version::New)).map(|(old, new)| new / (old + new))),
    }
}
