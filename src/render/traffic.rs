//! What each gateway object is in each step. The only caller of scripts.

use serde_json::{Value, json};

use super::script_answer::{with_answer, with_ingress_answer};
use super::script_input::{ingress_input, insert_namespace, insert_pod_metadata, script_input, set_step};
use super::{Scripts, capability, clone, result, unmoved};
use crate::lua::{Script, ScriptError, beyond_lua51};
use crate::model::{Finding, Gateway, GatewayRef, PodMetadata, Role, ScriptOrigin, Source, Step, Weight};

/// A traffic object of a release.
pub(super) struct Routed<'a> {
    /// The Rollout's reference.
    pub(super) reference: &'a GatewayRef,
    /// The object as the user wrote it.
    pub(super) source: &'a Source,
    /// Its script and what that can do.
    pub(super) gateway: &'a Gateway,
}

/// The names that a script sees, and whom the clone belongs to.
pub(super) struct Names<'a> {
    /// The plan.
    pub(super) plan: &'a str,
    /// The namespace of all objects.
    pub(super) namespace: &'a str,
    /// The stable Service.
    pub(super) stable: &'a str,
    /// The canary Service; the stable one's name in subset mode.
    pub(super) canary: &'a str,
    /// What marks the pods of the new version.
    pub(super) pod_metadata: &'a PodMetadata,
}

/// The object, or its clone where the gateway has one, in every step: none where the step says nothing about traffic.
/// Findings tell what could not be rendered.
pub(super) fn states(
    routed: &Routed<'_>,
    original: &Value,
    names: &Names<'_>,
    steps: &[Step],
    scripts: &Scripts,
    findings: &mut Vec<Finding>,
) -> Vec<Option<Value>> {
    let place = &routed.reference.place;
    let script = match scripts.compiled(&routed.gateway.script) {
        Ok(script) => script,
        Err(error) => {
            findings.push(script_fails(routed, &Failure::from(error), None));
            return vec![None; steps.len()];
        }
    };
    if routed.gateway.script.origin != ScriptOrigin::Shipped {
        findings.extend(beyond_lua51(&routed.gateway.script.text).into_iter().map(|(line, message)| {
            let name = &routed.gateway.script.name;
            let warning = Finding::warning("script-beyond-lua51", format!("script `{name}`, line {line}: {message}"));
            let place = routed.gateway.script.place_of(Some(line)).unwrap_or_else(|| place.clone());
            warning.at(&place.path, place.position).about(&routed.source.object).help("write it in Lua 5.1, so that OpenKruise runs it too")
        }));
    }
    let copy;
    let starting_point = match &routed.gateway.clone {
        Some(_) if !steps.iter().any(|step| step.traffic.is_split()) => return vec![None; steps.len()],
        Some(clone) => {
            let object = (routed.reference, &routed.source.object);
            let Some(made) = clone::of(clone, object, &routed.source.manifest, names, findings) else { return vec![None; steps.len()] };
            copy = made;
            &copy
        }
        None => original,
    };
    let mut input = None;
    let mut states = Vec::with_capacity(steps.len());
    let mut last_failure = None;
    let mut told: Vec<(Problem, Vec<usize>)> = Vec::new();
    for (number, step) in (1_usize..).zip(steps) {
        if !step.traffic.is_split() {
            states.push(None);
            continue;
        }
        capability::check(routed.gateway, routed.reference, number, step, findings);
        match rewrite(&script, routed, starting_point, names, step, &mut input) {
            Ok(rewritten) => {
                let mut problems: Vec<Problem> =
                    result::problems(routed.gateway, starting_point, &rewritten).into_iter().map(Problem::of_the_script).collect();
                let asks_for_change = step.traffic.weight.is_some_and(|weight| weight.percent() > 0) || !step.traffic.matches.is_empty();
                if asks_for_change && rewritten == *starting_point && routed.gateway.role == Role::Route {
                    let probed =
                        unmoved::probe(step).and_then(|probe| rewrite(&script, routed, starting_point, names, &probe, &mut input).ok());
                    let leads = probed.is_some_and(|probed| probed != *starting_point);
                    problems.push(unmoved::problem(&routed.gateway.script.origin, routed.source, names.stable, leads));
                }
                if !routed.gateway.paths.is_empty() && routed.gateway.clone.is_none() {
                    let strays = result::outside(&routed.gateway.paths, starting_point, &rewritten);
                    let stray = |pointer: &String| format!("the script changes `{pointer}`, which its gateway.yaml does not name");
                    problems.extend(strays.iter().map(stray).map(Problem::of_the_script));
                }
                for problem in problems {
                    match told.iter_mut().find(|(known, _)| *known == problem) {
                        Some((_, numbers)) => numbers.push(number),
                        None => told.push((problem, vec![number])),
                    }
                }
                states.push(Some(rewritten));
            }
            Err(failure) => {
                // A script that fails alike in every step is told of once.
                if last_failure.as_ref() != Some(&failure) {
                    findings.push(script_fails(routed, &failure, Some(number)));
                }
                last_failure = Some(failure);
                states.push(None);
            }
        }
    }
    if routed.gateway.script.origin != ScriptOrigin::Shipped && routed.gateway.role == Role::Route {
        findings.extend(indifferent(steps, &states).map(|(numbers, weights)| {
            let name = &routed.gateway.script.name;
            let message = format!("{}: the script gives the same for {} and {} (script `{name}`)", named(&numbers), weights[0], weights[1]);
            let finding = Finding::warning("script-result", message).at(&place.path, place.position).about(&routed.source.object);
            finding.help("the weight is `obj.canaryWeight`, and for an Ingress the text `obj.weight`")
        }));
    }
    findings.extend(told.into_iter().map(|(problem, numbers)| {
        let message = format!("{}: {} (script `{}`)", named(&numbers), problem.message, routed.gateway.script.name);
        let of_script = match problem.blame {
            Blame::Script => routed.gateway.script.place_of(None),
            Blame::Object => None,
        };
        let place = of_script.unwrap_or_else(|| place.clone());
        Finding::error("script-result", message).at(&place.path, place.position).about(&routed.source.object).help(problem.help)
    }));
    states
}

/// Why a script gave no object.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Failure {
    /// The line of the script, where one is to blame.
    line: Option<u32>,
    message: String,
}

impl From<ScriptError> for Failure {
    fn from(error: ScriptError) -> Self {
        Self { line: error.line, message: error.message }
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self { line: None, message }
    }
}

/// The finding about a script that gave no object, at its line; of a script that ships, where the Rollout names the object.
fn script_fails(routed: &Routed<'_>, failure: &Failure, step: Option<usize>) -> Finding {
    let script = &routed.gateway.script;
    let step = step.map_or_else(String::new, |number| format!("step {number}: "));
    let line = failure.line.map_or_else(String::new, |line| format!(", line {line}"));
    let message = format!("{step}script `{}`{line}: {}", script.name, failure.message);
    let place = script.place_of(failure.line).unwrap_or_else(|| routed.reference.place.clone());
    let finding = Finding::error("script-fails", message).at(&place.path, place.position).about(&routed.source.object);
    finding.help("write a case with this object and step into `testdata` beside the script: `rollout test` runs it alone")
}

/// Two steps of different shares, and those, for which the script gave the same.
fn indifferent(steps: &[Step], states: &[Option<Value>]) -> Option<([usize; 2], [Weight; 2])> {
    let shares = steps.iter().zip(states).enumerate().filter(|(_, (step, _))| step.traffic.matches.is_empty());
    let shares: Vec<_> = shares.filter_map(|(index, (step, state))| Some((index + 1, step.traffic.weight?, state.as_ref()?))).collect();
    let pairs = shares.windows(2).filter_map(|pair| <&[_; 2]>::try_from(pair).ok());
    pairs.into_iter().find_map(|[one, other]| (one.1 != other.1 && one.2 == other.2).then_some(([one.0, other.0], [one.1, other.1])))
}

/// What is wrong with what a script gave.
#[derive(PartialEq)]
pub(super) struct Problem {
    /// What.
    pub(super) message: String,
    /// The way out.
    pub(super) help: String,
    /// What has to change.
    pub(super) blame: Blame,
}

/// What a problem is mended in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blame {
    /// The script.
    Script,
    /// The object or the Rollout.
    Object,
}

impl Problem {
    fn of_the_script(message: String) -> Self {
        let help = "write a case with this object and step into `testdata` beside the script: `rollout test` runs it alone".to_owned();
        Self { message, help, blame: Blame::Script }
    }
}

/// `step 2`, `steps 1, 2 and 4`.
fn named(numbers: &[usize]) -> String {
    match numbers {
        [] => String::new(),
        [one] => format!("step {one}"),
        [others @ .., last] => {
            let others: Vec<_> = others.iter().map(usize::to_string).collect();
            format!("steps {} and {last}", others.join(", "))
        }
    }
}

/// The object in a step. `input` is what the script saw in the step before.
fn rewrite(
    script: &Script,
    routed: &Routed<'_>,
    original: &Value,
    names: &Names<'_>,
    step: &Step,
    input: &mut Option<Value>,
) -> Result<Value, Failure> {
    let modifier = step.header_modifier.as_ref();
    if routed.reference.ingress_class.is_some() {
        let input = ingress_input(original.pointer("/metadata/annotations"), &step.traffic, modifier, names.canary);
        let annotations = call(script, &input)?;
        return Ok(with_ingress_answer(original, Some(text_map(&annotations, "annotations")?)));
    }
    let input = input.get_or_insert_with(|| {
        let mut input = script_input(original, &step.traffic, modifier, names.stable, names.canary);
        insert_namespace(&mut input, names.namespace);
        insert_pod_metadata(&mut input, names.pod_metadata);
        input
    });
    set_step(input, &step.traffic, modifier);
    let mut returned = call(script, input)?;
    let Some(answer) = returned.as_object_mut() else {
        return Err(format!("it returned {} instead of a table", kind_of(&returned)).into());
    };
    match answer.get("spec") {
        Some(spec) if spec.is_object() => {}
        None if original.pointer("/spec").is_none() => {}
        spec => return Err(format!("it returned {} as `spec`", spec.map_or("nothing", kind_of)).into()),
    }
    for field in ["labels", "annotations"] {
        if let Some(map) = answer.remove(field) {
            let map = text_map(&map, field)?;
            if map.as_object().is_some_and(|map| !map.is_empty()) {
                answer.insert(field.into(), map);
            }
        }
    }
    Ok(with_answer(original, std::mem::take(answer)))
}

fn call(script: &Script, input: &Value) -> Result<Value, Failure> {
    script.call(&[("obj", input)]).map(|output| output.value).map_err(Failure::from)
}

fn text_map(value: &Value, field: &str) -> Result<Value, String> {
    let is_empty_list = value.as_array().is_some_and(Vec::is_empty);
    if is_empty_list || value.is_null() {
        return Ok(json!({}));
    }
    let map = value.as_object().ok_or_else(|| format!("`{field}` came back as {}", kind_of(value)))?;
    match map.iter().find(|(_, value)| !value.is_string()) {
        Some((key, value)) => Err(format!("`{field}` may hold texts only, `{key}` is {}", kind_of(value))),
        None => Ok(value.clone()),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}
