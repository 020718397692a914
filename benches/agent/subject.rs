//! The agent that is measured: the release build, with the identity and the rights that `rollout manifests` gives it, for all
//! namespaces, as it is installed.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::control_plane::ControlPlane;
use crate::process::{self, Process, Program};
use crate::world::program;

/// The agent's own namespace.
const HOME: &str = "rollout-system";
/// The agent's account, as the API server knows it.
pub(crate) const USER: &str = "system:serviceaccount:rollout-system:rollout-agent";

/// The agent, running or not.
pub(crate) struct Subject {
    process: Option<Process>,
    kubeconfig: PathBuf,
    log: PathBuf,
}

/// What a process holds, in MiB.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    /// Now.
    pub(crate) resident: f64,
    /// The most that it ever was.
    pub(crate) peak: f64,
    /// Of what is resident: its own, not a file's.
    pub(crate) own: f64,
}

/// Makes the agent's namespace.
pub(crate) fn install_account(plane: &ControlPlane) -> Result<(), String> {
    plane.admin("owner")?.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}})).map(|_| ())
}

/// Gives the agent the rights that the plans of a folder need.
pub(crate) fn install_rights(plane: &ControlPlane, folder: &Path) -> Result<(), String> {
    let cluster = plane.admin("owner")?;
    for object in &installation(&[OsStr::new("--plans"), folder.as_os_str()])? {
        // Nothing runs in this cluster, and Services are of no use then.
        if !matches!(object["kind"].as_str(), Some("Deployment" | "PodDisruptionBudget" | "Service")) {
            cluster.apply(object)?;
        }
    }
    Ok(())
}

/// What `rollout manifests` prints.
fn installation(more: &[&OsStr]) -> Result<Vec<Value>, String> {
    let mut command = Command::new(program());
    let output = command.args(["manifests", "--namespace", HOME, "--format", "json"]).args(more).output();
    let output = output.map_err(|error| error.to_string())?;
    let list: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("rollout manifests: {error}\n{}", String::from_utf8_lossy(&output.stderr)))?;
    Ok(list["items"].as_array().cloned().unwrap_or_default())
}

/// The variables that the installation gives the agent, as `NAME=value`.
fn environment() -> Result<Vec<OsString>, String> {
    let all = installation(&[])?;
    let deployment = all.into_iter().find(|object| object["kind"] == "Deployment").unwrap_or_default();
    let variables = deployment["spec"]["template"]["spec"]["containers"][0]["env"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(variables.iter().map(|variable| format!("{}={}", text(&variable["name"]), text(&variable["value"])).into()).collect())
}

impl Subject {
    /// An agent that does not run yet.
    pub(crate) fn new(plane: &ControlPlane, folder: &Path) -> Result<Self, String> {
        let token = plane.admin("owner")?.token_for(HOME, "rollout-agent")?;
        Ok(Self { process: None, kubeconfig: plane.kubeconfig("agent", &token)?, log: folder.join("agent.log") })
    }

    /// Starts it as the installation does.
    pub(crate) fn start(&mut self) -> Result<(), String> {
        let flag = |name: &str, value: &str| OsString::from(format!("--{name}={value}"));
        let mut arguments = environment()?;
        arguments.extend([
            program().into_os_string(),
            OsString::from("agent"),
            flag("kubeconfig", &self.kubeconfig.display().to_string()),
            flag("lease-namespace", HOME),
            flag("lease-name", "rollout-agent"),
            flag("listen", "127.0.0.1:0"),
        ]);
        // It becomes the program, with the same number.
        self.process = Some(process::start(Program { file: Path::new("env"), arguments, log: self.log.clone() })?);
        Ok(())
    }

    /// Stops it as Kubernetes does.
    pub(crate) fn stop(&mut self) -> Result<(), String> {
        let process = self.running()?;
        process.signal("TERM");
        process.ended_within(Duration::from_secs(10)).ok_or("the agent did not stop within 10 s")?;
        self.process = None;
        Ok(())
    }

    /// What it holds.
    pub(crate) fn memory(&mut self) -> Result<Memory, String> {
        let status = fs::read_to_string(self.file("status")?).map_err(|error| error.to_string())?;
        let mebibytes = |name: &str| -> Result<f64, String> {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or_else(|| format!("/proc tells no {name}"))?;
            let number: f64 = line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().map_err(|error| format!("{error}"))?;
            Ok(number / 1024.0)
        };
        Ok(Memory { resident: mebibytes("VmRSS")?, peak: mebibytes("VmHWM")?, own: mebibytes("RssAnon")? })
    }

    /// The processor's time that it has taken, in seconds.
    pub(crate) fn processor(&mut self) -> Result<f64, String> {
        let stat = fs::read_to_string(self.file("stat")?).map_err(|error| error.to_string())?;
        // The name before may hold anything but a closing parenthesis after it.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default();
        // User and system time, in ticks of 10 ms.
        Ok((ticks(11) + ticks(12)) / 100.0)
    }

    fn file(&mut self, name: &str) -> Result<PathBuf, String> {
        Ok(PathBuf::from(format!("/proc/{}/{name}", self.running()?.id())))
    }

    fn running(&mut self) -> Result<&mut Process, String> {
        let process = self.process.as_mut().ok_or("the agent was not started")?;
        process.check()?;
        Ok(process)
    }
}
