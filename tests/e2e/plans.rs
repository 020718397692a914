//! Keeps the states of plans that were seen, where `ROLLOUT_E2E_PLANS` names a folder: `tests/health` has engines judge them.

use std::path::PathBuf;
use std::{env, fs};

use serde_json::{Value, json};

use crate::watcher::Watcher;
use crate::world::World;

/// The plans of a scenario, on their way into a file.
pub(crate) struct Plans {
    folder: PathBuf,
    watcher: Watcher,
}

/// Starts to follow the plans of a scenario; none when nobody wants them.
pub(crate) fn follow(world: &World<'_>) -> Result<Option<Plans>, String> {
    let Some(folder) = env::var_os("ROLLOUT_E2E_PLANS").map(PathBuf::from) else { return Ok(None) };
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let watcher = Watcher::of(&["RolloutPlan"], &world.plane.admin_kubeconfig()?, &world.namespace)?;
    // States are collected here, and their order is not judged.
    watcher.tolerate_gaps();
    Ok(Some(Plans { folder, watcher }))
}

impl Plans {
    /// Writes what was seen, one state a line, without what engines do not read.
    pub(crate) fn keep(self, scenario: &str) -> Result<(), String> {
        let mut lines: Vec<String> = Vec::new();
        for object in self.watcher.events()?.into_iter().filter_map(|event| event.object) {
            let steps = object["spec"]["steps"].as_array().into_iter().flatten();
            let steps: Vec<Value> = steps.map(|step| json!({"name": step["name"]})).collect();
            let metadata = &object["metadata"];
            let mut short = json!({
                "apiVersion": "rollout.dev/v1alpha1",
                "kind": "RolloutPlan",
                "metadata": {"name": metadata["name"], "namespace": metadata["namespace"], "generation": metadata["generation"]},
                "spec": {"steps": steps},
            });
            if let Some(since) = metadata.get("deletionTimestamp") {
                short["metadata"]["deletionTimestamp"] = since.clone();
            }
            if let Some(status) = object.get("status") {
                short["status"] = status.clone();
            }
            let line = short.to_string();
            if lines.last() != Some(&line) {
                lines.push(line);
            }
        }
        if lines.is_empty() {
            return Ok(());
        }
        let path = self.folder.join(format!("{scenario}.jsonl"));
        fs::write(&path, lines.join("\n") + "\n").map_err(|error| format!("{}: {error}", path.display()))
    }
}
