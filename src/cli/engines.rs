//! The engines of a repository, asked about each plan.

use std::sync::Arc;

use crate::build::Origins;
use crate::coexist::{self, Coexistence, Engine, Placed};
use crate::discover;
use crate::model::{Catalog, ObjectRef, Plan, Resolution, Source, Stored};
use crate::tree;

use super::repository::{Base, Repository, joined};

/// The engines of a repository, and where its root lies in git: engines name folders from there.
pub(super) struct Engines<'a> {
    all: Vec<Engine>,
    prefix: String,
    origins: &'a Origins,
    base: Option<&'a Base>,
    /// Whether plans go to a place of which it does not show who syncs it.
    is_elsewhere: bool,
}

impl<'a> Engines<'a> {
    /// Finds them.
    pub(super) fn of(repository: &'a Repository) -> Self {
        let all = coexist::engines(&discover::engines(&repository.files, &repository.config));
        let prefix = repository.git.as_ref().and_then(|git| git.prefix_of(&repository.root)).unwrap_or_default();
        let is_elsewhere = repository.elsewhere.is_some() || repository.branch.is_some();
        Self { all, prefix, origins: &repository.origins, base: repository.base.as_ref(), is_elsewhere }
    }

    /// How a plan gets along with them.
    pub(super) fn check(&self, catalog: &Catalog, plan: &Plan) -> Coexistence {
        let settings = coexist::settings(plan);
        if self.all.is_empty() {
            return Coexistence { settings, engines: Vec::new(), findings: Vec::new() };
        }
        let folder = tree::directory(&catalog.output, &catalog.environment, plan).unwrap_or_default();
        let rollout = catalog.rollouts.iter().find(|rollout| rollout.namespace == plan.namespace && rollout.reference.name == plan.name);
        let near = rollout.map_or("", |rollout| rollout.place.path.as_str());
        let before = self.base.and_then(|base| {
            let catalogs = &base.discovery.catalogs;
            catalogs.iter().find(|before| before.environment == catalog.environment)
        });
        let objects: Vec<ObjectRef> = settings.iter().map(coexist::Setting::object).collect();
        let now: Vec<Option<String>> =
            objects.iter().map(|object| resolved(catalog, object, near).map(|source| self.path_of(source))).collect();
        let then: Vec<Option<(Arc<Source>, String)>> = objects
            .iter()
            .map(|object| before.and_then(|before| resolved(before, object, near)).map(|source| (source.source(), self.path_of(source))))
            .collect();
        let placed: Vec<Placed<'_>> = settings
            .iter()
            .zip(&now)
            .zip(&then)
            .map(|((setting, now), then)| Placed {
                setting,
                path: now.as_deref(),
                before: then.as_ref().map(|(source, path)| (&**source, path.as_str())),
            })
            .collect();
        let plan_path = joined(&self.prefix, &format!("{folder}/plan.yaml"));
        let mut coexistence = coexist::check(plan, &placed, &plan_path, &folder, &self.all);
        if self.is_elsewhere {
            coexistence.findings.retain(|finding| finding.code != "plan-not-synced");
        }
        coexistence
    }

    /// The file of an object, from the root of the repository; of a built one what it was built from.
    fn path_of(&self, source: &Stored) -> String {
        joined(&self.prefix, self.origins.file_of(&source.path))
    }
}

fn resolved<'a>(catalog: &'a Catalog, object: &ObjectRef, near: &str) -> Option<&'a Stored> {
    match catalog.resolve(object, near) {
        Resolution::Found(source) => Some(source),
        Resolution::Missing | Resolution::Ambiguous(_) => None,
    }
}
