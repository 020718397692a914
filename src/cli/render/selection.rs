//! Whether there is what was asked for by name: a typo must not pass as "nothing to do".

use super::Args;
use crate::cli::Failure;
use crate::cli::repository::Repository;
use crate::model::{Catalog, Severity};

/// The most names to tell.
const MOST: usize = 10;

impl Args {
    /// Refuses names that nothing has, unless a fault of the files may be the reason.
    pub(super) fn check_selection(&self, repository: &Repository) -> Result<(), Failure> {
        let catalogs = &repository.head.catalogs;
        let of_rollout = self.rollout.as_ref().and_then(|(environment, ..)| environment.as_ref());
        let environments: Vec<&String> = self.environment.iter().chain(of_rollout).collect();
        if let Some(wanted) = environments.iter().find(|wanted| !catalogs.iter().any(|catalog| catalog.environment == ***wanted)) {
            let names: Vec<_> = catalogs.iter().map(|catalog| catalog.environment.as_str()).filter(|name| !name.is_empty()).collect();
            let known = if names.is_empty() {
                "there is no `.rollout.yaml` that names any".into()
            } else {
                format!("there are: {}", names.join(", "))
            };
            return Err(format!("no environment is called `{wanted}`; {known}").into());
        }
        let Some((_, namespace, name)) = &self.rollout else { return Ok(()) };
        let is_wanted = |catalog: &&Catalog| environments.iter().all(|environment| catalog.environment == **environment);
        let mut rollouts = catalogs.iter().filter(is_wanted).flat_map(|catalog| &catalog.rollouts);
        let is_faultless = !repository.head.findings.iter().any(|finding| finding.severity == Severity::Error);
        if !is_faultless || rollouts.any(|rollout| rollout.namespace == *namespace && rollout.reference.name == *name) {
            return Ok(());
        }
        let names = catalogs.iter().flat_map(|catalog| catalog.rollouts.iter().map(|rollout| catalog.name_of(rollout))).take(MOST);
        let names: Vec<_> = names.collect();
        let known = if names.is_empty() { "none was found".into() } else { format!("there are: {}", names.join(", ")) };
        let called = match environments.as_slice() {
            [one, other] if one != other => {
                return Err(format!("`--env {one}` and `--rollout {other}:{namespace}/{name}` are two environments").into());
            }
            [environment, ..] => format!("{environment}:{namespace}/{name}"),
            [] => format!("{namespace}/{name}"),
        };
        Err(format!("no Rollout is called `{called}`; {known}").into())
    }
}
