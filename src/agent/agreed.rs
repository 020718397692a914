//! What the API server has answered already: of which live values it says that they are what the plan means.
//!
//! Defaults and spellings make an object look different that is not. As long as nobody changes it, that need not be asked again.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::model::ObjectKey;
use crate::patch::PathValues;

/// The last answer about each object: its live values, and the wanted ones that they are.
#[derive(Debug, Default)]
pub(super) struct Agreed(Mutex<BTreeMap<ObjectKey, (PathValues, PathValues)>>);

impl Agreed {
    /// Whether the API server has said that these live values are the wanted ones.
    pub(super) fn holds(&self, object: &ObjectKey, live: &PathValues, wanted: &PathValues) -> bool {
        let answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        answers.get(object).is_some_and(|answer| answer.0 == *live && answer.1 == *wanted)
    }

    /// The API server says so.
    pub(super) fn note(&self, object: &ObjectKey, live: PathValues, wanted: PathValues) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(object.clone(), (live, wanted));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Agreed;
    use crate::model::ObjectKey;
    use crate::patch::PathValues;

    #[test]
    fn only_the_same_values_need_not_be_asked_about_again() {
        let values = |value: Value| PathValues::from([("/spec".to_owned(), Some(value))]);
        let (agreed, shop) = (Agreed::default(), ObjectKey::new("Service", "shop"));
        agreed.note(&shop, values(json!({"cpu": "1", "default": true})), values(json!({"cpu": "1000m"})));
        let holds = |live: Value, wanted: Value| agreed.holds(&shop, &values(live), &values(wanted));
        assert!(holds(json!({"cpu": "1", "default": true}), json!({"cpu": "1000m"})));
        assert!(!holds(json!({"cpu": "1", "default": false}), json!({"cpu": "1000m"})));
        assert!(!holds(json!({"cpu": "1", "default": true}), json!({"cpu": "2"})));
        assert!(!agreed.holds(&ObjectKey::new("Service", "other"), &PathValues::new(), &PathValues::new()));
    }
}
