//! A cluster full of plans at rest: every one rendered, with the objects that the agent looks at.
//!
//! Their workloads are at the target already, so that the agent itself brings each plan to its rest: `Bypassed`.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cluster::At;
use crate::control_plane::ControlPlane;
use crate::generate::{application, application_name};
use crate::subject::install_rights;
use crate::world::{files, program};

/// How many namespaces the plans are in.
const NAMESPACES: usize = 20;
/// How long anything may take.
const PATIENCE: Duration = Duration::from_mins(10);
/// How many applications are applied at the same time.
const AT_ONCE: usize = 6;

/// All plans, rendered.
pub(crate) struct Park {
    folder: PathBuf,
}

/// Renders `count` plans and `more`, gives the agent its rights, and applies the first ones with all they need. Returns the size
/// of a plan in JSON, in bytes.
pub(crate) fn fill(plane: &ControlPlane, folder: &Path, count: usize, more: usize) -> Result<(Park, f64), String> {
    for (side, version) in [("before", "1.0"), ("after", "2.0")] {
        for number in 0..count + more {
            for (file, text) in application(number, 2, version) {
                let text = text.replace("namespace: prod", &format!("namespace: {}", namespace(number)));
                let path = folder.join(side).join(application_name(number)).join(file);
                fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(|error| error.to_string())?;
                fs::write(&path, text).map_err(|error| error.to_string())?;
            }
        }
    }
    let mut render = Command::new(program());
    let output = render.args(["render", "after", "--base-dir", "before", "--out", "plans"]).current_dir(folder).output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("rollout render: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    let cluster = plane.admin("owner")?;
    for number in 0..NAMESPACES.min(count + more) {
        cluster.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace(number)}}))?;
    }
    install_rights(plane, &folder.join("plans"))?;
    let left = Mutex::new((0..count).collect::<Vec<usize>>());
    let results: Vec<Result<usize, String>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(|| apply(plane, folder, &left))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Err("a thread has failed".to_owned()))).collect()
    });
    let bytes = results.into_iter().sum::<Result<usize, String>>()?;
    let size = f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / f64::from(u32::try_from(count.max(1)).unwrap_or(u32::MAX));
    Ok((Park { folder: folder.to_owned() }, size))
}

impl Park {
    /// Applies what the releases of the plans with these numbers begin with, and waits for its pods.
    pub(crate) fn prepare(&self, plane: &ControlPlane, numbers: Range<usize>) -> Result<(), String> {
        let cluster = plane.admin("owner")?;
        for number in numbers.clone() {
            for file in files(&self.folder.join("before").join(application_name(number))) {
                let mut object = read(&file)?;
                if object["kind"] == "Deployment" {
                    object["spec"]["replicas"] = json!(1);
                }
                cluster.apply(&object)?;
            }
        }
        for number in numbers {
            let (namespace, name) = (namespace(number), application_name(number));
            wait(&format!("{name} to be there"), || {
                let live = cluster.get(At { kind: "Deployment", namespace: &namespace, name: &name })?.unwrap_or_default();
                Ok(live["status"]["availableReplicas"] == 1)
            })?;
        }
        Ok(())
    }

    /// Applies the plans with these numbers.
    pub(crate) fn begin(&self, plane: &ControlPlane, numbers: Range<usize>) -> Result<(), String> {
        let cluster = plane.admin("owner")?;
        for number in numbers {
            cluster.create(&plan(&self.folder, number)?)?;
        }
        Ok(())
    }
}

/// The status of a plan.
pub(crate) fn status(plane: &ControlPlane, number: usize) -> Result<Value, String> {
    let (namespace, name) = (namespace(number), application_name(number));
    let live = plane.admin("owner")?.get(At { kind: "RolloutPlan", namespace: &namespace, name: &name })?;
    Ok(live.unwrap_or_default()["status"].take())
}

/// Removes the plans with these numbers, and waits until what ran before runs again.
pub(crate) fn remove(plane: &ControlPlane, numbers: Range<usize>) -> Result<(), String> {
    let cluster = plane.admin("owner")?;
    let at = |namespace: &str, number| (namespace.to_owned(), application_name(number));
    for number in numbers.clone() {
        let (namespace, name) = at(&namespace(number), number);
        cluster.delete(At { kind: "RolloutPlan", namespace: &namespace, name: &name }, "Background")?;
    }
    for number in numbers {
        let (namespace, name) = at(&namespace(number), number);
        wait(&format!("the plan of {name} to be gone"), || {
            Ok(cluster.get(At { kind: "RolloutPlan", namespace: &namespace, name: &name })?.is_none())
        })?;
    }
    Ok(())
}

/// Waits until it is so.
pub(crate) fn wait(what: &str, mut is_so: impl FnMut() -> Result<bool, String>) -> Result<(), String> {
    let end = Instant::now() + PATIENCE;
    while !is_so()? {
        if Instant::now() > end {
            return Err(format!("waited {} s for {what}", PATIENCE.as_secs()));
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

fn plan(folder: &Path, number: usize) -> Result<Value, String> {
    let below = folder.join("plans").join(namespace(number)).join(application_name(number));
    let plan = files(&below).into_iter().find(|file| file.ends_with("plan.yaml"));
    read(&plan.ok_or_else(|| format!("no plan in {}", below.display()))?)
}

fn namespace(number: usize) -> String {
    format!("team-{:02}", number % NAMESPACES)
}

/// Applies applications until none is left, and returns the size of their plans.
fn apply(plane: &ControlPlane, folder: &Path, left: &Mutex<Vec<usize>>) -> Result<usize, String> {
    let cluster = plane.admin("owner")?;
    let mut bytes = 0;
    loop {
        let Some(number) = left.lock().map_err(|error| error.to_string())?.pop() else { return Ok(bytes) };
        let name = application_name(number);
        for file in ["rollout.yaml", "deployment.yaml"] {
            let mut object = read(&folder.join("after").join(&name).join(file))?;
            if object["kind"] == "Deployment" {
                object["spec"]["replicas"] = json!(0);
            }
            cluster.apply(&object)?;
        }
        let plan = plan(folder, number)?;
        bytes += plan.to_string().len();
        cluster.create(&plan)?;
    }
}

fn read(path: &Path) -> Result<Value, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_yaml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}
