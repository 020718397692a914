//! The rules of `rollouts.kruise.io/v1alpha1`, and what it becomes.

use super::{discovered, expect, files, help};
use crate::config::Config;
use crate::model::{Replicas, Rollout, Strategy, Weight};

/// A whole object around one `canary`, which begins in line 9, column 13.
fn rollout(annotations: &str, canary: &str) -> String {
    format!(
        "apiVersion: rollouts.kruise.io/v1alpha1\nkind: Rollout\nmetadata: {{name: shop, namespace: prod, annotations: {{{annotations}}}}}\nspec:\n  objectRef:\n    workloadRef: {{apiVersion: apps/v1, kind: Deployment, name: shop}}\n  rolloutID: x\n  strategy:\n    canary: {canary}\n"
    )
}

fn steps(steps: &str) -> String {
    rollout("", &format!("{{steps: [{steps}], trafficRoutings: [{{service: shop, ingress: {{name: shop}}}}]}}"))
}

#[track_caller]
fn read(text: &str) -> Rollout {
    let discovery = discovered(&files(&[("shop.yaml", text)]), &Config::default());
    assert_eq!(discovery.findings, []);
    discovery.catalogs[0].rollouts[0].clone()
}

#[test]
fn a_weight_is_traffic_and_pods() {
    let rollout = read(&steps("{weight: 20}, {weight: 50, replicas: 7}, {replicas: 100%}"));
    let read: Vec<_> = rollout.steps.iter().map(|step| (step.replicas, step.traffic.weight)).collect();
    assert_eq!(
        read,
        [
            (Replicas::Percent(20), Weight::try_from(20).ok()),
            (Replicas::Count(7), Weight::try_from(50).ok()),
            (Replicas::Percent(100), None)
        ]
    );
    assert_eq!(rollout.strategy, Strategy::Canary);
}

#[test]
fn nothing_is_lost_on_the_way() {
    let text = rollout(
        "",
        "{disableGenerateCanaryService: true, steps: [{weight: 20}], trafficRoutings: [{service: shop, ingress: {name: shop}}]}",
    );
    assert!(read(&text).routing.expect("a routing").is_subset_mode);
}

#[test]
fn the_style_is_an_annotation() {
    let canary = "{steps: [{replicas: 1}]}";
    assert_eq!(read(&rollout("rollouts.kruise.io/rolling-style: Partition", canary)).strategy, Strategy::Partition);
    assert_eq!(read(&rollout("rollouts.kruise.io/rolling-style: ''", canary)).strategy, Strategy::Canary);
    expect(
        &rollout("rollouts.kruise.io/rolling-style: blueGreen", canary),
        &["3:89 error[rolling-style] `rollouts.kruise.io/rolling-style` is `canary` or `partition`, not `blueGreen`"],
    );
}

#[test]
fn the_workload_and_the_canary_are_there() {
    let text = steps("{weight: 20}");
    expect(
        &text.replace("workloadRef: {apiVersion: apps/v1, kind: Deployment, name: shop}", "{}"),
        &["6:5 error[workload-reference] `workloadRef` is missing"],
    );
    expect(&text.replace("kind: Deployment", "kind: Job"), &["6:18 error[workload-unsupported] a Rollout does not release `apps/v1` Job"]);
    expect(&rollout("", "null"), &["9:5 error[strategy-missing] `canary` is missing"]);
    expect(&steps(""), &["9:21 error[steps-empty] a release needs at least one step"]);
}

#[test]
fn weights_and_replicas_are_in_range() {
    expect(&steps("{pause: {}}"), &["9:22 error[step-replicas-missing] a step has a `weight` or `replicas`; both are missing"]);
    expect(
        &steps("{weight: 0}"),
        &["9:31 error[step-weight-invalid] `weight` without `replicas` is a whole percentage from 1 to 100, not 0"],
    );
    expect(
        &steps("{weight: 101}"),
        &["9:31 error[step-weight-invalid] `weight` without `replicas` is a whole percentage from 1 to 100, not 101"],
    );
    expect(
        &steps("{weight: 101, replicas: 1}"),
        &["9:31 error[step-weight-invalid] `weight` is a whole percentage from 0 to 100, not 101"],
    );
    expect(
        &steps("{replicas: 0}"),
        &["9:33 error[step-replicas-invalid] `replicas` is a number of at least 1 or a percentage from 1% to 100%, not 0"],
    );
    expect(&steps("{weight: 20%}"), &["9:31 error[field-type] `weight` is a whole number, not \"20%\""]);
}

#[test]
fn a_partition_may_have_more_than_half_of_the_pods() {
    let text = rollout(
        "rollouts.kruise.io/rolling-style: partition",
        "{steps: [{weight: 60}], trafficRoutings: [{service: a, ingress: {name: a}}]}",
    );
    assert_eq!(read(&text).strategy, Strategy::Partition);
}

#[test]
fn weights_and_replicas_never_decrease() {
    expect(
        &steps("{weight: 50, replicas: 1}, {weight: 20, replicas: 2}"),
        &["9:58 error[step-weight-decreasing] a v1alpha1 step has no less weight than the step before: 20 after 50"],
    );
    expect(
        &steps("{weight: 20, replicas: 30%}, {weight: 25}"),
        &["9:60 error[step-replicas-decreasing] a step has no fewer pods than the step before: 25% after 30%"],
    );
}

#[test]
fn newer_fields_are_found_with_the_older_way() {
    help(&steps("{replicas: 1, traffic: 20%}"), "a v1alpha1 step writes `weight: 20`; or use `apiVersion: rollouts.kruise.io/v1beta1`");
    help(&steps("{replicas: 1, matches: [{path: {}}]}"), "`path` needs `apiVersion: rollouts.kruise.io/v1beta1`");
    help(
        &rollout("", "{enableExtraWorkloadForCanary: false, steps: [{replicas: 1}]}"),
        "v1alpha1 writes the annotation `rollouts.kruise.io/rolling-style: partition`",
    );
}

#[test]
fn without_routing_a_weight_is_the_share_of_pods_and_nothing_is_missing() {
    let rollout = read(&rollout("", "{steps: [{weight: 20}, {weight: 100}]}"));
    let steps: Vec<_> = rollout.steps.iter().map(|step| (step.replicas, step.traffic.weight)).collect();
    assert_eq!(steps, [(Replicas::Percent(20), None), (Replicas::Percent(100), None)]);
}

#[test]
fn a_weight_beside_replicas_needs_routing() {
    expect(
        &rollout("", "{steps: [{weight: 20, replicas: 3}]}"),
        &["9:22 warning[traffic-without-routing] step 1 has traffic but the Rollout has no `trafficRoutings`: requests follow the pods"],
    );
}
