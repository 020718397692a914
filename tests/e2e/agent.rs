//! The agent as a process, with the identity and the rights that `rollout manifests` gives it, and no other.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::cluster::At;
use crate::image;
use crate::process::{self, Process, Program};
use crate::world::{World, program};

/// The name of the agent's account and lease.
const NAME: &str = "rollout-agent";

/// An agent that can be started, killed, stopped and started again.
pub(crate) struct Agent {
    process: Option<Process>,
    kubeconfig: PathBuf,
    namespace: String,
    home: String,
    log: PathBuf,
}

impl Agent {
    /// Gives an account, in a namespace of its own, the rights that the plans of a folder need.
    pub(crate) fn prepare(world: &World<'_>, plans: &str) -> Result<Self, String> {
        install_rights(world, plans)?;
        let home = home(world);
        let token = world.cluster.token_for(&home, NAME)?;
        let kubeconfig = world.plane.kubeconfig(&home, &token)?;
        Ok(Self { process: None, kubeconfig, namespace: world.namespace.clone(), home, log: world.folder.join("agent.log") })
    }

    /// The same identity, by another way to the server: a proxy.
    pub(crate) fn through(&mut self, world: &World<'_>, address: &str) -> Result<(), String> {
        let token = world.cluster.token_for(&self.home, NAME)?;
        self.kubeconfig = world.plane.kubeconfig_to(address, &format!("proxied-{}", self.home), &token)?;
        Ok(())
    }

    /// A second one beside it, with a log of its own.
    pub(crate) fn twin(&self) -> Self {
        Self {
            process: None,
            kubeconfig: self.kubeconfig.clone(),
            namespace: self.namespace.clone(),
            home: self.home.clone(),
            log: self.log.with_file_name("agent-2.log"),
        }
    }

    /// Has it look after another namespace too, from its next start on.
    pub(crate) fn also_in(&mut self, namespace: &str) {
        self.namespace = format!("{},{namespace}", self.namespace);
    }

    /// Starts it.
    pub(crate) fn start(&mut self) -> Result<(), String> {
        let flag = |name: &str, value: &str| OsString::from(format!("--{name}={value}"));
        let mut arguments = vec![
            OsString::from("agent"),
            flag("namespaces", &self.namespace),
            flag("lease-namespace", &self.home),
            flag("listen", "127.0.0.1:0"),
            flag("log", "rollout=debug"),
        ];
        let mut program = program();
        if let Some(image) = image::program() {
            let root = self.log.with_extension("root");
            (program, arguments) = image::command(&image, &root, &self.kubeconfig, &arguments)?;
        } else {
            arguments.push(flag("kubeconfig", &self.kubeconfig.display().to_string()));
        }
        self.process = Some(process::start(Program { file: &program, arguments, log: self.log.clone() })?);
        Ok(())
    }

    /// The process; an error when it is not running.
    pub(crate) fn process(&mut self) -> Result<&mut Process, String> {
        let process = self.process.as_mut().ok_or("the agent was not started")?;
        process.check()?;
        Ok(process)
    }

    /// The Lease.
    pub(crate) fn lease(&self) -> At<'_> {
        At { kind: "Lease", namespace: &self.home, name: NAME }
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(&mut self) {
        self.process = None;
    }
}

/// The agent's own namespace.
fn home(world: &World<'_>) -> String {
    format!("{}-agent", world.namespace)
}

/// Applies what `rollout manifests` prints, but for what only a real cluster runs.
pub(crate) fn install_rights(world: &World<'_>, plans: &str) -> Result<(), String> {
    grant(world, plans, world)
}

/// The same, for the agent of another world.
pub(crate) fn grant(world: &World<'_>, plans: &str, of: &World<'_>) -> Result<(), String> {
    let printed = world.rollout(&["manifests", "--plans", plans, "--namespace", &home(of), "--format", "json"])?;
    let list: Value = serde_json::from_str(&printed).map_err(|error| error.to_string())?;
    for object in list["items"].as_array().into_iter().flatten() {
        let mut object = object.clone();
        match object["kind"].as_str().unwrap_or_default() {
            "Deployment" | "PodDisruptionBudget" => continue,
            // Other scenarios have an agent too.
            "ClusterRole" | "ClusterRoleBinding" => {
                let name = format!("{}-{}", object["metadata"]["name"].as_str().unwrap_or_default(), of.namespace);
                if object["kind"] == "ClusterRoleBinding" {
                    object["roleRef"]["name"] = json!(name);
                }
                object["metadata"]["name"] = json!(name);
            }
            _ => {}
        }
        world.cluster.apply(&object)?;
    }
    Ok(())
}
