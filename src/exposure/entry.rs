//! The ways into the workload: every gateway object that a plan's scripts rewrite, request by request.

use std::collections::BTreeSet;

use serde_json::Value;

use super::answer::{Share, Taken};
use super::condition::Verdict;
use super::later::Later;
use super::objects::Found;
use super::pods::Version;
use super::request::{Dialect, Protocol, Request};
use super::view::View;
use super::{Entry, Route, Routes, Subset, destination, http_route, ingress, virtual_service};
use crate::model::{Match, PlanStep};

/// More requests than anybody would read.
const MOST: usize = 2000;

/// The script that writes Ingresses for ingress-nginx.
const NGINX: &str = "trafficrouting_ingress/nginx";

/// A kind of gateway object that is read here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gateway {
    VirtualService,
    HttpRoute,
    Nginx,
}

/// Who gets which version through each gateway object, as the plan's list of scripts has them.
pub(super) fn entries<'a>(view: &View<'a>, later: &mut Later<'a>, step: Option<&PlanStep>) -> Vec<Entry> {
    let mut entries = Vec::new();
    let is_served = destination::is_served(view);
    for script in &view.plan.spec.scripts {
        let without = |routes: Routes| Entry { object: script.object.clone(), routes, undefined: Vec::new(), is_served };
        let not_known = |reason: String| without(Routes::NotKnown(reason));
        let (Some(now), Some(then)) = (view.get(&script.object), later.view.get(&script.object)) else {
            entries.push(without(Routes::NotHeld));
            continue;
        };
        let gateway = match (group_of(now.value), now.value["kind"].as_str()) {
            ("networking.istio.io", Some("DestinationRule")) => continue,
            ("networking.istio.io", Some("VirtualService")) => Gateway::VirtualService,
            ("gateway.networking.k8s.io", Some("HTTPRoute")) => Gateway::HttpRoute,
            ("networking.k8s.io", Some("Ingress")) if script.script == NGINX => Gateway::Nginx,
            _ => {
                entries.push(not_known(format!("what `{}` does is for its controller to say", script.object)));
                continue;
            }
        };
        if step.is_some() && !view.pods.iter().any(|pods| pods.version == Version::New) {
            entries.push(not_known("the step has no pods of the new version".to_owned()));
            continue;
        }
        let routes = gateway.routes((view, now), (later, then), step);
        entries.push(Entry { object: script.object.clone(), routes, undefined: gateway.undefined(view, now.value), is_served });
    }
    entries
}

impl Gateway {
    fn routes<'a>(
        self,
        (view, now): (&View<'a>, Found<'a>),
        (later, then): (&mut Later<'a>, Found<'a>),
        step: Option<&PlanStep>,
    ) -> Routes {
        let matches: &[Match] = step.and_then(|step| step.traffic.as_ref()).map(|traffic| traffic.matches.as_slice()).unwrap_or_default();
        let mut requests = BTreeSet::new();
        for request in self.requests(later.view, then.value).into_iter().chain(self.requests(view, now.value)) {
            if request.protocol == Protocol::Http {
                requests.extend(matches.iter().map(|wanted| request.satisfying(wanted, self.dialect())));
            }
            requests.insert(request);
            if requests.len() > MOST {
                return Routes::NotKnown(format!("there are more than {MOST} requests to follow"));
            }
        }
        let route = |request: Request| {
            let share = self.route(view, now.value, &request).share();
            let later = later.answer(self, then.value, &request);
            let is_ours = match &later.share {
                // The user's own rule for the new version's Service, which exists during the release alone.
                Share::Known(split) if split.nobody > 0.0 && self.route(view, then.value, &request).share() == share => Verdict::Unknown,
                Share::Known(_) => Verdict::Yes,
                Share::Elsewhere => Verdict::No,
                Share::NotKnown(_) => Verdict::Unknown,
            };
            Route { is_matched: request.satisfies(matches, self.dialect()), share, is_ours, origin: later.origin.clone(), request }
        };
        Routes::Known(requests.into_iter().map(route).collect())
    }

    /// The subsets that the object names and nothing says what they are, in order.
    fn undefined(self, view: &View<'_>, object: &Value) -> Vec<Subset> {
        match self {
            Self::VirtualService => {
                let named: BTreeSet<_> = virtual_service::subsets(object).collect();
                let undefined = named.into_iter().filter_map(|(host, name)| {
                    let is_ruled = destination::undefined(view, host, name)?;
                    Some(Subset { host: host.to_owned(), name: name.to_owned(), is_ruled })
                });
                undefined.collect()
            }
            Self::HttpRoute | Self::Nginx => Vec::new(),
        }
    }

    fn dialect(self) -> Dialect {
        match self {
            Self::VirtualService | Self::HttpRoute => Dialect::Plain,
            Self::Nginx => Dialect::Ingress,
        }
    }

    fn requests(self, view: &View<'_>, object: &Value) -> Vec<Request> {
        match self {
            Self::VirtualService => virtual_service::requests(object),
            Self::HttpRoute => http_route::requests(object),
            Self::Nginx => ingress::requests(view, object),
        }
    }

    /// What an object of this kind does with a request.
    pub(super) fn route(self, view: &View<'_>, object: &Value, request: &Request) -> Taken {
        match self {
            Self::VirtualService => virtual_service::route(view, object, request),
            Self::HttpRoute => http_route::route(view, object, request),
            Self::Nginx => ingress::route(view, object, request),
        }
    }
}

fn group_of(object: &Value) -> &str {
    object["apiVersion"].as_str().and_then(|version| version.split_once('/')).map_or("", |(group, _)| group)
}
