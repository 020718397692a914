//! What was before is the same whether a commit, a folder or a stream tells it: also where the Rollout itself is new.

use std::fs;

use crate::ground::{Ground, Said};
use crate::tools;

pub(crate) const ROUTING: &str = "      trafficRoutings:
      - service: shop
        gateway: {httpRouteName: shop}
";

pub(crate) fn deployment(name: &str, version: u8) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  namespace: prod
spec:
  replicas: 5
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers:
      - {{name: app, image: \"registry.example.com/{name}:{version}\"}}
"
    )
}

pub(crate) fn rollout(name: &str, steps: &str) -> String {
    format!(
        "apiVersion: rollouts.kruise.io/v1beta1
kind: Rollout
metadata: {{name: {name}, namespace: prod}}
spec:
  workloadRef: {{apiVersion: apps/v1, kind: Deployment, name: {name}}}
  strategy:
    canary:
      enableExtraWorkloadForCanary: true
      steps: {steps}
"
    )
}

pub(crate) fn route(more: &str) -> String {
    format!(
        "apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: shop
  namespace: prod
spec:
  rules:
  - backendRefs: [{{name: shop, port: 80}}]
{more}"
    )
}

pub(crate) const SERVICE: &str = "apiVersion: v1
kind: Service
metadata:
  name: shop
  namespace: prod
spec:
  selector: {app: shop}
  ports: [{port: 80}]
";

pub(crate) const INGRESS: &str = "apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: shop
  namespace: prod
spec:
  ingressClassName: nginx
  rules:
  - host: shop.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: shop, port: {number: 80}}}}]}
";

/// The change as two commits, two folders, and two streams.
struct Change {
    ground: Ground,
    /// Where programs are looked for that build.
    path: String,
}

impl Change {
    fn new(before: &[(&str, String)], after: &[(&str, String)]) -> Self {
        let ground = Ground::new();
        fs::create_dir(ground.path("git")).unwrap();
        ground.git("git", "init -q");
        for (folder, files) in [("before", before), ("after", after)] {
            ground.git("git", "rm -rq --ignore-unmatch .");
            for (path, text) in files {
                ground.write(&format!("{folder}/{path}"), text);
                ground.write(&format!("git/{path}"), text);
            }
            ground.commit("git", folder);
            let stream: Vec<&str> = files.iter().map(|(_, text)| text.as_str()).collect();
            ground.write(&format!("{folder}.yaml"), &stream.join("---\n"));
        }
        Self { ground, path: String::new() }
    }

    fn says(&self, folder: &str, arguments: &str) -> Said {
        self.ground.command(folder, arguments).env("PATH", &self.path).output().unwrap().into()
    }

    /// What the commits give, which the folders give too.
    #[track_caller]
    fn folders_tell_what_commits_tell(&self) -> Said {
        let commits = self.says("git", "render --base HEAD~1 --format yaml");
        let folders = self.says("after", "render --base-dir ../before --format yaml");
        assert_eq!((&folders.stdout, &folders.stderr, folders.status), (&commits.stdout, &commits.stderr, commits.status));
        commits
    }

    /// What the commits give, which the streams give too.
    #[track_caller]
    fn streams_tell_what_commits_tell(&self) {
        let commits = self.says("git", "render --base HEAD~1 --format yaml");
        let mut command = self.ground.command("", "render - --base-dir before.yaml --format yaml");
        let streams = Said::from(command.stdin(fs::File::open(self.ground.path("after.yaml")).unwrap()).output().unwrap());
        assert_eq!((&streams.stdout, streams.status), (&commits.stdout, commits.status), "{}", streams.stderr);
    }
}

#[test]
fn a_rollout_that_comes_with_its_first_release() {
    let before = [("d.yaml", deployment("shop", 1))];
    let after = [("d.yaml", deployment("shop", 2)), ("r.yaml", rollout("shop", "[{replicas: 1}]"))];
    let change = Change::new(&before, &after);
    let said = change.folders_tell_what_commits_tell().exits(0);
    assert!(said.stdout.contains("  release: sha256:"), "{}", said.stdout);
    change.streams_tell_what_commits_tell();
}

#[test]
fn a_rollout_that_comes_beside_another() {
    let other = [("other/d.yaml", deployment("other", 1)), ("other/r.yaml", rollout("other", "[{replicas: 1}]"))];
    let before = [&other[..], &[("d.yaml", deployment("shop", 1))]].concat();
    let after = [&other[..], &[("d.yaml", deployment("shop", 2)), ("r.yaml", rollout("shop", "[{replicas: 1}]"))]].concat();
    let said = Change::new(&before, &after).folders_tell_what_commits_tell().exits(0);
    assert!(!said.stderr.contains("workload-new"), "{}", said.stderr);
}

#[test]
fn a_rollout_that_takes_the_place_of_another() {
    let before = [
        ("d.yaml", deployment("shop", 1)),
        ("other/d.yaml", deployment("other", 1)),
        ("other/r.yaml", rollout("other", "[{replicas: 1}]")),
    ];
    let after =
        [("d.yaml", deployment("shop", 2)), ("other/d.yaml", deployment("other", 1)), ("r.yaml", rollout("shop", "[{replicas: 1}]"))];
    let said = Change::new(&before, &after).folders_tell_what_commits_tell().exits(0);
    assert!(said.stdout.contains("  release: sha256:") && !said.stderr.contains("workload-new"), "{}", said.stderr);
}

#[test]
fn a_routing_that_comes_with_another_route() {
    let before = [
        ("d.yaml", deployment("shop", 1)),
        ("r.yaml", rollout("shop", "[{replicas: 1}]")),
        ("s.yaml", SERVICE.to_owned()),
        ("v.yaml", route("")),
    ];
    let after = [
        ("d.yaml", deployment("shop", 2)),
        ("r.yaml", rollout("shop", "[{replicas: 1, traffic: 20%}]") + ROUTING),
        ("s.yaml", SERVICE.to_owned()),
        ("v.yaml", route("    timeouts: {request: 3s}\n")),
    ];
    let change = Change::new(&before, &after);
    let said = change.folders_tell_what_commits_tell().exits(0);
    let plan = rollout::plan::from_text(said.stdout.as_bytes()).unwrap();
    let of = |state: &[rollout::model::VersionKey]| {
        let route = state.iter().find(|key| key.object().kind() == "HTTPRoute").unwrap();
        plan.spec.objects[route].pointer("/spec/rules/0/timeouts").cloned()
    };
    assert_eq!((of(&plan.spec.baseline), of(&plan.spec.target).is_some()), (None, true));
    change.streams_tell_what_commits_tell();
}

#[test]
fn a_kustomization_whose_rollout_is_new() {
    let Some(path) = tools::search_path(&["kubectl"]) else { return };
    let overlay = |resources: &str| format!("resources: [{resources}]\n");
    let before = [
        ("base/d.yaml", deployment("shop", 1)),
        ("base/kustomization.yaml", overlay("d.yaml")),
        ("prod/kustomization.yaml", overlay("../base")),
    ];
    let after = [
        ("base/d.yaml", deployment("shop", 2)),
        ("base/r.yaml", rollout("shop", "[{replicas: 1}]")),
        ("base/kustomization.yaml", overlay("d.yaml, r.yaml")),
        ("prod/kustomization.yaml", overlay("../base")),
    ];
    let change = Change { path, ..Change::new(&before, &after) };
    let said = change.folders_tell_what_commits_tell().exits(0);
    assert!(said.stdout.contains("  release: sha256:"), "{}", said.stdout);
}
