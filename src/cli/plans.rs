//! Renders the Rollouts that were asked for, side by side, and keeps their order.

use std::sync::Arc;

use rayon::prelude::*;

use crate::check;
use crate::discover;
use crate::exposure::Exposure;
use crate::model::{Catalog, Finding, ObjectRef, Originals, Plan, Rollout, Source, Stored};
use crate::plan::{self, Sealed};
use crate::render::{self, Inputs, Rendered, Scripts};

use super::progress::Progress;
use super::repository::{Base, Repository};

/// Which Rollouts are asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Selection {
    /// Of this environment only.
    pub(super) environment: Option<String>,
    /// This one only: environment where given, namespace, name.
    pub(super) rollout: Option<(Option<String>, String, String)>,
    /// Only those that the change concerns.
    pub(super) is_changed_only: bool,
}

impl Selection {
    /// Whether some Rollouts of the repository may be left out.
    pub(super) fn is_partial(&self, repository: &Repository) -> bool {
        self.environment.is_some() || self.rollout.is_some() || self.is_changed_only || !repository.scope.is_empty()
    }

    fn wants(&self, catalog: &Catalog, rollout: &Rollout, repository: &Repository) -> bool {
        let is_in_scope = crate::config::is_inside(&rollout.place.path, &repository.scope);
        let is_named = self.rollout.as_ref().is_none_or(|(environment, namespace, name)| {
            environment.as_ref().is_none_or(|environment| *environment == catalog.environment)
                && *namespace == rollout.namespace
                && *name == rollout.reference.name
        });
        is_in_scope && is_named && self.environment.as_ref().is_none_or(|environment| *environment == catalog.environment)
    }
}

/// A plan, and what was worked out about it to say whether it is sound.
pub(super) struct Planned {
    pub(super) plan: Plan,
    pub(super) sealed: Sealed,
    pub(super) exposure: Exposure,
}

/// What `report` makes of each plan, in the order of environments, namespaces and names, and what readers should know.
/// A plan is dropped as soon as its report is made.
pub(super) fn plans<'a, T: Send>(
    repository: &'a Repository,
    selection: &Selection,
    progress: &Progress,
    report: impl Fn(&'a Catalog, Planned) -> T + Sync,
) -> (Vec<T>, Vec<Finding>) {
    let all = repository.head.catalogs.iter().flat_map(|catalog| catalog.rollouts.iter().map(move |rollout| (catalog, rollout)));
    let wanted: Vec<_> = all.filter(|(catalog, rollout)| selection.wants(catalog, rollout, repository)).collect();
    progress.expect(wanted.len());
    let scripts = Scripts::default();
    let base = repository.base.as_ref();
    let one = |(catalog, rollout): &(&'a Catalog, &'a Rollout)| {
        let (plan, findings) = one(catalog, rollout, base, selection, &scripts);
        let reported = plan.map(|planned| report(catalog, planned));
        progress.one_done();
        (reported, findings)
    };
    let outcomes: Vec<(Option<T>, Vec<Finding>)> = wanted.par_iter().map(one).collect();
    let mut reports = Vec::new();
    let mut findings = Vec::new();
    for (reported, found) in outcomes {
        reports.extend(reported);
        findings.extend(found);
    }
    (reports, findings)
}

fn one(
    catalog: &Catalog,
    rollout: &Rollout,
    base: Option<&Base>,
    selection: &Selection,
    scripts: &Scripts,
) -> (Option<Planned>, Vec<Finding>) {
    let (head, mut findings) = discover::originals(catalog, rollout);
    let before = base.and_then(|base| base.discovery.catalogs.iter().find(|before| before.environment == catalog.environment));
    // Without any object it tells nothing: it could not be built, or the environment is new.
    let before = before.filter(|before| !before.sources.is_empty());
    let originals = before.map(|before| discover::originals(before, rollout).0);
    if selection.is_changed_only {
        let is_same = before.zip(originals.as_ref()).is_some_and(|(before, originals)| {
            is_same_rollout(catalog, before, rollout)
                && is_same(&head, originals)
                && is_served_alike(catalog, before, &head)
                && is_free_alike(catalog, before, rollout, &head)
        });
        if is_same {
            return (None, Vec::new());
        }
    }
    let bytes = base.and_then(|base| base.plan(&catalog.environment, &rollout.namespace, &rollout.reference.name));
    let previous = match bytes.map(plan::from_text).transpose() {
        Ok(previous) => previous,
        Err(error) => {
            let message = format!("the plan at the base cannot be read and is not used: {error}");
            findings.push(
                Finding::warning("base-plan-unreadable", message)
                    .about(format!("Rollout {}/{}", rollout.namespace, rollout.reference.name)),
            );
            None
        }
    };
    let inputs = Inputs { rollout, catalog, head: &head, base: originals.as_ref(), previous: previous.as_ref(), scripts };
    match render::plan(&inputs) {
        Ok(Rendered { plan, findings: found }) => {
            findings.extend(found);
            if let Some(unsound) = plan::validate::check(&plan) {
                findings.push(unsound);
                return (None, findings);
            }
            let (sealed, exposure) = (plan::sealed(&plan.spec), check::exposure(&plan, &head));
            findings.extend(plan::size::check(&plan, &sealed));
            findings.extend(check::check_exposure(&plan, &exposure, &head));
            (Some(Planned { plan, sealed, exposure }), findings)
        }
        Err(found) => {
            findings.extend(found);
            (None, findings)
        }
    }
}

/// Whether the Rollout itself is as it was.
fn is_same_rollout(now: &Catalog, before: &Catalog, rollout: &Rollout) -> bool {
    let reference = &rollout.reference;
    let object = ObjectRef::new(&reference.api_version, &reference.kind, &rollout.namespace, &reference.name);
    let all = |catalog: &'_ Catalog| -> Vec<Arc<Stored>> {
        let start = catalog.sources.partition_point(|source| source.object < object);
        catalog.sources[start..].iter().take_while(|source| source.object == object).cloned().collect()
    };
    let (now, before) = (all(now), all(before));
    now.len() == before.len() && now.iter().zip(&before).all(|(now, before)| now.is_same_manifest(before))
}

fn is_same(now: &Originals, before: &Originals) -> bool {
    let gateways = |originals: &Originals| originals.gateways.iter().map(|(_, source)| source.clone()).collect::<Vec<_>>();
    let same = |now: Option<&Source>, before: Option<&Source>| now.map(|source| &source.manifest) == before.map(|source| &source.manifest);
    let (now_gateways, before_gateways) = (gateways(now), gateways(before));
    same(now.workload.as_deref(), before.workload.as_deref())
        && same(now.service.as_deref(), before.service.as_deref())
        && same(now.autoscaler.as_deref(), before.autoscaler.as_deref())
        && now_gateways.len() == before_gateways.len()
        && now_gateways.iter().zip(&before_gateways).all(|(now, before)| same(now.as_deref(), before.as_deref()))
}

/// Whether no other object stands where the release makes one than before.
fn is_free_alike(now: &Catalog, before: &Catalog, rollout: &Rollout, originals: &Originals) -> bool {
    let taken = |catalog| render::taken(rollout, originals, catalog).into_iter().map(|stored| &stored.object);
    taken(now).eq(taken(before))
}

fn is_served_alike(now: &Catalog, before: &Catalog, originals: &Originals) -> bool {
    originals.gateways.iter().all(|(reference, _)| now.gateway(reference) == before.gateway(reference))
}
