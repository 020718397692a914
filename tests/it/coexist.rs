//! How a repository that is synced by Flux or Argo CD is told what its engines need.

use std::fs;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// A git repository with the release of an example in `deploy`, plans in `deploy/plans`, and an engine's object.
fn repository(engine: &str) -> TempDir {
    let ground = tempfile::tempdir().unwrap();
    let root = ground.path();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/httproute-five-steps/before");
    fs::create_dir_all(root.join("deploy/app")).unwrap();
    for entry in fs::read_dir(example).unwrap().flatten() {
        fs::copy(entry.path(), root.join("deploy/app").join(entry.file_name())).unwrap();
    }
    fs::create_dir_all(root.join("clusters")).unwrap();
    fs::write(root.join("clusters/engine.yaml"), engine).unwrap();
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(["-c", "user.name=n", "-c", "user.email=e@x"]).args(arguments).current_dir(root).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "x"]);
    ground
}

fn render(ground: &TempDir, arguments: &[&str]) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_rollout"))
        .args(["render", "--base", "HEAD"])
        .args(arguments)
        .current_dir(ground.path())
        .output()
        .unwrap();
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

const FLUX: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop, namespace: flux-system}
";

#[test]
fn what_is_computed_can_be_merged_and_leaves_nothing_to_say() {
    let ground = repository(&format!("{FLUX}spec: {{path: ./deploy, prune: true}}\n"));
    let (text, findings) = render(&ground, &["--out", "deploy/plans"]);
    assert!(
        text.contains(
            "synced by Flux Kustomization flux-system/shop, own: paths\nwhat it needs to leave the release alone:\n  spec:\n    ignore:\n"
        ),
        "{text}"
    );
    assert!(findings.contains("clusters/engine.yaml:4:7: warning[engine-overwrites]: "), "{findings}");
    assert!(findings.contains("deploy/plans/prod/shop/flux.txt"), "{findings}");
    // The file as it was written, merged.
    let block = fs::read_to_string(ground.path().join("deploy/plans/prod/shop/flux.txt")).unwrap();
    let ignore = block.split_once("spec:\n").unwrap().1;
    fs::write(ground.path().join("clusters/engine.yaml"), format!("{FLUX}spec:\n  path: ./deploy\n  prune: true\n{ignore}")).unwrap();
    let (text, findings) = render(&ground, &["--out", "deploy/plans"]);
    assert!(text.ends_with("synced by Flux Kustomization flux-system/shop, own: paths\n"), "{text}");
    assert!(!findings.contains("warning") && !findings.contains("error"), "{findings}");
}

#[test]
fn a_manifest_that_leaves_the_synced_folder_is_an_error() {
    let ground = repository(&format!("{FLUX}spec: {{path: ./deploy, prune: true}}\n"));
    fs::rename(ground.path().join("deploy/app"), ground.path().join("app")).unwrap();
    let (text, _) = render(&ground, &["--out", "deploy/plans", "--format", "json"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["plans"][0]["coexist"]["engines"][0]["layout"], "own: objects");
    let codes: Vec<_> = report["findings"].as_array().unwrap().iter().map(|finding| finding["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["manifest-leaves-sync"; 3]);
}

#[test]
fn an_application_set_is_asked_for_all_five_settings() {
    let set = "apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: all, namespace: argocd}
spec:
  generators: [{git: {directories: [{path: deploy}]}}]
  template:
    metadata: {name: '{{path.basename}}'}
    spec:
      source: {path: '{{path}}'}
      ignoreDifferences:
      - {group: gateway.networking.k8s.io, kind: HTTPRoute, jqPathExpressions: ['.spec.rules[].backendRefs[].weight']}
";
    let ground = repository(set);
    let (text, findings) = render(&ground, &["--out", "deploy/plans"]);
    assert!(text.contains("synced by Argo CD ApplicationSet argocd/all, own: paths\n"), "{text}");
    for code in ["engine-overwrites", "ignore-by-index", "argocd-respect-missing", "argocd-options-missing"] {
        assert!(findings.contains(&format!("warning[{code}]")), "{code}: {findings}");
    }
}
