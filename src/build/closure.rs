//! All that a kustomization is made from, found by following what it names.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use super::kustomization::{self, Entry, Kustomization};
use super::tree::{Kind, Tree, joined};
use crate::model::{Finding, Position};

/// The group of Rollouts.
const GROUP: &[u8] = b"rollouts.kruise.io";

/// More kustomizations than this are not one application.
const MOST_FOLDERS: usize = 2_000;

/// What a kustomization is made from, by absolute paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Closure {
    /// The folders of its kustomizations.
    pub(super) folders: BTreeSet<Utf8PathBuf>,
    /// The files that those name.
    pub(super) files: BTreeSet<Utf8PathBuf>,
    /// Folders of which any file may matter: plugins name files in ways of their own.
    pub(super) whole: BTreeSet<Utf8PathBuf>,
    /// Whether one of the files speaks of a Rollout.
    pub(super) names_rollouts: bool,
    /// Why it cannot be built offline.
    pub(super) findings: Vec<Finding>,
}

impl Closure {
    /// Whether the file has a say in what is built.
    pub(super) fn holds(&self, path: &Utf8Path) -> bool {
        self.files.contains(path) || self.folders.iter().any(|folder| path.starts_with(folder))
    }
}

/// Follows the kustomization in `folder`. Findings name files as `show` does.
pub(super) fn of(folder: &Utf8Path, tree: &dyn Tree, show: &dyn Fn(&Utf8Path) -> String) -> Closure {
    let mut closure = Closure::default();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        if closure.folders.len() >= MOST_FOLDERS || closure.folders.contains(&folder) {
            continue;
        }
        match file_of(&folder, tree) {
            Some((path, Ok(Some(kustomization)))) => {
                closure.files.insert(path.clone());
                follow(&folder, &path, &kustomization, tree, show, &mut closure, &mut waiting);
            }
            Some((path, Err(error))) => {
                let message = format!("the kustomization cannot be read: {}", error.message);
                closure.findings.push(Finding::error("kustomization-unreadable", message).at(&show(&path), error.position));
            }
            Some((_, Ok(None))) | None => {
                let message = format!("there is no kustomization in `{}`", show(&folder));
                let finding = Finding::error("build-input-missing", message);
                closure.findings.push(finding.help(format!("name a folder with a `{}`", kustomization::NAMES[0])));
            }
        }
        closure.folders.insert(folder);
    }
    closure
}

type Read = Result<Option<Kustomization>, crate::yaml::ReadError>;

/// The kustomization file in a folder, and what it says.
fn file_of(folder: &Utf8Path, tree: &dyn Tree) -> Option<(Utf8PathBuf, Read)> {
    let paths = kustomization::NAMES.iter().map(|name| folder.join(name));
    let path = paths.into_iter().find(|path| tree.kind(path) == Some(Kind::File))?;
    let bytes = tree.read(&path)?;
    Some((path, kustomization::read(&bytes)))
}

fn follow(
    folder: &Utf8Path,
    file: &Utf8Path,
    kustomization: &Kustomization,
    tree: &dyn Tree,
    show: &dyn Fn(&Utf8Path) -> String,
    closure: &mut Closure,
    waiting: &mut Vec<Utf8PathBuf>,
) {
    if kustomization.has_plugins {
        closure.whole.insert(folder.to_owned());
    }
    let refuse = |position: Position, code, message: String| Finding::error(code, message).at(&show(file), position);
    for entry in &kustomization.entries {
        let Entry { path, position, is_resource } = entry;
        let target = joined(folder, path);
        match tree.kind(&target) {
            Some(Kind::Folder) => waiting.push(target),
            Some(Kind::File) => {
                closure.names_rollouts = closure.names_rollouts || tree.read(&target).is_some_and(|bytes| names_rollouts(&bytes));
                closure.files.insert(target);
            }
            None if entry.is_remote() => {
                let message = format!("`{path}` is on the network, and builds have none");
                let help = "copy it into the repository, or pipe your own build into `rollout render -`";
                closure.findings.push(refuse(*position, "kustomization-remote", message).help(help));
            }
            None if *is_resource => {
                let message = format!("there is no `{path}` here");
                closure.findings.push(refuse(*position, "build-input-missing", message).help("correct the path, or take the line out"));
            }
            // The program says it better.
            None => {}
        }
    }
}

/// Whether a file speaks of a Rollout.
pub(super) fn names_rollouts(bytes: &[u8]) -> bool {
    bytes.windows(GROUP.len()).any(|window| window == GROUP)
}
