//! One plan, put together from the states of its objects.

use serde_json::Value;

use super::baseline::{self, Baseline};
use super::keys::Keys;
use super::order::{self, Slot, State};
use super::paths::Paths;
use super::pointers::{put, with_values_of};
use super::traffic::{self, Names, Routed};
use super::versions::Versions;
use super::workload::deployment;
use super::{Scripts, autoscaler, companion, digests, refusal, result, service};
use crate::digest;
use crate::model::{
    Catalog, Finding, Gate, ObjectKey, ObjectRef, Originals, Pause, Plan, PlanSpec, PlanStep, Reference, Resolution, Role, Rollout,
    Routing, ScriptUse, Source, Step, StepTraffic, Style, Traffic, VersionKey,
};

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
    let head = written(workload, &inputs.rollout.namespace);
    let baseline = baseline::choose(inputs.previous, inputs.base, &head);
    let is_at_once = baseline::is_release_without_change(baseline.get(&workload.object), &head);
    let at_once = is_at_once.then(|| without_waits(inputs.rollout));
    let inputs = &Inputs { rollout: at_once.as_ref().unwrap_or(inputs.rollout), ..*inputs };
    let routed = routed(inputs, &mut findings);
    let rendered = Renderer::new(inputs, workload, &routed, baseline, is_at_once).render(&mut findings);
    let is_refused = findings.iter().any(|finding| finding.severity == crate::model::Severity::Error);
    match rendered {
        Some(plan) if !is_refused => Ok(Rendered { plan, findings }),
        _ => Err(findings),
    }
}

/// The gateway objects with their scripts; findings for those without.
fn routed<'a>(inputs: &'a Inputs<'_>, findings: &mut Vec<Finding>) -> Vec<Routed<'a>> {
    let mut routed: Vec<Routed<'a>> = Vec::new();
    for (reference, source) in &inputs.head.gateways {
        let Some(source) = source.as_deref() else { continue };
        let refuse = |code, message: String, help: &str| {
            Finding::error(code, message).at(&reference.place.path, reference.place.position).about(&source.object).help(help)
        };
        if routed.iter().any(|known| known.source.object == source.object) {
            findings.push(refuse("gateway-named-twice", format!("{} is named twice", source.object), "take one of the references out"));
            continue;
        }
        match inputs.catalog.gateway(reference) {
            Some(gateway) => routed.push(Routed { reference, source, gateway }),
            None => findings.push(refuse(
                "gateway-without-script",
                format!("no script serves `{}`", reference.script_name()),
                &format!("write `lua_configuration/{}/trafficRouting.lua`, or see `rollout gateways`", reference.script_name()),
            )),
        }
    }
    routed
}

struct Renderer<'a> {
    inputs: &'a Inputs<'a>,
    rollout: &'a Rollout,
    workload: &'a Source,
    routed: &'a [Routed<'a>],
    baseline: Baseline,
    /// Whether the pods stay as they are, so that there is nothing to bring in.
    is_at_once: bool,
    keys: Keys,
    versions: Versions,
    paths: Paths,
    /// What was read, for the digest.
    read: Vec<Value>,
}

/// The versions of one gateway object over a release.
struct GatewayStates {
    object: ObjectKey,
    role: Role,
    accepted: Option<(String, String)>,
    baseline: Option<VersionKey>,
    target: Option<VersionKey>,
    steps: Vec<Option<VersionKey>>,
}

impl<'a> Renderer<'a> {
    fn new(inputs: &'a Inputs<'a>, workload: &'a Source, routed: &'a [Routed<'a>], baseline: Baseline, is_at_once: bool) -> Self {
        let mut keys = Keys::default();
        let sources = [Some(workload), inputs.head.service.as_deref(), inputs.head.autoscaler.as_deref()];
        for source in sources.into_iter().flatten().chain(routed.iter().map(|routed| routed.source)) {
            keys.know(source.manifest.api_version(), source.manifest.kind());
        }
        Self {
            inputs,
            rollout: inputs.rollout,
            workload,
            routed,
            baseline,
            is_at_once,
            keys,
            versions: Versions::default(),
            paths: Paths::default(),
            read: Vec::new(),
        }
    }

    fn render(mut self, findings: &mut Vec<Finding>) -> Option<Plan> {
        let rollout = self.rollout;
        let total = deployment::replicas(&self.workload.manifest, self.inputs.head.autoscaler.is_some());
        if total == Some(0) {
            findings.push(
                Finding::warning(
                    "workload-without-pods",
                    format!("{} has 0 replicas: there is nothing to bring in step by step", self.workload.object),
                )
                .at(&self.workload.path, self.workload.places.at("/spec/replicas"))
                .about(&self.workload.object),
            );
            return None;
        }
        if let Some(rollout_source) = self.rollout_source() {
            self.read.push(rollout_source);
        }
        self.name_is_free(&self.workload.object, findings);

        let (workload_key, workload_baseline, workload_target) = self.original(self.workload, deployment::PATH);
        let head_template = self.workload.manifest.at(deployment::PATH).cloned().unwrap_or_default();
        let head = written(self.workload, &rollout.namespace);
        let base = self.baseline.get(&self.workload.object);
        let release = baseline::release_digest(base, &head);
        if self.is_at_once {
            findings.push(self.without_change());
        }

        let routing = rollout.routing.as_ref();
        let service = routing.and_then(|routing| self.service_states(routing, &head_template, findings));
        let gateways = self.gateway_states(routing, findings);
        let autoscaler = self.autoscaler_states(findings);

        let first_split = rollout.steps.iter().position(|step| step.traffic.is_split()).unwrap_or(usize::MAX);
        let slots = |role: Role, of: &dyn Fn(&GatewayStates) -> Option<VersionKey>| -> Vec<Slot> {
            let of_role = gateways.iter().filter(|states| states.role == role);
            of_role.map(|states| Slot { object: states.object.clone(), version: of(states), accepted: states.accepted.clone() }).collect()
        };
        let at_rest = |workload: &VersionKey, of: &dyn Fn(&GatewayStates) -> Option<VersionKey>, is_target: bool| State {
            autoscaler: autoscaler.as_ref().map(|states| if is_target { states.target.clone() } else { states.baseline.clone() }),
            workload: workload.clone(),
            service: service.as_ref().map(|states| if is_target { states.target.clone() } else { states.baseline.clone() }),
            canary: None,
            canary_service: None,
            definitions: slots(Role::Definition, of),
            routes: slots(Role::Route, of),
            splits: false,
        };
        let baseline = at_rest(&workload_baseline, &|states| states.baseline.clone(), false);
        let target = at_rest(&workload_target, &|states| states.target.clone(), true);
        let mut states = Vec::with_capacity(rollout.steps.len());
        for (index, step) in rollout.steps.iter().enumerate() {
            let canary = (!self.is_at_once).then(|| (self.canary(step, total), total.map(|total| step.replicas.of(total))));
            let splits = routing.is_some() && step.traffic.is_split();
            states.push(State {
                autoscaler: autoscaler
                    .as_ref()
                    .map(|states| if index >= first_split { states.held.clone() } else { states.baseline.clone() }),
                workload: workload_baseline.clone(),
                service: service.as_ref().map(|states| if splits { states.pinned.clone() } else { states.baseline.clone() }),
                canary,
                canary_service: service.as_ref().filter(|_| splits).map(|states| states.canary.clone()),
                definitions: slots(Role::Definition, &|states| states.steps[index].clone()),
                routes: slots(Role::Route, &|states| states.steps[index].clone()),
                splits,
            });
        }
        if !self.is_at_once {
            let canary = canary_workload_name(workload_key.name());
            self.paths.add(&self.keys.key(&rollout.workload.api_version, &rollout.workload.kind, &canary), "");
        }

        let grace = routing.map_or(0, |routing| routing.grace_seconds);
        let last = states.last()?.clone();
        let steps = plan_steps(rollout, &baseline, &states, grace);
        let inputs = digests::inputs(&self.read.iter().collect::<Vec<_>>());
        let scripts = self.routed.iter().map(|routed| self.script_use(routed)).collect();
        let (objects, bindings) = self.versions.into_parts();
        let spec = PlanSpec {
            rollout: rollout.reference.clone(),
            workload: Reference {
                api_version: self.workload.manifest.api_version().to_owned(),
                kind: rollout.workload.kind.clone(),
                name: rollout.workload.name.clone(),
            },
            style: Style::Canary,
            release,
            inputs,
            scripts,
            paths: self.paths.into_list(),
            baseline: baseline.versions(),
            target: target.versions(),
            finish: order::finish(&last, &target, grace),
            abort: order::abort(&states, &baseline, grace),
            abort_finish: order::abort_finish(&last, &target, &baseline, grace),
            steps,
            bindings,
            objects,
        };
        Some(Plan { name: rollout.reference.name.clone(), namespace: rollout.namespace.clone(), spec })
    }

    fn without_change(&self) -> Finding {
        let message = "the rollout id changes and the pod template does not: the release completes at once";
        Finding::warning("release-without-change", message)
            .at(&self.workload.path, self.workload.places.at("/metadata/annotations"))
            .about(&self.workload.object)
    }

    /// An object that stands in git: its key, its version with the baseline's values at `path`, and the head's.
    fn original(&mut self, source: &Source, path: &str) -> (ObjectKey, VersionKey, VersionKey) {
        let (object, before, head) = self.original_values(source, &[path.to_owned()]);
        self.paths.add(&object, path);
        let baseline = self.versions.add(&object, before, Vec::new());
        let target = self.versions.add(&object, head, Vec::new());
        (object, baseline, target)
    }

    /// The key, the head with the baseline's values at `paths`, and the head.
    fn original_values(&mut self, source: &Source, paths: &[String]) -> (ObjectKey, Value, Value) {
        let head = written(source, &self.rollout.namespace);
        let object = self.keys.key(source.manifest.api_version(), source.manifest.kind(), source.manifest.name());
        let before = match self.baseline.get(&source.object) {
            Some(base) => with_values_of(&head, base, paths),
            None => head.clone(),
        };
        self.read.push(before.clone());
        self.read.push(head.clone());
        (object, before, head)
    }

    fn canary(&mut self, step: &Step, total: Option<u32>) -> VersionKey {
        let (value, late) = deployment::canary(
            &self.rollout.reference.name,
            &self.rollout.namespace,
            &self.workload.manifest,
            &self.rollout.pod_metadata,
            step.replicas,
            total,
        );
        let name = canary_workload_name(self.workload.manifest.name());
        let object = self.keys.key(self.workload.manifest.api_version(), self.workload.manifest.kind(), &name);
        self.versions.add(&object, value, late)
    }

    fn service_states(&mut self, routing: &Routing, template: &Value, findings: &mut Vec<Finding>) -> Option<ServiceStates> {
        let source = self.inputs.head.service.clone()?;
        let is_split = self.rollout.steps.iter().any(|step| step.traffic.is_split());
        if routing.is_subset_mode || !is_split {
            return None;
        }
        service::check(&source, routing, template, &self.rollout.pod_metadata, findings);
        self.name_is_free(&source.object, findings);
        let (object, baseline, target) = self.original(&source, service::PATH);
        let (_, before, _) = self.original_values(&source, &[service::PATH.to_owned()]);
        let (pinned, late) = service::pinned(&before, deployment::REVISION_LABEL);
        let pinned = self.versions.add(&object, pinned, late);
        let (canary, late) = service::canary(
            &self.rollout.reference.name,
            &self.rollout.namespace,
            &source.manifest,
            &self.rollout.pod_metadata,
            deployment::REVISION_LABEL,
        );
        let canary_object =
            self.keys.key(source.manifest.api_version(), source.manifest.kind(), &service::canary_name(source.manifest.name()));
        self.paths.add(&canary_object, "");
        let canary = self.versions.add(&canary_object, canary, late);
        Some(ServiceStates { baseline, target, pinned, canary })
    }

    fn autoscaler_states(&mut self, findings: &mut Vec<Finding>) -> Option<AutoscalerStates> {
        let source = self.inputs.head.autoscaler.clone()?;
        if self.rollout.routing.is_none() || !self.rollout.steps.iter().any(|step| step.traffic.is_split()) {
            return None;
        }
        let held = autoscaler::held(&source, &written(&source, &self.rollout.namespace), findings)?;
        let (object, baseline, target) = self.original(&source, autoscaler::PATH);
        let held = self.versions.add(&object, held, Vec::new());
        Some(AutoscalerStates { baseline, target, held })
    }

    fn gateway_states(&mut self, routing: Option<&Routing>, findings: &mut Vec<Finding>) -> Vec<GatewayStates> {
        let Some(routing) = routing else { return Vec::new() };
        let routed = self.routed;
        routed.iter().map(|routed| self.gateway_state(routed, routing, findings)).collect()
    }

    fn gateway_state(&mut self, routed: &Routed<'_>, routing: &Routing, findings: &mut Vec<Finding>) -> GatewayStates {
        let rollout = self.rollout;
        let canary_service = if routing.is_subset_mode { routing.service.clone() } else { service::canary_name(&routing.service) };
        let names = Names {
            plan: &rollout.reference.name,
            namespace: &rollout.namespace,
            stable: &routing.service,
            canary: &canary_service,
            pod_metadata: &rollout.pod_metadata,
        };
        let head = written(routed.source, &rollout.namespace);
        let rewritten = traffic::states(routed, &head, &names, &rollout.steps, self.inputs.scripts, findings);
        let accepted = routed.gateway.accepted.as_ref().map(|accepted| (accepted.kind.clone(), accepted.status.clone()));
        let role = routed.gateway.role;
        let manifest = &routed.source.manifest;
        if let Some(clone) = &routed.gateway.clone {
            self.read.push(head);
            let object = self.keys.key(manifest.api_version(), manifest.kind(), &traffic::clone_name(clone, manifest.name()));
            if rewritten.iter().any(Option::is_some) {
                self.paths.add(&object, "");
            }
            let steps = rewritten.into_iter().map(|value| Some(self.versions.add(&object, value?, Vec::new()))).collect();
            return GatewayStates { object, role, accepted, baseline: None, target: None, steps };
        }
        let paths = if routed.gateway.paths.is_empty() {
            let mut paths: Vec<String> = rewritten.iter().flatten().flat_map(|value| result::changed(&head, value)).collect();
            paths.sort_unstable();
            paths.dedup();
            paths
        } else {
            // A declared path that no version has says nothing, and would be one more setting for the engine.
            let base = self.baseline.get(&routed.source.object);
            let has = |path: &&String| {
                let versions = rewritten.iter().flatten().chain([&head]).chain(base);
                versions.into_iter().any(|value| value.pointer(path).is_some())
            };
            routed.gateway.paths.iter().filter(has).cloned().collect()
        };
        let (object, before, head) = self.original_values(routed.source, &paths);
        for path in &paths {
            self.paths.add(&object, path);
        }
        let baseline = self.versions.add(&object, before, Vec::new());
        // A step without traffic shows the user's own routes, as they are to be.
        let steps = rewritten
            .into_iter()
            .map(|value| match value {
                Some(value) => Some(self.versions.add(&object, value, Vec::new())),
                None => Some(self.versions.add(&object, head.clone(), Vec::new())),
            })
            .collect();
        let target = self.versions.add(&object, head.clone(), Vec::new());
        GatewayStates { object, role, accepted, baseline: Some(baseline), target: Some(target), steps }
    }

    fn script_use(&self, routed: &Routed<'_>) -> ScriptUse {
        let manifest = &routed.source.manifest;
        ScriptUse {
            object: self.keys.key(manifest.api_version(), manifest.kind(), manifest.name()),
            script: routed.gateway.script.name.clone(),
            sha256: digest::of_bytes(routed.gateway.script.text.as_bytes()).trim_start_matches("sha256:").to_owned(),
        }
    }

    fn rollout_source(&self) -> Option<Value> {
        let reference = &self.rollout.reference;
        let object = ObjectRef::new(&reference.api_version, &reference.kind, &self.rollout.namespace, &reference.name);
        match self.inputs.catalog.resolve(&object, &self.rollout.place.path) {
            Resolution::Found(source) => Some(source.manifest.value().clone()),
            Resolution::Missing | Resolution::Ambiguous(_) => None,
        }
    }

    /// An object of the user's own must not stand where a companion goes.
    fn name_is_free(&self, beside: &ObjectRef, findings: &mut Vec<Finding>) {
        let taken = ObjectRef { name: format!("{}{}", beside.name, companion::SUFFIX), ..beside.clone() };
        let at = match self.inputs.catalog.resolve(&taken, &self.rollout.place.path) {
            Resolution::Missing => return,
            Resolution::Found(source) => source,
            Resolution::Ambiguous(sources) => sources[0],
        };
        findings.push(
            Finding::error("name-taken", format!("{taken} stands in the repository, and the release makes an object of this name"))
                .at(&at.path, at.places.at("/metadata/name"))
                .about(&taken)
                .help(format!("rename it, or take it out of the repository: the release makes and removes {} by itself", taken.name)),
        );
    }
}

struct ServiceStates {
    baseline: VersionKey,
    target: VersionKey,
    pinned: VersionKey,
    canary: VersionKey,
}

struct AutoscalerStates {
    baseline: VersionKey,
    target: VersionKey,
    held: VersionKey,
}

fn plan_steps(rollout: &Rollout, baseline: &State, states: &[State], grace: u32) -> Vec<PlanStep> {
    let befores = std::iter::once(baseline).chain(states);
    let steps = rollout.steps.iter().zip(states).zip(befores).enumerate();
    steps
        .map(|(index, ((step, state), before))| PlanStep {
            name: format!("step-{}", index + 1),
            traffic: step_traffic(&step.traffic),
            replicas: step.replicas,
            state: state.versions(),
            stages: order::enter(before, state, grace),
            enter_from_above: order::enter_from_above(&states[index + 1..], state, grace),
            gate: match step.pause {
                Pause::Approval => Gate::Approval {},
                Pause::Seconds(0) => Gate::None {},
                Pause::Seconds(seconds) => Gate::Seconds(seconds),
            },
            deadline: rollout.deadline,
        })
        .collect()
}

/// The Rollout with steps that move nothing and wait for nothing.
fn without_waits(rollout: &Rollout) -> Rollout {
    let without = |step: &Step| Step { traffic: Traffic::default(), header_modifier: None, pause: Pause::Seconds(0), ..step.clone() };
    Rollout { steps: rollout.steps.iter().map(without).collect(), deadline: None, ..rollout.clone() }
}

fn step_traffic(traffic: &Traffic) -> Option<StepTraffic> {
    traffic.is_split().then(|| StepTraffic { weight: traffic.weight.map(crate::model::Weight::percent), matches: traffic.matches.clone() })
}

fn canary_workload_name(stable: &str) -> String {
    format!("{stable}{}", companion::SUFFIX)
}

/// The object as a plan has it: with its namespace, without what only a cluster writes.
fn written(source: &Source, namespace: &str) -> Value {
    let mut value = source.manifest.value().clone();
    put(&mut value, "/metadata/namespace", Some(namespace.into()));
    put(&mut value, "/status", None);
    value
}
