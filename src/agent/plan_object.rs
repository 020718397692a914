//! The object of a plan as the API server answers it: its outline is read first, its content only where that is needed.

use hyper::body::Bytes;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value, json};

use super::answer::cut;
use crate::model::Plan;
use crate::plan::{API_VERSION, KIND, from_value};

/// The longest text of a plan that is read: as much as one of the largest has, with who wrote which field of it.
const LONGEST: usize = 2 * 1024 * 1024;

/// The text of a plan's object.
pub(super) struct PlanText(Bytes);

/// Everything but the content.
#[derive(Deserialize)]
struct Outline {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    status: Value,
}

/// Nothing but the content.
#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    spec: Value,
}

/// Who wrote which field of a plan is longer than the plan, and is read over.
#[derive(Default)]
struct Metadata(Map<String, Value>);

impl PlanText {
    /// An answer of the API server.
    pub(super) fn new(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// How many bytes it has.
    pub(super) fn length(&self) -> usize {
        self.0.len()
    }

    /// The object without its content.
    pub(super) fn outline(&self) -> Result<Value, String> {
        let outline: Outline = serde_json::from_slice(&self.0).map_err(|error| error.to_string())?;
        let mut object = json!({"apiVersion": API_VERSION, "kind": KIND, "metadata": outline.metadata.0});
        if !outline.status.is_null() {
            object["status"] = outline.status;
        }
        Ok(object)
    }

    /// The plan, for the outline that belongs to it. One that is too long is not read.
    pub(super) fn plan(&self, outline: &Value) -> Result<Plan, String> {
        if self.length() > LONGEST {
            let kibibytes = |bytes: usize| bytes.div_ceil(1024);
            return Err(format!("it has {} KiB, and at most {} are read", kibibytes(self.length()), kibibytes(LONGEST)));
        }
        let content: Content = serde_json::from_slice(&self.0).map_err(|error| cut(&error.to_string()))?;
        let object = json!({"apiVersion": API_VERSION, "kind": KIND, "metadata": outline.get("metadata"), "spec": content.spec});
        from_value(object).map_err(|error| cut(&error.to_string()))
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Metadata;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Metadata, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            if name == "managedFields" {
                entries.next_value::<IgnoredAny>()?;
            } else {
                fields.insert(name, entries.next_value()?);
            }
        }
        Ok(Metadata(fields))
    }
}

#[cfg(test)]
mod tests {
    use hyper::body::Bytes;
    use serde_json::{Value, json};

    use super::{LONGEST, PlanText};
    use crate::plan::{document, fixture};

    fn text(object: &Value) -> PlanText {
        PlanText::new(Bytes::from(object.to_string()))
    }

    #[test]
    fn the_outline_has_all_but_the_content_and_who_wrote_it() {
        let mut object = document(&fixture());
        object["metadata"]["managedFields"] = json!([{"manager": "flux"}]);
        object["status"] = json!({"phase": "Gated"});
        let text = text(&object);
        let outline = text.outline().unwrap();
        assert_eq!((outline.get("spec"), outline["metadata"].get("managedFields")), (None, None));
        assert_eq!((&outline["status"], &outline["metadata"]["name"]), (&object["status"], &object["metadata"]["name"]));
        assert_eq!(text.plan(&outline).unwrap(), fixture());
    }

    #[test]
    fn a_plan_that_is_too_long_is_refused_before_it_is_read() {
        let mut object = document(&fixture());
        object["spec"] = json!("x".repeat(LONGEST));
        let text = text(&object);
        let problem = text.plan(&text.outline().unwrap()).unwrap_err();
        assert!(problem.ends_with(" KiB, and at most 2048 are read"), "{problem}");
    }
}
