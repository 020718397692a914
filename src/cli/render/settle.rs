//! What becomes of the plans' files: written, compared with those that are there, or committed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use camino::Utf8Path;

use super::Args;
use super::shown::Reported;
use crate::cli::Failure;
use crate::cli::commit::{self, Committed, Order};
use crate::cli::plans::Selection;
use crate::cli::repository::{self, Repository};
use crate::disk::{self, Difference, Former, Stale};
use crate::files::Files;
use crate::model::{Finding, Position, Severity};
use crate::report::count;

/// The file of a plan that is an object; the others show it.
const PLAN_FILE: &str = "plan.yaml";

/// The code of a plan's file that is not as it should be.
pub(super) const STALE: &str = "plan-stale";

impl Args {
    /// Writes the trees, or finds what differs; returns what to tell at the end.
    pub(super) fn settle(
        &self,
        reports: &mut [Reported<'_>],
        repository: &Repository,
        selection: &Selection,
        directory: &std::path::Path,
        findings: &mut Vec<Finding>,
    ) -> Result<Committed, Failure> {
        let mut trees: BTreeMap<String, Files> = BTreeMap::new();
        for environment in &repository.config.environments {
            trees.entry(environment.output.clone()).or_default();
        }
        let mut told = BTreeMap::new();
        for report in reports {
            let tree = trees.entry(report.catalog.output.clone()).or_default();
            let files = std::mem::replace(&mut report.files, Ok(Files::default()))?;
            for (path, bytes) in files.iter() {
                tree.insert(path, bytes.clone());
                if let Some(folder) = path.strip_suffix("/plan.yaml") {
                    told.insert((report.catalog.output.clone(), folder.to_owned()), report.told.clone());
                }
            }
        }
        // A Rollout that cannot be rendered today keeps the plan that it has.
        let is_whole = !selection.is_partial(repository) && !findings.iter().any(|finding| finding.severity == Severity::Error);
        let is_stale = |files: &Files, former: &Former<'_>| {
            let is_rendered = || files.get(&repository::joined(former.folder, PLAN_FILE)).is_some();
            former.is_ours() && (is_whole || is_rendered())
        };
        let order = Order { repository, trees: &trees, plans: &told, is_stale: &is_stale, push: self.push.as_deref() };
        if self.commit {
            return commit::commit(&order);
        }
        if let (true, Some(branch)) = (self.check, &self.branch) {
            for stale in without_repeats(commit::compare(&order)?) {
                findings.push(stale_finding(&format!("{branch}:"), &stale.path, stale.difference));
            }
            return Ok(Committed::Done(String::new()));
        }
        let mut summary = String::new();
        for (output, files) in &trees {
            let is_stale = |former: &Former<'_>| is_stale(files, former);
            let root = repository.elsewhere.clone().unwrap_or_else(|| repository.root.join(output));
            let shown = Utf8Path::from_path(directory).and_then(|directory| root.strip_prefix(directory).ok()).unwrap_or(&root);
            if self.check {
                // Findings point below the root; what lies elsewhere has only the name that the user knows.
                let output = if repository.elsewhere.is_some() { shown.as_str() } else { output };
                for stale in without_repeats(disk::compare_tree(&root, files, &is_stale)?) {
                    findings.push(stale_finding(&format!("{output}/"), &stale.path, stale.difference));
                }
            } else {
                let written = disk::write_tree(&root, files, &is_stale)?;
                let (new, gone) = (count(written.written.len(), "file"), count(written.removed.len(), "file"));
                let _ = writeln!(summary, "wrote {new}, removed {gone}, left {} as they were in `{shown}`", written.unchanged);
            }
        }
        Ok(Committed::Done(summary))
    }
}

/// Where a whole plan is missing, its `plan.yaml` says so for the files beside it.
fn without_repeats(stale: Vec<Stale>) -> Vec<Stale> {
    let is_missing = |stale: &Stale| stale.difference == Difference::Missing;
    let folder = |path: &str| path.rsplit_once('/').map_or_else(String::new, |(folder, _)| folder.to_owned());
    let is_plan = |stale: &Stale| stale.path.rsplit('/').next() == Some(PLAN_FILE);
    let missing: BTreeSet<String> =
        stale.iter().filter(|stale| is_missing(stale) && is_plan(stale)).map(|stale| folder(&stale.path)).collect();
    stale.into_iter().filter(|stale| !is_missing(stale) || is_plan(stale) || !missing.contains(&folder(&stale.path))).collect()
}

fn stale_finding(folder: &str, path: &str, difference: Difference) -> Finding {
    let message = match difference {
        Difference::Missing => "the plan's file is not there",
        Difference::Different => "the file is not what the manifests say now",
        Difference::Extra => "the file belongs to no plan any more",
    };
    let place = Position { line: 1, column: 1 };
    Finding::error(STALE, message)
        .at(&format!("{folder}{path}"), place)
        .help("run `rollout render --out` and commit what it writes, or let `rollout render --commit` do both")
}
