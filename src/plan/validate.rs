//! Whether the parts of a plan fit each other: every key leads to a version, every state names an object once.

use std::collections::BTreeSet;

use serde_json::Value;

use super::permitted::{is_content, is_permitted};
use crate::model::{Await, Binding, Finding, ObjectKey, Plan, PlanSpec, Stage, VersionKey};

/// Returns what does not fit, as sentences that name the place: empty for a sound plan.
pub fn validate(plan: &Plan) -> Vec<String> {
    let spec = &plan.spec;
    let mut check = Check { spec, objects: spec.objects.keys().map(VersionKey::object).collect(), wrong: Vec::new() };
    check.names(plan);
    check.objects(&plan.namespace);
    check.workload();
    check.labels();
    check.state("spec.baseline", &spec.baseline);
    check.state("spec.target", &spec.target);
    check.steps();
    check.way("spec.finish", &spec.finish);
    check.way("spec.abort", &spec.abort);
    check.way("spec.abortFinish", &spec.abort_finish);
    for (index, binding) in spec.bindings.iter().enumerate() {
        check.binding(&format!("spec.bindings[{index}]"), binding);
    }
    check.paths();
    check.wrong
}

/// Returns what of the objects' names and places does not fit: the part of `validate` on which others depend.
pub(super) fn places(plan: &Plan) -> Vec<String> {
    let mut check = Check { spec: &plan.spec, objects: BTreeSet::new(), wrong: Vec::new() };
    check.names(plan);
    check.objects(&plan.namespace);
    check.wrong
}

/// Returns the error of a plan that nobody could read: `None` for a sound one.
pub fn check(plan: &Plan) -> Option<Finding> {
    let wrong = validate(plan);
    let first = wrong.first()?;
    let more = if wrong.len() == 1 { String::new() } else { format!(", and {} more like it", wrong.len() - 1) };
    let message = format!("the plan would be refused by who reads it: {first}{more}");
    Some(Finding::error("plan-unsound", message).about(format!("Rollout {}/{}", plan.namespace, plan.name)))
}

/// Whether a cluster could have an object of that name. Such a name is safe as a part of a path.
pub(super) fn is_name(text: &str) -> bool {
    let allowed = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || matches!(character, '-' | '.');
    let edge = |character: Option<char>| character.is_some_and(|character| character.is_ascii_alphanumeric());
    text.len() <= 253 && text.chars().all(allowed) && edge(text.chars().next()) && edge(text.chars().last())
}

struct Check<'a> {
    spec: &'a PlanSpec,
    objects: BTreeSet<&'a ObjectKey>,
    wrong: Vec<String>,
}

impl Check<'_> {
    fn say(&mut self, place: &str, message: impl AsRef<str>) {
        self.wrong.push(format!("`{place}`: {}", message.as_ref()));
    }

    fn version(&mut self, place: &str, version: &VersionKey) {
        if !self.spec.objects.contains_key(version) {
            self.say(place, format!("`{version}` is not among `spec.objects`"));
        }
    }

    fn object(&mut self, place: &str, object: &ObjectKey) {
        if !self.objects.contains(object) {
            self.say(place, format!("`{object}` is not among `spec.objects`"));
        }
    }

    fn names(&mut self, plan: &Plan) {
        for (place, name) in [("metadata.name", &plan.name), ("metadata.namespace", &plan.namespace)] {
            if !is_name(name) {
                self.say(place, format!("`{}` is no name of a cluster's object", name.escape_debug()));
            }
        }
    }

    /// Every object is the one that its key names, in the plan's own namespace.
    fn objects(&mut self, namespace: &str) {
        let spec = self.spec;
        for (version, value) in &spec.objects {
            let place = format!("spec.objects.{version}");
            let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
            let kind = text("/kind");
            let key_kind = version.object().kind();
            if key_kind != kind && key_kind.split_once('.') != Some((kind, group)) {
                self.say(&place, format!("the object is `{}` of `{}`", kind.escape_debug(), text("/apiVersion").escape_debug()));
            }
            if !is_name(version.object().name()) {
                self.say(&place, format!("`{}` is no name of a cluster's object", version.object().name().escape_debug()));
            }
            if text("/apiVersion").is_empty() {
                self.say(&place, "the object has no `apiVersion`");
            }
            if !is_permitted(text("/apiVersion"), kind) {
                self.say(&place, format!("a plan may not change `{}` of `{}`", kind.escape_debug(), text("/apiVersion").escape_debug()));
            }
            if text("/metadata/name") != version.object().name() {
                self.say(&place, format!("the object's name is `{}`", text("/metadata/name").escape_debug()));
            }
            if let Some(other) = value.pointer("/metadata/namespace").filter(|other| *other != namespace) {
                self.say(&place, format!("the object is in the namespace {other}, the plan in \"{namespace}\""));
            }
        }
    }

    fn labels(&mut self) {
        let spec = self.spec;
        for (version, value) in &spec.objects {
            if value.pointer("/metadata/labels").is_some_and(|labels| !labels.is_object() && !labels.is_null()) {
                self.say(&format!("spec.objects.{version}"), "`metadata.labels` is no map");
            }
        }
    }

    fn workload(&mut self) {
        let spec = self.spec;
        if spec.workload_key().is_none() {
            let workload = ObjectKey::new(&spec.workload.kind, &spec.workload.name);
            self.say("spec.workload", format!("`{workload}` is not among `spec.objects`"));
        }
    }

    fn steps(&mut self) {
        let spec = self.spec;
        if spec.steps.is_empty() {
            self.say("spec.steps", "a plan has at least one step");
        }
        for (index, step) in spec.steps.iter().enumerate() {
            let place = format!("spec.steps[{index}]");
            if step.name != format!("step-{}", index + 1) {
                self.say(&format!("{place}.name"), format!("`{}` should be `step-{}`", step.name.escape_debug(), index + 1));
            }
            self.state(&format!("{place}.state"), &step.state);
            self.way(&format!("{place}.stages"), &step.stages);
            self.way(&format!("{place}.enterFromAbove"), &step.enter_from_above);
        }
    }

    fn state(&mut self, place: &str, versions: &[VersionKey]) {
        let mut seen = BTreeSet::new();
        for version in versions {
            self.version(place, version);
            if !seen.insert(version.object()) {
                self.say(place, format!("`{}` is named twice", version.object()));
            }
        }
    }

    fn way(&mut self, place: &str, stages: &[Stage]) {
        for (index, stage) in stages.iter().enumerate() {
            let place = format!("{place}[{index}]");
            let mut seen = BTreeSet::new();
            for version in &stage.write {
                self.version(&format!("{place}.write"), version);
            }
            for object in &stage.remove {
                self.object(&format!("{place}.remove"), object);
                if !self.is_made_by_the_plan(object) {
                    self.say(&format!("{place}.remove"), format!("`{object}` is the user's own: a plan removes only what it makes"));
                }
            }
            for object in stage.write.iter().map(VersionKey::object).chain(&stage.remove) {
                if !seen.insert(object) {
                    self.say(&place, format!("`{object}` is named twice"));
                }
            }
            if let Some(eviction) = &stage.evict {
                self.object(&format!("{place}.evict.workload"), &eviction.workload);
            }
            for (index, wait) in stage.awaits.iter().enumerate() {
                self.wait(&format!("{place}.await[{index}]"), wait);
            }
        }
    }

    /// Whether `spec.paths` has all of the object as the plan's.
    fn is_made_by_the_plan(&self, object: &ObjectKey) -> bool {
        self.spec.paths.iter().any(|entry| entry.object == *object && entry.paths.iter().any(String::is_empty))
    }

    fn wait(&mut self, place: &str, wait: &Await) {
        match wait {
            Await::PodsReady { workload, .. } => self.object(&format!("{place}.podsReady.workload"), workload),
            Await::Available { workload } => self.object(&format!("{place}.available.workload"), workload),
            Await::Condition { object, .. } => self.object(&format!("{place}.condition.object"), object),
            Await::Gone { object } => self.object(&format!("{place}.gone.object"), object),
            Await::Endpoints { of: Some(workload), .. } => self.object(&format!("{place}.endpoints.of"), workload),
            Await::Endpoints { of: None, .. } | Await::Grace(_) => {}
        }
    }

    /// A late value goes where nothing is yet, into a map that is there.
    fn binding(&mut self, place: &str, binding: &Binding) {
        self.version(&format!("{place}.object"), &binding.object);
        let Some(object) = self.spec.objects.get(&binding.object) else { return };
        let parent = binding.pointer.rsplit_once('/').and_then(|(parent, _)| object.pointer(parent));
        let place = format!("{place}.pointer");
        if !parent.is_some_and(Value::is_object) {
            self.say(&place, format!("`{}` leads to no field of a map in `{}`", binding.pointer.escape_debug(), binding.object));
        } else if object.pointer(&binding.pointer).is_some_and(|value| !value.is_null()) {
            self.say(&place, format!("`{}` of `{}` has a value already", binding.pointer.escape_debug(), binding.object));
        }
    }

    /// What is written anywhere says which of its fields are the plan's.
    fn paths(&mut self) {
        let spec = self.spec;
        let mut seen = BTreeSet::new();
        for (index, entry) in spec.paths.iter().enumerate() {
            let place = format!("spec.paths[{index}]");
            self.object(&format!("{place}.object"), &entry.object);
            if !seen.insert(&entry.object) {
                self.say(&place, format!("`{}` is named twice", entry.object));
            }
            for path in entry.paths.iter().filter(|path| !path.is_empty() && !path.starts_with('/')) {
                self.say(&format!("{place}.paths"), format!("`{}` is no JSON pointer", path.escape_debug()));
            }
            for path in entry.paths.iter().filter(|path| !is_content(path)) {
                self.say(&format!("{place}.paths"), format!("a plan may not change `{}`", path.escape_debug()));
            }
        }
        let steps = spec.steps.iter().flat_map(|step| step.stages.iter().chain(&step.enter_from_above));
        let ways = steps.chain(&spec.finish).chain(&spec.abort).chain(&spec.abort_finish);
        let touched: BTreeSet<&ObjectKey> =
            ways.flat_map(|stage| stage.write.iter().map(VersionKey::object).chain(&stage.remove)).collect();
        for object in touched.difference(&seen) {
            self.say("spec.paths", format!("`{object}` is written or removed, but has no paths"));
        }
    }
}
