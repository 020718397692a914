//! Plays a plan's stages by hand, without the agent: it proves that plan, control plane and recorder fit each other.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cluster::Patch;
use crate::recorder::Phase;
use crate::world::{PATIENCE, World};

/// A plan, played in a world.
pub(crate) struct Player<'a, 'b> {
    world: &'a World<'b>,
    plan: &'a Value,
    stable: String,
}

impl<'a, 'b> Player<'a, 'b> {
    /// Looks up what the plan leaves open.
    pub(crate) fn new(world: &'a World<'b>, plan: &'a Value) -> Result<Self, String> {
        let name = plan["spec"]["workload"]["name"].as_str().unwrap_or_default();
        let stable = revision_of(world, name)?;
        Ok(Self { world, plan, stable })
    }

    /// Plays every step, the end, and marks each.
    pub(crate) fn succeed(&self) -> Result<(), String> {
        self.world.mark(Phase::Rest)?;
        for step in 1..=self.steps() {
            self.step(step)?;
        }
        self.world.mark(Phase::Finishing)?;
        self.stages(&self.plan["spec"]["finish"])?;
        self.world.mark(Phase::Succeeded)
    }

    /// How many steps there are.
    pub(crate) fn steps(&self) -> usize {
        self.plan["spec"]["steps"].as_array().map_or(0, Vec::len)
    }

    /// Plays one step, counted from 1.
    pub(crate) fn step(&self, number: usize) -> Result<(), String> {
        self.world.mark(Phase::Step(number))?;
        self.stages(&self.plan["spec"]["steps"][number - 1]["stages"])
    }

    /// Plays the way back.
    pub(crate) fn abort(&self) -> Result<(), String> {
        self.world.mark(Phase::Aborting)?;
        self.stages(&self.plan["spec"]["abort"])?;
        self.world.mark(Phase::Aborted)
    }

    /// Plays stages in order.
    pub(crate) fn stages(&self, stages: &Value) -> Result<(), String> {
        for stage in stages.as_array().into_iter().flatten() {
            for version in stage["write"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                self.write(version)?;
            }
            // In the foreground: a Deployment is gone only when its pods are.
            for object in stage["remove"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                let (kind, name) = split(object);
                self.world.cluster.delete(self.world.at(kind, name), "Foreground")?;
            }
            for wait in stage["await"].as_array().into_iter().flatten() {
                self.wait(wait)?;
            }
        }
        Ok(())
    }

    /// Writes one version of an object: inside the plan's paths exactly, outside nothing.
    pub(crate) fn write(&self, version: &str) -> Result<(), String> {
        let object = version.split('@').next().unwrap_or_default();
        let (kind, name) = split(object);
        let mut wanted = self.plan["spec"]["objects"][version].clone();
        for binding in self.plan["spec"]["bindings"].as_array().into_iter().flatten().filter(|binding| binding["object"] == version) {
            let value = match (binding["value"].as_str(), binding["value"].get("replicas")) {
                (Some("stableRevision"), _) => json!(self.stable),
                (Some("canaryRevision"), _) => json!(revision_of(self.world, &self.canary())?),
                (_, Some(share)) => json!(self.pods(share)?),
                _ => return Err(format!("no value for {binding}")),
            };
            put(&mut wanted, binding["pointer"].as_str().unwrap_or_default(), value);
        }
        let Some(live) = self.world.get(kind, name)? else {
            return self.world.cluster.create(&wanted).map(|_| ());
        };
        let paths = self.plan["spec"]["paths"].as_array().into_iter().flatten().find(|paths| paths["object"] == object);
        let mut patch = Vec::new();
        for path in paths.into_iter().flat_map(|paths| paths["paths"].as_array().into_iter().flatten()).filter_map(Value::as_str) {
            // An object that only the plan makes: what its versions differ in is the spec and the annotations.
            let pointers = if path.is_empty() { vec!["/spec", "/metadata/annotations"] } else { vec![path] };
            for pointer in pointers {
                match (wanted.pointer(pointer), live.pointer(pointer)) {
                    (Some(value), _) => patch.push(json!({"op": "add", "path": pointer, "value": value})),
                    (None, Some(_)) => patch.push(json!({"op": "remove", "path": pointer})),
                    (None, None) => {}
                }
            }
        }
        self.world.cluster.patch(self.world.at(kind, name), Patch::Json, &Value::Array(patch)).map(|_| ())
    }

    /// So many pods: a number, or a percentage of the replicas that the workload has now.
    fn pods(&self, share: &Value) -> Result<u64, String> {
        let name = self.plan["spec"]["workload"]["name"].as_str().unwrap_or_default();
        let total = self.world.get("Deployment", name)?.unwrap_or_default()["spec"]["replicas"].as_u64().unwrap_or(1);
        let percent = share.as_str().and_then(|text| text.strip_suffix('%')?.parse::<u64>().ok());
        let pods = percent.map(|percent| (percent * total).div_ceil(100)).or(share.as_u64());
        pods.map(|pods| pods.min(total)).ok_or_else(|| format!("{share} are no pods"))
    }

    fn canary(&self) -> String {
        format!("{}-canary", self.plan["spec"]["workload"]["name"].as_str().unwrap_or_default())
    }

    fn wait(&self, wait: &Value) -> Result<(), String> {
        let world = self.world;
        if let Some(ready) = wait.get("podsReady") {
            let (kind, name) = split(ready["workload"].as_str().unwrap_or_default());
            return world.wait(&wait.to_string(), PATIENCE, || {
                let object = world.get(kind, name)?.unwrap_or_default();
                let is_observed = object["status"]["observedGeneration"] == object["metadata"]["generation"];
                let count = object["status"]["readyReplicas"].as_u64().unwrap_or(0);
                let wanted = ready["count"].as_u64().or(object["spec"]["replicas"].as_u64()).unwrap_or(1);
                Ok((is_observed && count >= wanted).then_some(()))
            });
        }
        if let Some(available) = wait.get("available") {
            let (kind, name) = split(available["workload"].as_str().unwrap_or_default());
            return world.wait(&wait.to_string(), PATIENCE, || {
                let object = world.get(kind, name)?.unwrap_or_default();
                let is_observed = object["status"]["observedGeneration"] == object["metadata"]["generation"];
                let wanted = &object["spec"]["replicas"];
                let fields = ["replicas", "updatedReplicas", "availableReplicas"];
                Ok((is_observed && fields.iter().all(|field| object["status"][field] == *wanted)).then_some(()))
            });
        }
        if let Some(endpoints) = wait.get("endpoints") {
            let service = endpoints["service"].as_str().unwrap_or_default();
            return world.wait(&wait.to_string(), PATIENCE, || {
                let ready = match endpoints["of"].as_str() {
                    Some(workload) => endpoints_of(world, service, split(workload).1)?,
                    None => world.endpoints(service)?,
                };
                Ok((ready as u64 >= self.pods(&endpoints["atLeast"])?).then_some(()))
            });
        }
        if let Some(gone) = wait.get("gone") {
            let (kind, name) = split(gone["object"].as_str().unwrap_or_default());
            return world.wait(&wait.to_string(), PATIENCE, || Ok(world.get(kind, name)?.is_none().then_some(())));
        }
        if let Some(seconds) = wait["grace"].as_u64() {
            thread::sleep(Duration::from_secs(seconds));
        }
        // Conditions come from controllers of gateways, and none runs here.
        Ok(())
    }
}

/// How many ready endpoints of a Service are pods that a Deployment wants now.
fn endpoints_of(world: &World<'_>, service: &str, deployment: &str) -> Result<usize, String> {
    let revision = revision_of(world, deployment)?;
    let pods = world.cluster.list("Pod", &world.namespace)?;
    let is_own = |name: &Value| {
        pods.iter().any(|pod| pod["metadata"]["name"] == *name && pod["metadata"]["labels"]["pod-template-hash"] == revision.as_str())
    };
    let slices = world.cluster.list("EndpointSlice", &world.namespace)?;
    let slices = slices.iter().filter(|slice| slice["metadata"]["labels"]["kubernetes.io/service-name"] == service);
    let endpoints = slices.flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten());
    Ok(endpoints.filter(|endpoint| endpoint["conditions"]["ready"] != false && is_own(&endpoint["targetRef"]["name"])).count())
}

/// The `pod-template-hash` of the pods that a Deployment wants now.
pub(crate) fn revision_of(world: &World<'_>, deployment: &str) -> Result<String, String> {
    let live = world.get("Deployment", deployment)?.ok_or_else(|| format!("no Deployment {deployment}"))?;
    let revision = &live["metadata"]["annotations"]["deployment.kubernetes.io/revision"];
    let sets = world.cluster.list("ReplicaSet", &world.namespace)?;
    let mut own = sets.iter().filter(|set| set["metadata"]["ownerReferences"][0]["uid"] == live["metadata"]["uid"]);
    let set = own.find(|set| set["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == *revision);
    let hash = set.and_then(|set| set["metadata"]["labels"]["pod-template-hash"].as_str());
    hash.map(str::to_owned).ok_or_else(|| format!("Deployment {deployment} has no pods yet"))
}

/// Puts a value where a JSON pointer says, with the maps on the way.
fn put(object: &mut Value, pointer: &str, value: Value) {
    let mut place = object;
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        place = &mut place[part];
    }
    *place = value;
}

/// `Kind/name`, the kind without its group.
pub(crate) fn split(object: &str) -> (&str, &str) {
    let (kind, name) = object.split_once('/').unwrap_or((object, ""));
    (kind.split('.').next().unwrap_or(kind), name)
}
