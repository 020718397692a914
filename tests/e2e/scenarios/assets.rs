//! Programs that somebody brings along in `$KUBEBUILDER_ASSETS`.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::{Command, Stdio};
use std::{env, fs};

use super::{Scenario, alone};
use crate::world::World;

pub(super) const SCENARIOS: &[Scenario] = &[alone("nothing-but-the-programs-of-envtest", only_envtest)];

/// The suite itself, with a folder as envtest has it: no Go, no cache, no controllers. What needs no pods passes, on those
/// programs; the rest is counted.
fn only_envtest(world: &mut World<'_>) -> Result<(), String> {
    let assets = world.folder.join("assets");
    let text = |error: std::io::Error| error.to_string();
    fs::create_dir_all(&assets).map_err(text)?;
    let calls = world.folder.join("calls.txt");
    for (variable, name) in [("ETCD", "etcd"), ("KUBE_APISERVER", "kube-apiserver")] {
        let program = env::var(format!("ROLLOUT_E2E_{variable}")).map_err(|error| error.to_string())?;
        // It tells that it was this one that was started.
        let script = format!("#!/bin/sh\necho {name} >> '{}'\nexec '{program}' \"$@\"\n", calls.display());
        fs::write(assets.join(name), script).map_err(text)?;
        fs::set_permissions(assets.join(name), fs::Permissions::from_mode(0o755)).map_err(text)?;
    }
    // It comes with envtest, and nobody here needs it.
    symlink("/bin/false", assets.join("kubectl")).map_err(text)?;

    let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/run"));
    command.args(["preview", "edited-by-hand", "unknown-plan-version", "baseline-differs", "flux-holds", "slow-pods"]);
    for variable in ["ETCD", "KUBE_APISERVER", "KUBE_CONTROLLER_MANAGER", "KUBE_SCHEDULER", "KWOK", "DIR"] {
        command.env_remove(format!("ROLLOUT_E2E_{variable}"));
    }
    let suite = env::current_exe().map_err(text)?;
    command.env("KUBEBUILDER_ASSETS", &assets).env("ROLLOUT_E2E_CACHE", world.folder.join("no-cache"));
    command.env("ROLLOUT_E2E_WITHOUT_GO", "1").env("ROLLOUT_E2E_SUITE", suite).stdin(Stdio::null());
    let output = command.output().map_err(text)?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let calls = fs::read_to_string(&calls).unwrap_or_default();
    let is_so = output.status.success()
        && said.contains("nobody makes pods here: 2 of 7 scenarios are skipped")
        && said.contains("5 passed, 0 failed")
        && calls.contains("etcd")
        && calls.contains("kube-apiserver");
    if is_so { Ok(()) } else { Err(format!("{}\n{said}\nstarted: {calls}", output.status)) }
}
