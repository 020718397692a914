//! A release that the agent carries out in a world: what people do to it, and what must be true after it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::cluster::Patch;
use crate::player::split;
use crate::recorder::Release;
use crate::world::{PATIENCE, World};

/// The manager under which the agent writes.
const MANAGER: &str = "rollout-agent";

/// Every object of the namespace that a release may touch, without what the server itself changes.
type Snapshot = BTreeMap<(String, String), Value>;

/// A release in a world.
pub(crate) struct Running<'a, 'b> {
    /// Where.
    pub(crate) world: &'a World<'b>,
    /// The plan's object, as rendered.
    pub(crate) plan: Value,
    /// What it promises.
    pub(crate) release: Release,
    /// Who carries it out.
    pub(crate) agent: Agent,
    /// Plans of other releases: what they change is not looked at here.
    pub(crate) neighbours: Vec<Value>,
    /// The last request's id.
    asked: RefCell<String>,
    before: Snapshot,
}

/// Copies an example, installs its old version, renders, gives the agent its rights and starts to record.
pub(crate) fn prepare<'a, 'b>(
    world: &'a mut World<'b>,
    example: &str,
    change: impl Fn(&str, &str, String) -> String,
) -> Result<Running<'a, 'b>, String> {
    world.example(example, change)?;
    world.install("before")?;
    prepare_installed(world)
}

/// The same, where the repository is there and the old version is installed.
pub(crate) fn prepare_installed<'a, 'b>(world: &'a mut World<'b>) -> Result<Running<'a, 'b>, String> {
    let plan = world.render()?;
    let agent = Agent::prepare(world, "rollouts-after")?;
    world.record()?;
    let release = Release::of(&plan);
    let before = snapshot(world)?;
    Ok(Running { world, plan, release, agent, neighbours: Vec::new(), asked: RefCell::default(), before })
}

/// Two examples in folders of one commit, in one namespace, with an agent for both: it is the first one's. Sorted by name.
///
/// `change` gets the side, the path below it, and the text.
pub(crate) fn prepare_both<'a, 'b>(
    world: &'a mut World<'b>,
    examples: [(&str, &str); 2],
    change: impl Fn(&str, &str, String) -> String,
) -> Result<[Running<'a, 'b>; 2], String> {
    for (example, folder) in examples {
        world.example_in(example, folder, &change)?;
    }
    world.install("before")?;
    let plans = world.render_all("before", "after")?;
    let agent = Agent::prepare(world, "rollouts-after")?;
    world.record()?;
    let world: &'a World<'b> = world;
    let before = snapshot(world)?;
    let running = |plan: &Value, agent: Agent| {
        let release = Release { has_neighbours: true, ..Release::of(plan) };
        Running { world, plan: plan.clone(), release, agent, neighbours: Vec::new(), asked: RefCell::default(), before: before.clone() }
    };
    let [first, second] = plans.as_slice() else { return Err(format!("{} plans", plans.len())) };
    let other = agent.twin();
    Ok([running(first, agent), running(second, other)])
}

/// The same, and the agent runs and has the plan.
pub(crate) fn begin<'a, 'b>(
    world: &'a mut World<'b>,
    example: &str,
    change: impl Fn(&str, &str, String) -> String,
) -> Result<Running<'a, 'b>, String> {
    let mut running = prepare(world, example, change)?;
    running.agent.start()?;
    running.apply_plan()?;
    Ok(running)
}

impl Running<'_, '_> {
    /// Puts the plan into the cluster, as an engine does.
    pub(crate) fn apply_plan(&self) -> Result<(), String> {
        self.world.cluster.apply(&self.plan).map(|_| ())
    }

    /// The plan's name, and the Rollout's.
    pub(crate) fn name(&self) -> &str {
        self.plan["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// How many steps there are.
    pub(crate) fn steps(&self) -> u64 {
        self.plan["spec"]["steps"].as_array().map_or(0, |steps| steps.len() as u64)
    }

    /// The plan's status.
    pub(crate) fn status(&self) -> Result<Value, String> {
        Ok(self.world.get("RolloutPlan", self.name())?.unwrap_or_default()["status"].clone())
    }

    /// The Rollout's status, in Kruise's words.
    pub(crate) fn rollout_status(&self) -> Result<Value, String> {
        Ok(self.world.get("Rollout", self.name())?.unwrap_or_default()["status"].clone())
    }

    /// Waits until the status is as wanted.
    pub(crate) fn wait(&mut self, what: &str, is_so: impl FnMut(&Value) -> bool) -> Result<Value, String> {
        self.wait_long(what, PATIENCE, is_so)
    }

    /// The same, with a time.
    pub(crate) fn wait_long(&mut self, what: &str, time: Duration, mut is_so: impl FnMut(&Value) -> bool) -> Result<Value, String> {
        let mut last = Value::Null;
        let world = self.world;
        let name = self.name().to_owned();
        let found = world.wait(what, time, || {
            last = world.get("RolloutPlan", &name)?.unwrap_or_default()["status"].clone();
            Ok(is_so(&last).then(|| last.clone()))
        });
        found.map_err(|error| format!("{error}; the plan's status is {last:#}"))
    }

    /// Waits for a phase.
    pub(crate) fn wait_phase(&mut self, phase: &str) -> Result<Value, String> {
        self.wait(phase, |status| status["phase"] == phase)
    }

    /// Waits until a step's gate is reached.
    pub(crate) fn wait_gate(&mut self, step: u64) -> Result<Value, String> {
        self.wait(&format!("the gate of step {step}"), |status| status["cursor"]["part"] == "gate" && status["cursor"]["step"] == step)
    }

    /// Whether a step ends with a person's approval.
    pub(crate) fn needs_approval(&self, step: u64) -> bool {
        usize::try_from(step).is_ok_and(|step| step > 0 && self.plan["spec"]["steps"][step - 1]["gate"].get("approval").is_some())
    }

    /// `kubectl-kruise rollout approve`, request for request; it refuses unless the state is `StepPaused`.
    pub(crate) fn approve(&mut self) -> Result<(), String> {
        let world = self.world;
        let name = self.name();
        world.wait("the Rollout to say StepPaused", Duration::from_secs(10), || {
            let status = self.rollout_status()?;
            Ok((status["canaryStatus"]["currentStepState"] == "StepPaused").then_some(()))
        })?;
        let patch = json!({"status": {"canaryStatus": {"currentStepState": "StepReady"}}});
        world.cluster.patch_sub(world.at("Rollout", name), "status", Patch::Merge, &patch).map(|_| ())
    }

    /// `kubectl-kruise rollout pause` and `resume`.
    pub(crate) fn pause(&self, paused: bool) -> Result<(), String> {
        let value = if paused { json!(true) } else { Value::Null };
        self.world.merge("Rollout", self.name(), &json!({"spec": {"strategy": {"paused": value}}})).map(|_| ())
    }

    /// Our own commands: a request in an annotation of the plan.
    pub(crate) fn ask(&self, verb: &str, step: u64) -> Result<(), String> {
        self.ask_and_see(verb, step).map(|_| ())
    }

    /// The same, with the status that the plan had when the request arrived.
    pub(crate) fn ask_and_see(&self, verb: &str, step: u64) -> Result<Value, String> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let digest =
            self.world.get("RolloutPlan", self.name())?.unwrap_or_default()["metadata"]["annotations"]["rollout.dev/digest"].clone();
        let id = format!("{verb}-{step}-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let request = json!({"verb": verb, "digest": digest, "step": step, "id": id});
        let patch = json!({"metadata": {"annotations": {"rollout.dev/request": request.to_string()}}});
        self.asked.replace(id);
        self.world.merge("RolloutPlan", self.name(), &patch).map(|plan| plan["status"].clone())
    }

    /// The id of the last request; empty before the first.
    pub(crate) fn asked(&self) -> String {
        self.asked.borrow().clone()
    }

    /// Waits for an event about the plan.
    pub(crate) fn wait_event(&self, reason: &str, words: &str) -> Result<(), String> {
        let mut told = Vec::new();
        let found = self.world.wait("the event", Duration::from_secs(15), || {
            let events = self.world.cluster.list("Event", &self.world.namespace)?;
            let own = events
                .iter()
                .filter(|event| event["involvedObject"]["kind"] == "RolloutPlan" && event["involvedObject"]["name"] == self.name());
            told = own.map(|event| format!("{} {}", event["reason"], event["message"])).collect();
            let is_it = |told: &String| told.contains(reason) && told.contains(words);
            Ok(told.iter().any(is_it).then_some(()))
        });
        found.map_err(|error| format!("{error}: {reason} with the words {words:?}, among {told:#?}"))
    }

    /// The plan's object, or none when it is gone.
    pub(crate) fn plan_object(&self) -> Result<Option<Value>, String> {
        self.world.get("RolloutPlan", self.name())
    }

    /// Puts another plan in the place of this one.
    pub(crate) fn replace_plan(&mut self, plan: Value) -> Result<(), String> {
        self.plan = plan;
        self.apply_plan()
    }

    /// Approves every step that asks for it until the release is done.
    pub(crate) fn approve_to_the_end(&mut self) -> Result<(), String> {
        self.approve_to_the_end_from(0)
    }

    /// The same, when the gates before `first` are open already; that one is asked for.
    pub(crate) fn approve_to_the_end_from(&mut self, first: u64) -> Result<(), String> {
        let mut last = first.saturating_sub(1);
        loop {
            let status = self.wait("the next gate or the end", |status| {
                let is_gate = status["cursor"]["part"] == "gate" && status["cursor"]["step"].as_u64().is_some_and(|step| step > last);
                let is_over = status["cursor"].is_null() && status["last"]["outcome"].is_string() && status["phase"] != "Holding";
                is_gate || is_over || status["phase"] == "Stalled"
            })?;
            if status["phase"] == "Stalled" {
                return Err(format!("stalled: {status:#}"));
            }
            if status["cursor"].is_null() {
                return Ok(());
            }
            last = status["cursor"]["step"].as_u64().unwrap_or_default();
            if self.needs_approval(last) {
                self.approve()?;
            }
        }
    }

    /// What is there now is what has to be there later.
    pub(crate) fn remember(&mut self) -> Result<(), String> {
        self.before = snapshot(self.world)?;
        self.before.retain(|(kind, _), _| kind != "RolloutPlan");
        Ok(())
    }

    /// Nothing but the plan itself was written since, and nothing is written for a while.
    pub(crate) fn assert_untouched(&self) -> Result<(), String> {
        std::thread::sleep(Duration::from_secs(2));
        self.assert_same(&[])
    }

    /// The objects are as before the release, and nothing of ours is left.
    pub(crate) fn assert_baseline(&self) -> Result<(), String> {
        self.assert_baseline_without("")
    }

    /// The same, where somebody else deleted the objects of a kind.
    pub(crate) fn assert_baseline_without(&self, kind: &str) -> Result<(), String> {
        self.world.wait("the objects to be as before", PATIENCE, || self.assert_same(&["Rollout", kind]).map(Some))?;
        self.assert_no_trace()
    }

    /// Every object is as remembered, but for some kinds.
    fn assert_same(&self, without: &[&str]) -> Result<(), String> {
        let is_meant = |key: &&(String, String)| key.0 != "RolloutPlan" && !without.contains(&key.0.as_str());
        let now = snapshot(self.world)?;
        let (was, is): (Vec<_>, Vec<_>) = (self.before.keys().filter(is_meant).collect(), now.keys().filter(is_meant).collect());
        if was != is {
            return Err(format!("objects before: {was:?}\nand after: {is:?}"));
        }
        for key in was {
            if self.before[key] != now[key] {
                return Err(format!("{}/{} is not what it was:\n{}", key.0, key.1, difference(&self.before[key], &now[key])));
            }
        }
        Ok(())
    }

    /// After a success: the target inside the paths, everything else as before, nothing of ours left.
    pub(crate) fn assert_succeeded(&mut self) -> Result<(), String> {
        self.assert_ended("Succeeded", &self.plan["spec"]["target"].clone(), "after")
    }

    /// The same, where the target is another side of the repository.
    pub(crate) fn assert_succeeded_as(&mut self, side: &str) -> Result<(), String> {
        self.assert_ended("Succeeded", &self.plan["spec"]["target"].clone(), side)
    }

    /// After an abort: everything as before.
    pub(crate) fn assert_aborted(&mut self) -> Result<(), String> {
        self.assert_ended("Aborted", &self.plan["spec"]["baseline"].clone(), "before")?;
        self.assert_same(&["Rollout"])
    }

    /// Fails when the recorder has found a fault.
    pub(crate) fn assert_no_fault(&self) -> Result<(), String> {
        self.world.assert_no_fault(&self.release)
    }

    fn assert_ended(&mut self, outcome: &str, state: &Value, side: &str) -> Result<(), String> {
        let status = self.wait(outcome, |status| status["phase"] == outcome && status["cursor"].is_null())?;
        if status["last"]["outcome"] != outcome {
            return Err(format!("the last release is told as {}", status["last"]));
        }
        let rollout = self.world.wait("the Rollout to be at rest", PATIENCE, || {
            let status = self.rollout_status()?;
            Ok((status["phase"] == "Healthy").then_some(status))
        });
        let rollout = rollout.map_err(|error| format!("{error}: {:#}", self.rollout_status().unwrap_or_default()))?;
        if rollout["canaryStatus"]["currentStepState"] != "Completed" {
            return Err(format!("the Rollout's status says {rollout:#}"));
        }
        let manifests = self.world.manifests(side)?;
        for key in state.as_array().into_iter().flatten().filter_map(Value::as_str) {
            let (kind, name) = split(key.split('@').next().unwrap_or_default());
            let manifest = manifests.iter().find(|manifest| manifest["kind"] == kind && manifest["metadata"]["name"] == name);
            let manifest = manifest.ok_or_else(|| format!("git has no {kind} {name}"))?;
            self.assert_inside(kind, name, manifest)?;
        }
        // What is being deleted already, pods and all, may take a moment longer.
        let after = self.world.wait("the same objects as before", Duration::from_secs(20), || {
            let after = snapshot(self.world)?;
            let (was, is): (Vec<_>, Vec<_>) = (self.before.keys().collect(), after.keys().filter(|key| key.0 != "RolloutPlan").collect());
            if was == is { Ok(Some(after)) } else { Err(format!("objects before: {was:?}\nand after: {is:?}")) }
        })?;
        for (key, object) in &self.before {
            let (was, is) = (self.outside(key, object), self.outside(key, &after[key]));
            if was != is {
                return Err(format!("{}/{} was touched outside of the plan's paths:\n{}", key.0, key.1, difference(&was, &is)));
            }
        }
        self.assert_no_trace()
    }

    /// Inside the plan's paths the live object is the manifest, whatever a server fills in.
    pub(crate) fn assert_inside(&self, kind: &str, name: &str, manifest: &Value) -> Result<(), String> {
        let live = self.world.get(kind, name)?.ok_or_else(|| format!("{kind} {name} is gone"))?;
        let mut patch = Vec::new();
        for path in self.paths(kind, name) {
            match (manifest.pointer(&path), live.pointer(&path)) {
                (Some(value), _) => patch.push(json!({"op": "add", "path": path, "value": value})),
                (None, Some(_)) => patch.push(json!({"op": "remove", "path": path})),
                (None, None) => {}
            }
        }
        let would = self.world.cluster.try_patch(self.world.at(kind, name), Patch::Json, &Value::Array(patch))?;
        let (live, would) = (stripped(&live), stripped(&would));
        if live == would { Ok(()) } else { Err(format!("{kind} {name} is not what git says:\n{}", difference(&would, &live))) }
    }

    /// An object without the plan's paths.
    fn outside(&self, key: &(String, String), object: &Value) -> Value {
        let mut object = object.clone();
        let neighbours = self.neighbours.iter().flat_map(|plan| paths_of(plan, &key.0, &key.1));
        for path in self.paths(&key.0, &key.1).into_iter().chain(neighbours) {
            if let Some(place) = object.pointer_mut(&path) {
                *place = json!("what the plan says");
            } else if let Some((parent, last)) = path.rsplit_once('/')
                && let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut)
            {
                parent.insert(last.replace("~1", "/"), json!("what the plan says"));
            }
        }
        object
    }

    fn paths(&self, kind: &str, name: &str) -> Vec<String> {
        paths_of(&self.plan, kind, name)
    }

    /// No object but the plan and the Rollout's status tells that the agent was here.
    fn assert_no_trace(&self) -> Result<(), String> {
        for kind in crate::world::TOUCHED {
            for object in self.world.cluster.list(kind, &self.world.namespace)? {
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                let managers = object["metadata"]["managedFields"].as_array().into_iter().flatten();
                let ours = managers.filter(|entry| entry["manager"] == MANAGER && entry["subresource"] != "status").count();
                if ours > 0 {
                    return Err(format!("{kind} {name} still has managedFields of {MANAGER}"));
                }
                let finalizers = object["metadata"]["finalizers"].as_array().map_or(0, Vec::len);
                if finalizers > 0 {
                    return Err(format!("{kind} {name} still has finalizers: {}", object["metadata"]["finalizers"]));
                }
            }
        }
        Ok(())
    }
}

/// The paths of an object that a plan changes.
fn paths_of(plan: &Value, kind: &str, name: &str) -> Vec<String> {
    let all = plan["spec"]["paths"].as_array().into_iter().flatten();
    let own = all.filter(|entry| split(entry["object"].as_str().unwrap_or_default()) == (kind, name));
    own.flat_map(|entry| entry["paths"].as_array().into_iter().flatten()).filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Every object that a release may touch.
pub(crate) fn snapshot(world: &World<'_>) -> Result<Snapshot, String> {
    let mut snapshot = Snapshot::new();
    for kind in crate::world::TOUCHED {
        for object in world.cluster.list(kind, &world.namespace)? {
            let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            // Made by the namespace's controller, whenever it likes.
            if name != "kube-root-ca.crt" {
                snapshot.insert(((*kind).to_owned(), name), stripped(&object));
            }
        }
    }
    Ok(snapshot)
}

/// An object without what changes by itself.
fn stripped(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["managedFields", "resourceVersion", "generation"] {
            metadata.remove(field);
        }
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove("deployment.kubernetes.io/revision");
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
    object
}

/// The leaves in which two values differ.
fn difference(left: &Value, right: &Value) -> String {
    fn walk(left: &Value, right: &Value, path: &str, found: &mut Vec<String>) {
        match (left, right) {
            (Value::Object(one), Value::Object(other)) => {
                let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
                keys.sort();
                keys.dedup();
                for key in keys {
                    walk(&left[key], &right[key], &format!("{path}/{key}"), found);
                }
            }
            (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
                for index in 0..one.len() {
                    walk(&left[index], &right[index], &format!("{path}/{index}"), found);
                }
            }
            _ if left == right => {}
            _ => found.push(format!("  {path}: wanted {left}, found {right}")),
        }
    }
    let mut found = Vec::new();
    walk(left, right, "", &mut found);
    found.join("\n")
}
