//! The rules of `rollouts.kruise.io/v1beta1`: each with the smallest object that breaks it.

use super::{discovered, expect, files, help};
use crate::config::Config;
use crate::model::{MatchKind, PathKind, Pause, Replicas, Rollout, Strategy, Weight};

const HEAD: &str = "apiVersion: rollouts.kruise.io/v1beta1\nkind: Rollout\nmetadata: {name: shop, namespace: prod}\n";

/// A whole object around one strategy; the strategy begins in line 7.
fn rollout(strategy: &str) -> String {
    format!("{HEAD}spec:\n  workloadRef: {{apiVersion: apps/v1, kind: Deployment, name: shop}}\n  strategy:\n    {strategy}\n")
}

/// A canary with an Ingress; the step's text begins in line 10, column 9.
fn step(step: &str) -> String {
    rollout(&format!(
        "canary:\n      enableExtraWorkloadForCanary: true\n      steps:\n      - {step}\n      trafficRoutings: [{{service: shop, ingress: {{name: shop}}}}]"
    ))
}

fn routing(routing: &str) -> String {
    rollout(&format!("canary: {{enableExtraWorkloadForCanary: true, steps: [{{replicas: 1, traffic: 20%}}], trafficRoutings: {routing}}}"))
}

#[track_caller]
fn read(text: &str) -> Rollout {
    let discovery = discovered(&files(&[("shop.yaml", text)]), &Config::default());
    assert_eq!(discovery.findings, []);
    discovery.catalogs[0].rollouts[0].clone()
}

#[test]
fn a_whole_rollout_is_read_with_its_defaults() {
    let rollout = read(&step(
        "{replicas: 20%, traffic: 20%, pause: {duration: 60}, matches: [{path: {}, headers: [{name: a, value: b}], queryParams: [{name: c, value: d, type: RegularExpression}]}], requestHeaderModifier: {set: [{name: x, value: z}], remove: [z]}}",
    ));
    assert_eq!((rollout.strategy, rollout.namespace.as_str(), rollout.workload.name.as_str()), (Strategy::Canary, "prod", "shop"));
    let step = &rollout.steps[0];
    assert_eq!((step.replicas, step.traffic.weight, step.pause), (Replicas::Percent(20), Weight::try_from(20).ok(), Pause::Seconds(60)));
    assert_eq!((step.place.position.line, step.place.position.column), (10, 9));
    let condition = &step.traffic.matches[0];
    let path = condition.path.as_ref().expect("a path");
    assert_eq!((path.kind, path.value.as_str()), (PathKind::PathPrefix, "/"));
    assert_eq!(condition.headers[0].kind, MatchKind::Exact);
    assert_eq!(condition.query_params[0].kind, MatchKind::RegularExpression);
    let modifier = step.header_modifier.as_ref().expect("a modifier");
    assert_eq!((modifier.set.len(), modifier.add.len(), modifier.remove.as_slice()), (1, 0, &["z".to_owned()][..]));
    let routing = rollout.routing.expect("a routing");
    assert_eq!((routing.service.as_str(), routing.grace_seconds, routing.is_subset_mode), ("shop", 3, false));
    assert_eq!(routing.gateways[0].script_name(), "trafficrouting_ingress/nginx");
}

#[test]
fn headers_that_nobody_changes_are_told_of() {
    let modifier = "requestHeaderModifier: {set: [{name: a, value: b}]}";
    let said = "warning[header-modifier-unused] `requestHeaderModifier` does nothing here: without traffic the step leaves all routes as they are written";
    expect(&step(&format!("{{replicas: 1, {modifier}}}")), &[&format!("10:46 {said}")]);
    expect(&step(&format!("{{replicas: 1, matches: [], {modifier}}}")), &[&format!("10:59 {said}")]);
    for used in ["traffic: 20%, ", "matches: [{headers: [{name: a, value: b}]}], "] {
        expect(&step(&format!("{{replicas: 1, {used}{modifier}}}")), &[]);
    }
    expect(&step("{replicas: 1, requestHeaderModifier: {}}"), &[]);
    let faulty = step(&format!("{{replicas: 1, traffic: 20, {modifier}}}"));
    expect(&faulty, &["10:32 error[step-traffic-invalid] `traffic` is a percentage from 1% to 100%, not 20"]);
}

#[test]
fn gateways_come_in_the_order_custom_ingress_route() {
    let rollout = read(&routing(
        "[{service: shop, gateway: {httpRouteName: shop}, ingress: {name: shop, classType: mse}, customNetworkRefs: [{apiVersion: networking.istio.io/v1, kind: VirtualService, name: shop}]}]",
    ));
    let names: Vec<_> = rollout.routing.iter().flat_map(|routing| &routing.gateways).map(crate::model::GatewayRef::script_name).collect();
    assert_eq!(names, ["networking.istio.io/VirtualService", "trafficrouting_ingress/mse", "gateway.networking.k8s.io/HTTPRoute"]);
}

#[test]
fn only_deployments_have_an_extra_workload() {
    let text = step("{replicas: 1}").replace("apps/v1, kind: Deployment", "apps.kruise.io/v1alpha1, kind: CloneSet");
    assert_eq!(read(&text).strategy, Strategy::Partition);
    assert_eq!(read(&rollout("canary: {steps: [{replicas: 1}]}")).strategy, Strategy::Partition);
    assert_eq!(read(&rollout("blueGreen: {steps: [{replicas: 100%}]}")).strategy, Strategy::BlueGreen);
}

#[test]
fn the_workload_is_of_a_kind_that_can_be_released() {
    let text = step("{replicas: 1}");
    expect(&text.replace("kind: Deployment", "kind: Job"), &["5:16 error[workload-unsupported] a Rollout does not release `apps/v1` Job"]);
    help(&text.replace("apps/v1", "v1"), "did you mean Deployment of `apps/v1`?");
    let whole = step("{replicas: 100%, traffic: 100%}");
    expect(&whole.replace("apps/v1", "v1"), &["5:16 error[workload-unsupported] a Rollout does not release `v1` Deployment"]);
    expect(&whole.replace("Deployment", "Deploymnt"), &["5:16 error[workload-unsupported] a Rollout does not release `apps/v1` Deploymnt"]);
    let green = rollout("blueGreen: {steps: [{replicas: 1}]}").replace("kind: Deployment", "kind: StatefulSet");
    expect(&green, &["5:16 error[workload-unsupported] blue-green does not release `apps/v1` StatefulSet"]);
    expect(&text.replace(", name: shop}\n  strategy", "}\n  strategy"), &["5:16 error[workload-reference] `name` is missing"]);
    expect(
        &text.replace("  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: shop}\n", ""),
        &["5:3 error[workload-reference] `workloadRef` is missing"],
    );
}

#[test]
fn there_is_exactly_one_strategy() {
    expect(&rollout("paused: true"), &["7:5 error[strategy-missing] a strategy is `canary` or `blueGreen`; neither is written"]);
    expect(
        &rollout("canary: {steps: [{replicas: 1}]}\n    blueGreen: {steps: [{replicas: 1}]}"),
        &["8:16 error[strategy-both] a strategy is `canary` or `blueGreen`; both are written"],
    );
    expect(HEAD, &["1:1 error[spec-missing] `spec` is missing"]);
}

#[test]
fn there_are_steps_but_not_too_many() {
    expect(&rollout("canary: {steps: []}"), &["7:21 error[steps-empty] a release needs at least one step"]);
    expect(&rollout("canary: {}"), &["7:13 error[steps-empty] a release needs at least one step"]);
    let many = vec!["{replicas: 1}"; 51].join(",");
    expect(&rollout(&format!("canary: {{steps: [{many}]}}")), &["7:21 error[steps-too-many] a release has at most 50 steps, not 51"]);
}

#[test]
fn every_step_says_how_many_pods() {
    expect(&step("{traffic: 20%}"), &["10:9 error[step-replicas-missing] a step says how many pods it has: `replicas` is missing"]);
    help(&step("{traffic: 35%}"), "`replicas: 35%`");
    for written in ["0", "-1", "\"0%\"", "\"101%\"", "\"20\"", "\"2.5%\"", "true"] {
        let message = "error[step-replicas-invalid] `replicas` is a number of at least 1 or a percentage from 1% to 100%, not";
        expect(&step(&format!("{{replicas: {written}}}")), &[&format!("10:20 {message} {written}")]);
    }
    help(&step("{replicas: \"20\"}"), "a number without quotes, or a percentage: `20` or `20%`");
}

#[test]
fn a_partition_may_have_more_than_half_of_the_pods() {
    assert_eq!(read(&step("{replicas: 60%, traffic: 20%}").replace("true", "false")).strategy, Strategy::Partition);
}

#[test]
fn traffic_is_a_percentage() {
    for written in ["20", "\"20\"", "\"101%\"", "\"0%\"", "\"-5%\"", "\"a%\""] {
        let message = "error[step-traffic-invalid] `traffic` is a percentage from 1% to 100%, not";
        expect(&step(&format!("{{replicas: 1, traffic: {written}}}")), &[&format!("10:32 {message} {written}")]);
    }
    help(&step("{replicas: 1, traffic: 20}"), "`traffic: 20%`");
    help(&step("{replicas: 1, traffic: 0%}"), "leave `traffic` out: the step then moves pods only");
    let green = rollout("blueGreen: {steps: [{replicas: 1, traffic: 0%}], trafficRoutings: [{service: shop, ingress: {name: shop}}]}");
    assert_eq!(read(&green).steps[0].traffic.weight, Weight::try_from(0).ok());
}

#[test]
fn replicas_never_decrease() {
    let two = |first: &str, second: &str| step(&format!("{{replicas: {first}}}\n      - {{replicas: {second}}}"));
    expect(&two("3", "2"), &["11:20 error[step-replicas-decreasing] a step has no fewer pods than the step before: 2 after 3"]);
    expect(&two("30%", "20%"), &["11:20 error[step-replicas-decreasing] a step has no fewer pods than the step before: 20% after 30%"]);
    read(&two("30%", "2"));
    read(&two("2", "2"));
}

#[test]
fn routings_are_single_and_whole() {
    expect(
        &routing("[{service: a, ingress: {name: a}}, {service: b, ingress: {name: b}}]"),
        &["7:140 error[routing-several] a Rollout has one traffic routing, not 2"],
    );
    expect(
        &routing("[{service: a, gracePeriodSeconds: -1, ingress: {name: a}}]"),
        &["7:139 error[routing-grace] `gracePeriodSeconds` is not negative: -1"],
    );
    expect(&routing("[{ingress: {name: a}}]"), &["7:106 error[routing-service] `service` is missing"]);
    expect(&routing("[{service: '', ingress: {name: a}}]"), &["7:116 error[routing-service] `service` is empty"]);
    expect(
        &routing("[{service: a}]"),
        &["7:106 error[routing-nothing] a traffic routing names an `ingress`, a `gateway` or `customNetworkRefs`"],
    );
    expect(&routing("[{service: a, ingress: {}}]"), &["7:128 error[routing-ingress] `name` is missing"]);
    expect(&routing("[{service: a, gateway: {httpRouteName: ''}}]"), &["7:144 error[routing-gateway] `httpRouteName` is empty"]);
    expect(
        &routing("[{service: a, customNetworkRefs: [{kind: A, name: b}]}]"),
        &["7:139 error[routing-reference] `apiVersion` is missing"],
    );
}

#[test]
fn unknown_and_misplaced_fields_are_found_with_a_suggestion() {
    expect(&step("{replicas: 1, weight: 20}"), &["10:23 error[field-unknown] unknown field `weight` with 20"]);
    help(&step("{replicas: 1, weight: 20}"), "a v1beta1 step writes `traffic: 20%`");
    help(&step("{replicas: 1, trafic: 20%}"), "did you mean `traffic`?");
    help(&step("{replicas: 1, steps: 1}"), "`steps` belongs to `spec.strategy.canary`");
    help(&step("{replicas: 1, pauseForever: 1}"), "the fields here: `replicas`, `traffic`, `matches`, `requestHeaderModifier`, `pause`");
    help(&rollout("canary: {steps: [{replicas: 1}], disabled: true}"), "`disabled` belongs to `spec`");
    help(
        &step("{replicas: 1, matches: [{name: a, value: b}]}").replace("name: a, value: b", "name: a"),
        "conditions stand in a list: `headers: [{name: version, value: canary}]`",
    );
    expect(&step("{replicas: 1, weight: null}"), &[]);
}

#[test]
fn values_have_the_right_type() {
    expect(&rollout("5"), &["7:5 error[field-type] `strategy` is a map, not 5"]);
    expect(&rollout("canary: {steps: 5}"), &["7:21 error[field-type] `steps` is a list, not 5"]);
    expect(&step("5"), &["10:9 error[field-type] `steps` is a map, not 5"]);
    expect(&step("{replicas: 1, pause: {duration: 10s}}"), &["10:41 error[field-type] `duration` is a whole number, not \"10s\""]);
    help(&step("{replicas: 1, pause: {duration: 10s}}"), "`duration: 10`");
    help(&step("{replicas: 1, pause: {duration: 5m}}"), "`duration: 300`");
    help(&step("{replicas: 1, pause: {duration: 1h}}"), "`duration: 3600`");
    expect(&step("{replicas: 1, pause: {duration: -1}}"), &["10:41 error[pause-negative] `duration` is a number of seconds, not -1"]);
    expect(&rollout("{canary: {steps: [{replicas: 1}]}, paused: 'no'}"), &["7:48 error[field-type] `paused` is true or false, not \"no\""]);
    expect(&routing("[{service: 5, ingress: {name: a}}]"), &["7:116 error[field-type] `service` is a text, not 5"]);
}

#[test]
fn matches_keep_to_the_gateway_apis_rules() {
    let of = |matches: &str| step(&format!("{{replicas: 1, matches: {matches}}}"));
    expect(&of("[{headers: [{name: a}]}]"), &["10:44 error[header-value] `value` is missing"]);
    expect(
        &of("[{headers: [{name: 'a b', value: c}]}]"),
        &["10:51 error[header-name] a name has letters, digits and `!#$%&'*+-.^_|~` only: `a b`"],
    );
    expect(
        &of("[{headers: [{name: a, value: c, type: Regex}]}]"),
        &["10:70 error[match-type] `type` is `Exact` or `RegularExpression`, not `Regex`"],
    );
    help(&of("[{headers: [{name: a, value: c, type: Regex}]}]"), "did you mean `RegularExpression`?");
    expect(&of("[{headers: [{name: a, value: b}, {name: a, value: c}]}]"), &["10:72 error[name-twice] `headers` names `a` twice"]);
    expect(&of("[{headers: [{name: a, value: b}, {name: A, value: c}]}]"), &["10:72 error[name-twice] `headers` names `A` twice"]);
    expect(&of("[{queryParams: [{name: a, value: b}, {name: A, value: c}]}]"), &[]);
    expect(&of("[{path: {value: shop}}]"), &["10:48 error[path-invalid] a path starts with `/`: `shop`"]);
    expect(&of("[{path: {value: /a//b}}]"), &["10:48 error[path-invalid] a path must not contain `//`: `/a//b`"]);
    expect(&of("[{path: {value: /a/..}}]"), &["10:48 error[path-invalid] a path must not end with `/.` or `/..`: `/a/..`"]);
    expect(&of("[{path: {type: RegularExpression, value: 'a|b'}}]"), &[]);
    expect(&of("[{}]"), &["10:33 warning[match-empty] a match without conditions takes every request"]);
    let many = vec!["{headers: [{name: a, value: b}]}"; 17].join(",");
    expect(&of(&format!("[{many}]")), &["10:32 error[matches-too-many] a step has at most 16 matches, not 17"]);
    expect(
        &step("{replicas: 1, traffic: 20%, requestHeaderModifier: {remove: [a, a]}}"),
        &["10:73 error[name-twice] `remove` names `a` twice"],
    );
}

#[test]
fn a_value_has_no_control_characters() {
    let with = |value: &str| step(&format!("{{replicas: 1, matches: [{{headers: [{{name: a, value: \"{value}\"}}]}}]}}"));
    expect(&with("a\\r\\nb: c"), &["10:61 error[header-value] a value has no control characters and no line ends: `\\r` is in it"]);
    expect(&with("a\\x7f"), &["10:61 error[header-value] a value has no control characters and no line ends: `\\u{7f}` is in it"]);
    read(&with("a\\tb ä"));
    let written = step("{replicas: 1, traffic: 20%, requestHeaderModifier: {set: [{name: a, value: \"b\\n\"}]}}");
    expect(&written, &["10:84 error[header-value] a value has no control characters and no line ends: `\\n` is in it"]);
}

#[test]
fn traffic_needs_someone_who_routes_it() {
    expect(
        &rollout("canary: {steps: [{replicas: 1}, {replicas: 2, traffic: 20%}]}"),
        &["7:37 warning[traffic-without-routing] step 2 has traffic but the Rollout has no `trafficRoutings`: requests follow the pods"],
    );
    expect(
        &rollout("canary: {trafficRoutingRef: shared, steps: [{replicas: 1}]}"),
        &["7:33 error[traffic-routing-shared] the shared TrafficRouting \"shared\" is not rendered yet"],
    );
    let shared = step("{replicas: 1}").replace("namespace: prod", "namespace: prod, annotations: {rollouts.kruise.io/trafficrouting: web}");
    expect(&shared, &["3:90 error[traffic-routing-shared] the shared TrafficRouting \"web\" is not rendered yet"]);
}

#[test]
fn deadlines_are_annotations() {
    let with =
        |annotations: &str| step("{replicas: 1}").replace("namespace: prod", &format!("namespace: prod, annotations: {{{annotations}}}"));
    let rollout = read(&with("rollout.dev/step-deadline: 1h30m, rollout.dev/on-deadline: abort"));
    let deadline = rollout.deadline.expect("a deadline");
    assert_eq!((deadline.seconds, deadline.then), (5400, crate::model::DeadlineAction::Abort));
    expect(
        &with("rollout.dev/step-deadline: soon"),
        &["3:82 error[deadline-invalid] `rollout.dev/step-deadline` is a time of at least a second such as `10m` or `1h30m`, not `soon`"],
    );
    expect(
        &with("rollout.dev/step-deadline: 1m, rollout.dev/on-deadline: panic"),
        &["3:111 error[deadline-invalid] `rollout.dev/on-deadline` is `hold` or `abort`, not `panic`"],
    );
    expect(
        &with("rollout.dev/on-deadline: hold"),
        &["3:80 warning[deadline-missing] `rollout.dev/on-deadline` does nothing without `rollout.dev/step-deadline`"],
    );
}

#[test]
fn all_faults_are_found_at_once() {
    expect(
        &step("{weight: 20, pause: {duration: x}, matches: [{path: {value: a}}]}"),
        &[
            "10:9 error[step-replicas-missing] a step says how many pods it has: `replicas` is missing",
            "10:10 error[field-unknown] unknown field `weight` with 20",
            "10:40 error[field-type] `duration` is a whole number, not \"x\"",
            "10:69 error[path-invalid] a path starts with `/`: `a`",
        ],
    );
}

#[test]
fn other_versions_and_names_are_refused() {
    expect(
        &step("{replicas: 1}").replace("v1beta1", "v1"),
        &["1:13 error[api-version-unknown] Rollouts have no API version `rollouts.kruise.io/v1`"],
    );
    expect(
        &step("{replicas: 1}").replace("{name: shop, n", "{name: ../shop, n"),
        &["3:18 error[name-invalid] a name is of small letters, digits, `-` and `.`, not `../shop`"],
    );
}

#[test]
fn unready_pods_that_would_be_tolerated_are_told_to_be_waited_for() {
    let with = |written: &str| {
        rollout(&format!("canary: {{enableExtraWorkloadForCanary: true, failureThreshold: {written}, steps: [{{replicas: 1}}]}}"))
    };
    let message =
        "7:68 warning[failure-threshold-unused] `failureThreshold` is not used: every new pod of a step has to be ready, not all but";
    expect(&with("20%"), &[&format!("{message} \"20%\"")]);
    expect(&with("1"), &[&format!("{message} 1")]);
    read(&with("0"));
}
