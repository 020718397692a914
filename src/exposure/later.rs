//! Where the user's own rules send requests after the release. Every state is compared with that, so it is told once.

use std::collections::BTreeMap;
use std::ptr;

use serde_json::Value;

use super::answer::Share;
use super::entry::Gateway;
use super::request::Request;
use super::view::View;

/// The answers so far, by gateway object and request.
pub(super) struct Later<'a> {
    /// The state after the release.
    pub(super) view: &'a View<'a>,
    objects: Vec<(Gateway, &'a Value, BTreeMap<Request, Answer>)>,
}

/// Who answers a request.
pub(super) struct Answer {
    /// Who.
    pub(super) share: Share,
    /// Where the first destination stands that is part of the release.
    pub(super) origin: Option<String>,
}

impl<'a> Later<'a> {
    pub(super) fn of(view: &'a View<'a>) -> Self {
        Self { view, objects: Vec::new() }
    }

    /// Who answers a request that a gateway object takes.
    pub(super) fn answer(&mut self, gateway: Gateway, object: &'a Value, request: &Request) -> &Answer {
        let is_known = |known: &(Gateway, &Value, _)| known.0 == gateway && ptr::eq(known.1, object);
        let index = self.objects.iter().position(is_known).unwrap_or_else(|| {
            self.objects.push((gateway, object, BTreeMap::new()));
            self.objects.len() - 1
        });
        let answers = &mut self.objects[index].2;
        if !answers.contains_key(request) {
            let taken = gateway.route(self.view, object, request);
            answers.insert(request.clone(), Answer { share: taken.share(), origin: taken.origin() });
        }
        &answers[request]
    }
}
