//! Which plans there are, as watches tell it: place by place, from list to list.

use std::collections::{BTreeMap, BTreeSet};

use super::claims::PlanKey;

/// Where a watch looks: in one namespace, or in all.
pub(super) type Place = Option<String>;

/// The plans that are known.
#[derive(Debug)]
pub(super) struct Listing {
    /// What was seen of each plan.
    marks: BTreeMap<PlanKey, u64>,
    /// The plans of the lists that are being told.
    told: BTreeSet<PlanKey>,
    /// Places whose first list is not complete yet.
    unlisted: BTreeSet<Place>,
    /// Those of them whose plans may not be listed: nobody waits for them.
    refused: BTreeSet<Place>,
}

impl Listing {
    /// Nothing is known yet of these places.
    pub(super) fn of(places: &[Place]) -> Self {
        Self { marks: BTreeMap::new(), told: BTreeSet::new(), unlisted: places.iter().cloned().collect(), refused: BTreeSet::new() }
    }

    /// Whether the plan is known.
    pub(super) fn knows(&self, key: &PlanKey) -> bool {
        self.marks.contains_key(key)
    }

    /// Whether the first list of the place is still being told.
    pub(super) fn is_first(&self, place: &Place) -> bool {
        self.unlisted.contains(place)
    }

    /// Whether all plans are known that may be known.
    pub(super) fn is_complete(&self) -> bool {
        self.unlisted.is_subset(&self.refused)
    }

    /// The place's plans are told from the beginning.
    pub(super) fn begins(&mut self, place: &Place) {
        self.told.retain(|key| !is_in(place, key));
    }

    /// A plan is there. Returns whether anything that concerns us is new.
    pub(super) fn there(&mut self, place: &Place, key: &PlanKey, mark: u64) -> bool {
        self.refused.remove(place);
        self.told.insert(key.clone());
        self.marks.insert(key.clone(), mark) != Some(mark)
    }

    /// A plan is gone.
    pub(super) fn gone(&mut self, key: &PlanKey) {
        self.told.remove(key);
        self.marks.remove(key);
    }

    /// All plans of the place were told. Returns those that vanished while nobody watched.
    pub(super) fn all(&mut self, place: &Place) -> Vec<PlanKey> {
        self.unlisted.remove(place);
        self.refused.remove(place);
        let vanished: Vec<PlanKey> = self.marks.keys().filter(|key| is_in(place, key) && !self.told.contains(key)).cloned().collect();
        for key in &vanished {
            self.marks.remove(key);
        }
        vanished
    }

    /// The plans of the place may not be listed.
    pub(super) fn refused(&mut self, place: &Place) {
        self.refused.extend(self.unlisted.get(place).cloned());
    }
}

fn is_in(place: &Place, key: &PlanKey) -> bool {
    place.as_ref().is_none_or(|namespace| *namespace == key.namespace)
}

#[cfg(test)]
mod tests {
    use super::{Listing, Place};
    use crate::agent::claims::PlanKey;

    fn key(namespace: &str, name: &str) -> PlanKey {
        PlanKey { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    fn places() -> [Place; 2] {
        ["a", "b"].map(|namespace| Some(namespace.to_owned()))
    }

    #[test]
    fn what_vanished_while_nobody_watched_is_told_once_and_only_of_its_place() {
        let [a, b] = places();
        let mut listing = Listing::of(&[a.clone(), b.clone()]);
        for (place, key) in [(&a, key("a", "1")), (&a, key("a", "2")), (&b, key("b", "1"))] {
            assert!(listing.there(place, &key, 7));
        }
        assert_eq!((listing.all(&a), listing.all(&b)), (vec![], vec![]));
        listing.begins(&a);
        assert!(!listing.there(&a, &key("a", "2"), 7));
        assert_eq!(listing.all(&a), [key("a", "1")]);
        assert!(!listing.knows(&key("a", "1")) && listing.knows(&key("b", "1")));
        listing.begins(&a);
        listing.there(&a, &key("a", "2"), 7);
        assert_eq!(listing.all(&a), []);
    }

    #[test]
    fn nobody_waits_for_a_place_that_may_not_be_listed_until_it_may() {
        let [a, b] = places();
        let mut listing = Listing::of(&[a.clone(), b.clone()]);
        listing.all(&a);
        assert!(!listing.is_complete());
        listing.refused(&b);
        assert!(listing.is_complete());
        listing.there(&b, &key("b", "1"), 7);
        assert!(!listing.is_complete() && listing.is_first(&b));
        listing.all(&b);
        listing.refused(&b);
        assert!(listing.is_complete() && !listing.is_first(&b));
    }
}
