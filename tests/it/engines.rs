//! The output folder beside the engines that sync it: what they take for an object, and what they leave of a plan.

use std::fs;
use std::process::Command;

use camino::{Utf8Path, Utf8PathBuf};
use rollout::plan::{self, PlanError};

/// A folder with manifests of a release, and its plans beside them.
struct Synced(tempfile::TempDir);

impl Synced {
    fn new() -> Synced {
        let folder = tempfile::tempdir().unwrap();
        let synced = Synced(folder);
        let example = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/istio-subset");
        for file in ["istio.yaml", "nginx.yaml", "rollout.yaml"] {
            fs::copy(example.join("after").join(file), synced.path().join(file)).unwrap();
        }
        let output = Command::new(env!("CARGO_BIN_EXE_rollout"))
            .args(["render", "--out", "--base-dir", example.join("before").as_str()])
            .current_dir(synced.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        synced
    }

    fn path(&self) -> Utf8PathBuf {
        Utf8Path::from_path(self.0.path()).unwrap().to_owned()
    }

    /// All files below, relative and sorted.
    fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut folders = vec![self.path()];
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir_utf8().unwrap() {
                let path = entry.unwrap().path().to_owned();
                if path.is_dir() { folders.push(path) } else { files.push(path.strip_prefix(self.path()).unwrap().to_string()) }
            }
        }
        files.sort();
        files
    }

    /// What `kubectl kustomize` makes of the files, listed as Flux lists them where there is no kustomization, with more
    /// lines in the kustomization. None where there is no kubectl.
    fn built(&self, more: &str) -> Option<Vec<String>> {
        let files = self.files().into_iter().filter(|path| has_ending(path, &["yaml", "yml"]) && path != "kustomization.yaml");
        let resources: Vec<String> = files.map(|path| format!("- {path}\n")).collect();
        let resources = resources.concat();
        fs::write(self.path().join("kustomization.yaml"), format!("resources:\n{resources}{more}")).unwrap();
        let Ok(output) = Command::new("kubectl").args(["kustomize", self.path().as_str()]).output() else {
            eprintln!("skipped: there is no kubectl");
            return None;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8(output.stdout).unwrap().split("\n---\n").map(|document| format!("{}\n", document.trim_end())).collect())
    }
}

fn has_ending(path: &str, endings: &[&str]) -> bool {
    Utf8Path::new(path).extension().is_some_and(|extension| endings.contains(&extension))
}

fn plan_of(documents: &[String]) -> &str {
    documents.iter().find(|document| document.contains("\nkind: RolloutPlan\n")).unwrap()
}

#[test]
fn an_engine_that_takes_every_file_finds_the_manifests_and_the_plan_and_no_other_object() {
    let synced = Synced::new();
    let taken = ["yaml", "yml", "json", "jsonnet"];
    let objects: Vec<String> = synced.files().into_iter().filter(|path| has_ending(path, &taken)).collect();
    assert_eq!(objects, ["istio.yaml", "nginx.yaml", "rollout.yaml", "rollouts/demo/nginx/plan.yaml"]);
    let Some(documents) = synced.built("") else { return };
    let mut kinds: Vec<&str> =
        documents.iter().filter_map(|document| document.lines().find_map(|line| line.strip_prefix("kind: "))).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["Deployment", "DestinationRule", "Rollout", "RolloutPlan", "Service", "VirtualService"]);
}

#[test]
fn a_plan_that_kustomize_has_written_anew_is_the_plan_that_was_reviewed() {
    let synced = Synced::new();
    let written = fs::read(synced.path().join("rollouts/demo/nginx/plan.yaml")).unwrap();
    let written = plan::from_text(&written).unwrap();
    for more in ["", "commonAnnotations: {team: shop}\n", "labels:\n- pairs: {team: shop}\n", "replicas:\n- {name: nginx, count: 9}\n"] {
        let Some(documents) = synced.built(more) else { return };
        assert_eq!(plan::from_text(plan_of(&documents).as_bytes()).unwrap(), written, "{more}");
    }
}

#[test]
fn a_kustomization_that_rewrites_images_is_named_as_a_cause() {
    let synced = Synced::new();
    let Some(documents) = synced.built("images:\n- {name: nginx, newTag: 9.9.9}\n") else { return };
    let error = plan::from_text(plan_of(&documents).as_bytes()).unwrap_err();
    assert!(matches!(error, PlanError::Digest { .. }), "{error}");
    assert!(error.to_string().contains("as the `images` of a kustomization do"), "{error}");
}
