//! Values that no API server takes, in the fields of a release's objects that a plan is computed from.

use serde_json::Value;

use crate::model::{Finding, Source, pointer};

/// What a field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// A whole number of 32 bits, at least this.
    Number(i64),
    /// A whole number, or a percentage as a text.
    NumberOrPercent,
    /// A port.
    Port,
    /// A port, or the name of one.
    PortOrName,
    /// True or false.
    Flag,
    /// A map of texts.
    Texts,
}

/// The fields by kind, with `*` for every element of a list.
const FIELDS: &[(&str, &str, Rule)] = &[
    ("Deployment", "/spec/replicas", Rule::Number(0)),
    ("Deployment", "/spec/minReadySeconds", Rule::Number(0)),
    ("Deployment", "/spec/progressDeadlineSeconds", Rule::Number(0)),
    ("Deployment", "/spec/revisionHistoryLimit", Rule::Number(0)),
    ("Deployment", "/spec/paused", Rule::Flag),
    ("Deployment", "/spec/strategy/rollingUpdate/maxSurge", Rule::NumberOrPercent),
    ("Deployment", "/spec/strategy/rollingUpdate/maxUnavailable", Rule::NumberOrPercent),
    ("Deployment", "/spec/selector/matchLabels", Rule::Texts),
    ("Deployment", "/spec/template/metadata/labels", Rule::Texts),
    ("Deployment", "/spec/template/metadata/annotations", Rule::Texts),
    ("Deployment", "/spec/template/spec/containers/*/ports/*/containerPort", Rule::Port),
    ("HorizontalPodAutoscaler", "/spec/maxReplicas", Rule::Number(1)),
    ("HorizontalPodAutoscaler", "/spec/minReplicas", Rule::Number(0)),
    ("Service", "/spec/ports/*/nodePort", Rule::Number(0)),
    ("Service", "/spec/ports/*/port", Rule::Port),
    ("Service", "/spec/ports/*/targetPort", Rule::PortOrName),
    ("Service", "/spec/selector", Rule::Texts),
];

/// The findings about the fields of an object.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (_, pattern, rule) in FIELDS.iter().filter(|(kind, ..)| *kind == source.object.kind) {
        for (at, value) in at_all(source.manifest.value(), pattern) {
            findings.extend(rule.fault(value).map(|expected| finding(source, &at, value, expected)));
        }
    }
    findings
}

fn finding(source: &Source, at: &str, value: &Value, expected: &str) -> Finding {
    let field = at.rsplit('/').find(|part| !part.bytes().all(|byte| byte.is_ascii_digit())).unwrap_or_default();
    let message = format!("`{}` is {expected}, not {value}: no API server takes it", pointer::unescape(field));
    Finding::error("value-refused", message).at(&source.path, source.places.at(at)).about(&source.object)
}

impl Rule {
    /// What the field takes, where that is something else.
    fn fault(self, value: &Value) -> Option<&'static str> {
        let (is_taken, expected) = match self {
            Self::Number(0) => (is_number(value, 0), "a whole number of at least 0"),
            Self::Number(least) => (is_number(value, least), "a whole number of at least 1"),
            Self::NumberOrPercent => (is_number(value, 0) || value.as_str().is_some_and(is_percent), "a whole number or a percentage"),
            Self::Port => (is_port(value), "a port from 1 to 65535"),
            Self::PortOrName => (is_port(value) || value.as_str().is_some_and(is_port_name), "a port from 1 to 65535 or the name of one"),
            Self::Flag => (value.is_boolean(), "true or false"),
            Self::Texts => (value.as_object().is_some_and(|map| map.values().all(is_text)), "a map of texts"),
        };
        (!is_taken).then_some(expected)
    }
}

/// A whole float is a whole number to an API server.
fn is_number(value: &Value, least: i64) -> bool {
    let whole = value.as_f64().filter(|number| number.fract() == 0.0);
    #[expect(clippy::cast_precision_loss, reason = "the limits are small")]
    whole.is_some_and(|number| number >= least as f64 && number <= f64::from(i32::MAX))
}

fn is_port(value: &Value) -> bool {
    is_number(value, 1) && value.as_f64().is_some_and(|port| port <= f64::from(u16::MAX))
}

fn is_percent(text: &str) -> bool {
    text.strip_suffix('%').is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A name of a port has a letter: `"80"` is none.
fn is_port_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=15).contains(&text.len()) && text.bytes().all(is_part) && text.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// A null is a text that is not there.
fn is_text(value: &Value) -> bool {
    value.is_string() || value.is_null()
}

/// The values that a pattern leads to, with their pointers; nulls are no values.
fn at_all<'v>(value: &'v Value, pattern: &str) -> Vec<(String, &'v Value)> {
    let mut found = vec![(String::new(), value)];
    for part in pattern.split('/').skip(1) {
        let inner = |(at, value): (String, &'v Value)| -> Vec<(String, &'v Value)> {
            match part {
                "*" => value.as_array().into_iter().flatten().enumerate().map(|(index, item)| (format!("{at}/{index}"), item)).collect(),
                key => value.get(key).map(|member| (format!("{at}/{key}"), member)).into_iter().collect(),
            }
        };
        found = found.into_iter().flat_map(inner).collect();
    }
    found.retain(|(_, value)| !value.is_null());
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Rule, check};
    use crate::model::{Manifest, Places, Source};

    fn messages(kind: &str, spec: &Value) -> Vec<String> {
        let manifest = Manifest::try_from(json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec})).unwrap();
        let object = manifest.object_ref("prod");
        let source = Source { manifest, object, path: "a.yaml".into(), places: Places::default(), remarks: Vec::new() };
        check(&source).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn replicas_are_a_number_that_an_api_server_takes() {
        for written in [json!(-5), json!("5"), json!(1e20), json!(1.5), json!(3_000_000_000_u32), json!(true), json!([])] {
            let expected = format!("`replicas` is a whole number of at least 0, not {written}: no API server takes it");
            assert_eq!(messages("Deployment", &json!({"replicas": written})), [expected]);
        }
        for written in [json!(0), json!(5), json!(5.0), json!(null)] {
            assert_eq!(messages("Deployment", &json!({"replicas": written})), [] as [&str; 0], "{written}");
        }
    }

    #[test]
    fn a_field_of_a_list_is_looked_at_in_each_element() {
        let spec = json!({"ports": [{"port": 80, "targetPort": "http"}, {"port": 0, "targetPort": "80"}], "selector": {"app": 1}});
        assert_eq!(
            messages("Service", &spec),
            [
                "`port` is a port from 1 to 65535, not 0: no API server takes it",
                "`targetPort` is a port from 1 to 65535 or the name of one, not \"80\": no API server takes it",
                "`selector` is a map of texts, not {\"app\":1}: no API server takes it",
            ]
        );
    }

    #[test]
    fn a_share_is_a_number_or_a_percentage() {
        for (value, is_taken) in [(json!(1), true), (json!("25%"), true), (json!("25"), false), (json!(-1), false), (json!("-5%"), false)] {
            assert_eq!(Rule::NumberOrPercent.fault(&value).is_none(), is_taken, "{value}");
        }
    }
}
