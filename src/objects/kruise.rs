//! The definitions of OpenKruise's kinds, for clusters without OpenKruise.
//!
//! One schema holds the fields of both versions of `Rollout`, so that an object stored in one can be read in the other
//! without a conversion. Nothing but the status before there is one is defaulted: who reads an object knows the defaults.

use serde_json::{Value, json};

use super::{Names, definition, version};

const GROUP: &str = "rollouts.kruise.io";

/// `Rollout`, as v1beta1 (stored) and v1alpha1.
pub(super) fn rollout() -> Value {
    let names = Names { group: GROUP, kind: "Rollout", plural: "rollouts", singular: "rollout", short: &[] };
    let schema = object("The steps by which a workload gets a new version.", &[("spec", rollout_spec()), ("status", rollout_status())]);
    let columns = |step: &'static str, state: &'static str| {
        [
            ("STATUS", "string", ".status.phase"),
            ("CANARY_STEP", "integer", step),
            ("CANARY_STATE", "string", state),
            ("MESSAGE", "string", ".status.message"),
            ("AGE", "date", ".metadata.creationTimestamp"),
        ]
    };
    let older = columns(".status.canaryStatus.currentStepIndex", ".status.canaryStatus.currentStepState");
    let newer = columns(".status.currentStepIndex", ".status.currentStepState");
    definition(&names, &[version("v1alpha1", false, &schema, &older), version("v1beta1", true, &schema, &newer)])
}

/// `TrafficRouting`.
pub(super) fn traffic_routing() -> Value {
    let names = Names { group: GROUP, kind: "TrafficRouting", plural: "trafficroutings", singular: "trafficrouting", short: &[] };
    let strategy = object(
        "Who gets the new version.",
        &[("weight", integer("Percent of all requests.")), ("matches", list(request_match())), ("requestHeaderModifier", modifier())],
    );
    let spec = object("Routing that several Rollouts share.", &[("objectRef", list(routing())), ("strategy", strategy)]);
    let schema = object("Routing that several Rollouts share.", &[("spec", spec), ("status", plain_status())]);
    let columns =
        [("STATUS", "string", ".status.phase"), ("MESSAGE", "string", ".status.message"), ("AGE", "date", ".metadata.creationTimestamp")];
    definition(&names, &[version("v1alpha1", true, &schema, &columns)])
}

/// `AnalysisTemplate`.
pub(super) fn analysis_template() -> Value {
    let names = Names { group: GROUP, kind: "AnalysisTemplate", plural: "analysistemplates", singular: "analysistemplate", short: &[] };
    let spec = object("Metrics, and when they are good enough.", &[("args", list(anything())), ("metrics", list(anything()))]);
    let schema = object("Metrics that decide whether a step is good.", &[("spec", spec)]);
    definition(&names, &[version("v1alpha1", true, &schema, &[("AGE", "date", ".metadata.creationTimestamp")])])
}

fn rollout_spec() -> Value {
    let workload = reference("The workload.");
    let strategy = object(
        "How the new version comes in. One of `canary` and `blueGreen`.",
        &[
            ("paused", boolean("Nothing goes on while this is true.")),
            ("canary", style("A part of the pods after the other, or a second workload beside the first.")),
            ("blueGreen", style("A full set of new pods beside the old ones.")),
        ],
    );
    object(
        "What is released, and how.",
        &[
            ("disabled", boolean("The release is ended and everything restored while this is true.")),
            ("workloadRef", workload.clone()),
            ("objectRef", object("The workload, in v1alpha1.", &[("workloadRef", workload)])),
            ("rolloutID", text("A name for the release, in v1alpha1.")),
            ("strategy", strategy),
        ],
    )
}

fn style(description: &str) -> Value {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let patch = object("Added to the pods of the new version.", &[("labels", texts.clone()), ("annotations", texts)]);
    object(
        description,
        &[
            ("enableExtraWorkloadForCanary", boolean("A second workload for the new version.")),
            ("disableGenerateCanaryService", boolean("No second Service: the gateway tells versions apart by itself.")),
            ("failureThreshold", number_or_percent("How many new pods may be unready.")),
            ("patchPodTemplateMetadata", patch),
            ("trafficRoutingRef", text("A TrafficRouting to use.")),
            ("trafficRoutings", list(routing())),
            ("steps", list(step())),
        ],
    )
}

fn step() -> Value {
    object(
        "One step.",
        &[
            ("replicas", number_or_percent("Pods of the new version.")),
            ("traffic", text("Percent of all requests, with the sign.")),
            ("weight", integer("Percent of all requests, in v1alpha1.")),
            ("matches", list(request_match())),
            ("requestHeaderModifier", modifier()),
            ("pause", object("What ends the step: an approval, or time.", &[("duration", integer("Seconds; absent: an approval."))])),
        ],
    )
}

fn routing() -> Value {
    let ingress = object("An Ingress.", &[("name", text("Its name.")), ("classType", text("Its dialect, nginx when absent."))]);
    object(
        "A Service and the gateway objects that lead to it.",
        &[
            ("service", text("The Service of the workload.")),
            ("gracePeriodSeconds", integer("Seconds for gateways to follow; 3 when absent.")),
            ("ingress", ingress),
            ("gateway", object("A route of the Gateway API.", &[("httpRouteName", text("The HTTPRoute's name."))])),
            ("customNetworkRefs", list(reference("Any other gateway object."))),
        ],
    )
}

fn request_match() -> Value {
    let named = || {
        list(object(
            "A name and a value.",
            &[("name", text("The name.")), ("type", text("Exact or RegularExpression.")), ("value", text("The value."))],
        ))
    };
    let path = object("The path.", &[("type", text("Exact, PathPrefix or RegularExpression.")), ("value", text("The path."))]);
    object("Requests that get the new version.", &[("headers", named()), ("queryParams", named()), ("path", path)])
}

fn modifier() -> Value {
    let headers = || list(object("A header.", &[("name", text("Its name.")), ("value", text("Its value."))]));
    object(
        "Headers of requests to the new version.",
        &[("set", headers()), ("add", headers()), ("remove", list(json!({"type": "string"})))],
    )
}

fn rollout_status() -> Value {
    let mut status = plain_status();
    let fields = [
        ("currentStepIndex", integer("The step, from 1.")),
        ("currentStepState", text("What happens in the step.")),
        ("conditions", list(condition())),
        ("canaryStatus", sub_status(&["canaryRevision"], &["canaryReplicas", "canaryReadyReplicas"])),
        ("blueGreenStatus", sub_status(&["updatedRevision"], &["updatedReplicas", "updatedReadyReplicas"])),
    ];
    for (name, schema) in fields {
        status["properties"][name] = schema;
    }
    // Argo CD's own health check of a Rollout fails on one without a status, and with it every sync of its Application.
    status["default"] = json!({"observedGeneration": -1});
    status
}

/// The part of the status that only one style has. `currentStepState` and `nextStepIndex` are commands, too.
fn sub_status(texts: &[&str], counts: &[&str]) -> Value {
    let mut schema = object(
        "The release that runs, or ran last.",
        &[
            ("observedWorkloadGeneration", long("The generation of the workload.")),
            ("observedRolloutID", text("The name of the release.")),
            ("rolloutHash", text("A digest of the steps.")),
            ("stableRevision", text("The revision of the old version's pods.")),
            ("podTemplateHash", text("The revision of the new version's pods.")),
            ("currentStepIndex", integer("The step, from 1.")),
            ("nextStepIndex", integer("The step after it; another number is a jump.")),
            ("currentStepState", text("What happens in the step; StepReady instead of StepPaused approves it.")),
            ("finalisingStep", text("What happens at the end.")),
            ("message", text("The same in words.")),
            ("lastUpdateTime", time()),
        ],
    );
    for name in texts {
        schema["properties"][*name] = text("The revision of the new version.");
    }
    for name in counts {
        schema["properties"][*name] = integer("Pods of the new version.");
    }
    schema
}

fn condition() -> Value {
    object(
        "One aspect of the release.",
        &[
            ("type", text("Which.")),
            ("status", text("True, False or Unknown.")),
            ("reason", text("Why, in one word.")),
            ("message", text("Why, in a sentence.")),
            ("lastUpdateTime", time()),
            ("lastTransitionTime", time()),
        ],
    )
}

fn plain_status() -> Value {
    object(
        "Where it stands.",
        &[
            ("observedGeneration", long("The generation that this is about.")),
            ("phase", text("In one word.")),
            ("message", text("In a sentence.")),
        ],
    )
}

fn reference(description: &str) -> Value {
    object(description, &[("apiVersion", text("Its API version.")), ("kind", text("Its kind.")), ("name", text("Its name."))])
}

fn object(description: &str, fields: &[(&str, Value)]) -> Value {
    let properties: serde_json::Map<_, _> = fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({"type": "object", "description": description, "properties": properties, "x-kubernetes-preserve-unknown-fields": true})
}

fn list(items: impl Into<Value>) -> Value {
    json!({"type": "array", "items": items.into()})
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn time() -> Value {
    json!({"type": "string", "format": "date-time"})
}

fn integer(description: &str) -> Value {
    json!({"type": "integer", "format": "int32", "description": description})
}

fn long(description: &str) -> Value {
    json!({"type": "integer", "format": "int64", "description": description})
}

fn boolean(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

fn number_or_percent(description: &str) -> Value {
    json!({"x-kubernetes-int-or-string": true, "description": description})
}

fn anything() -> Value {
    json!({"x-kubernetes-preserve-unknown-fields": true})
}

#[cfg(test)]
mod tests {
    use super::rollout;

    #[test]
    fn a_rollout_has_a_status_from_the_beginning_in_every_version() {
        for version in rollout()["spec"]["versions"].as_array().unwrap() {
            let status = &version["schema"]["openAPIV3Schema"]["properties"]["status"];
            assert_eq!(status["default"]["observedGeneration"], -1, "{}", version["name"]);
        }
    }
}
