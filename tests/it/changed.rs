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

/// `--changed` finds what a full look finds, and this is among it.
#[track_caller]
fn finds(ground: &Ground, code: &str) {
    let full = ground.rollout("clone", "render --format github");
    let changed = ground.rollout("clone", "render --format github --changed");
    assert!(full.stderr.contains(&format!("[{code}]")), "{}", full.stderr);
    assert_eq!((changed.status, changed.stderr), (full.status, full.stderr));
}

/// Makes what is written so far the base of the change.
fn settle(ground: &Ground) {
    ground.commit("clone", "third");
    ground.git("clone", "push -q origin HEAD:main");
}

/// A Rollout that leads to subsets by a DestinationRule that it does not name, as the base of the change.
fn with_unnamed_definition() -> Ground {
    let ground = ground();
    let named = "        - apiVersion: networking.istio.io/v1beta1\n          kind: DestinationRule\n          name: shop\n";
    edit(&ground, "shop/rollout.yaml", named, "");
    edit(&ground, "shop/istio.yaml", "  subsets:\n", "  subsets:\n  - name: canary\n    labels:\n      istio.service.tag: gray\n");
    settle(&ground);
    ground
}

#[test]
fn the_rollout_whose_unnamed_definition_loses_its_subset() {
    let ground = with_unnamed_definition();
    edit(&ground, "shop/istio.yaml", "  - name: canary\n", "  - name: other\n");
    finds(&ground, "subset-undefined");
}

/// A Service that changes its selector in a release whose plan is at the base.
fn with_changing_selector() -> Ground {
    let ground = ground();
    let colored = |color: &str| {
        ground.app("clone", "shop", color);
        edit(&ground, "shop/nginx.yaml", "        istio.service.tag", &format!("        color: {color}\n        istio.service.tag"));
        edit(&ground, "shop/nginx.yaml", "spec:\n  selector:\n    app: shop", &format!("spec:\n  selector:\n    color: {color}"));
    };
    colored("blue");
    settle(&ground);
    colored("green");
    ground.rollout("clone", "render --out").exits(0);
    settle(&ground);
    ground
}

const SIBLING: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: other, namespace: demo}
spec:
  template:
    metadata: {labels: {app: LABEL}}
";

#[test]
fn the_rollout_whose_service_selects_a_workload_that_is_new() {
    let ground = with_changing_selector();
    ground.write("clone/deploy/other.yaml", &SIBLING.replace("LABEL", "shop"));
    finds(&ground, "service-selects-others");
}

#[test]
fn the_rollout_whose_service_selects_a_workload_by_its_new_labels() {
    let ground = with_changing_selector();
    ground.write("clone/deploy/other.yaml", &SIBLING.replace("LABEL", "other"));
    settle(&ground);
    shows(&ground, &[]);
    ground.write("clone/deploy/other.yaml", &SIBLING.replace("LABEL", "shop"));
    finds(&ground, "service-selects-others");
}

#[test]
fn no_rollout_because_of_a_workload_that_is_new_in_its_namespace() {
    let ground = ground();
    ground.write("clone/deploy/other.yaml", &SIBLING.replace("LABEL", "other"));
    shows(&ground, &[]);
}

#[test]
fn the_rollout_whose_object_has_a_finding_by_its_new_text() {
    let ground = ground();
    edit(&ground, "shop/nginx.yaml", "  replicas: 5\n", "  replicas: 5\n  replicas: 5\n");
    finds(&ground, "yaml-duplicate-key");
}

#[test]
fn every_rollout_of_an_environment_that_is_described_anew() {
    let ground = ground();
    ground.write("clone/.rollout.yaml", "environments: [{name: a, path: deploy}]\n");
    settle(&ground);
    ground.write("clone/.rollout.yaml", "environments: [{name: a, path: deploy, namespace: demo}]\n");
    let full = ground.rollout("clone", "render --format yaml").exits(0).stdout;
    assert_eq!(ground.rollout("clone", "render --format yaml --changed").exits(0).stdout, full);
}

const APPLICATION: &str = "\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd}
spec:
  source: {path: deploy/web}
  syncPolicy: {automated: {prune: true}}
";

#[test]
fn the_rollout_that_a_new_engine_syncs() {
    let ground = ground();
    ground.write("clone/clusters/web.yaml", APPLICATION);
    finds(&ground, "engine-overwrites");
    shows(&ground, &["web"]);
}

#[test]
fn the_rollout_whose_object_leaves_the_folder_that_is_synced() {
    let ground = ground();
    ground.write("clone/clusters/web.yaml", APPLICATION);
    settle(&ground);
    let text = fs::read_to_string(ground.path("clone/deploy/web/nginx.yaml")).unwrap();
    fs::remove_file(ground.path("clone/deploy/web/nginx.yaml")).unwrap();
    ground.write("clone/deploy/moved/nginx.yaml", &text);
    finds(&ground, "manifest-leaves-sync");
}

/// The documents of a file with one of them taken away, and the file without any.
fn edits(text: &str) -> Vec<Option<String>> {
    let documents: Vec<&str> = text.split("\n---\n").collect();
    let without = |gone: usize| documents.iter().enumerate().filter(|(index, _)| *index != gone).map(|(_, text)| *text).collect::<Vec<_>>();
    let each = (0..documents.len()).map(|index| Some(without(index).join("\n---\n")));
    let renamed = text.contains("  name: ").then(|| text.replacen("  name: ", "  name: other-", 1));
    let relabelled = text.contains("app: ").then(|| text.replacen("app: ", "app: other-", 1));
    each.chain([renamed, relabelled].into_iter().flatten().map(Some)).chain([None]).collect()
}

#[track_caller]
fn every_edit_of_the_example(name: &str) {
    let ground = Ground::new();
    let from = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name).join("after");
    let files: Vec<_> = rollout::disk::read(&from).unwrap().files.iter().map(|(path, bytes)| (path.to_owned(), bytes.clone())).collect();
    fs::create_dir(ground.path("clone")).unwrap();
    ground.git("clone", "init -q");
    let write = |path: &str, text: &[u8]| ground.write(&format!("clone/{path}"), std::str::from_utf8(text).unwrap());
    for (path, bytes) in &files {
        write(path, bytes);
    }
    ground.commit("clone", "first");
    let errors = |arguments: &str| -> Vec<String> {
        let said = ground.rollout("clone", &format!("render --base HEAD --format github {arguments}")).stderr;
        said.lines().filter(|line| line.contains("error[")).map(str::to_owned).collect()
    };
    let mut seen = 0;
    for (path, bytes) in files.iter().filter(|(path, _)| !path.starts_with("rollouts/") && Utf8Path::new(path).extension() == Some("yaml"))
    {
        for edit in edits(std::str::from_utf8(bytes).unwrap()) {
            match &edit {
                Some(text) => write(path, text.as_bytes()),
                None => fs::remove_file(ground.path(&format!("clone/{path}"))).unwrap(),
            }
            let full = errors("");
            assert_eq!(errors("--changed"), full, "{path}: {edit:?}");
            seen += full.len();
        }
        write(path, bytes);
    }
    assert!(seen > 3, "no edit of {name} has an error");
}

#[test]
fn the_errors_of_every_edit_of_an_example_with_a_route() {
    every_edit_of_the_example("httproute-five-steps");
}

#[test]
fn the_errors_of_every_edit_of_an_example_with_subsets() {
    every_edit_of_the_example("istio-subset");
}

#[test]
fn the_errors_of_every_edit_of_an_example_with_an_ingress() {
    every_edit_of_the_example("nginx-ab");
}

#[test]
fn the_errors_of_every_edit_of_an_example_with_two_gateways() {
    every_edit_of_the_example("two-gateways");
}
