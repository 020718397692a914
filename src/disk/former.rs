//! Files of plans that were written before.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};

use super::error::DiskError;
use crate::files::Files;

/// The file whose presence makes a folder one of ours.
const PLAN: &str = "plan.yaml";

/// A file that lies in a folder with a plan, and is not in the new tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Former<'a> {
    /// The folder, relative to the root: `prod/shop`.
    pub folder: &'a str,
    /// The file's name: `3.diff`.
    pub name: &'a str,
    /// The bytes of the folder's `plan.yaml`.
    pub plan: &'a [u8],
}

impl Former<'_> {
    /// Returns whether we wrote it: a plan, its readme or a diff, beside a `plan.yaml` of ours.
    pub fn is_ours(&self) -> bool {
        let is_our_name = self.name == PLAN
            || matches!(self.name, "README.md" | "argocd.txt" | "flux.txt")
            || self.name.strip_suffix(".diff").is_some_and(|stem| {
                matches!(stem, "abort" | "abort-finish" | "abortFinish" | "finish")
                    || (!stem.is_empty() && stem.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'))
            });
        is_our_name && is_plan(self.plan)
    }
}

/// A cheap look, good on a plan that a merge conflict or an editor broke.
fn is_plan(bytes: &[u8]) -> bool {
    bytes.split(|byte| *byte == b'\n').any(|line| line.trim_ascii_end() == b"kind: RolloutPlan")
}

/// Returns the same of a tree that lies elsewhere, of which these are all paths: those that the new tree does not have
/// and `is_stale` condemns, sorted. `read` gives the bytes of a plan.
///
/// # Errors
/// When `read` has one.
pub fn left_over<E>(
    paths: &BTreeSet<String>,
    read: impl Fn(&str) -> Result<Vec<u8>, E>,
    files: &Files,
    is_stale: &dyn Fn(&Former) -> bool,
) -> Result<BTreeSet<String>, E> {
    let split =
        |path: &'_ str| path.rsplit_once('/').map_or((String::new(), path.to_owned()), |(folder, name)| (folder.into(), name.into()));
    let mut folders: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (folder, name) in paths.iter().map(|path| split(path)) {
        folders.entry(folder).or_default().push(name);
    }
    let mut condemned = BTreeSet::new();
    for (folder, names) in folders {
        if !names.iter().any(|name| name == PLAN) || folder.split('/').any(|name| name.starts_with('.')) {
            continue;
        }
        let joined = |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        let plan = read(&joined(PLAN))?;
        let is_condemned = |name: &&String| files.get(&joined(name)).is_none() && is_stale(&Former { folder: &folder, name, plan: &plan });
        condemned.extend(names.iter().filter(is_condemned).map(|name| joined(name)));
    }
    Ok(condemned)
}

/// Returns the paths below `root` that the new tree does not have and `is_stale` condemns, sorted.
pub(super) fn stale(root: &Utf8Path, files: &Files, is_stale: &dyn Fn(&Former) -> bool) -> Result<BTreeSet<String>, DiskError> {
    let mut paths = BTreeSet::new();
    if !root.is_dir() {
        return Ok(paths);
    }
    let walk = walkdir::WalkDir::new(root).follow_links(false).sort_by_file_name().into_iter();
    for entry in walk.filter_entry(|entry| entry.depth() == 0 || !is_hidden(entry)) {
        let entry = entry.map_err(|error| unreadable(root, error))?;
        if entry.file_type().is_file() && entry.file_name() == PLAN {
            let Some(path) = Utf8Path::from_path(entry.path()) else { continue };
            condemn(root, path, files, is_stale, &mut paths)?;
        }
    }
    Ok(paths)
}

fn condemn(
    root: &Utf8Path,
    plan: &Utf8Path,
    files: &Files,
    is_stale: &dyn Fn(&Former) -> bool,
    paths: &mut BTreeSet<String>,
) -> Result<(), DiskError> {
    let failed = |source| DiskError::Read { path: plan.to_owned(), source };
    let Some(folder) = plan.parent() else { return Ok(()) };
    let below = folder.strip_prefix(root).unwrap_or(folder).as_str();
    let joined = |name: &str| if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
    let mut others = Vec::new();
    for entry in folder.read_dir_utf8().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_file() && files.get(&joined(entry.file_name())).is_none() {
            others.push(entry.file_name().to_owned());
        }
    }
    // Of a folder whose files are all written again nobody asks whose they were.
    if !others.is_empty() {
        let bytes = std::fs::read(plan).map_err(failed)?;
        let is_condemned = |name: &&String| is_stale(&Former { folder: below, name, plan: &bytes });
        paths.extend(others.iter().filter(is_condemned).map(|name| joined(name)));
    }
    Ok(())
}

fn is_hidden(entry: &walkdir::DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b".")
}

fn unreadable(root: &Utf8Path, error: walkdir::Error) -> DiskError {
    let path = error.path().and_then(Utf8Path::from_path).unwrap_or(root);
    DiskError::Read { path: Utf8PathBuf::from(path), source: error.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(name: &str, plan: &str, expected: bool) {
        assert_eq!(Former { folder: "prod/shop", name, plan: plan.as_bytes() }.is_ours(), expected, "{name}");
    }

    #[test]
    fn a_plan_its_readme_and_its_diffs_are_ours() {
        for name in ["plan.yaml", "README.md", "1.diff", "12.diff", "finish.diff", "abort.diff"] {
            case(name, "apiVersion: rollout.dev/v1alpha1\r\nkind: RolloutPlan\r\n", true);
        }
    }

    #[test]
    fn notes_of_people_are_not_ours() {
        for name in ["NOTES.md", "mine.diff", ".diff", "kustomization.yaml"] {
            case(name, "kind: RolloutPlan\n", false);
        }
    }

    #[test]
    fn a_plan_of_another_tool_is_not_ours() {
        case("plan.yaml", "kind: Plan\n", false);
        case("README.md", "plan: |\n  kind: RolloutPlan of others\n", false);
    }
}
