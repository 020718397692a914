//! Who gets which version: the traffic of a plan's rendered manifests, told from the manifests alone.
//!
//! A second reading, on purpose apart from the scripts that write gateway objects: it knows what a gateway does with its
//! objects, one file a kind, and nothing of how they came about. It follows requests (one for every rule of the user, alone and
//! with every match of the step) through the gateway object, Services and subsets to the pods. What it cannot tell it says so.

mod answer;
mod condition;
mod destination;
mod entry;
mod http_route;
mod ingress;
mod later;
mod live;
mod objects;
mod pods;
mod request;
mod view;
mod virtual_service;

use std::collections::BTreeMap;

use crate::model::{Manifest, ObjectKey, Plan};

pub use answer::{Share, Split};
pub use condition::Verdict;
pub use live::{Running, live};
pub use request::Request;

/// The traffic of every state of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Exposure {
    /// Before the release.
    pub baseline: Vec<Entry>,
    /// In each step, in their order.
    pub steps: Vec<Vec<Entry>>,
    /// After the release.
    pub target: Vec<Entry>,
    /// In each step, what pods are behind each Service that is known, by its name.
    pub by_pods: Vec<BTreeMap<String, PodShare>>,
}

/// The new version's part of a Service's requests, by the number of pods behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PodShare {
    /// So much, from 0 to 1.
    Known(f64),
    /// A part that a cluster decides: git does not say how many pods there are.
    NotKnown,
    /// No pod of the release is behind it, or nothing is known of what is.
    Nothing,
}

impl PodShare {
    /// Whether pods of the new version are behind the Service.
    pub fn is_new(self) -> bool {
        match self {
            Self::Known(share) => share > 0.0,
            Self::NotKnown => true,
            Self::Nothing => false,
        }
    }

    /// The part where it is known.
    pub fn known(self) -> Option<f64> {
        match self {
            Self::Known(share) => Some(share),
            Self::NotKnown | Self::Nothing => None,
        }
    }
}

/// One gateway object in a state: the way into the workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The object as the user wrote it.
    pub object: ObjectKey,
    /// Where requests go.
    pub routes: Routes,
    /// The subsets that it names of the release's Services, where no DestinationRule that is known says what they are.
    pub undefined: Vec<Subset>,
    /// Whether pods of the release are behind some Service that is known in the state.
    pub is_served: bool,
}

/// A part of a Service, as a route names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subset {
    /// The host, as it is written.
    pub host: String,
    /// The name.
    pub name: String,
    /// Whether a DestinationRule for the host is known, which does not have it.
    pub is_ruled: bool,
}

/// Where requests go that a gateway object takes.
#[derive(Debug, Clone, PartialEq)]
pub enum Routes {
    /// By request.
    Known(Vec<Route>),
    /// It cannot be told, and why.
    NotKnown(String),
    /// The plan does not hold the object, and it was not given beside the plan.
    NotHeld,
}

impl Entry {
    /// Why the manifests do not show who gets the new version through this object; none where they do.
    pub fn not_proved(&self) -> Option<String> {
        let routes = match &self.routes {
            Routes::NotKnown(reason) => return Some(reason.clone()),
            Routes::NotHeld => return None,
            Routes::Known(routes) => routes,
        };
        let mut reasons = routes.iter().filter(|route| route.is_ours != Verdict::No).filter_map(|route| match &route.share {
            Share::NotKnown(reason) => Some(reason.clone()),
            Share::Known(_) if route.is_matched == Verdict::Unknown => {
                Some(format!("whether the step's matches mean `{}` is for the gateway to say", route.request))
            }
            Share::Known(_) | Share::Elsewhere => None,
        });
        let is_elsewhere = |route: &Route| route.is_ours == Verdict::No && route.share == Share::Elsewhere;
        let reaches_none = self.is_served && routes.iter().all(is_elsewhere);
        reasons.next().or_else(|| reaches_none.then(|| "none of its requests reaches the workload".to_owned()))
    }
}

/// One request, and who answers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// The request.
    pub request: Request,
    /// Whether the step's matches mean it. `No` where the state is no step.
    pub is_matched: Verdict,
    /// Who answers it.
    pub share: Share,
    /// Whether it reaches the workload after the release, by the user's own rules; `Unknown` where that cannot be told, and
    /// where such a rule leads to the new version by name.
    pub is_ours: Verdict,
    /// Where the user's own rules send it: the pointer of a destination in the object as the user wrote it.
    pub origin: Option<String>,
}

/// Returns who gets which version in every state. `beside` are objects that the plan does not hold but requests pass: the
/// Service where no second one is made and others of the same pods, an Ingress that stays as it is, what defines subsets that the
/// Rollout does not name, and other workloads with pods behind the same Service.
pub fn of(plan: &Plan, beside: &[&Manifest]) -> Exposure {
    let spec = &plan.spec;
    let objects = objects::Objects::of(plan, beside);
    let target = view::View::target(&objects);
    let mut later = later::Later::of(&target);
    let views: Vec<_> = spec.steps.iter().map(|step| (step, view::View::step(&objects, step))).collect();
    Exposure {
        baseline: entry::entries(&view::View::baseline(&objects), &mut later, None),
        steps: views.iter().map(|(step, view)| entry::entries(view, &mut later, Some(step))).collect(),
        target: entry::entries(&target, &mut later, None),
        by_pods: views.iter().map(|(_, view)| destination::by_pods(view)).collect(),
    }
}

#[cfg(test)]
mod tests;
