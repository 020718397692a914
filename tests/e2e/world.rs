//! What a scenario has in its hands: a namespace, a repository, the program, the recorder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::{Value, json};

use crate::cluster::{At, Cluster, Patch};
use crate::control_plane::ControlPlane;
use crate::recorder::{Event, Moment, Question, Release, judge, shown, timeline};
use crate::watcher::Watcher;

/// How long anything may take in a scenario, unless it says otherwise.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// The kinds that a plan may touch or leave behind.
pub(crate) const TOUCHED: &[&str] = &[
    "ConfigMap",
    "ControllerRevision",
    "Deployment",
    "DestinationRule",
    "HTTPRoute",
    "HorizontalPodAutoscaler",
    "Ingress",
    "Rollout",
    "RolloutPlan",
    "Service",
    "TrafficSplit",
    "VirtualService",
];

/// One scenario's own world.
pub(crate) struct World<'a> {
    /// The control plane, shared by all.
    pub(crate) plane: &'a ControlPlane,
    /// A client that may do everything, as the owner of the manifests.
    pub(crate) cluster: Cluster,
    /// The namespace of this scenario.
    pub(crate) namespace: String,
    /// A folder of its own.
    pub(crate) folder: PathBuf,
    recorder: Option<Watcher>,
}

impl<'a> World<'a> {
    /// Makes the namespace and the folder.
    pub(crate) fn new(plane: &'a ControlPlane, folder: &Path, name: &str) -> Result<Self, String> {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let cluster = plane.admin("owner")?;
        cluster.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))?;
        Ok(Self { plane, cluster, namespace: name.to_owned(), folder, recorder: None })
    }

    /// Copies an example into the folder, in this namespace, with pauses of a second, and with other changes to its texts.
    pub(crate) fn example(&self, name: &str, change: impl Fn(&str, &str, String) -> String) -> Result<(), String> {
        self.copy(name, "", change)
    }

    /// The same, below a folder of each side; scripts stay where they are looked for. `change` gets the path below the side.
    pub(crate) fn example_in(&self, name: &str, folder: &str, change: impl Fn(&str, &str, String) -> String) -> Result<(), String> {
        self.copy(name, folder, change)
    }

    fn copy(&self, name: &str, folder: &str, change: impl Fn(&str, &str, String) -> String) -> Result<(), String> {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
        for side in ["before", "after"] {
            for file in files(&example.join(side)) {
                let below = file.strip_prefix(example.join(side)).map_err(|error| error.to_string())?;
                let below = if below.starts_with("lua_configuration") { below.to_owned() } else { Path::new(folder).join(below) };
                let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
                let text = change(side, &below.display().to_string(), self.localised(&text));
                let path = self.folder.join(side).join(below);
                fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(|error| error.to_string())?;
                fs::write(&path, text).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }

    /// Writes a side of the repository anew from another, with changes to its texts.
    pub(crate) fn side(&self, from: &str, to: &str, change: impl Fn(&str, String) -> String) -> Result<(), String> {
        let root = self.folder.join(from);
        for file in files(&root) {
            let below = file.strip_prefix(&root).map_err(|error| error.to_string())?;
            let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
            let path = self.folder.join(to).join(below);
            fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(|error| error.to_string())?;
            fs::write(&path, change(&below.display().to_string(), text)).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// The text for this namespace, with pauses of a second.
    fn localised(&self, text: &str) -> String {
        let mut lines = Vec::new();
        for line in text.lines() {
            let line = line.replace("namespace: prod", &format!("namespace: {}", self.namespace));
            let line = line.replace("namespace: demo", &format!("namespace: {}", self.namespace));
            let line = line.replace(".prod.svc", &format!(".{}.svc", self.namespace));
            match line.split_once("duration: ") {
                Some((start, rest)) => {
                    lines.push(format!("{start}duration: 1{}", rest.trim_start_matches(|letter: char| letter.is_ascii_digit())));
                }
                None => lines.push(line),
            }
        }
        lines.join("\n") + "\n"
    }

    /// All manifests of one side of the repository.
    pub(crate) fn manifests(&self, side: &str) -> Result<Vec<Value>, String> {
        let mut manifests = Vec::new();
        for file in files(&self.folder.join(side)).into_iter().filter(|file| file.extension().is_some_and(|extension| extension == "yaml"))
        {
            let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
            for document in serde_yaml::Deserializer::from_str(&text) {
                let value: Value = serde::Deserialize::deserialize(document).map_err(|error| format!("{}: {error}", file.display()))?;
                if value.is_object() {
                    manifests.push(value);
                }
            }
        }
        Ok(manifests)
    }

    /// Applies the manifests of one side as their owner, and waits until the workloads are there, where anybody makes pods.
    pub(crate) fn install(&self, side: &str) -> Result<(), String> {
        let manifests = self.manifests(side)?;
        for manifest in &manifests {
            self.cluster.apply(manifest)?;
        }
        for name in manifests
            .iter()
            .filter(|manifest| manifest["kind"] == "Deployment" && crate::control_plane::has_controllers())
            .filter_map(|manifest| manifest["metadata"]["name"].as_str())
        {
            self.wait(&format!("Deployment {name} to be there"), PATIENCE, || {
                let deployment = self.get("Deployment", name)?.unwrap_or_default();
                let (wanted, status) = (&deployment["spec"]["replicas"], &deployment["status"]);
                Ok((status["availableReplicas"] == *wanted && status["updatedReplicas"] == *wanted && status["replicas"] == *wanted)
                    .then_some(()))
            })?;
        }
        Ok(())
    }

    /// Has the program render the release from `before` to `after`, and returns the plan.
    pub(crate) fn render(&self) -> Result<Value, String> {
        self.render_from("before", "after")
    }

    /// The same, from any side to any other.
    pub(crate) fn render_from(&self, base: &str, head: &str) -> Result<Value, String> {
        let plans = self.render_all(base, head)?;
        let [plan] = plans.as_slice() else { return Err(format!("{} plans of {head}", plans.len())) };
        Ok(plan.clone())
    }

    /// The same, where a side holds several Rollouts; sorted by name.
    pub(crate) fn render_all(&self, base: &str, head: &str) -> Result<Vec<Value>, String> {
        let out = self.folder.join(format!("rollouts-{head}"));
        self.rollout(&["render", head, "--base-dir", base, "--out", &out.display().to_string(), "--fail-on", "error"])?;
        let plans = files(&out).into_iter().filter(|file| file.ends_with("plan.yaml"));
        let read = |file: PathBuf| -> Result<Value, String> {
            let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
            serde_yaml::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))
        };
        plans.map(read).collect()
    }

    /// Runs the program in the folder and returns what it says; anything but exit 0 is an error.
    pub(crate) fn rollout(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(program());
        let output = command.args(arguments).current_dir(&self.folder).output().map_err(|error| error.to_string())?;
        let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if output.status.success() {
            Ok(said.into_owned())
        } else {
            Err(format!("rollout {}: {}\n{said}{errors}", arguments.join(" "), output.status))
        }
    }

    /// An object of this namespace.
    pub(crate) fn get(&self, kind: &str, name: &str) -> Result<Option<Value>, String> {
        self.cluster.get(self.at(kind, name))
    }

    /// An object's address in this namespace.
    pub(crate) fn at<'b>(&'b self, kind: &'b str, name: &'b str) -> At<'b> {
        At { kind, namespace: &self.namespace, name }
    }

    /// How many ready endpoints a Service has.
    pub(crate) fn endpoints(&self, service: &str) -> Result<usize, String> {
        let slices = self.cluster.list("EndpointSlice", &self.namespace)?;
        let own = slices.iter().filter(|slice| slice["metadata"]["labels"]["kubernetes.io/service-name"] == service);
        let all = own.flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten());
        Ok(all.filter(|endpoint| endpoint["conditions"]["ready"] == true).count())
    }

    /// Merges a patch into an object of this namespace, as the owner.
    pub(crate) fn merge(&self, kind: &str, name: &str, patch: &Value) -> Result<Value, String> {
        self.cluster.patch(self.at(kind, name), Patch::Merge, patch)
    }

    /// Asks again and again until there is an answer.
    #[expect(clippy::unused_self, reason = "reads like what a scenario does")]
    pub(crate) fn wait<T>(&self, what: &str, time: Duration, mut ask: impl FnMut() -> Result<Option<T>, String>) -> Result<T, String> {
        let end = Instant::now() + time;
        let mut trouble = String::new();
        loop {
            match ask() {
                Ok(Some(answer)) => return Ok(answer),
                Ok(None) => trouble.clear(),
                Err(error) => trouble = format!(": {error}"),
            }
            if Instant::now() > end {
                return Err(format!("waited {} s for {what}{trouble}", time.as_secs()));
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Starts to record.
    pub(crate) fn record(&mut self) -> Result<(), String> {
        self.recorder = Some(Watcher::start(&self.plane.admin_kubeconfig()?, &self.namespace)?);
        Ok(())
    }

    /// The recorder may miss what happens while the API server is stopped.
    pub(crate) fn tolerate_gaps(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.tolerate_gaps();
        }
    }

    /// Says how far a release is that is played by hand.
    pub(crate) fn mark(&self, phase: crate::recorder::Phase) -> Result<(), String> {
        let name = crate::recorder::MARK;
        let mark = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": self.namespace}, "data": {"phase": phase.to_string()}});
        self.cluster.apply(&mark).map(|_| ())
    }

    /// What was recorded.
    pub(crate) fn recorded(&self) -> Result<Vec<Event>, String> {
        self.recorder.as_ref().ok_or("nothing was recorded")?.events()
    }

    /// What was recorded, written to `timeline.txt` too.
    pub(crate) fn moments(&self, release: &Release) -> Result<Vec<Moment>, String> {
        let recorder = self.recorder.as_ref().ok_or("nothing was recorded")?;
        let question = Question { start: recorder.start, release: release.id.clone(), special: release.requests()?, lag: release.lag };
        let moments = timeline(&self.recorded()?, &question);
        fs::write(self.folder.join("timeline.txt"), shown(&moments)).map_err(|error| error.to_string())?;
        Ok(moments)
    }

    /// Keeps the timeline of a scenario that ended before it asked for it.
    pub(crate) fn note_timeline(&self) {
        let path = self.folder.join("timeline.txt");
        if let (Some(recorder), false) = (&self.recorder, path.exists()) {
            let question = Question { start: recorder.start, ..Question::default() };
            let _ = fs::write(path, shown(&timeline(&recorder.events().unwrap_or_default(), &question)));
        }
    }

    /// The faults of the release that was recorded.
    pub(crate) fn faults(&self, release: &Release) -> Result<Vec<String>, String> {
        let moments = self.moments(release)?;
        if moments.iter().all(|moment| moment.traffic.is_empty()) {
            return Err("the recorder saw no entry of traffic at all".to_owned());
        }
        Ok(judge(release, &moments))
    }

    /// Fails when the recorder has found a fault.
    pub(crate) fn assert_no_fault(&self, release: &Release) -> Result<(), String> {
        let faults = self.faults(release)?;
        if faults.is_empty() { Ok(()) } else { Err(format!("the recorder found {}:\n  {}", faults.len(), faults.join("\n  "))) }
    }
}

/// The program that is tested: the one that cargo built, or that `ROLLOUT_E2E_PROGRAM` names.
pub(crate) fn program() -> PathBuf {
    std::env::var_os("ROLLOUT_E2E_PROGRAM").map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_rollout")), PathBuf::from)
}

/// All files below a folder, sorted.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}
