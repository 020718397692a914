//! Renders the Rollouts that were asked for, side by side, and keeps their order.

use rayon::prelude::*;

use crate::check;
use crate::discover;
use crate::exposure::Exposure;
use crate::model::{Catalog, Finding, Originals, Plan, Rollout};
use crate::plan::{self, Sealed};
use crate::render::{self, Inputs, Rendered, Scripts};

use super::changed::{Comparison, View};
use super::engines::Engines;
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
    engines: &Engines<'_>,
    selection: &Selection,
    progress: &Progress,
    report: impl Fn(&'a Catalog, Planned) -> T + Sync,
) -> (Vec<T>, Vec<Finding>) {
    let all = repository.head.catalogs.iter().flat_map(|catalog| catalog.rollouts.iter().map(move |rollout| (catalog, rollout)));
    let wanted: Vec<_> = all.filter(|(catalog, rollout)| selection.wants(catalog, rollout, repository)).collect();
    progress.expect(wanted.len());
    let scripts = Scripts::default();
    let context = Context { base: repository.base.as_ref(), engines, selection, scripts: &scripts };
    let one = |(catalog, rollout): &(&'a Catalog, &'a Rollout)| {
        let (plan, findings) = one(catalog, rollout, &context);
        let reported = plan.map(|planned| report(catalog, planned));
        progress.one_done();
        (reported, findings)
    };
    let outcomes: Vec<(Option<T>, Vec<Finding>)> = wanted.par_iter().map(one).collect();
    if let Some(exceeded) = scripts.exceeded() {
        return (Vec::new(), vec![exceeded]);
    }
    let mut reports = Vec::new();
    let mut findings = Vec::new();
    for (reported, found) in outcomes {
        reports.extend(reported);
        findings.extend(found);
    }
    (reports, findings)
}

/// What is the same for all Rollouts.
struct Context<'a> {
    base: Option<&'a Base>,
    engines: &'a Engines<'a>,
    selection: &'a Selection,
    scripts: &'a Scripts,
}

fn is_same(rollout: &Rollout, now: View<'_>, before: Option<(&Catalog, &Originals)>, context: &Context<'_>) -> bool {
    before.zip(context.base).is_some_and(|((catalog, originals), base)| {
        Comparison { rollout, now, before: View { catalog, originals } }.is_same(&base.surroundings, context.engines)
    })
}

fn one(catalog: &Catalog, rollout: &Rollout, context: &Context<'_>) -> (Option<Planned>, Vec<Finding>) {
    let Context { base, selection, scripts, .. } = *context;
    let (head, mut findings) = discover::originals(catalog, rollout);
    let before = base.and_then(|base| base.discovery.catalogs.iter().find(|before| before.environment == catalog.environment));
    // Without any object it tells nothing: it could not be built, or the environment is new.
    let before = before.filter(|before| !before.sources.is_empty());
    let originals = before.map(|before| discover::originals(before, rollout).0);
    if selection.is_changed_only && is_same(rollout, View { catalog, originals: &head }, before.zip(originals.as_ref()), context) {
        return (None, Vec::new());
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
