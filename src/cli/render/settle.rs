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
use crate::config;
use crate::disk::{self, Difference, Former, Stale};
use crate::files::Files;
use crate::git;
use crate::model::{Finding, Position, Severity};
use crate::report::{count, one_line};

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
        // All of them go to the one folder that lies elsewhere.
        let place = |output: &String| if repository.elsewhere.is_some() { String::new() } else { output.clone() };
        for environment in &repository.config.environments {
            trees.entry(place(&environment.output)).or_default();
        }
        let mut told = BTreeMap::new();
        for report in reports {
            let tree = trees.entry(place(&report.catalog.output)).or_default();
            let files = std::mem::replace(&mut report.files, Ok(Files::default()))?;
            for (path, bytes) in files.iter() {
                tree.insert(path, bytes.clone());
                if let Some(folder) = path.strip_suffix("/plan.yaml") {
                    told.insert((place(&report.catalog.output), folder.to_owned()), report.told.clone());
                }
            }
        }
        // A Rollout that cannot be rendered today keeps the plan that it has.
        let is_whole = !selection.is_partial(repository) && !findings.iter().any(|finding| finding.severity == Severity::Error);
        let top = repository.git.as_ref().map_or(repository.root.as_path(), git::Repository::root);
        for output in trees.keys() {
            disk::ensure_own(&repository.place_of(output), top)?;
        }
        let outputs = Outputs::of(&trees);
        let is_stale = |output: &str, former: &Former<'_>| {
            let folder = repository::joined(output, former.folder);
            former.is_ours() && outputs.is_left_over(output, &folder, former.name) && (is_whole || outputs.holds(&folder, PLAN_FILE))
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
            let is_stale = |former: &Former<'_>| is_stale(output, former);
            let root = repository.place_of(output);
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
                let _ = writeln!(
                    summary,
                    "wrote {new}, removed {gone}, left {} as they were in `{}`",
                    written.unchanged,
                    one_line(shown.as_str())
                );
            }
        }
        Ok(Committed::Done(summary))
    }
}

/// Without a base, what is written looks like any other plan, and releases nothing.
pub(super) fn warn_of_previews(findings: &mut [Finding]) {
    for finding in findings.iter_mut().filter(|finding| finding.code == "no-base") {
        finding.severity = Severity::Warning;
        finding.message.push_str(", and release nothing where they are applied");
    }
}

/// The output folders, which may lie in each other: what one of them holds is not what another has left over.
struct Outputs<'a> {
    folders: Vec<&'a str>,
    /// All that is to be in any of them, below the root.
    files: BTreeSet<String>,
}

impl<'a> Outputs<'a> {
    fn of(trees: &'a BTreeMap<String, Files>) -> Self {
        let below = |(output, files): (&'a String, &'a Files)| files.iter().map(|(path, _)| repository::joined(output, path));
        Self { folders: trees.keys().map(String::as_str).collect(), files: trees.iter().flat_map(below).collect() }
    }

    fn holds(&self, folder: &str, name: &str) -> bool {
        self.files.contains(&repository::joined(folder, name))
    }

    /// Whether the file is in no tree, and `output` is the innermost folder around it: one of them tells of it.
    fn is_left_over(&self, output: &str, folder: &str, name: &str) -> bool {
        let around = |inner: &&&str| config::is_inside(&format!("{folder}/"), inner);
        let innermost = self.folders.iter().filter(around).max_by_key(|inner| inner.len());
        !self.holds(folder, name) && innermost.is_none_or(|innermost| *innermost == output)
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
