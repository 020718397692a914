//! Who gets the traffic at every moment of a release, and what must never be.
//!
//! Pure: events in the order of the cluster's own revisions go in, a timeline and the faults come out. The order is exact,
//! since one store numbers every change of every object. What a gateway does with its objects is read here a second time, on
//! purpose apart from the scripts that write them.

mod backend;
mod entries;
mod http_route;
mod ingress;
mod judge;
mod late;
pub(crate) mod request;
mod service;
mod timeline;
mod traffic_split;
pub(crate) mod view;
mod virtual_service;

pub(crate) use judge::{Release, judge};
pub(crate) use timeline::{MARK, Moment, Phase, Question, shown, timeline};
pub(crate) use view::Event;
