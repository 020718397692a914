//! One case file as values, and the `obj` of each of its steps, made as OpenKruise's own test makes it.
//!
//! Two differences: a Rollout that says `disableGenerateCanaryService` is run with one Service for both versions, and the script
//! is told the original's namespace, where it says one.

use serde_json::{Map, Value};

use crate::model::{HeaderModifier, Match, Traffic, Weight};
use crate::render::script_input::{ingress_input, insert_namespace, script_input};
use crate::yaml;

/// A case file.
pub(super) struct Case {
    original: Value,
    runs: Vec<Run>,
    /// What each step is expected to give, in order.
    pub(super) expected: Vec<Expectation>,
}

/// What a case says about a step.
pub(super) enum Expectation {
    /// An object, of which labels, annotations and `spec` count.
    Object(Value),
    /// An error whose message contains a text.
    Error(String),
}

/// One call of the script.
pub(super) struct Run {
    traffic: Traffic,
    header_modifier: Option<HeaderModifier>,
    stable_service: String,
    canary_service: String,
    pod_metadata: Option<Value>,
}

impl Case {
    /// Reads a case from its file.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let case =
            yaml::read_value(text).map_err(|error| format!("{}:{}: {}", error.position.line, error.position.column, error.message))?;
        let original = case.get("original").filter(|original| original.is_object()).cloned().ok_or("a case needs an `original` object")?;
        let expected = match case.get("expected") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(objects)) => objects.iter().map(expectation).collect(),
            Some(_) => return Err("`expected` is a list with an object for each step".into()),
        };
        let runs = match (present(&case, "rollout"), present(&case, "trafficRouting")) {
            (Some(rollout), _) => runs_of_rollout(rollout)?,
            (None, Some(routing)) => vec![run_of_traffic_routing(routing)?],
            (None, None) => return Err("a case needs a `rollout` or a `trafficRouting`".into()),
        };
        Ok(Self { original, runs, expected })
    }

    /// The calls of the script, one a step.
    pub(super) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The original's kind, for messages.
    pub(super) fn kind(&self) -> String {
        let text = |key: &str| self.original.get(key).and_then(Value::as_str).unwrap_or("?");
        format!("{} {}", text("apiVersion"), text("kind"))
    }

    /// The original object.
    pub(super) fn original(&self) -> &Value {
        &self.original
    }

    /// What the script of the step sees.
    pub(super) fn input(&self, run: &Run) -> Value {
        let modifier = run.header_modifier.as_ref();
        if self.is_ingress() {
            return ingress_input(self.original.pointer("/metadata/annotations"), &run.traffic, modifier, &run.canary_service);
        }
        let mut input = script_input(&self.original, &run.traffic, modifier, &run.stable_service, &run.canary_service);
        if let Some(namespace) = self.original.pointer("/metadata/namespace").and_then(Value::as_str) {
            insert_namespace(&mut input, namespace);
        }
        if let (Some(metadata), Some(input)) = (&run.pod_metadata, input.as_object_mut()) {
            input.insert("patchPodMetadata".into(), metadata.clone());
        }
        input
    }

    /// What a script's answer says, in the shape that is compared.
    pub(super) fn returned(&self, value: &Value) -> Value {
        if self.is_ingress() {
            members([("annotations", Some(value))])
        } else {
            members(["spec", "labels", "annotations"].map(|key| (key, value.get(key))))
        }
    }

    /// What an expected object says, in the same shape.
    pub(super) fn compared(&self, object: &Value) -> Value {
        let annotations = ("annotations", object.pointer("/metadata/annotations"));
        if self.is_ingress() {
            return members([annotations]);
        }
        members([("spec", object.get("spec")), ("labels", object.pointer("/metadata/labels")), annotations])
    }

    /// Whether the script sees annotations alone.
    pub(super) fn is_ingress(&self) -> bool {
        self.original.get("kind").and_then(Value::as_str) == Some("Ingress")
    }
}

/// The members that are there; labels and annotations without entries are as good as none.
fn members<const N: usize>(members: [(&str, Option<&Value>); N]) -> Value {
    let is_empty = |key: &str, value: &Value| {
        value.is_null() || key != "spec" && (value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty))
    };
    let present = members
        .into_iter()
        .filter_map(|(key, value)| value.filter(|value| !is_empty(key, value)).map(|value| (key.to_owned(), value.clone())));
    Value::Object(present.collect())
}

fn expectation(value: &Value) -> Expectation {
    match value.as_object().filter(|members| members.len() == 1).and_then(|members| members.get("error")).and_then(Value::as_str) {
        Some(text) => Expectation::Error(text.to_owned()),
        None => Expectation::Object(value.clone()),
    }
}

fn runs_of_rollout(rollout: &Value) -> Result<Vec<Run>, String> {
    let strategy = rollout
        .pointer("/spec/strategy")
        .and_then(|strategy| present(strategy, "canary").or_else(|| present(strategy, "blueGreen")))
        .ok_or("`rollout.spec.strategy` needs `canary` or `blueGreen`")?;
    let service = strategy
        .pointer("/trafficRoutings/0/service")
        .and_then(Value::as_str)
        .ok_or("the rollout needs `trafficRoutings` with a `service`")?;
    let is_one_service = strategy.get("disableGenerateCanaryService").and_then(Value::as_bool) == Some(true);
    let canary_service = if is_one_service { service.to_owned() } else { format!("{service}-canary") };
    let steps = strategy.get("steps").and_then(Value::as_array).ok_or("the rollout needs `steps`")?;
    let pod_metadata = present(strategy, "patchPodTemplateMetadata");
    let run = |(number, step)| run(step, service, &canary_service, pod_metadata).map_err(|problem| format!("step {number}: {problem}"));
    (1..).zip(steps).map(run).collect()
}

fn run_of_traffic_routing(routing: &Value) -> Result<Run, String> {
    let service =
        routing.pointer("/spec/objectRef/0/service").and_then(Value::as_str).ok_or("`trafficRouting.spec.objectRef` needs a `service`")?;
    let strategy = routing.pointer("/spec/strategy").ok_or("`trafficRouting.spec` needs a `strategy`")?;
    run(strategy, service, service, None)
}

fn run(step: &Value, stable_service: &str, canary_service: &str, pod_metadata: Option<&Value>) -> Result<Run, String> {
    let weight = present(step, "traffic").or_else(|| present(step, "weight")).map(weight).transpose()?;
    let matches = present(step, "matches").map(matches).transpose()?.unwrap_or_default();
    let header_modifier = present(step, "requestHeaderModifier")
        .map(|modifier| serde_json::from_value(modifier.clone()).map_err(|error| format!("`requestHeaderModifier`: {error}")))
        .transpose()?;
    Ok(Run {
        traffic: Traffic { weight, matches },
        header_modifier,
        stable_service: stable_service.into(),
        canary_service: canary_service.into(),
        pod_metadata: pod_metadata.cloned(),
    })
}

fn weight(value: &Value) -> Result<Weight, String> {
    let number = match value {
        Value::String(text) => text.trim().strip_suffix('%').unwrap_or(text).parse().ok(),
        Value::Number(number) => number.as_i64(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    Weight::try_from(number.ok_or_else(|| format!("a weight is a whole percentage, not `{value}`"))?)
}

/// The matches, with the types that the API server fills in.
fn matches(value: &Value) -> Result<Vec<Match>, String> {
    let mut value = value.clone();
    for matched in value.as_array_mut().into_iter().flatten() {
        if let Some(path) = matched.get_mut("path").and_then(Value::as_object_mut) {
            path.entry("type").or_insert_with(|| "PathPrefix".into());
        }
        for key in ["headers", "queryParams"] {
            for condition in matched.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut) {
                condition.entry("type").or_insert_with(|| "Exact".into());
            }
        }
    }
    serde_json::from_value(value).map_err(|error| format!("`matches`: {error}"))
}

fn present<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value.get(key).filter(|member| !member.is_null())
}
