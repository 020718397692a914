//! Labels of pods, and the labels that the selector of a Service asks for.

use std::fmt;

use serde_json::{Map, Value};

/// Labels, sorted by key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct LabelSet(Vec<(String, String)>);

impl LabelSet {
    /// The labels of a map. A value that is no text, which no API server accepts, is compared by its JSON.
    pub fn of(map: &Map<String, Value>) -> Self {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let mut labels: Vec<_> = map.iter().map(|(key, value)| (key.clone(), text(value))).collect();
        labels.sort();
        Self(labels)
    }

    /// Whether a Service with this selector selects pods with these labels. An empty selector selects none.
    pub fn selects(&self, pods: &Self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|label| pods.0.binary_search(label).is_ok())
    }

    /// Each key with its value, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

/// `app: shop, tier: front`.
impl fmt::Display for LabelSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (key, value)) in self.iter().enumerate() {
            write!(formatter, "{}{key}: {value}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::LabelSet;

    fn labels(value: &serde_json::Value) -> LabelSet {
        LabelSet::of(value.as_object().unwrap())
    }

    #[test]
    fn a_selector_selects_pods_that_have_all_of_its_labels() {
        let pods = labels(&json!({"app": "shop", "tier": "front", "version": 1}));
        assert!(labels(&json!({"tier": "front", "app": "shop"})).selects(&pods));
        assert!(labels(&json!({"version": 1})).selects(&pods));
        assert!(!labels(&json!({"app": "shop", "zone": "a"})).selects(&pods));
        assert!(!labels(&json!({"app": "other"})).selects(&pods));
    }

    #[test]
    fn an_empty_selector_selects_nothing() {
        assert!(!labels(&json!({})).selects(&labels(&json!({"app": "shop"}))));
    }

    #[test]
    fn labels_are_shown_as_they_are_written() {
        assert_eq!(labels(&json!({"tier": "front", "app": "shop"})).to_string(), "app: shop, tier: front");
    }
}
