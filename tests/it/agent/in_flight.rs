//! Releases that earlier versions of the agent have begun: each later one finishes and aborts them.
//!
//! `tests/fixtures/in-flight/VERSION` holds whole clusters, one file a state that the agent of that version has recorded.
//! `ROLLOUT_BLESS=1 cargo test --test it in_flight` records those of this version; files of older versions are never changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use rollout::model::{Phase, Plan, PlanStatus};
use rollout::plan::kept;
use serde_json::{Value, json};

use super::store::{Fault, Key, Store};
use super::world::{World, renamed, scenario, shop};

/// Where the states of a version are.
fn folder(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/in-flight").join(version)
}

/// A cluster: collection, name and object.
type Cluster = BTreeMap<Key, Value>;

/// What a state is called: its part and its phase. At rest there is only the phase.
fn name_of(status: &Value) -> String {
    let cursor = &status["cursor"];
    let part = cursor["part"].as_str().unwrap_or("rest");
    format!("{part}-{}", status["phase"].as_str().unwrap_or_default()).to_lowercase()
}

/// Adds the cluster at each state of the plan that has none yet.
fn collect(world: &World, states: &mut BTreeMap<String, Cluster>) {
    let changes = world.server.with(|store| store.changes.clone());
    let mut cluster = Cluster::new();
    for change in changes {
        let is_plan = change.key.0.ends_with("/rolloutplans");
        match change.kind {
            "DELETED" => _ = cluster.remove(&change.key),
            _ => _ = cluster.insert(change.key, change.object.clone()),
        }
        if is_plan && change.object["status"]["phase"].is_string() {
            states.entry(name_of(&change.object["status"])).or_insert_with(|| {
                let is_kept = |key: &Key| !key.0.ends_with("/events") && !key.0.ends_with("/leases");
                cluster.iter().filter(|(key, _)| is_kept(key)).map(|(key, object)| (key.clone(), object.clone())).collect()
            });
        }
    }
}

/// One object a line.
fn text_of(cluster: &Cluster) -> String {
    cluster.iter().map(|((collection, _), object)| json!({"in": collection, "object": object}).to_string() + "\n").collect()
}

fn cluster_of(text: &str) -> Cluster {
    let objects = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let key = |line: &Value| (line["in"].as_str().unwrap().to_owned(), line["object"]["metadata"]["name"].as_str().unwrap().to_owned());
    objects.map(|line| (key(&line), line["object"].clone())).collect()
}

/// Plays releases through every part and every phase, and returns the cluster at each.
fn played() -> BTreeMap<String, Cluster> {
    let mut states = BTreeMap::new();
    let denied = Fault { method: "PATCH", path: "/virtualservices/shop", status: 403, times: 1 };
    // To the target, with a right that is missing at first, a pause, a refresh in the step and a jump back.
    scenario(async |world| {
        let plan = shop();
        world.server.with(|store| store.forbidden.insert("delete services"));
        world.apply(&plan);
        world.agent();
        world.until("held", |world| world.status()["cursor"]["hold"].is_object()).await;
        world.server.with(|store| {
            store.forbidden.clear();
            store.faults.push(denied.clone());
        });
        world.until_phase("Stalled").await;
        world.edit("RolloutPlan", "shop", "somebody", |plan| plan["metadata"]["annotations"]["rollout.dev/look"] = json!("again"));
        world.until_gate(1).await;
        world.request("pause", 0, "pause");
        world.until_phase("Paused").await;
        world.request("resume", 0, "resume");
        world.until_gate(1).await;
        let refreshed = refreshed(&plan);
        world.apply(&refreshed);
        world.until("refreshed", |world| world.events("RolloutPlan").contains(&"Refreshed".to_owned())).await;
        world.until_gate(1).await;
        world.request("approve", 1, "one");
        world.until_gate(2).await;
        world.request("jump", 1, "jump");
        world.until_gate(1).await;
        world.request("approve", 1, "again");
        world.until_gate(2).await;
        world.request("approve", 2, "two");
        world.until_phase("Succeeded").await;
        // At rest the target is written when the plan is rendered again.
        world.apply(&plan);
        world.until("settled", |world| world.events("RolloutPlan").contains(&"Settling".to_owned())).await;
        world.until_phase("Succeeded").await;
        collect(world, &mut states);
    });
    // Back, from a step and from within finish.
    scenario(async |world| {
        world.apply(&shop());
        world.agent();
        world.until_gate(1).await;
        world.request("abort", 0, "abort");
        world.until_phase("Aborted").await;
        world.request("retry", 0, "retry");
        world.until_gate(1).await;
        world.request("approve", 1, "one");
        world.until_gate(2).await;
        world.server.with(|store| store.unready.insert("shop"));
        world.request("approve", 2, "two");
        let is_at_head = |world: &World| world.status()["cursor"]["part"] == "finish" && world.status()["cursor"]["stage"] == 1;
        world.until("the head manifest", is_at_head).await;
        world.request("abort", 0, "abort-finish");
        world.until_phase("Aborting").await;
        world.server.with(|store| {
            store.unready.clear();
            super::controllers::follow(store);
        });
        world.until_phase("Aborted").await;
        collect(world, &mut states);
    });
    // Nothing to release, and a target that runs already.
    scenario(async |world| {
        let mut plan = shop();
        plan.spec.release = None;
        world.apply(&plan);
        world.agent();
        world.until_phase("Preview").await;
        world.kill().await;
        collect(world, &mut states);
    });
    scenario(async |world| {
        let plan = shop();
        for version in &plan.spec.target {
            let object = &plan.spec.objects[version];
            world.edit(version.object().kind(), version.object().name(), "somebody", |live| live["spec"] = object["spec"].clone());
        }
        world.apply(&plan);
        world.agent();
        world.until_phase("Bypassed").await;
        collect(world, &mut states);
    });
    states
}

/// The plan, rendered again with another host.
fn refreshed(plan: &Plan) -> Plan {
    let mut object = rollout::plan::document(plan);
    for (key, value) in object["spec"]["objects"].as_object_mut().unwrap() {
        if key.starts_with("VirtualService/") {
            value["spec"]["hosts"].as_array_mut().unwrap().push(json!("another.example.com"));
        }
    }
    let spec = serde_json::from_value(object["spec"].clone()).unwrap();
    renamed(&Plan { spec, ..plan.clone() }, &[])
}

#[test]
fn every_state_of_this_version_is_recorded() {
    let folder = folder(env!("CARGO_PKG_VERSION"));
    let states = played();
    let is_blessed = env::var_os("ROLLOUT_BLESS").is_some();
    if is_blessed {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
    }
    for (name, cluster) in &states {
        let path = folder.join(format!("{name}.jsonl"));
        if is_blessed {
            fs::write(&path, text_of(cluster)).unwrap();
        }
        assert!(path.exists(), "{} is missing: ROLLOUT_BLESS=1 records it", path.display());
    }
    for part in ["check", "capture", "stages", "enterfromabove", "reassert", "gate", "finish", "settle", "abort", "abortfinish", "handback"]
    {
        assert!(states.keys().any(|name| name.starts_with(&format!("{part}-"))), "nothing was played in {part}: {:?}", states.keys());
    }
    for phase in [
        Phase::Holding,
        Phase::Running,
        Phase::Gated,
        Phase::Paused,
        Phase::Finishing,
        Phase::Aborting,
        Phase::Succeeded,
        Phase::Aborted,
        Phase::Bypassed,
        Phase::Stalled,
        Phase::Preview,
    ] {
        let phase = format!("-{phase:?}").to_lowercase();
        assert!(states.keys().any(|name| name.contains(&phase)), "nothing was played in {phase}: {:?}", states.keys());
    }
}

/// What is asked of a recorded release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// To go on to its end.
    Success,
    /// To be taken back.
    Abort,
}

/// Every recorded state, of every version.
fn recorded() -> Vec<PathBuf> {
    let entries = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let mut all: Vec<PathBuf> = entries(&folder("")).iter().flat_map(|version| entries(version)).collect();
    all.sort();
    all
}

/// Has an agent of this version play a recorded release to its end.
fn play(path: &Path, asked: Asked) {
    let cluster = cluster_of(&fs::read_to_string(path).unwrap());
    let object = cluster.iter().find(|(key, _)| key.0.ends_with("/rolloutplans")).unwrap().1.clone();
    let plan = kept(object.clone()).unwrap();
    let status: PlanStatus = serde_json::from_value(object["status"].clone()).unwrap();
    let name = path.display().to_string();
    scenario(async |world| {
        world.server.with(|store: &mut Store| store.restore(cluster));
        world.agent();
        if status.is_at_rest() {
            world.request("pause", 0, "nothing-runs");
            world.until(&name, |world| world.status()["handledRequest"] == "nothing-runs").await;
            assert_eq!(world.status()["phase"], format!("{:?}", status.phase), "{name}");
            return;
        }
        if asked == Asked::Abort {
            world.request("abort", 0, "give-up");
            world.until(&name, |world| world.status()["handledRequest"] == "give-up").await;
        } else {
            world.request("resume", 0, "go-on");
        }
        let mut asked_for = 0;
        loop {
            let at_gate = |world: &World| world.status()["phase"] == "Gated";
            let is_over = |world: &World| world.status()["cursor"].is_null() && world.status()["last"].is_object();
            world.until(&name, |world| is_over(world) || (at_gate(world) && world.status()["turn"] != asked_for)).await;
            if is_over(world) {
                break;
            }
            let status = world.status();
            asked_for = status["turn"].as_u64().unwrap();
            let step = u32::try_from(status["cursor"]["step"].as_u64().unwrap()).unwrap();
            world.request("approve", step, &format!("gate-{asked_for}"));
        }
        let phase = world.status()["phase"].clone();
        let ends = if phase == "Succeeded" { &plan.spec.target } else { &plan.spec.baseline };
        assert!(phase == "Succeeded" || phase == "Aborted", "{name}: {phase}");
        let goes_back = ["abort-", "abortfinish-", "handback-aborting"].iter().any(|part| name.contains(&format!("/{part}")));
        if asked == Asked::Success {
            assert_eq!(phase == "Aborted", goes_back, "{name}");
        }
        let stays = name.contains("/handback-finishing") || name.contains("/settle-");
        if asked == Asked::Abort {
            assert_eq!(phase == "Succeeded", stays, "{name}");
        }
        assert_eq!(world.faults(&plan, ends), Vec::<String>::new(), "{name}");
    });
}

#[test]
fn every_recorded_release_goes_on_to_its_end() {
    for path in recorded() {
        play(&path, Asked::Success);
    }
}

#[test]
fn every_recorded_release_can_be_aborted() {
    // Where nothing runs there is nothing to abort.
    for path in recorded().iter().filter(|path| !path.display().to_string().contains("/rest-")) {
        play(path, Asked::Abort);
    }
}
