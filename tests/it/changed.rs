//! `--changed` shows of the Rollouts that a change concerns what a full look at the repository shows, and nothing of others.

use std::fs;

use camino::Utf8Path;

use crate::ground::Ground;

/// A clone with the workloads `shop` and `web`, both at the origin too.
fn ground() -> Ground {
    let ground = Ground::new();
    ground.shop();
    ground.app("clone", "web", "1");
    ground.commit("clone", "second");
    ground.git("clone", "push -q origin HEAD:main");
    ground.git("clone", "checkout -q -b change");
    ground
}

#[track_caller]
fn shows(ground: &Ground, names: &[&str]) {
    let changed = ground.rollout("clone", "render --format yaml --changed").exits(0);
    let each = names.iter().map(|name| ground.rollout("clone", &format!("render --format yaml --rollout demo/{name}")).exits(0).stdout);
    assert_eq!(changed.stdout, each.collect::<Vec<_>>().join("---\n"), "{}", changed.stderr);
    assert!(!changed.stderr.contains("no Rollout was found"), "{}", changed.stderr);
}

/// Puts something else into a file of the clone.
fn edit(ground: &Ground, file: &str, from: &str, to: &str) {
    let path = format!("clone/deploy/{file}");
    let text = fs::read_to_string(ground.path(&path)).unwrap();
    assert!(text.contains(from), "{text}");
    ground.write(&path, &text.replacen(from, to, 1));
}

#[test]
fn nothing_where_nothing_has_changed() {
    shows(&ground(), &[]);
}

#[test]
fn the_rollout_of_a_changed_workload() {
    let ground = ground();
    ground.app("clone", "web", "2");
    shows(&ground, &["web"]);
    ground.app("clone", "shop", "2");
    shows(&ground, &["shop", "web"]);
}

#[test]
fn the_rollout_of_a_changed_gateway_object() {
    let ground = ground();
    edit(&ground, "shop/istio.yaml", "spec:\n", "spec:\n  exportTo: [\".\"]\n");
    shows(&ground, &["shop"]);
}

#[test]
fn a_rollout_that_changed_itself_or_moved() {
    let ground = ground();
    edit(&ground, "web/rollout.yaml", "spec:\n", "  labels: {team: a}\nspec:\n");
    shows(&ground, &["web"]);
}

#[test]
fn every_rollout_that_a_changed_script_serves() {
    let ground = ground();
    let script = "lua_configuration/networking.istio.io/VirtualService/trafficRouting.lua";
    let text = fs::read_to_string(Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join(script)).unwrap();
    ground.write(&format!("clone/{script}"), &format!("{text}\n-- ours\n"));
    shows(&ground, &["shop", "web"]);
}
