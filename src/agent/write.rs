//! Making objects be what the plan says, and asking whether they are.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::agreed::Agreed;
use super::api::{Api, Mode};
use super::capture::label;
use super::metrics::Metrics;
use super::objects::{Objects, PLAN_LABEL, Target};
use super::trouble::Trouble;
use crate::model::{Bindings, LateValue, ObjectKey, Plan, VersionKey};
use crate::patch::{Difference, PathValues, Unbound, bind, differences, exact, values_at};

/// How often a write begins again because the object changed in between.
const TRIES: usize = 6;

/// The live values from before the release, by object.
pub(super) type Originals = BTreeMap<ObjectKey, PathValues>;

/// What a write found.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Wrote {
    /// The object was so already.
    Same,
    /// The object was made.
    Created,
    /// These fields were different.
    Changed(Vec<Difference>),
    /// The object is gone, and what is restored need not be made again.
    Gone,
}

/// Why an object could not be made what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Obstacle {
    /// The API server says no.
    #[error("cannot {verb} {object}: {trouble}")]
    Trouble {
        /// What was tried.
        verb: &'static str,
        /// On what.
        object: ObjectKey,
        /// What came back.
        trouble: Trouble,
    },
    /// A value is not known yet.
    #[error(transparent)]
    Unbound(#[from] Unbound),
    /// An object of the user's own does not exist.
    #[error("{0} does not exist")]
    Missing(ObjectKey),
    /// An object that the plan makes exists already, and somebody else made it.
    #[error("{0} exists, and the release would make it: it does not carry the label `{PLAN_LABEL}` of this plan; rename or remove it")]
    NotOurs(ObjectKey),
    /// An object that the plan makes is still on its way out.
    #[error("{0} is still being deleted")]
    Terminating(ObjectKey),
}

impl Obstacle {
    /// Whether only a person can cure it.
    pub(super) fn is_permanent(&self) -> bool {
        match self {
            Self::Trouble { trouble, .. } => trouble.is_permanent(),
            Self::NotOurs(_) => true,
            Self::Unbound(_) | Self::Missing(_) | Self::Terminating(_) => false,
        }
    }
}

/// Writes for one plan.
pub(super) struct Writes<'a> {
    /// The API server.
    pub(super) api: &'a Api,
    /// Counts what is written.
    pub(super) metrics: &'a Metrics,
    /// The plan that is run.
    pub(super) plan: &'a Plan,
    /// Where its objects are.
    pub(super) objects: &'a Objects,
    /// Late values.
    pub(super) bindings: &'a Bindings,
    /// Absent: the plan's own values are written everywhere.
    pub(super) originals: Option<&'a Originals>,
    /// What becomes of an object of the user's own that does not exist.
    pub(super) missing: Missing,
    /// What need not be asked again.
    pub(super) agreed: &'a Agreed,
}

/// What becomes of an object of the user's own that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// Whoever owns it has to bring it back first.
    IsWaitedFor,
    /// It stays away: on the way back nothing is restored that its owner has removed.
    StaysAway,
    /// It is made: the target is written at once.
    IsMade,
}

/// What an object should hold.
enum Wanted {
    /// An object of the plan's own.
    Whole(Value),
    /// These values.
    Values(PathValues),
}

impl Writes<'_> {
    /// Makes the object the version, if it is not.
    pub(super) async fn write(&self, version: &VersionKey) -> Result<Wrote, Obstacle> {
        let key = version.object();
        let target = match (self.objects.get(key), self.missing) {
            (Some(target), _) => target,
            // Its kind is not served any more.
            (None, Missing::StaysAway) => return Ok(Wrote::Gone),
            (None, Missing::IsWaitedFor | Missing::IsMade) => return Err(Obstacle::Missing(key.clone())),
        };
        let mut tried = 0;
        loop {
            tried += 1;
            match self.write_once(target, version).await {
                Err(Obstacle::Trouble { trouble: Trouble::Conflict(_) | Trouble::Exists(_) | Trouble::NotFound(_), .. })
                    if tried < TRIES => {}
                result => return result,
            }
        }
    }

    /// Removes the object, if it is there. Returns whether it was.
    pub(super) async fn remove(&self, key: &ObjectKey) -> Result<bool, Obstacle> {
        let trouble = |trouble| Obstacle::Trouble { verb: "delete", object: key.clone(), trouble };
        let target = match (self.objects.get(key), self.missing) {
            (Some(target), _) => target,
            (None, Missing::StaysAway) => return Ok(false),
            (None, Missing::IsWaitedFor | Missing::IsMade) => return Err(Obstacle::Missing(key.clone())),
        };
        let Some(live) = target.live(self.api).await.map_err(trouble)? else { return Ok(false) };
        if is_terminating(&live) {
            return Ok(false);
        }
        if !target.is_companion || !self.is_ours(&live) {
            return Err(Obstacle::NotOurs(key.clone()));
        }
        let uid = live.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
        self.api.delete(&target.address, uid, "Foreground").await.map_err(trouble)?;
        self.metrics.wrote(&target.resource.kind);
        Ok(true)
    }

    async fn write_once(&self, target: &Target, version: &VersionKey) -> Result<Wrote, Obstacle> {
        let trouble = |verb| move |trouble| Obstacle::Trouble { verb, object: target.key.clone(), trouble };
        let wanted = self.wanted(target, version)?;
        let live = target.live(self.api).await.map_err(trouble("read"))?;
        let Some(live) = live else {
            let whole = match (wanted, self.missing) {
                (Wanted::Whole(whole), _) => whole,
                (Wanted::Values(_), Missing::StaysAway) => return Ok(Wrote::Gone),
                (Wanted::Values(_), Missing::IsMade) => self.bound(version)?,
                (Wanted::Values(_), Missing::IsWaitedFor) => return Err(Obstacle::Missing(target.key.clone())),
            };
            match self.api.create(&target.collection, &whole, Mode::Real).await {
                Ok(_) => {}
                // Making the owner's objects needs a right that no plan asks for: then the owner has to do it.
                Err(Trouble::Forbidden(_)) if !target.is_companion => return Err(Obstacle::Missing(target.key.clone())),
                Err(found) => return Err(trouble("create")(found)),
            }
            self.metrics.wrote(&target.resource.kind);
            return Ok(Wrote::Created);
        };
        if target.is_companion && is_terminating(&live) {
            return Err(Obstacle::Terminating(target.key.clone()));
        }
        let values = match wanted {
            Wanted::Whole(_) if !self.is_ours(&live) => return Err(Obstacle::NotOurs(target.key.clone())),
            Wanted::Whole(whole) => values_at(&whole, &target.paths),
            Wanted::Values(values) => values,
        };
        let found = values_at(&live, &target.paths);
        if found == values || self.agreed.holds(&target.key, &found, &values) {
            return Ok(Wrote::Same);
        }
        // The API server's own answer to "was it so?": defaults and spellings of quantities are no differences, and a patch that changes
        // nothing is not stored.
        let written = self.api.patch(&target.address, &exact(&values, &live), Mode::Real).await.map_err(trouble("write"))?;
        self.agreed.note(&target.key, values_at(&written, &target.paths), values);
        let differences = differences(&live, &written, &target.paths);
        if differences.is_empty() {
            return Ok(Wrote::Same);
        }
        self.metrics.wrote(&target.resource.kind);
        Ok(Wrote::Changed(differences))
    }

    fn wanted(&self, target: &Target, version: &VersionKey) -> Result<Wanted, Obstacle> {
        let is_original = self.plan.spec.baseline.contains(version);
        if let Some(values) = self.originals.filter(|_| is_original).and_then(|originals| originals.get(&target.key)) {
            return Ok(Wanted::Values(values.clone()));
        }
        let bound = self.bound(version)?;
        Ok(if target.is_companion { Wanted::Whole(bound) } else { Wanted::Values(values_at(&bound, &target.paths)) })
    }

    /// The version with its late values.
    pub(super) fn bound(&self, version: &VersionKey) -> Result<Value, Obstacle> {
        let object = self.plan.spec.objects.get(version).ok_or_else(|| Obstacle::Missing(version.object().clone()))?;
        let mut bound = bind(version, object, &self.plan.spec.bindings, |late| value(self.bindings, late))?;
        if let Some(metadata) = bound.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("namespace".into(), json!(self.plan.namespace));
            if self.objects.get(version.object()).is_some_and(|target| target.is_companion) {
                // Labels that are no map are the API server's to refuse.
                let labels = metadata.entry("labels").or_insert_with(|| json!({}));
                labels.as_object_mut().and_then(|labels| labels.insert(PLAN_LABEL.to_owned(), json!(label(&self.plan.name))));
            }
        }
        Ok(bound)
    }

    /// Whether the live object was made for this plan.
    pub(super) fn is_ours(&self, live: &Value) -> bool {
        let found = live.pointer("/metadata/labels").and_then(|labels| labels.get(PLAN_LABEL)).and_then(Value::as_str);
        found == Some(label(&self.plan.name).as_str())
    }
}

/// The bound value of a late value.
pub(super) fn value(bindings: &Bindings, late: LateValue) -> Option<Value> {
    match late {
        LateValue::StableRevision => bindings.stable_revision.as_ref().map(|revision| json!(revision)),
        LateValue::CanaryRevision => bindings.canary_revision.as_ref().map(|revision| json!(revision)),
        LateValue::Replicas(share) => bindings.replicas.map(|total| json!(share.of(total))),
    }
}

/// Whether the object is on its way out.
pub(super) fn is_terminating(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null())
}
