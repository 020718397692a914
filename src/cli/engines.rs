//! The engines of a repository, asked about each plan.

use std::sync::Arc;

use serde_json::Value;

use crate::build::Origins;
use crate::coexist::{self, Coexistence, Engine, Placed};
use crate::git;
use crate::model::{Catalog, ObjectRef, Plan, Resolution, Rollout, Source, Stored};
use crate::tree;

use super::changed::{self, View};
use super::repository::{Base, Repository, joined};

/// The engines of a repository, and where its root lies in git: engines name folders from there.
pub(super) struct Engines<'a> {
    all: Vec<Engine>,
    /// Those before the change.
    before: Vec<Engine>,
    prefix: String,
    origins: &'a Origins,
    base: Option<&'a Base>,
    /// Whether plans go to a place of which it does not show who syncs it.
    is_elsewhere: bool,
}

impl<'a> Engines<'a> {
    /// Finds them.
    pub(super) fn of(repository: &'a Repository) -> Self {
        let remotes = repository.git.as_ref().map(git::Repository::remote_urls).unwrap_or_default();
        let all = coexist::engines(&repository.engines, &remotes);
        let before = repository.base.as_ref().map_or(&[][..], |base| &base.surroundings.engines);
        let prefix = repository.git.as_ref().and_then(|git| git.prefix_of(&repository.root)).unwrap_or_default();
        let is_elsewhere = repository.elsewhere.is_some() || repository.branch.is_some();
        Self {
            all,
            before: coexist::engines(before, &remotes),
            prefix,
            origins: &repository.origins,
            base: repository.base.as_ref(),
            is_elsewhere,
        }
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

    /// Whether those that sync the objects of a Rollout, or its plan, say what those before the change said.
    pub(super) fn say_the_same(&self, rollout: &Rollout, now: View<'_>, before: View<'_>) -> bool {
        let below = joined(&now.catalog.environment, &format!("{}/{}/plan.yaml", rollout.namespace, rollout.reference.name));
        let plan = joined(&self.prefix, &joined(&now.catalog.output, &below));
        let paths = |view: View<'_>| -> Vec<String> {
            let sources = changed::sources(view.originals).flatten();
            sources.map(|source| joined(&self.prefix, self.origins.file_of(&source.path))).chain([plan.clone()]).collect()
        };
        let said = |engines: &'_ [Engine], paths: &[String]| -> Vec<Vec<Value>> {
            paths.iter().map(|path| engines.iter().filter_map(|engine| engine.says_of(path)).cloned().collect()).collect()
        };
        if self.all.is_empty() && self.before.is_empty() {
            return true;
        }
        said(&self.all, &paths(now)) == said(&self.before, &paths(before))
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
