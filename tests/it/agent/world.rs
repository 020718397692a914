//! What a scenario has in its hands: the fake cluster with a shop in it, and agents.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use rollout::agent::{ElectionOptions, Options, run_until};
use rollout::model::{Await, Gate, Plan};
use rollout::plan::{document, from_text, from_value};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::server::Server;
use super::store::{KINDS, Key, Store};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(90);

pub(super) struct World {
    pub(super) server: Server,
    folder: TempDir,
    agent: Option<JoinHandle<()>>,
}

/// Runs a scenario in a cluster with the Rollout `shop` and what its plan begins with.
pub(super) fn scenario(play: impl AsyncFnOnce(&mut World)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (server, address) = Server::start().await;
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("kubeconfig"), kubeconfig(address)).unwrap();
        let mut world = World { server, folder, agent: None };
        world.install(&shop());
        play(&mut world).await;
    });
}

/// The fixture, with gates that only people open, and without grace.
pub(super) fn shop() -> Plan {
    let mut plan = from_text(include_bytes!("../../fixtures/plan.yaml")).unwrap();
    for step in &mut plan.spec.steps {
        step.gate = Gate::Approval {};
        step.deadline = None;
    }
    let steps = plan.spec.steps.iter_mut().flat_map(|step| step.stages.iter_mut().chain(&mut step.enter_from_above));
    for stage in steps.chain(&mut plan.spec.finish).chain(&mut plan.spec.abort).chain(&mut plan.spec.abort_finish) {
        stage.awaits.retain(|wait| !matches!(wait, Await::Grace(_)));
    }
    plan
}

/// The same plan for other names and images.
pub(super) fn renamed(plan: &Plan, changes: &[(&str, &str)]) -> Plan {
    let mut text = document(plan).to_string();
    for (from, to) in changes {
        text = text.replace(from, to);
    }
    let mut object: Value = serde_json::from_str(&text).unwrap();
    let spec: rollout::model::PlanSpec = serde_json::from_value(object["spec"].clone()).unwrap();
    object["metadata"]["annotations"]["rollout.dev/digest"] = json!(rollout::plan::digest(&spec));
    from_value(object).unwrap()
}

impl World {
    /// Applies what a plan begins with, and its Rollout.
    pub(super) fn install(&self, plan: &Plan) {
        for version in &plan.spec.baseline {
            self.create(&plan.spec.objects[version], "engine");
        }
        let rollout = json!({
            "apiVersion": "rollouts.kruise.io/v1beta1", "kind": "Rollout",
            "metadata": {"name": plan.name, "namespace": plan.namespace},
            "spec": {"strategy": {"canary": {}}},
        });
        self.create(&rollout, "engine");
    }

    pub(super) fn create(&self, object: &Value, manager: &str) {
        let kind = object["kind"].as_str().unwrap();
        let key = self.key(kind, object["metadata"]["name"].as_str().unwrap());
        self.server.with(|store| store.create(&key.0, object.clone(), manager, false)).unwrap();
    }

    /// Applies a plan as an engine does.
    pub(super) fn apply(&self, plan: &Plan) {
        let object = document(plan);
        if self.find("RolloutPlan", &plan.name).is_none() {
            self.create(&object, "engine");
        } else {
            self.edit("RolloutPlan", &plan.name, "engine", |live| {
                live["spec"] = object["spec"].clone();
                live["metadata"]["annotations"]["rollout.dev/digest"] = object["metadata"]["annotations"]["rollout.dev/digest"].clone();
            });
        }
    }

    pub(super) fn edit(&self, kind: &str, name: &str, manager: &str, change: impl FnOnce(&mut Value)) {
        let key = self.key(kind, name);
        let result = self.server.with(|store| {
            store.update(&key, None, manager, false, |object| {
                change(object);
                Ok(())
            })
        });
        result.unwrap();
    }

    pub(super) fn edit_status(&self, kind: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let key = self.key(kind, name);
        let result = self.server.with(|store| {
            store.update(&key, Some("status"), "somebody", false, |object| {
                change(&mut object["status"]);
                Ok(())
            })
        });
        result.unwrap();
    }

    /// What `kubectl-kruise rollout approve` sends.
    pub(super) fn approve(&self, name: &str) {
        let key = self.key("Rollout", name);
        let result = self.server.with(|store| {
            store.update(&key, Some("status"), "kubectl-kruise", false, |object| {
                assert_eq!(object["status"]["canaryStatus"]["currentStepState"], "StepPaused");
                object["status"]["canaryStatus"]["currentStepState"] = json!("StepReady");
                Ok(())
            })
        });
        result.unwrap();
    }

    /// Puts a request on the plan.
    pub(super) fn request(&self, verb: &str, step: u32, id: &str) {
        let digest = self.status()["digest"].clone();
        let request = json!({"verb": verb, "digest": digest, "step": step, "id": id}).to_string();
        self.edit("RolloutPlan", "shop", "kubectl", |plan| plan["metadata"]["annotations"]["rollout.dev/request"] = json!(request));
    }

    pub(super) fn delete(&self, kind: &str, name: &str) {
        let key = self.key(kind, name);
        self.server.with(|store| store.delete(&key, None)).unwrap();
    }

    pub(super) fn find(&self, kind: &str, name: &str) -> Option<Value> {
        let key = self.key(kind, name);
        self.server.with(|store| store.get(&key).cloned())
    }

    pub(super) fn live(&self, kind: &str, name: &str) -> Value {
        self.find(kind, name).unwrap_or_else(|| panic!("{kind}/{name} does not exist"))
    }

    /// The status of the plan `shop`.
    pub(super) fn status(&self) -> Value {
        self.status_of("shop")
    }

    pub(super) fn status_of(&self, plan: &str) -> Value {
        self.find("RolloutPlan", plan).map(|plan| plan["status"].clone()).unwrap_or_default()
    }

    /// An annotation of the plan `shop`.
    pub(super) fn annotation(&self, name: &str) -> Option<String> {
        self.find("RolloutPlan", "shop")?["metadata"]["annotations"][name].as_str().map(str::to_owned)
    }

    pub(super) fn key(&self, kind: &str, name: &str) -> Key {
        let (api_version, _, plural) = KINDS.iter().find(|(_, known, _)| *known == kind).unwrap();
        let root = if api_version.contains('/') { format!("/apis/{api_version}") } else { format!("/api/{api_version}") };
        (format!("{root}/namespaces/prod/{plural}"), name.to_owned())
    }

    /// Waits until it holds of what is stored.
    pub(super) async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let mut changes = self.server.changes();
        let wait = async {
            loop {
                changes.borrow_and_update();
                if holds(self) {
                    return;
                }
                changes.changed().await.unwrap();
            }
        };
        if tokio::time::timeout(PATIENCE, wait).await.is_err() {
            let requests = self.server.with(|store| store.requests.iter().rev().take(15).cloned().collect::<Vec<_>>());
            panic!("{what}: not after {PATIENCE:?}; the status is {:#}; the last requests: {requests:#?}", self.status());
        }
    }

    pub(super) async fn until_phase(&self, phase: &str) {
        self.until(phase, |world| world.status()["phase"] == phase).await;
    }

    /// Waits for the gate of a step, published to the Rollout.
    pub(super) async fn until_gate(&self, step: u32) {
        let is_there = |world: &Self| {
            let published = world.live("Rollout", "shop")["status"]["canaryStatus"].clone();
            world.status()["phase"] == "Gated"
                && world.status()["cursor"]["step"] == step
                && published["currentStepIndex"] == step
                && published["currentStepState"] == "StepPaused"
        };
        self.until(&format!("gate of step {step}"), is_there).await;
    }

    /// Starts an agent without election.
    pub(super) fn agent(&mut self) {
        let options = self.options(None);
        self.agent = Some(tokio::spawn(async move {
            run_until(options, std::future::pending()).await.unwrap();
        }));
    }

    /// Starts an agent that competes for the lease, until the returned handle is dropped.
    pub(super) fn competitor(&self, identity: &str, stop: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        let options = self.options(Some(identity));
        tokio::spawn(async move {
            run_until(options, stop).await.unwrap();
        })
    }

    /// Kills the agent, wherever it is.
    pub(super) async fn kill(&mut self) {
        if let Some(agent) = self.agent.take() {
            agent.abort();
            let _ = agent.await;
        }
    }

    fn options(&self, identity: Option<&str>) -> Options {
        Options {
            kubeconfig: Some(self.kubeconfig()),
            namespaces: Vec::new(),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            identity: identity.unwrap_or("the agent").into(),
            election: identity.map(|_| ElectionOptions {
                namespace: Some("prod".into()),
                name: "rollout-agent".into(),
                duration: Duration::from_secs(15),
            }),
        }
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// Everything that is wrong when a release has ended in these versions: other values, leftovers, traces of the agent.
    pub(super) fn faults(&self, plan: &Plan, versions: &[rollout::model::VersionKey]) -> Vec<String> {
        let mut faults = Vec::new();
        for entry in &plan.spec.paths {
            let key = &entry.object;
            let live = self.find(key.kind(), key.name());
            let Some(version) = versions.iter().find(|version| version.object() == key) else {
                if live.is_some() {
                    faults.push(format!("{key} is left"));
                }
                continue;
            };
            let Some(live) = live else {
                faults.push(format!("{key} is gone"));
                continue;
            };
            let wanted = &plan.spec.objects[version];
            for path in &entry.paths {
                if live.pointer(path) != wanted.pointer(path) {
                    faults.push(format!("{key} at {path}: {} is not {}", live.pointer(path).unwrap(), wanted.pointer(path).unwrap()));
                }
            }
            if live["metadata"]["managedFields"].to_string().contains("rollout-agent") {
                faults.push(format!("{key} has our managedFields"));
            }
        }
        let kept = |store: &mut Store| store.objects.keys().filter(|key| key.0.ends_with("/controllerrevisions")).count();
        if self.server.with(kept) > 0 {
            faults.push("a ControllerRevision is left".into());
        }
        if self
            .find(plan_kind(), &plan.name)
            .is_some_and(|plan| plan["metadata"]["finalizers"].as_array().is_some_and(|names| !names.is_empty()))
        {
            faults.push("the finalizer is left".into());
        }
        faults
    }

    /// The reasons of all events about an object of this kind, in their order.
    pub(super) fn events(&self, kind: &str) -> Vec<String> {
        self.server.with(|store| {
            let events = store.objects.iter().filter(|(key, _)| key.0.ends_with("/events")).map(|(_, event)| event);
            let mut events: Vec<&Value> = events.filter(|event| event["regarding"]["kind"] == kind).collect();
            events.sort_by_key(|event| event["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse::<u64>().ok()));
            events.iter().map(|event| event["reason"].as_str().unwrap_or_default().to_owned()).collect()
        })
    }

    /// Writes of an object that were meant, by anybody over HTTP.
    pub(super) fn writes(&self, collection: &str) -> usize {
        self.server.with(|store| {
            let is_write = |method: &str| ["POST", "PUT", "PATCH", "DELETE"].contains(&method);
            store
                .requests
                .iter()
                .filter(|request| is_write(&request.method) && !request.is_dry_run && request.path.contains(collection))
                .count()
        })
    }
}

fn plan_kind() -> &'static str {
    "RolloutPlan"
}

fn kubeconfig(address: SocketAddr) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters:\n- name: a\n  cluster: {{server: 'http://{address}'}}\n\
         contexts:\n- name: a\n  context: {{cluster: a, user: a, namespace: prod}}\nusers:\n- name: a\n  user: {{token: a}}\n"
    )
}
