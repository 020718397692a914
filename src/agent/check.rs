//! What has to be true before the first write.

use jiff::Timestamp;
use serde_json::Value;

use super::api::{Api, Mode};
use super::claims::{Claims, PlanKey};
use super::granted::Granted;
use super::objects::{Objects, Target, Unresolved};
use super::other_controller::Signs;
use super::revisions;
use super::rolled_out;
use super::settled;
use super::trouble::Trouble;
use super::write::Writes;
use crate::model::{Bindings, Hold, HoldCause, LateValue, Plan, PlanStatus, Purpose, Style, VersionKey};
use crate::patch::{Difference, differences, exact, values_at};
use crate::plan::rights::{Right, plural, rights};

/// Where a workload has the template of its pods.
const TEMPLATE: &str = "/spec/template";
/// How many differences and missing rights are told.
const TOLD: usize = 5;

/// One plan before its first write.
pub(super) struct Check<'a> {
    /// The API server.
    pub(super) api: &'a Api,
    /// What other plans hold.
    pub(super) claims: &'a Claims,
    /// What the agent may do.
    pub(super) granted: &'a Granted,
    /// Whether OpenKruise's own controller runs.
    pub(super) signs: &'a Signs,
    /// Which plan.
    pub(super) key: &'a PlanKey,
    /// The plan as it is offered.
    pub(super) plan: &'a Plan,
    /// Where its objects are.
    pub(super) objects: &'a Objects,
    /// What is recorded.
    pub(super) status: &'a PlanStatus,
    /// For the dry runs of the baseline.
    pub(super) writes: &'a Writes<'a>,
}

/// What stands against the addresses of the plan's objects.
pub(super) fn unresolved(problem: Unresolved) -> Result<Hold, Trouble> {
    match problem {
        Unresolved::NotServed(_) => Ok(hold(HoldCause::NotServed, problem.to_string())),
        Unresolved::NotAllowed(_) => Ok(hold(HoldCause::Forbidden, problem.to_string())),
        Unresolved::Trouble(trouble) => Err(trouble),
    }
}

impl Check<'_> {
    /// Returns late values that were read on the way, or what stands against the first write.
    pub(super) async fn run(&self, purpose: Purpose) -> Result<Result<Bindings, Hold>, Trouble> {
        // What costs least comes first, since all of it is asked again while it holds; what is claimed keeps others waiting,
        // so that nothing is claimed in vain.
        if let Some(holder) = self.claims.holder(self.key, self.objects) {
            return Ok(Err(claimed(holder)));
        }
        if let Some(hold) = self.other_controller().await? {
            return Ok(Err(hold));
        }
        if let Some(hold) = self.rights().await? {
            return Ok(Err(hold));
        }
        if let Err(holder) = self.claims.claim(self.key, self.objects) {
            return Ok(Err(claimed(holder)));
        }
        let found = self.look_at_objects(purpose).await?;
        if found.is_err() {
            self.give_up();
        }
        Ok(found)
    }

    /// Looks at the objects: whether they are what the plan begins with, and what is bound before the first write.
    async fn look_at_objects(&self, purpose: Purpose) -> Result<Result<Bindings, Hold>, Trouble> {
        let is_compared = matches!(purpose, Purpose::Release | Purpose::Create);
        if is_compared && let Some(hold) = self.start(purpose).await? {
            return Ok(Err(hold));
        }
        if purpose == Purpose::Settle
            && let Some(hold) = self.template().await?
        {
            return Ok(Err(hold));
        }
        self.bindings(purpose).await
    }

    /// The same once more just before the release is captured: the checks may be long ago.
    pub(super) async fn again(&self) -> Result<Option<Hold>, Trouble> {
        Ok(match self.look_at_objects(Purpose::Release).await? {
            Err(hold) => Some(hold),
            Ok(found) if found.stable_revision != self.status.bindings.stable_revision => {
                let message = "the pods of the workload are of another revision than a moment ago; checked again".to_owned();
                Some(hold(HoldCause::NotRolledOut, message))
            }
            Ok(_) => None,
        })
    }

    /// Gives up what was claimed, unless a release runs, whose objects are among it.
    fn give_up(&self) {
        if self.status.claims.is_empty() {
            self.claims.release(self.key);
        }
    }

    /// Live equals the baseline, or what the last release left, at every path; what is no workload may be the target already.
    async fn start(&self, purpose: Purpose) -> Result<Option<Hold>, Trouble> {
        let mut wrong = Vec::new();
        for target in self.objects.iter() {
            let live = target.live(self.api).await?;
            let is_workload = self.workload().is_some_and(|workload| workload.object() == &target.key);
            let Some(live) = live else {
                let may_be_missing = target.is_companion || (is_workload && purpose == Purpose::Create);
                if !may_be_missing {
                    wrong.push(format!("{} does not exist", target.key));
                }
                continue;
            };
            if target.is_companion {
                if !self.writes.is_ours(&live) {
                    wrong.push(format!("{} exists, and the release would make it: rename or remove it", target.key));
                }
                continue;
            }
            let version_of = |versions: &[VersionKey]| {
                let version = versions.iter().find(|version| *version.object() == target.key)?;
                self.plan.spec.objects.get(version)
            };
            let (baseline, wanted) = (version_of(&self.plan.spec.baseline), version_of(&self.plan.spec.target));
            let Some(begins) = (if purpose == Purpose::Create { wanted } else { baseline }) else { continue };
            let found = compare(self.api, target, &live, begins).await?;
            if found.is_empty() || settled::is_so(self.status, target, &live) {
                continue;
            }
            // Another release of the same commit may have brought a shared route or Service where git wants it.
            if let Some(wanted) = wanted.filter(|wanted| !is_workload && *wanted != begins)
                && compare(self.api, target, &live, wanted).await?.is_empty()
            {
                continue;
            }
            wrong.extend(found.iter().map(|difference| format!("{}: {difference}", target.key)));
        }
        if wrong.is_empty() {
            return Ok(None);
        }
        let more = wrong.len().saturating_sub(TOLD);
        wrong.truncate(TOLD);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let help = "make the cluster what git said before this release, or render the plan again from what runs";
        Ok(Some(hold(HoldCause::Differs, format!("what runs is not what the plan begins with: {}{more}; {help}", wrong.join("; ")))))
    }

    /// At rest the target is written at once, without steps: so the pods have to be of its template already, or as the last release
    /// has left them.
    async fn template(&self) -> Result<Option<Hold>, Trouble> {
        let Some(version) = self.workload() else { return Ok(None) };
        let (Some(target), Some(wanted)) = (self.objects.get(version.object()), self.plan.spec.objects.get(version)) else {
            return Ok(None);
        };
        let is_of_template = |path: &&String| *path == TEMPLATE || path.strip_prefix(TEMPLATE).is_some_and(|rest| rest.starts_with('/'));
        let paths: Vec<String> = target.paths.iter().filter(is_of_template).cloned().collect();
        let Some(live) = target.live(self.api).await? else { return Ok(None) };
        let found = compare(self.api, &Target { paths, ..target.clone() }, &live, wanted).await?;
        if found.is_empty() || settled::is_so(self.status, target, &live) {
            return Ok(None);
        }
        let mut words: Vec<String> = found.iter().take(TOLD).map(|difference| format!("{}: {difference}", target.key)).collect();
        words.extend((found.len() > TOLD).then(|| format!("and {} more", found.len() - TOLD)));
        let help = "the plan would roll it out at once, without steps; bring the change into git, or take it back";
        let message = format!("the pods are not of the template that the plan ended with: {}; {help}", words.join("; "));
        Ok(Some(hold(HoldCause::Differs, message)))
    }

    async fn rights(&self) -> Result<Option<Hold>, Trouble> {
        let wanted = rights(self.plan);
        let wanted: Vec<Right> = wanted.into_iter().map(|right| self.served(right)).collect();
        let mut missing = self.granted.missing(self.api, &self.key.namespace, &wanted).await?;
        if missing.is_empty() {
            return Ok(None);
        }
        let more = missing.len().saturating_sub(TOLD);
        missing.truncate(TOLD);
        missing.extend((more > 0).then(|| format!("and {more} more")));
        let help = "apply what `rollout manifests --plans DIR` prints";
        Ok(Some(hold(HoldCause::Forbidden, format!("the agent may not {} in `{}`: {help}", missing.join(", "), self.key.namespace))))
    }

    /// The right with the resource that the API server serves, not what the kind's name suggests.
    fn served(&self, right: Right) -> Right {
        let (plain, slash) = right.resource.split_once('/').map_or((right.resource.as_str(), None), |(plain, sub)| (plain, Some(sub)));
        let mut served = self.objects.iter().map(|target| &target.resource);
        let Some(served) = served.find(|resource| resource.group() == right.group && plural(&resource.kind) == plain) else { return right };
        let resource = slash.map_or_else(|| served.plural.clone(), |sub| format!("{}/{sub}", served.plural));
        Right { resource, ..right }
    }

    /// OpenKruise's own controller would work on the same Rollout.
    async fn other_controller(&self) -> Result<Option<Hold>, Trouble> {
        if !self.plan.spec.rollout.api_version.starts_with("rollouts.kruise.io/") {
            return Ok(None);
        }
        let sign = self.signs.sign(self.api, Timestamp::now()).await?;
        Ok(sign.map(|message| hold(HoldCause::OtherController, message)))
    }

    fn workload(&self) -> Option<&VersionKey> {
        workload(self.plan)
    }

    /// What only the cluster knows, as far as it is known before the first write.
    async fn bindings(&self, purpose: Purpose) -> Result<Result<Bindings, Hold>, Trouble> {
        let mut bindings = Bindings::default();
        let Some(target) = self.workload().and_then(|version| self.objects.get(version.object())) else { return Ok(Ok(bindings)) };
        let Some(live) = target.live(self.api).await? else { return Ok(Ok(bindings)) };
        let replicas = live.pointer("/spec/replicas").and_then(Value::as_u64).unwrap_or(1);
        bindings.replicas = Some(u32::try_from(replicas).unwrap_or(u32::MAX));
        let is_bound = self.plan.spec.bindings.iter().any(|binding| binding.value == LateValue::StableRevision);
        let begins = match purpose {
            Purpose::Release => true,
            // A plan that was rendered again may be the first that wants it.
            Purpose::Refresh => is_bound && self.status.bindings.stable_revision.is_none(),
            Purpose::Create | Purpose::Settle => false,
        };
        if !begins {
            return Ok(Ok(bindings));
        }
        if purpose == Purpose::Refresh && self.plan.spec.style != Style::Canary {
            let message = format!(
                "{}: which revision its old pods have was to be read before the first write, and the release began without it; abort \
                 it, then retry: rollout abort {} -n {}",
                target.key, self.plan.name, self.plan.namespace
            );
            return Ok(Err(hold(HoldCause::Differs, message)));
        }
        let found = if is_bound { revisions::current(self.api, &self.key.namespace, &live).await? } else { None };
        if let Some(hold) = rolled_out::missing(self.plan, &target.key, &live, found.as_ref()) {
            return Ok(Err(hold));
        }
        if is_bound && found.is_none() {
            let message = format!("{}: its controller has not said yet which revision its pods have", target.key);
            return Ok(Err(hold(HoldCause::NotRolledOut, message)));
        }
        bindings.stable_revision = found.map(|found| found.hash);
        Ok(Ok(bindings))
    }
}

/// The workload's version in the target.
pub(super) fn workload(plan: &Plan) -> Option<&VersionKey> {
    plan.spec.workload_in(&plan.spec.target)
}

/// The differences between a live object and a version at the target's paths, as the API server would write the version.
pub(super) async fn compare(api: &Api, target: &Target, live: &Value, version: &Value) -> Result<Vec<Difference>, Trouble> {
    let values = values_at(version, &target.paths);
    if values_at(live, &target.paths) == values {
        return Ok(Vec::new());
    }
    let meant = match api.patch(&target.address, &exact(&values, live), Mode::DryRun).await {
        Ok(meant) => meant,
        // Changed in between, or not to be asked: compared as written, which tells more rather than less.
        Err(Trouble::Conflict(_) | Trouble::Forbidden(_) | Trouble::Refused(_)) => version.clone(),
        Err(trouble) => return Err(trouble),
    };
    let (mut is, mut should) = (live.clone(), meant);
    settled::forget_restart(&mut is);
    settled::forget_restart(&mut should);
    Ok(differences(&is, &should, &target.paths))
}

/// Something that stands against the first write.
pub(super) fn hold(cause: HoldCause, message: String) -> Hold {
    Hold { cause, message }
}

fn claimed(message: String) -> Hold {
    hold(HoldCause::Claimed, message)
}
