//! The kubectl commands by which a person reaches a state by hand, and reads what only a cluster knows.
//!
//! The commands do what the agent does: inside a plan's paths the object becomes exactly the plan's, outside nothing is touched.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::manifests::{Bound, bound};
use super::states::State;
use crate::model::{Await, Binding, LateValue, ObjectKey, Plan, Replicas, Revision, Stage, Style, VersionKey, pointer};
use crate::yaml;

/// Returns the commands that play `stages`, or the bindings without a value. The new revision may be unbound: the commands
/// then end where it is needed, and say how to go on.
pub fn commands<'a>(plan: &'a Plan, stages: &[&Stage], values: &Bound) -> Result<String, Vec<&'a Binding>> {
    let mut text = String::new();
    for (index, stage) in stages.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let _ = writeln!(text, "# {} of {}", index + 1, stages.len());
        for version in &stage.write {
            match write(plan, version, values) {
                Ok(command) => text.push_str(&command),
                // The new revision exists only once the stages before have made it.
                Err(unbound) if index > 0 && unbound.iter().all(|binding| binding.value == LateValue::CanaryRevision) => {
                    let command = reading(plan, LateValue::CanaryRevision);
                    let _ = writeln!(
                        text,
                        "# not complete: from here on `canaryRevision` is needed. Play the stages above, read it with\n{command}"
                    );
                    let _ = writeln!(text, "# and ask for the commands again with `--bind canaryRevision=…`");
                    return Ok(text);
                }
                Err(unbound) => return Err(unbound),
            }
        }
        for object in &stage.remove {
            // In the foreground: the object is gone when its pods are, so that the next stage does not give them traffic.
            let (resource, namespace) = (resource(plan, object), quoted(&plan.namespace));
            let _ = writeln!(text, "kubectl delete {resource} -n {namespace} --ignore-not-found --cascade=foreground");
        }
        if let Some(eviction) = &stage.evict {
            let _ = writeln!(
                text,
                "# evict pods of {} that are not new, at most {} at a time, until {} are new",
                eviction.workload, eviction.at_once, eviction.to_updated
            );
        }
        for wait in &stage.awaits {
            let _ = writeln!(text, "{}", waiting(plan, wait, values));
        }
    }
    Ok(text)
}

/// Returns the command that reads a late value from a cluster.
pub fn reading(plan: &Plan, late: LateValue) -> String {
    let workload = &plan.spec.workload;
    let namespace = quoted(&plan.namespace);
    let resource = quoted(&typed(&workload.api_version, &workload.kind, &workload.name));
    let canary = late == LateValue::CanaryRevision;
    match (late, workload.kind.as_str()) {
        (LateValue::Replicas(_), _) => format!("kubectl get {resource} -n {namespace} -o jsonpath='{{.spec.replicas}}'"),
        (LateValue::StableRevision | LateValue::CanaryRevision, "Deployment") => {
            let owner = if canary && plan.spec.style == Style::Canary { second_workload(plan) } else { workload.name.clone() };
            format!(
                "kubectl get replicasets -n {namespace} --field-selector='status.replicas!=0' --sort-by=.metadata.creationTimestamp -o \
                 jsonpath='{{range .items[?(@.metadata.ownerReferences[0].name==\"{owner}\")]}}{{.metadata.labels.pod-template-hash}}{{\"\\n\"}}{{end}}'"
            )
        }
        (LateValue::StableRevision | LateValue::CanaryRevision, "DaemonSet") => format!(
            "kubectl get controllerrevisions -n {namespace} --sort-by=.revision -o \
             jsonpath='{{range .items[?(@.metadata.ownerReferences[0].name==\"{}\")]}}{{.metadata.labels.controller-revision-hash}}{{\"\\n\"}}{{end}}'",
            workload.name
        ),
        (LateValue::StableRevision | LateValue::CanaryRevision, _) => {
            let field = if canary { "updateRevision" } else { "currentRevision" };
            format!("kubectl get {resource} -n {namespace} -o jsonpath='{{.status.{field}}}'")
        }
    }
}

/// The name of the workload that runs the new version beside the stable one.
fn second_workload(plan: &Plan) -> String {
    let workload = &plan.spec.workload;
    let baseline = plan.spec.baseline.iter().map(VersionKey::object).collect::<Vec<_>>();
    let mut objects = plan.spec.objects.keys().map(VersionKey::object);
    objects
        .find(|object| object.plain_kind() == workload.kind && !baseline.contains(object))
        .map_or_else(|| workload.name.clone(), |object| object.name().to_owned())
}

fn write<'a>(plan: &'a Plan, version: &VersionKey, values: &Bound) -> Result<String, Vec<&'a Binding>> {
    let state: State = BTreeMap::from([(version.object().clone(), version.version())]);
    let Some(object) = bound(plan, &state, values)?.into_values().next() else { return Ok(String::new()) };
    let paths = plan.spec.paths.iter().find(|entry| entry.object == *version.object()).map_or(&[][..], |entry| entry.paths.as_slice());
    let namespace = quoted(&plan.namespace);
    if paths.iter().any(String::is_empty) {
        return Ok(format!(
            "kubectl apply -n {namespace} --server-side --force-conflicts -f - <<'END_OF_OBJECT'\n{}END_OF_OBJECT\n",
            yaml::write(&object)
        ));
    }
    let resource = resource(plan, version.object());
    let (mut text, mut patch) = (String::new(), Vec::new());
    for path in paths {
        let value = object.pointer(path);
        let annotation = path.strip_prefix("/metadata/annotations/").map(|key| ("annotate", key));
        if let Some((verb, key)) = annotation.or_else(|| path.strip_prefix("/metadata/labels/").map(|key| ("label", key))) {
            let key = pointer::unescape(key);
            let argument = value.and_then(Value::as_str).map_or_else(|| format!("{key}-"), |value| format!("{key}={value}"));
            let _ = writeln!(text, "kubectl {verb} {resource} -n {namespace} --overwrite {}", quoted(&argument));
            continue;
        }
        patch.push(json!({"op": "add", "path": path, "value": value.unwrap_or(&Value::Null)}));
        // What may be absent can only be removed after it was added.
        if value.is_none() {
            patch.push(json!({"op": "remove", "path": path}));
        }
    }
    if !patch.is_empty() {
        let patch = quoted(&Value::Array(patch).to_string());
        let _ = writeln!(text, "kubectl patch {resource} -n {namespace} --type=json -p {patch}");
    }
    Ok(text)
}

fn waiting(plan: &Plan, wait: &Await, values: &Bound) -> String {
    let namespace = quoted(&plan.namespace);
    match wait {
        Await::PodsReady { workload, revision, count } => {
            let beside = !plan.spec.baseline.iter().any(|version| version.object() == workload);
            let field = match revision {
                Revision::Canary if !beside => "updatedReplicas",
                Revision::Canary | Revision::Stable => "readyReplicas",
            };
            match count {
                Some(0) | None => format!("kubectl rollout status {} -n {namespace}", resource(plan, workload)),
                Some(count) => format!(
                    "kubectl wait {} -n {namespace} --for=jsonpath='{{.status.{field}}}'={count} --timeout=10m",
                    resource(plan, workload)
                ),
            }
        }
        Await::Available { workload } => format!("kubectl rollout status {} -n {namespace}", resource(plan, workload)),
        Await::Endpoints { service, at_least, of } => {
            let selector = quoted(&format!("kubernetes.io/service-name={service}"));
            let of = of.as_ref().map_or_else(String::new, |workload| format!(" of {workload}"));
            let at_least = match (at_least, values.replicas) {
                (Replicas::Percent(percent), None) => format!("{percent}% of the replicas of {}", plan.spec.workload),
                (replicas, total) => replicas.of(total.unwrap_or(u32::MAX)).to_string(),
            };
            format!("kubectl get endpointslices -n {namespace} -l {selector}  # go on when {at_least}{of} are ready")
        }
        Await::Condition { object, kind, status } => {
            let resource = resource(plan, object);
            let condition = format!("{kind} is {status}").escape_debug().to_string();
            format!("kubectl get {resource} -n {namespace} -o jsonpath='{{..conditions}}'  # go on when {condition} everywhere")
        }
        Await::Grace(seconds) => format!("sleep {seconds}"),
        Await::Gone { object } => format!("kubectl wait {} -n {namespace} --for=delete --timeout=10m", resource(plan, object)),
    }
}

/// Names an object as kubectl takes it, with its API version: `deployment.v1.apps/shop`.
fn resource(plan: &Plan, object: &ObjectKey) -> String {
    let manifest = plan.spec.objects.iter().find(|(version, _)| version.object() == object).map(|(_, value)| value);
    let api_version = manifest.and_then(|manifest| manifest["apiVersion"].as_str()).unwrap_or_default();
    let kind = object.plain_kind();
    quoted(&typed(api_version, kind, object.name()))
}

fn typed(api_version: &str, kind: &str, name: &str) -> String {
    match api_version.split_once('/') {
        Some((group, version)) => format!("{}.{version}.{group}/{name}", kind.to_lowercase()),
        None => format!("{}/{name}", kind.to_lowercase()),
    }
}

/// Returns the text as one word of a shell.
fn quoted(text: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.' | '/' | '=' | ':');
    if !text.is_empty() && text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::{commands, quoted, reading};
    use crate::model::{Await, LateValue, Replicas};
    use crate::plan::manifests::Bound;
    use crate::plan::{fixture, states};

    fn bound() -> Bound {
        Bound { stable_revision: Some("abc".into()), canary_revision: Some("def".into()), replicas: None }
    }

    #[test]
    fn a_step_is_reached_by_hand_in_the_order_of_its_stages() {
        let plan = fixture();
        let text = commands(&plan, &states::jump(&plan.spec, 0, 1), &bound()).expect("all bound");
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("kubectl") || line.starts_with("sleep")).collect();
        assert_eq!(
            lines,
            [
                r#"kubectl patch service/shop -n prod --type=json -p '[{"op":"add","path":"/spec/selector","value":{"app":"shop","pod-template-hash":"abc"}}]'"#,
                "kubectl apply -n prod --server-side --force-conflicts -f - <<'END_OF_OBJECT'",
                "kubectl wait deployment.v1.apps/shop-canary -n prod --for=jsonpath='{.status.readyReplicas}'=1 --timeout=10m",
                "kubectl apply -n prod --server-side --force-conflicts -f - <<'END_OF_OBJECT'",
                "kubectl get endpointslices -n prod -l kubernetes.io/service-name=shop-canary  # go on when 1 are ready",
                r#"kubectl patch virtualservice.v1.networking.istio.io/shop -n prod --type=json -p '[{"op":"add","path":"/spec/http","value":[{"route":[{"destination":{"host":"shop"},"weight":80},{"destination":{"host":"shop-canary"},"weight":20}]}]}]'"#,
                "sleep 3",
            ]
        );
    }

    #[test]
    fn a_share_of_endpoints_is_told_in_pods_where_the_replicas_are_known() {
        let mut plan = fixture();
        let awaits = &mut plan.spec.steps[0].stages[2].awaits;
        *awaits = vec![Await::Endpoints { service: "shop-canary".into(), at_least: Replicas::Percent(20), of: None }];
        let text = |values: &Bound| commands(&plan, &states::jump(&plan.spec, 0, 1), values).expect("all bound");
        assert!(text(&bound()).contains("# go on when 20% of the replicas of Deployment/shop are ready"), "{}", text(&bound()));
        let known = Bound { replicas: Some(11), ..bound() };
        assert!(text(&known).contains("# go on when 3 are ready"), "{}", text(&known));
    }

    #[test]
    fn an_abort_removes_what_only_the_plan_made() {
        let plan = fixture();
        let text = commands(&plan, &states::jump(&plan.spec, 2, 0), &bound()).expect("all bound");
        assert!(text.contains("kubectl delete deployment.v1.apps/shop-canary -n prod --ignore-not-found --cascade=foreground\n"), "{text}");
        assert!(text.contains("kubectl wait deployment.v1.apps/shop-canary -n prod --for=delete"), "{text}");
    }

    #[test]
    fn annotations_are_annotated_and_absent_fields_removed() {
        let mut plan = fixture();
        plan.spec.paths[2].paths = vec!["/metadata/annotations/example.com~1weight".into(), "/spec/clusterIP".into()];
        let text = commands(&plan, &[&plan.spec.steps[0].stages[0]], &bound()).expect("all bound");
        assert!(text.contains("kubectl annotate service/shop -n prod --overwrite example.com/weight-\n"), "{text}");
        assert!(text.contains(r#"{"op":"add","path":"/spec/clusterIP","value":null},{"op":"remove","path":"/spec/clusterIP"}"#), "{text}");
    }

    #[test]
    fn what_is_not_bound_is_told_with_the_command_that_reads_it() {
        let plan = fixture();
        let unbound = commands(&plan, &states::jump(&plan.spec, 0, 1), &Bound::default()).expect_err("nothing is bound");
        assert_eq!(unbound[0].value, LateValue::StableRevision);
        let command = reading(&plan, LateValue::StableRevision);
        assert!(command.starts_with("kubectl get replicasets -n prod ") && command.contains(r#"name=="shop")"#), "{command}");
        assert!(reading(&plan, LateValue::CanaryRevision).contains(r#"name=="shop-canary")"#));
    }

    #[test]
    fn the_new_revision_is_read_when_it_exists() {
        let plan = fixture();
        let values = Bound { canary_revision: None, ..bound() };
        let text = commands(&plan, &states::jump(&plan.spec, 0, 1), &values).expect("the first stages need no more");
        assert!(text.contains("# 2 of 4\n") && text.contains("kubectl wait deployment"), "{text}");
        assert!(text.ends_with("again with `--bind canaryRevision=…`\n") && !text.contains("# 4 of 4"), "{text}");
    }

    #[test]
    fn a_shell_reads_one_word_whatever_is_in_it() {
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(quoted(""), "''");
    }
}
