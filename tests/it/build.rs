//! Kustomizations and charts, built by the real programs.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::tools;

const ROLLOUT: &str = "apiVersion: rollouts.kruise.io/v1beta1
kind: Rollout
metadata: {name: shop}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: shop}
  strategy:
    canary:
      enableExtraWorkloadForCanary: true
      steps:
      - {replicas: 20%, pause: {}}
";

fn deployment(image: &str) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: shop}}
spec:
  replicas: 5
  selector: {{matchLabels: {{app: shop}}}}
  template:
    metadata: {{labels: {{app: shop}}}}
    spec:
      containers: [{{name: shop, image: {image}}}]
"
    )
}

/// A repository in a folder of its own, and the programs that it is built with.
struct Ground {
    folder: TempDir,
    /// Where temporary files go: what is left there afterwards was forgotten.
    temporary: TempDir,
    path: String,
}

impl Ground {
    fn new(programs: &[&str], files: &[(&str, &str)]) -> Option<Self> {
        let path = tools::search_path(programs)?;
        let ground = Self { folder: tempfile::tempdir().unwrap(), temporary: tempfile::tempdir().unwrap(), path };
        for (path, text) in files {
            ground.write(path, text);
        }
        Some(ground)
    }

    fn overlays(files: &[(&str, &str)]) -> Option<Self> {
        let deployment = deployment("shop:1");
        let mut all = vec![
            ("base/rollout.yaml", ROLLOUT),
            ("base/deployment.yaml", deployment.as_str()),
            ("base/kustomization.yaml", "resources: [rollout.yaml, deployment.yaml]\n"),
            ("overlays/dev/kustomization.yaml", "namespace: dev\nresources: [../../base]\n"),
            ("overlays/prod/kustomization.yaml", "namespace: prod\nresources: [../../base]\n"),
        ];
        all.extend(files);
        Self::new(&["kubectl"], &all)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, arguments: &[&str]) {
        let output = Command::new("git")
            .args(["-c", "user.name=n", "-c", "user.email=e@x", "-c", "init.defaultBranch=main"])
            .args(arguments)
            .current_dir(self.folder.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn commit(&self) {
        if !self.folder.path().join(".git").is_dir() {
            self.git(&["init", "-q"]);
        }
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "x"]);
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let output = Command::new(env!("CARGO_BIN_EXE_rollout"))
            .args(arguments)
            .current_dir(self.folder.path())
            .env("PATH", &self.path)
            .env("TMPDIR", self.temporary.path())
            .env("SECRET_TOKEN", "hunter2")
            .output()
            .unwrap();
        let left: Vec<_> = fs::read_dir(self.temporary.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
        output
    }

    #[track_caller]
    fn report(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[&["render", "--format", "json"], arguments].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// `environment: namespace/name`, with the images of the baseline and of the target.
fn releases(report: &Value) -> Vec<String> {
    let plans = report["plans"].as_array().unwrap();
    let one = |plan: &Value| {
        let image = |state: &str| {
            let spec = &plan["plan"]["spec"];
            let key = spec[state].as_array().unwrap().iter().find(|key| key.as_str().unwrap().starts_with("Deployment/shop@")).unwrap();
            spec["objects"][key.as_str().unwrap()]["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap().to_owned()
        };
        let name = format!(
            "{}: {}/{}",
            plan["environment"].as_str().unwrap(),
            plan["namespace"].as_str().unwrap(),
            plan["name"].as_str().unwrap()
        );
        format!("{name} {} → {}", image("baseline"), image("target"))
    };
    plans.iter().map(one).collect()
}

fn findings(report: &Value) -> Vec<String> {
    let one = |finding: &Value| {
        let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        format!("{}:{} {}: {}", text("path"), finding["line"], text("code"), text("message"))
    };
    report["findings"].as_array().unwrap().iter().map(one).collect()
}

#[test]
fn each_overlay_is_an_environment_and_its_base_is_not_read_again() {
    let Some(ground) = Ground::overlays(&[]) else { return };
    let report = ground.report(&[]);
    assert_eq!(releases(&report), ["dev: dev/shop shop:1 → shop:1", "prod: prod/shop shop:1 → shop:1"]);
    assert_eq!(findings(&report).len(), 1, "{:?}", findings(&report));
}

#[test]
fn the_base_revision_is_built_from_its_own_files() {
    let Some(ground) = Ground::overlays(&[("overlays/prod/extra.yaml", "a: 1\n")]) else { return };
    ground.commit();
    ground.write("base/deployment.yaml", &deployment("shop:2"));
    ground.write("overlays/dev/kustomization.yaml", "namespace: dev\nresources: [../../base]\nimages: [{name: shop, newTag: '3'}]\n");
    let report = ground.report(&["--base", "HEAD"]);
    assert_eq!(releases(&report), ["dev: dev/shop shop:1 → shop:3", "prod: prod/shop shop:1 → shop:2"]);
    assert_eq!(findings(&report), Vec::<String>::new());
    // A file that is no YAML has a say as well.
    ground.write("base/app.env", "A=1\n");
    ground
        .write("base/kustomization.yaml", "resources: [rollout.yaml, deployment.yaml]\nconfigMapGenerator: [{name: e, envs: [app.env]}]\n");
    ground.commit();
    ground.write("base/app.env", "A=2\n");
    assert_eq!(ground.report(&["--base", "HEAD~1"])["plans"].as_array().unwrap().len(), 2);
    assert_eq!(ground.report(&["--base", "HEAD", "--changed"])["plans"].as_array().unwrap().len(), 0);
}

#[test]
fn a_folder_of_the_repository_is_built_with_what_lies_outside_of_it() {
    let Some(ground) = Ground::overlays(&[]) else { return };
    ground.commit();
    ground.write("base/deployment.yaml", &deployment("shop:2"));
    assert_eq!(releases(&ground.report(&["overlays/prod", "--base", "HEAD"])), [": prod/shop shop:1 → shop:2"]);
}

#[test]
fn one_kustomization_is_built_alone_when_it_is_named() {
    let Some(ground) = Ground::overlays(&[]) else { return };
    assert_eq!(releases(&ground.report(&["--kustomize", "overlays/prod"])), [": prod/shop shop:1 → shop:1"]);
    let output = ground.run(&["render", "--kustomize", "base/.."]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("there is no kustomization in"),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(ground.run(&["render", "--kustomize", "/etc"]).status.code(), Some(2));
    assert_eq!(ground.run(&["render", "--kustomize", "https://example.com/x"]).status.code(), Some(2));
    assert_eq!(ground.run(&["render", "-", "--kustomize", "base"]).status.code(), Some(2));
}

#[test]
fn environments_choose_what_is_built() {
    let config =
        "environments:\n- {name: prod, path: overlays/prod, build: kustomize}\n- {name: raw, path: base, namespace: raw, build: none}\n";
    let Some(ground) = Ground::overlays(&[(".rollout.yaml", config)]) else { return };
    assert_eq!(releases(&ground.report(&[])), ["prod: prod/shop shop:1 → shop:1", "raw: raw/shop shop:1 → shop:1"]);
    // Without `build` an environment's own kustomization is found.
    ground.write(".rollout.yaml", "environments:\n- {name: live, path: overlays/prod}\n");
    assert_eq!(releases(&ground.report(&[])), ["live: prod/shop shop:1 → shop:1"]);
}

#[test]
fn a_remote_base_is_refused_at_its_line() {
    let Some(ground) = Ground::overlays(&[(
        "base/kustomization.yaml",
        "resources:\n- rollout.yaml\n- deployment.yaml\n- https://example.com/org/repo//x?ref=v1\n",
    )]) else {
        return;
    };
    let report = ground.report(&["--base-dir", "."]);
    assert_eq!(releases(&report), Vec::<String>::new());
    let expected =
        "base/kustomization.yaml:4 kustomization-remote: `https://example.com/org/repo//x?ref=v1` is on the network, and builds have none";
    assert_eq!(findings(&report), [expected]);
}

#[test]
fn what_the_program_says_is_told_at_the_overlay() {
    let overlay = "namespace: prod\nresources: [../../base]\npatches: [{path: missing.yaml}]\n";
    let Some(ground) = Ground::overlays(&[("overlays/prod/kustomization.yaml", overlay)]) else { return };
    let report = ground.report(&["--base-dir", "."]);
    assert_eq!(releases(&report), ["dev: dev/shop shop:1 → shop:1"]);
    let found = findings(&report);
    assert!(found[0].starts_with("overlays/prod/kustomization.yaml:1 build-failed: `kubectl kustomize` cannot build this: "), "{found:?}");
    assert!(found[0].contains("missing.yaml"), "{found:?}");
    assert!(!found[0].contains(ground.folder.path().to_str().unwrap()), "{found:?}");
    assert_eq!(found, findings(&ground.report(&["--base-dir", "."])), "the same words at every run");
}

#[test]
fn a_base_that_cannot_be_built_makes_previews() {
    let Some(ground) = Ground::overlays(&[("base/kustomization.yaml", "resources: [rollout.yaml, deployment.yaml, gone.yaml]\n")]) else {
        return;
    };
    ground.commit();
    ground.write("base/kustomization.yaml", "resources: [rollout.yaml, deployment.yaml]\n");
    let report = ground.report(&["--base", "HEAD"]);
    assert_eq!(releases(&report).len(), 2);
    assert!(findings(&report).iter().all(|finding| finding.contains("build-of-base-failed")), "{:?}", findings(&report));
    assert!(!findings(&report).is_empty());
}

#[test]
fn findings_about_a_built_object_name_the_overlay() {
    let patch = "namespace: prod\nresources: [../../base]\npatches:\n- {target: {kind: Rollout}, patch: '[{\"op\": \"replace\", \"path\": \"/spec/workloadRef/name\", \"value\": \"gone\"}]'}\n";
    let Some(ground) = Ground::overlays(&[("overlays/prod/kustomization.yaml", patch)]) else { return };
    let found = findings(&ground.report(&["--base-dir", "."]));
    assert_eq!(found, ["overlays/prod/kustomization.yaml:1 workload-missing: there is no Deployment prod/gone"]);
}

#[test]
fn variables_of_the_environment_stay_out() {
    let overlay = "namespace: prod\nresources: [../../base]\nconfigMapGenerator: [{name: kruise-rollout-configuration, envs: [a.env]}]\n";
    let Some(ground) = Ground::overlays(&[("overlays/prod/kustomization.yaml", overlay), ("overlays/prod/a.env", "SECRET_TOKEN\n")]) else {
        return;
    };
    let output = ground.run(&["render", "--base-dir", ".", "--format", "json"]);
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("prod") && !said.contains("hunter2"), "{said}");
}

#[test]
fn a_rollout_that_no_kustomization_lists_is_told_of() {
    let Some(ground) = Ground::overlays(&[("overlays/prod/old/rollout.yaml", ROLLOUT)]) else { return };
    let report = ground.report(&["--base-dir", "."]);
    assert_eq!(releases(&report).len(), 2);
    assert_eq!(
        findings(&report),
        ["overlays/prod/old/rollout.yaml:1 kustomization-unlisted: a Rollout that no kustomization lists is not read"]
    );
}

#[test]
fn without_a_program_the_way_out_is_named() {
    let Some(mut ground) = Ground::overlays(&[]) else { return };
    ground.path = "/nonexistent".into();
    let found = findings(&ground.report(&["--base-dir", "."]));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("build-program-missing"), "{found:?}");
    assert_eq!(releases(&ground.report(&["--base-dir", ".", "--no-build"])), [": default/shop shop:1 → shop:1"]);
}

#[test]
fn a_stream_is_read_whole_with_a_stream_as_its_base() {
    let Some(ground) = Ground::overlays(&[]) else { return };
    let kubectl = || {
        let output = Command::new("kubectl")
            .env("PATH", &ground.path)
            .args(["kustomize", "overlays/prod"])
            .current_dir(ground.folder.path())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    ground.write("before.txt", &kubectl());
    ground.write("base/deployment.yaml", &deployment("shop:2"));
    // More than any single file may hold.
    let filler = format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: big}}\ndata: {{a: '{}'}}\n", "x".repeat(5 << 20));
    ground.write("after.txt", &(kubectl() + &filler));
    let output = Command::new(env!("CARGO_BIN_EXE_rollout"))
        .args(["render", "-", "--base-dir", "before.txt", "--format", "json"])
        .stdin(fs::File::open(ground.folder.path().join("after.txt")).unwrap())
        .current_dir(ground.folder.path())
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(releases(&report), [": prod/shop shop:1 → shop:2"]);
    // What was built before serves as the base of what is built now.
    assert_eq!(releases(&ground.report(&["--kustomize", "overlays/prod", "--base-dir", "before.txt"])), [": prod/shop shop:1 → shop:2"]);
}

const CHART: &[(&str, &str)] = &[
    ("charts/shop/Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.0.0\n"),
    ("charts/shop/values.yaml", "image: shop:1\nreplicas: 5\nworkload: shop\n"),
    ("charts/shop/templates/_helpers.tpl", "{{- define \"labels\" -}}\napp: shop\n{{- end -}}\n"),
    (
        "charts/shop/templates/deployment.yaml",
        "apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {{ include \"labels\" . | fromYaml | toJson }}}
  template:
    metadata: {labels: {{ include \"labels\" . | fromYaml | toJson }}}
    spec:
      containers: [{name: shop, image: '{{ .Values.image }}'}]
",
    ),
    (
        "charts/shop/templates/rollout.yaml",
        "apiVersion: rollouts.kruise.io/v1beta1
kind: Rollout
metadata: {name: shop}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: {{ .Values.workload }}}
  strategy:
    canary:
      enableExtraWorkloadForCanary: true
      steps: [{replicas: 20%, pause: {}}]
",
    ),
    ("charts/shop/templates/test.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: t, annotations: {helm.sh/hook: test}}\n"),
    ("eu.yaml", "image: shop:2\n"),
    ("us.yaml", "image: shop:3\n"),
];

const TWO_RELEASES: &str = "environments:
- {name: eu, namespace: eu, build: {helm: {chart: charts/shop, values: [eu.yaml]}}}
- {name: us, build: {helm: {chart: charts/shop, values: [eu.yaml, us.yaml], release: shop-us, namespace: us}}}
";

#[test]
fn a_chart_is_rendered_with_the_values_of_its_environment() {
    let Some(ground) = Ground::new(&["helm"], CHART) else { return };
    ground.write(".rollout.yaml", TWO_RELEASES);
    ground.commit();
    ground.write("us.yaml", "image: shop:4\n");
    ground.write("charts/shop/templates/_helpers.tpl", "{{- define \"labels\" -}}\napp: shop\n{{- end -}}\n# changed\n");
    let report = ground.report(&["--base", "HEAD"]);
    assert_eq!(findings(&report), Vec::<String>::new());
    assert_eq!(releases(&report), ["eu: eu/shop shop:2 → shop:2", "us: us/shop shop:3 → shop:4"]);
    assert_eq!(releases(&ground.report(&["--base", "HEAD", "--changed"])), ["us: us/shop shop:3 → shop:4"]);
}

#[test]
fn one_chart_is_rendered_alone_when_it_is_named() {
    let Some(ground) = Ground::new(&["helm"], CHART) else { return };
    let arguments = ["--helm", "charts/shop", "--values", "eu.yaml", "--values", "us.yaml", "--namespace", "us", "--base-dir", "."];
    assert_eq!(releases(&ground.report(&arguments)), [": us/shop shop:3 → shop:3"]);
    assert_eq!(ground.run(&["render", "--helm", "oci://example.com/shop"]).status.code(), Some(2));
    assert_eq!(ground.run(&["render", "--values", "eu.yaml"]).status.code(), Some(2));
}

#[test]
fn findings_about_a_chart_point_to_the_template() {
    let Some(ground) = Ground::new(&["helm"], CHART) else { return };
    ground.write("eu.yaml", "workload: gone\n");
    let report = ground.report(&["--helm", "charts/shop", "--values", "eu.yaml", "--namespace", "eu", "--base-dir", "."]);
    assert_eq!(findings(&report), ["charts/shop/templates/rollout.yaml:1 workload-missing: there is no Deployment eu/gone"]);
}

#[test]
fn what_a_chart_lacks_is_told() {
    let Some(ground) = Ground::new(&["helm"], CHART) else { return };
    ground.write(
        "charts/shop/Chart.yaml",
        "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies: [{name: redis, version: 1.0.0, repository: 'https://example.com'}]\n",
    );
    ground.write(".rollout.yaml", "environments:\n- {name: eu, build: {helm: {chart: charts/shop, values: [gone.yaml]}}}\n- {name: us, build: {helm: {chart: charts/shop}}}\n- {name: asia, path: asia, build: {helm: {chart: 'oci://example.com/shop'}}}\n");
    let found = findings(&ground.report(&["--base-dir", "."]));
    let has =
        |words: &[&str]| assert!(found.iter().any(|finding| words.iter().all(|word| finding.contains(word))), "{words:?}: {found:#?}");
    has(&["build-input-missing", "gone.yaml"]);
    has(&["charts/shop/Chart.yaml:1 build-failed", "redis"]);
    has(&["chart-remote", "oci:/example.com/shop"]);
}
