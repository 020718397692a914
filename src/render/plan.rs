//! One plan, put together from the states of its objects.

use super::baseline::{self, Baseline};
use super::draft::Draft;
use super::gateways::{self, At};
use super::order::{self, Canary, State};
use super::traffic::Routed;
use super::workload::deployment;
use super::{Scripts, autoscaler, companion, pod_labels, refusal, service, service_ports, steps};
use crate::model::{Catalog, Finding, Originals, Plan, PlanSpec, Reference, Role, Rollout, Severity, Source, Style, VersionKey};

/// All that one plan is rendered from.
pub struct Inputs<'a> {
    /// The Rollout.
    pub rollout: &'a Rollout,
    /// The repository's environment, for gateways and for names that are taken.
    pub catalog: &'a Catalog,
    /// The objects as they are to be.
    pub head: &'a Originals,
    /// The objects as they were at the base revision. Absent: nothing is to be released.
    pub base: Option<&'a Originals>,
    /// The plan that the base revision already holds for this Rollout.
    pub previous: Option<&'a Plan>,
    /// Compiled scripts, shared by all Rollouts of a run.
    pub scripts: &'a Scripts,
}

/// A plan, and what its reader should know.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// The plan.
    pub plan: Plan,
    /// Warnings and notes.
    pub findings: Vec<Finding>,
}

/// The plan of the release from base to head. Without a plan the findings say why: an error, or a Rollout that wants none.
pub fn plan(inputs: &Inputs<'_>) -> Result<Rendered, Vec<Finding>> {
    if let Some(finding) = refusal::of(inputs.rollout) {
        return Err(vec![finding]);
    }
    let mut findings = Vec::new();
    // Whoever found the originals has said already what is missing.
    let Some(workload) = inputs.head.workload.as_deref() else { return Err(findings) };
    let head = workload.manifest.value();
    let baseline = baseline::choose(inputs.previous, inputs.base, head);
    let is_at_once = baseline::is_release_without_change(baseline.get(&workload.object), head);
    let at_once = is_at_once.then(|| steps::without_waits(inputs.rollout));
    let inputs = &Inputs { rollout: at_once.as_ref().unwrap_or(inputs.rollout), ..*inputs };
    if inputs.previous.is_none() && inputs.base.is_some_and(|base| base.workload.is_none()) {
        findings.push(new_workload(workload));
    }
    let routed = gateways::routed(inputs, &mut findings);
    if lacks_what_routes(inputs) {
        return Err(findings);
    }
    if routed.len() == inputs.head.gateways.len() {
        findings.extend(gateways::routeless(inputs.rollout, &routed));
    }
    let rendered = render(inputs, workload, &routed, (baseline, is_at_once), &mut findings);
    let is_refused = findings.iter().any(|finding| finding.severity == Severity::Error);
    match rendered {
        Some(plan) if !is_refused => Ok(Rendered { plan, findings }),
        _ => Err(findings),
    }
}

/// Whether the Rollout routes through an object that is not there: a plan without it would split no traffic, or send it nowhere.
fn lacks_what_routes(inputs: &Inputs<'_>) -> bool {
    inputs.rollout.routing.is_some() && (inputs.head.service.is_none() || inputs.head.gateways.iter().any(|(_, source)| source.is_none()))
}

/// Where `is_at_once` the pods stay as they are, so that there is nothing to bring in.
fn render(
    inputs: &Inputs<'_>,
    workload: &Source,
    routed: &[Routed<'_>],
    (baseline, is_at_once): (Baseline<'_>, bool),
    findings: &mut Vec<Finding>,
) -> Option<Plan> {
    let rollout = inputs.rollout;
    let total = deployment::replicas(&workload.manifest, inputs.head.autoscaler.is_some());
    if total == Some(0) {
        findings.push(without_pods(workload));
        return None;
    }
    let companions = [inputs.head.service.as_deref(), inputs.head.autoscaler.as_deref()];
    let sources = [Some(workload)].into_iter().chain(companions).flatten().chain(routed.iter().map(|routed| routed.source));
    let mut draft = Draft::new(inputs, baseline, sources);
    findings.extend(companion::taken(rollout, inputs.head, inputs.catalog).into_iter().map(companion::name_taken));

    findings.extend(deployment::unwritable(workload, &rollout.pod_metadata));
    findings.extend(draft.before(workload).and_then(|before| deployment::changed_selector(workload, before)));
    findings.extend(pod_labels::check(&draft, workload));
    let stable = draft.original(workload, deployment::PATH);
    let release = baseline::release_digest(draft.before(workload), workload.manifest.value());
    if is_at_once {
        findings.push(without_change(workload));
    } else if release.is_some() {
        findings.extend(deployment::takeover(workload, rollout.steps.last().map(|step| step.replicas), total));
        findings.extend(inputs.head.service.iter().flat_map(|service| service_ports::moved(&draft, service, workload)));
        findings.extend(inputs.head.service.iter().flat_map(|service| service_ports::lost(&draft, service, workload)));
    }
    let routing = rollout.routing.as_ref();
    let service = service::states(&mut draft, inputs.head.service.as_deref(), workload, findings);
    let gateways = gateways::states(&mut draft, routed, routing, inputs.scripts, findings);
    let autoscaler = autoscaler::states(&mut draft, inputs.head.autoscaler.as_deref(), findings);

    let shared = service::shared(rollout, inputs.head.service.as_deref(), workload);
    let at_rest = |workload: VersionKey, at: At| {
        let of = |baseline: &VersionKey, target: &VersionKey| if matches!(at, At::Target) { target.clone() } else { baseline.clone() };
        State {
            autoscaler: autoscaler.as_ref().map(|states| of(&states.original.baseline, &states.original.target)),
            workload,
            service: service.as_ref().map(|states| of(&states.original.baseline, &states.original.target)),
            canary: None,
            canary_service: None,
            shared_service: None,
            definitions: gateways::slots(&gateways, Role::Definition, at),
            routes: gateways::slots(&gateways, Role::Route, at),
            splits: false,
            share: None,
        }
    };
    let baseline = at_rest(stable.baseline.clone(), At::Baseline);
    let target = at_rest(stable.target, At::Target);
    let first_split = rollout.steps.iter().position(|step| step.traffic.is_split()).unwrap_or(usize::MAX);
    let mut states = Vec::with_capacity(rollout.steps.len());
    for (index, step) in rollout.steps.iter().enumerate() {
        let splits = routing.is_some() && step.traffic.is_split();
        let canary = (!is_at_once).then(|| {
            let key = deployment::add_canary(&mut draft, &workload.manifest, step.replicas);
            Canary { key, wanted: step.replicas, in_git: total.map(|total| step.replicas.of(total)) }
        });
        let held = |states: &autoscaler::States| if index >= first_split { states.held.clone() } else { states.original.baseline.clone() };
        let in_step = |states: &service::States| if splits { states.split.clone() } else { states.original.baseline.clone() };
        states.push(State {
            autoscaler: autoscaler.as_ref().map(held),
            workload: stable.baseline.clone(),
            service: service.as_ref().map(in_step),
            canary,
            canary_service: service.as_ref().filter(|_| splits).and_then(|states| states.canary.clone()),
            shared_service: shared.clone().filter(|_| splits),
            definitions: gateways::slots(&gateways, Role::Definition, At::Step(index)),
            routes: gateways::slots(&gateways, Role::Route, At::Step(index)),
            splits,
            share: step.traffic.weight.filter(|_| splits && step.traffic.matches.is_empty()),
        });
    }

    let grace = routing.map_or(0, |routing| routing.grace_seconds);
    let last = states.last()?;
    let both = service.as_ref().map(|states| &states.both);
    let scripts = routed.iter().map(|routed| gateways::script_use(&draft, routed)).collect();
    let inputs = draft.inputs();
    let (objects, bindings) = draft.versions.into_parts();
    let spec = PlanSpec {
        rollout: rollout.reference.clone(),
        workload: Reference {
            api_version: workload.manifest.api_version().to_owned(),
            kind: rollout.workload.kind.clone(),
            name: rollout.workload.name.clone(),
        },
        style: Style::Canary,
        release,
        inputs,
        scripts,
        paths: draft.paths.into_list(),
        baseline: baseline.versions(),
        target: target.versions(),
        finish: order::finish(last, &target, both, grace),
        abort: order::abort(&states, &baseline, grace),
        abort_finish: order::abort_finish(&[last.clone(), target.clone()], &baseline, both, grace),
        steps: steps::steps(rollout, &baseline, &states, grace),
        bindings,
        objects,
    };
    Some(Plan { name: rollout.reference.name.clone(), namespace: rollout.namespace.clone(), spec })
}

fn without_change(workload: &Source) -> Finding {
    let message = "the rollout id changes and the pod template does not: the release completes at once";
    let finding = Finding::warning("release-without-change", message).at(&workload.path, workload.places.at("/metadata/annotations"));
    finding.about(&workload.object)
}

fn new_workload(workload: &Source) -> Finding {
    let message = format!("{} is not in the base: it is created at once, and no step keeps an old version", workload.object);
    Finding::note("workload-new", message).at(&workload.path, workload.places.at("/metadata/name")).about(&workload.object)
}

fn without_pods(workload: &Source) -> Finding {
    let message = format!("{} has 0 replicas: there is nothing to bring in step by step", workload.object);
    let finding = Finding::warning("workload-without-pods", message).at(&workload.path, workload.places.at("/spec/replicas"));
    finding.about(&workload.object)
}
