//! `rollout fn`, as pipelines call it.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Runs the function over a list; returns its exit status and what it prints.
fn function(list: &str) -> (Option<i32>, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rollout"))
        .arg("fn")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(list.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A list with a Deployment of this image and a Rollout of the Deployment `workload`.
fn list(image: &str, workload: &str, more: &str) -> String {
    format!(
        "apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: shop
    annotations:
      config.kubernetes.io/index: '1'
      internal.config.kubernetes.io/path: app/shop.yaml
  spec: # read as it stands
    replicas: 5
    selector: {{matchLabels: {{app: shop}}}}
    template:
      metadata: {{labels: {{app: shop}}}}
      spec:
        containers: [{{name: shop, image: '{image}'}}]
- apiVersion: rollouts.kruise.io/v1beta1
  kind: Rollout
  metadata: {{name: shop, annotations: {{internal.config.kubernetes.io/path: app/rollout.yaml}}}}
  spec:
    workloadRef: {{apiVersion: apps/v1, kind: Deployment, name: {workload}}}
    strategy: {{canary: {{enableExtraWorkloadForCanary: true, steps: [{{replicas: 20%, pause: {{}}}}]}}}}
{more}functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata: {{name: settings}}
  data: {{namespace: prod, output: plans}}
"
    )
}

fn value(list: &str) -> Value {
    rollout::yaml::read_value(list).unwrap()
}

fn plan(list: &str) -> Value {
    let list = value(list);
    list["items"].as_array().unwrap().iter().find(|item| item["kind"] == "RolloutPlan").cloned().unwrap_or_default()
}

/// The items of a list as it was written, and what comes after them.
fn items_of(list: &str) -> &str {
    list.split_once("items:\n").unwrap().1.split_once("functionConfig:").unwrap().0
}

#[test]
fn a_plan_joins_the_items_and_the_others_keep_their_bytes() {
    let before = list("shop:1", "shop", "");
    let (status, after, stderr) = function(&before);
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    assert!(items_of(&after).starts_with(items_of(&before)), "{after}");
    let plan = plan(&after);
    assert_eq!(plan["metadata"]["annotations"]["internal.config.kubernetes.io/path"], "plans/prod/shop/plan.yaml");
    assert_eq!(plan["spec"].get("release"), None, "nothing came before, so it is a preview");
    assert!(after.contains("functionConfig:\n  apiVersion: v1\n"));
}

#[test]
fn the_plan_before_tells_what_is_released() {
    let (_, first, _) = function(&list("shop:1", "shop", ""));
    let (_, again, _) = function(&first);
    assert_eq!(first, again, "twice the same bytes");
    let (_, second, _) = function(&first.replace("'shop:1'", "'shop:2'"));
    let release = plan(&second);
    assert!(release["spec"]["release"].as_str().is_some_and(|digest| digest.starts_with("sha256:")), "{second}");
    assert_eq!(value(&second)["items"].as_array().unwrap().len(), 3, "one plan, not two");
    let (_, again, _) = function(&second);
    assert_eq!(second, again, "the release goes on");
}

#[test]
fn a_plan_goes_with_its_rollout() {
    let (_, first, _) = function(&list("shop:1", "shop", ""));
    let (status, after, _) = function(&first.replace("kind: Rollout\n", "kind: Other\n"));
    assert_eq!(status, Some(0));
    assert_eq!(plan(&after), Value::Null, "{after}");
}

#[test]
fn faults_are_results_and_the_answer_is_no() {
    let (status, after, stderr) = function(&list("shop:1", "gone", ""));
    assert_eq!(status, Some(1));
    let results = value(&after)["results"].clone();
    let result = &results[0];
    assert_eq!(result["severity"], "error");
    assert_eq!(result["resourceRef"]["kind"], "Rollout");
    assert_eq!(result["file"]["path"], "app/rollout.yaml");
    assert!(result["message"].as_str().unwrap().contains("there is no Deployment prod/gone"), "{result}");
    assert!(stderr.starts_with("app/rollout.yaml:"), "{stderr}");
    // Mended, the old results are gone.
    let (status, mended, _) = function(&after.replace("name: gone", "name: shop"));
    assert_eq!((status, value(&mended).get("results")), (Some(0), None));
}

#[test]
fn a_plan_is_kept_while_its_rollout_has_faults() {
    let (_, first, _) = function(&list("shop:1", "shop", ""));
    let (status, after, _) = function(&first.replace("name: shop}\n    strategy", "name: gone}\n    strategy"));
    assert_eq!(status, Some(1));
    assert_eq!(plan(&after), plan(&first));
}

#[test]
fn anything_but_a_list_is_no_answer() {
    let (status, stdout, stderr) = function("kind: Service\n");
    assert_eq!((status, stdout.as_str()), (Some(2), ""));
    assert!(stderr.contains("`rollout render -`"), "{stderr}");
}

#[test]
fn an_item_with_a_hostile_path_stays_inside() {
    let more =
        "- {apiVersion: v1, kind: Service, metadata: {name: x, annotations: {internal.config.kubernetes.io/path: ../../../etc/x.yaml}}}\n";
    let (status, after, _) = function(&list("shop:1", "shop", more));
    assert_eq!(status, Some(0));
    assert_eq!(value(&after)["items"].as_array().unwrap().len(), 4);
}
